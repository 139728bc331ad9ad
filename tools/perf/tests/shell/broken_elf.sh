#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# perf report reads broken ELF files

set -e

shelldir=$(dirname "$0")
# shellcheck source=lib/setup_python.sh
. "${shelldir}"/lib/setup_python.sh

err=0
tmp=$(mktemp -d /tmp/perf.broken_elf.XXXXXX)
# shellcheck source=lib/scratch.sh
. "${shelldir}"/lib/scratch.sh

fail()
{
	echo "broken_elf [Failed: $*]"
	err=1
}

need gcc
mkdir "$tmp/bin"
write_program "$tmp/program.c"
# A function of another file, whose address is taken: .plt.got
cat >>"$tmp/program.c" <<'END'
#include <unistd.h>
pid_t (*pointer)(void) = getppid;
pid_t function(void)
{
	return getppid() + pointer() + getuid();
}
END
gcc -g -O1 -DROUNDS=300 -fno-omit-frame-pointer -Wl,--build-id -o "$tmp/bin/program" \
	"$tmp/program.c"
perf record -q -N -e cpu-clock:u -F 2000 -g -o "$tmp/perf.data" "$tmp/bin/program"
mv "$tmp/bin/program" "$tmp/good"

# break HOW FILE: in a copy of the good one
cat >"$tmp/break.py" <<'END'
import struct, sys

how, good, to = sys.argv[1:]
d = bytearray(open(good, 'rb').read())
if d[4] != 2:
    sys.exit(2)
order = '<' if d[5] == 1 else '>'
shoff, = struct.unpack_from(order + 'Q', d, 40)
shnum, strndx = struct.unpack_from(order + '2H', d, 60)
TYPE, ADDR, OFFSET, SIZE, LINK, ENTSIZE = 4, 16, 24, 32, 40, 56

def header(i):
    return shoff + 64 * i

def get(i, field):
    width = 'I' if field in (TYPE, LINK) else 'Q'
    return struct.unpack_from(order + width, d, header(i) + field)[0]

def put(i, field, value):
    struct.pack_into(order + ('I' if field in (TYPE, LINK) else 'Q'), d, header(i) + field, value)

names = get(strndx, OFFSET)
index = {}
for i in range(shnum):
    at = names + struct.unpack_from(order + 'I', d, header(i))[0]
    index[bytes(d[at:d.index(0, at)]).decode()] = i

what, name = how.split(':')
if name not in index:
    sys.exit(2)
i = index[name]
NOBITS = 8
if what == 'entsize-0':
    put(i, ENTSIZE, 0)
elif what == 'entsize-8':
    put(i, ENTSIZE, 8)
elif what == 'size':
    put(i, SIZE, 1 << 60)
elif what == 'nobits':
    put(i, TYPE, NOBITS)
elif what == 'unterminated':
    at = get(i, OFFSET) + get(i, SIZE)
    d[at - 64:at] = b'x' * 64
elif what == 'section-names':
    for k in range(1, shnum):
        if k != index['.note.gnu.build-id'] and k != i:
            struct.pack_into(order + 'I', d, header(k), 0xffffff00)
else:
    # One field of all symbols or relocations
    at, width, value = {'names': (0, 'I', 0xffffff00), 'sections': (6, 'H', 0xfe00),
                        'values': (8, 'Q', 0xfffffffffffffff0), 'sizes': (16, 'Q', 1 << 62),
                        'relocations': (8, 'Q', 0xffffffff00000007)}[what]
    for k in range(24, get(i, SIZE), 24):
        struct.pack_into(order + width, d, get(i, OFFSET) + k + at, value)
open(to, 'wb').write(d)
END

# perf_reads WHAT COMMAND...: it ends, and not by a signal
perf_reads()
{
	local status=0

	timeout 60 perf "${@:2}" -i "$tmp/perf.data" >"$tmp/out" 2>"$tmp/err" </dev/null ||
		status=$?
	[ "$status" -lt 124 ] || fail "$1: perf $2 ends with status $status"
}

for how in names:.symtab names:.dynsym sections:.symtab values:.symtab sizes:.symtab \
	entsize-0:.symtab entsize-0:.dynsym entsize-8:.symtab size:.symtab \
	nobits:.strtab nobits:.dynstr nobits:.shstrtab unterminated:.strtab unterminated:.dynstr \
	section-names:.symtab nobits:.note.gnu.build-id \
	entsize-0:.rela.plt entsize-0:.rela.dyn entsize-8:.rela.dyn relocations:.rela.plt \
	relocations:.rela.dyn nobits:.plt.got size:.plt.got entsize-8:.plt.got size:.plt.sec; do
	"$PYTHON" "$tmp/break.py" "$how" "$tmp/good" "$tmp/bin/program" || continue
	perf_reads "$how" report --stdio --no-children -g none --sort sym,srcline
	grep -q '%' "$tmp/out" || fail "$how: no report"
	case $how in
	*.plt* | *.rela* | *.dyn*)
		grep -q inner_function "$tmp/out" || fail "$how: the symbols are lost"
		;;
	sizes:*)
		perf_reads "$how" annotate --stdio -v
		;;
	esac
done
cp "$tmp/good" "$tmp/bin/program"
perf_reads good report --stdio --no-children -g none --sort sym
grep -q inner_function "$tmp/out" || fail "no symbol of the good file"
cleanup
exit $err
