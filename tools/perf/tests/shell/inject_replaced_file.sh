#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# a replaced file does not lend its build ID

set -e

err=0
tmp=$(mktemp -d /tmp/perf.inject_replaced_file.XXXXXX)
# shellcheck source=lib/scratch.sh
. "$(dirname "$0")"/lib/scratch.sh

fail()
{
	echo "$name [Failed: $*]"
	err=1
}

need gcc readelf python3 uname
write_program "$tmp/program.c"
for n in 1 2; do
	gcc -static -DROUNDS="${n}00" -Wl,--build-id=sha1 -o "$tmp/file$n" "$tmp/program.c" \
		2>/dev/null || { echo "Skip: cannot link statically"; exit 2; }
done
id1=$(readelf -n "$tmp/file1" | sed -n 's/.*Build ID: //p')
id2=$(readelf -n "$tmp/file2" | sed -n 's/.*Build ID: //p')

# record COMMAND...: without build IDs in the mmap events
record()
{
	perf record -q --no-buildid-mmap -e cpu-clock:u -F 1000 -o "$tmp/plain.data" -- "$@" 2>"$tmp/log"
}

# convert FILE
convert()
{
	perf inject --buildid-offset -i "$1" -o "$tmp/perf.data" 2>"$tmp/log" ||
		fail "inject: $(tail -n 1 "$tmp/log")"
	perf script -F ip,buildid -i "$tmp/perf.data" >"$tmp/out" 2>/dev/null || fail "script"
	grep -q . "$tmp/out" || fail "no samples"
}

name="recorded while it is replaced"
cp "$tmp/file1" "$tmp/program"
cp "$tmp/file2" "$tmp/new"
# shellcheck disable=SC2016 # for the inner shell
if ! record sh -c '"$1" & for i in $(seq 1000); do
		[ "$(readlink /proc/$!/exe)" != "$1" ] || break
	done
	mv "$2" "$1"
	wait' sh "$tmp/program" "$tmp/new"; then
	echo "Skip: cannot record: $(tail -n 1 "$tmp/log")"
	exit 2
fi
convert "$tmp/plain.data"
! grep -q "$id2" "$tmp/out" || fail "entries have the build ID of the new file"

name="not replaced"
cp "$tmp/file1" "$tmp/program"
record "$tmp/program" || fail "record: $(tail -n 1 "$tmp/log")"
convert "$tmp/plain.data"
grep -q "$id1" "$tmp/out" || fail "no entry has the build ID of the file"

# A perf that does not look at the inode has read the table from the new file.
cp "$tmp/file2" "$tmp/new"
mv "$tmp/new" "$tmp/program"
python3 - "$tmp" "$id1" "$id2" "$(uname -n)" <<'END'
import sys

tmp, old, new, host = sys.argv[1:]
data = open(tmp + '/plain.data', 'rb').read()
assert bytes.fromhex(old) in data
data = data.replace(bytes.fromhex(old), bytes.fromhex(new))
open(tmp + '/replaced.data', 'wb').write(data)
host = host.encode() + b'\0'
other = bytes([host[0] ^ 1]) + host[1:]
open(tmp + '/other.data', 'wb').write(data.replace(host, other))
END
name="the table has the new file"
convert "$tmp/replaced.data"
! grep -q "$id2" "$tmp/out" || fail "entries have the build ID of the new file"
name="recorded on another machine"
convert "$tmp/other.data"
grep -q "$id2" "$tmp/out" || fail "no entry has the build ID of the table"

exit $err
