#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# build IDs of any size are whole or none

set -e

err=0
tmp=$(mktemp -d /tmp/perf.build_id_sizes.XXXXXX)
# shellcheck source=lib/scratch.sh
. "$(dirname "$0")"/lib/scratch.sh

fail()
{
	echo "$test [Failed: $*]"
	err=1
}

need gcc
printf '[buildid]\n\tdir = %s\n' "$tmp/buildids" >"$PERF_CONFIG"
cd "$tmp"
write_program hot.c

# build FILE FUNCTION [OPTION]...: a program that is in FUNCTION most of the time
build()
{
	local file=$1 function=$2
	shift 2
	gcc -O1 -fno-omit-frame-pointer -DROUNDS=100 -D"inner_function=$function" "$@" \
		-o "$file" hot.c
}

# record [OPTION]... COMMAND...
record()
{
	if ! perf record -q -N -e cpu-clock:u -F 1000 -o plain.data "$@" 2>log; then
		echo "Skip: cannot record: $(tail -n 1 log)"
		exit 2
	fi
}

convert()
{
	perf inject --buildid-offset "$@" -i plain.data -o converted.data 2>log ||
		fail "inject: $(tail -n 1 log)"
}

id_of()
{
	perf buildid-list -i "$1"
}

# nr_with ID: samples that name it
nr_with()
{
	perf script -F ip,buildid -i converted.data 2>log | grep -c "$1" || true
}

report()
{
	perf report -q --stdio -g none --no-children "$@" 2>log
}

test_long_ids()
{
	local start=0x000102030405060708090a0b0c0d0e0f10111213 opt

	test="build IDs of more than 20 bytes"
	build program first -Wl,--build-id=${start}aaaaaaaaaaaaaaaaaaaaaaaa
	build next second -Wl,--build-id=${start}bbbbbbbbbbbbbbbbbbbbbbbb
	[ -z "$(id_of program 2>log)" ] || fail "buildid-list: $(id_of program)"
	perf buildid-cache -a program >log 2>&1 || true
	[ ! -e buildids/.build-id/00 ] || fail "buildid-cache takes it"
	for opt in --buildid-mmap --no-buildid-mmap; do
		record $opt sh -c './program; ./next'
		convert --drop-mmaps
		[ "$(nr_with 000102030405)" = 0 ] || fail "converted, $opt"
		report -i plain.data -s comm,sym >out
		grep -q 'program .* first$' out || fail "$opt, no symbols: $(head -n 2 out)"
		grep -q 'next .* second$' out || fail "$opt, no symbols: $(head -n 2 out)"
	done
}

test_short_id()
{
	test="a build ID of 5 bytes"
	build program first -Wl,--build-id=0x0102030405
	[ "$(id_of program)" = 0102030405 ] || fail "buildid-list: $(id_of program)"
}

test_known()
{
	local id=00112233445566778899aabbccddeeff00112233

	test="inject --known-build-ids"
	build program first
	record --no-buildid --no-buildid-mmap ./program
	perf inject -b --known-build-ids="$id $tmp/program" -i plain.data -o known.data 2>log ||
		fail "inject: $(tail -n 1 log)"
	perf buildid-list -i known.data >out
	grep -q "^$id " out || fail "$(grep program out)"
}

test_long_ids
test_short_id
test_known
[ "$err" -ne 0 ] || echo "sizes of build IDs [Done]"
exit "$err"
