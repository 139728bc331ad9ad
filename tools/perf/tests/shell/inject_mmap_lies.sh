#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# device and inode are not taken for a build ID

set -e

err=0
tmp=$(mktemp -d /tmp/perf.inject_mmap_lies.XXXXXX)
# shellcheck source=lib/scratch.sh
. "$(dirname "$0")"/lib/scratch.sh

fail()
{
	echo "$name [Failed: $*]"
	err=1
}

need gcc readelf python3

# edit FILE TO ACTION...: change the records of mmap events, or what the header says
# of them, in place. The actions:
#   flag           as if all had a build ID
#   ask            the events ask for build IDs
#   major=N        of the device
#   generation=N   of the inode
#   table          the build-ID table, too, has the inode, as a perf would write it that
#                  has taken it for a build ID
cat >"$tmp/edit.py" <<'END'
import struct
import sys

MMAP2, FLAG, BUILD_ID_TABLE = 10, 1 << 14, 2
data = bytearray(open(sys.argv[1], 'rb').read())
actions = dict((a.split('=') + ['1'])[:2] for a in sys.argv[3:])
attr_size, attrs, attrs_size, at, size = struct.unpack_from('<16x5Q', data)
inodes = {}

def string_at(at):
    return bytes(data[at:data.index(b'\0', at)])

if 'ask' in actions:
    for attr in range(attrs, attrs + attrs_size, attr_size):
        flags, = struct.unpack_from('<Q', data, attr + 40)
        struct.pack_into('<Q', data, attr + 40, flags | 1 << 34)
end = at + size
while at < end:
    type, misc, size = struct.unpack_from('<IHH', data, at)
    if type == MMAP2 and not misc & FLAG:
        if 'major' in actions:
            struct.pack_into('<I', data, at + 40, int(actions['major']))
        if 'generation' in actions:
            struct.pack_into('<Q', data, at + 56, int(actions['generation']))
        inodes[string_at(at + 72)] = bytes(data[at + 44:at + 64])
        if 'flag' in actions:
            struct.pack_into('<H', data, at + 4, misc | FLAG)
    at += size
if 'table' in actions:
    at, size = struct.unpack_from('<QQ', data, end + 16 * bin(
        struct.unpack_from('<Q', data, 72)[0] & (1 << BUILD_ID_TABLE) - 1).count('1'))
    end = at + size
    while at < end:
        name = string_at(at + 36)
        if name in inodes:
            data[at + 12:at + 32] = inodes[name]
        at += struct.unpack_from('<H', data, at + 6)[0]
open(sys.argv[2], 'wb').write(data)
END

write_program "$tmp/program.c"
gcc -static -DROUNDS=100 -Wl,--build-id=sha1 -o "$tmp/program" "$tmp/program.c" 2>/dev/null ||
	{ echo "Skip: cannot link statically"; exit 2; }
id=$(readelf -n "$tmp/program" | sed -n 's/.*Build ID: //p')
if ! perf record -q --no-buildid-mmap -e cpu-clock:u -F 1000 -o "$tmp/plain.data" \
	"$tmp/program" 2>"$tmp/log"; then
	echo "Skip: cannot record: $(tail -n 1 "$tmp/log")"
	exit 2
fi

# convert WANTED ACTION...: entries have the build ID of the program ("some" of them, or
# perhaps "any"), and no other
convert()
{
	local wanted=$1 found

	shift
	name=$*
	python3 "$tmp/edit.py" "$tmp/plain.data" "$tmp/lies.data" "$@"
	if ! perf inject --buildid-offset -i "$tmp/lies.data" -o "$tmp/perf.data" 2>"$tmp/log"; then
		fail "inject: $(tail -n 1 "$tmp/log")"
		return
	fi
	perf script -F ip,buildid -i "$tmp/perf.data" >"$tmp/out" 2>/dev/null || fail "script"
	found=$(grep -c "$id" "$tmp/out") || true
	[ "$wanted" = any ] || [ "$found" != 0 ] || fail "the build ID of the file is in no entry"
	! grep -v "$id" "$tmp/out" | grep '+0x' || fail "entries have a false build ID"
}

convert some flag
convert some flag major=254
convert some flag major=8
convert some flag major=0
# A device in the first byte alone would do as a size.
convert some flag ask major=254
convert some flag ask major=259
convert some flag ask major=0
convert any flag ask major=8 generation=77
# A perf that doesn't know better has written the table.
convert some flag table
convert some flag major=8 table

# What perf inject writes where no event asks for build IDs is none of these.
name=mmap2-buildid-all
perf inject --mmap2-buildid-all -i "$tmp/plain.data" -o "$tmp/with.data" 2>"$tmp/log" ||
	fail "inject: $(tail -n 1 "$tmp/log")"
cp "$tmp/program" "$tmp/new"
mv "$tmp/new" "$tmp/program"
perf inject --buildid-offset -i "$tmp/with.data" -o "$tmp/perf.data" 2>"$tmp/log" ||
	fail "inject: $(tail -n 1 "$tmp/log")"
perf script -F ip,buildid -i "$tmp/perf.data" 2>/dev/null | grep -q "$id" ||
	fail "a build ID that perf inject has added is lost"

exit $err
