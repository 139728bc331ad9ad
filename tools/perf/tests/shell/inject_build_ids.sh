#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# perf inject takes zero, padded and known build IDs

set -e -o pipefail

tmp=$(mktemp -d)
# shellcheck source=lib/scratch.sh
. "$(dirname "$0")"/lib/scratch.sh

need cc
case $(perf inject -h 2>&1 || true) in
*--drop-mmaps*) ;;
*)
	echo "Skip: perf inject has no --drop-mmaps"
	exit 2;;
esac

cd "$tmp"
write_program program.c
log=$tmp/log
err=0

fail()
{
	echo "FAIL: $*"
	err=1
}

# record FILE OPTION...: of a program with the build ID $id
record()
{
	local file=$1

	shift
	cc -O1 -DROUNDS=100 -Wl,--build-id=0x"$id" program.c -o program
	if ! perf record -q -e cpu-clock:u "$@" -o "$file" ./program 2>"$log"; then
		cat "$log"
		echo "Skip: perf record fails"
		exit 2
	fi
}

# A build ID of zeros is none. It must not end the conversion.
zero_id()
{
	id=0000000000000000
	record zero.data
	if ! perf inject --buildid-offset --drop-mmaps -i zero.data -o zero.dropped 2>"$log"; then
		cat "$log"
		fail "a build ID of zeros ends the conversion"
		return
	fi
	grep -q "still have a user address" "$log" ||
		fail "entries without a build ID are not counted"
	perf script -i zero.dropped -F buildid,ip | grep -q '0000000000000000+' &&
		fail "an entry has a build ID of zeros"
	return 0
}

# write_bytes FILE OFFSET BYTES: BYTES as printf has them
write_bytes()
{
	# shellcheck disable=SC2059 # the bytes are the format
	printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# old_table FILE: write the row of program in the build-ID table as old perf did, which
# padded build IDs to 20 bytes and wrote no size
old_table()
{
	local bytes at

	# shellcheck disable=SC2046 # one word for each byte
	bytes=$(printf '\\x%s' $(fold -w 2 <<<"$id"))
	# The table is after the data.
	at=$(LC_ALL=C grep -obUaP "$bytes" "$1" | tail -1 | cut -d: -f1)
	# In misc only the mode, user
	write_bytes "$1" $((at - 8)) '\x02\x00'
	write_bytes "$1" $((at + 20)) '\x00'
}

padded_id()
{
	record padded.data --no-buildid-mmap
	old_table padded.data
	# Nothing but the table may tell what the ID is.
	rm program
	perf inject --buildid-offset -i padded.data -o padded.converted
	perf script -i padded.converted -F buildid,ip >text
	grep -q "$id" text || fail "the build ID of a row without a size is not found"
	if grep -q "${id}0" text; then
		fail "the padding of a row without a size is taken as part of the build ID:"
		grep "${id}0" text | sort | uniq -c
	fi
	perf buildid-list -i padded.data | grep -q "^$id " ||
		fail "perf buildid-list prints the padding of $id"
}

# --known-build-ids takes the whole of an ID.
known_id()
{
	local known=0123456789abcdef0123456789abcdef01234567

	id=a1b2c3d4e5f60718293a4b5c6d7e8f9011223344
	record known.data --no-buildid-mmap -B
	perf inject -b --known-build-ids="$known $tmp/program" -i known.data -o known.injected
	perf buildid-list -i known.injected >text
	grep -q "$known .*/program" text || { cat text; fail "a known build ID is cut"; }
}

zero_id
known_id
for id in a1b2c3d4e5f60718 a1b2c3d4e5f60718293a4b5c6d7e8f90; do
	padded_id
done
# Its last bytes are its own.
id=a1b2c3d4e5f60718293a4b5c6d7e8f9011223300
padded_id
exit $err
