#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# the build ID of a mapped file is that of its segments

set -e

err=0
tmp=$(mktemp -d /tmp/perf.build_id_segment.XXXXXX)
# shellcheck source=lib/scratch.sh
. "$(dirname "$0")"/lib/scratch.sh

fail()
{
	echo "$name [Failed: $*]"
	err=1
}

need gcc readelf objcopy python3
write_program "$tmp/program.c"
# It goes on while there is the file "long".
gcc -g -static -include unistd.h -DROUNDS="(access(\"$tmp/long\", F_OK) ? 100 : 1000000)" \
	-Wl,--build-id=sha1 -o "$tmp/whole" "$tmp/program.c" 2>/dev/null ||
	{ echo "Skip: cannot link statically"; exit 2; }
id=$(readelf -n "$tmp/whole" | sed -n 's/.*Build ID: //p')
python3 - "$tmp" <<'END'
import struct
import sys

whole = open(sys.argv[1] + '/whole', 'rb').read()
# No segment of notes (PT_NOTE) is left, the section is.
data = bytearray(whole)
at, = struct.unpack_from('<Q', data, 32)
for n in range(struct.unpack_from('<H', data, 56)[0]):
    if struct.unpack_from('<I', data, at + 56 * n)[0] == 4:
        struct.pack_into('<I', data, at + 56 * n, 0)
open(sys.argv[1] + '/section', 'wb').write(data)
# No sections are left.
data = bytearray(whole)
struct.pack_into('<Q', data, 40, 0)
struct.pack_into('<HH', data, 60, 0, 0)
open(sys.argv[1] + '/segment', 'wb').write(data)
END

# judge WHEN: entries have the build ID if there is a segment with it
judge()
{
	local found

	perf inject --buildid-offset -i "$tmp/plain.data" -o "$tmp/perf.data" 2>"$tmp/log" ||
		fail "inject, $1: $(tail -n 1 "$tmp/log")"
	found=$(perf script -F ip,buildid -i "$tmp/perf.data" 2>/dev/null | grep -c "$id") || true
	if [ "$name" = section ]; then
		[ "$found" = 0 ] || fail "$1, $found entries have what the kernel does not see"
	else
		[ "$found" != 0 ] || fail "$1, no entry has the build ID"
	fi
}

# The kernel, perf record at the end, perf record of a process that runs, and perf inject
for name in whole section segment; do
	chmod +x "$tmp/$name"
	for option in --buildid-mmap --no-buildid-mmap "--no-buildid-mmap -B"; do
		# shellcheck disable=SC2086 # words
		if ! perf record -q $option -e cpu-clock:u -F 1000 -o "$tmp/plain.data" "$tmp/$name" \
			2>"$tmp/log"; then
			echo "Skip: cannot record: $(tail -n 1 "$tmp/log")"
			exit 2
		fi
		judge "with $option"
	done
	: >"$tmp/long"
	"$tmp/$name" &
	perf record -q --buildid-mmap -e cpu-clock:u -F 1000 -p $! -o "$tmp/plain.data" \
		-- sleep 0.2 2>"$tmp/log" || fail "record -p: $(tail -n 1 "$tmp/log")"
	rm "$tmp/long"
	wait
	judge "of a process"
done

# In a debug file the sections alone have contents.
name=debug
objcopy --only-keep-debug "$tmp/whole" "$tmp/whole.debug"
[ "$(perf buildid-list -i "$tmp/whole.debug")" = "$id" ] || fail "it has no build ID"

exit $err
