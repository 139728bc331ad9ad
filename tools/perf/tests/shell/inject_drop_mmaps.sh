#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# perf inject --drop-mmaps keeps what has no build ID

set -e -o pipefail

tmp=$(mktemp -d /tmp/perf.inject_drop_mmaps.XXXXXX)
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
log=$tmp/log
err=0

fail()
{
	echo "FAIL: $*"
	err=1
}

stop_running()
{
	[ ! -s maps ] || xargs rm -f <maps
}

# Code in memory that is of no file, with its symbols in /tmp/perf-PID.map. A child runs it, too,
# at first if -c is given; -n: the parent does not at all.
cat >jit.c <<'END'
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Nothing in it depends on where it is. */
__attribute__((noinline, section("jit"))) void spin(void)
{
	volatile unsigned long sum = 0;

	for (unsigned long i = 0; i < 100000; i++)
		sum += i;
}
extern char __start_jit[], __stop_jit[];

static void burn(void (*fn)(void))
{
	clock_t end = clock() + CLOCKS_PER_SEC / 5;

	while (clock() < end)
		fn();
}

int main(int argc, char **argv)
{
	size_t size = __stop_jit - __start_jit;
	char name[64];
	void *code = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FILE *maps, *map;

	if (code == MAP_FAILED)
		return 77;
	memcpy(code, __start_jit, size);
	__builtin___clear_cache(code, code + size);
	snprintf(name, sizeof(name), "/tmp/perf-%d.map", getpid());
	maps = fopen("maps", "a");
	map = fopen(name, "w");
	if (!map || !maps)
		return 77;
	fprintf(maps, "%s\n", name);
	fprintf(map, "%lx %zx jitted_function\n", (unsigned long)code, size);
	fclose(map);
	fclose(maps);
	if (argc == 1)
		burn(code);
	if (!fork()) {
		burn(code);
		return 0;
	}
	wait(NULL);
	if (argc > 1 && !strcmp(argv[1], "-c"))
		burn(code);
	return 0;
}
END

# record FILE COMMAND...
record()
{
	local file=$1 status=0

	shift
	perf record -q -e cpu-clock:u -g -o "$file" "$@" 2>"$log" || status=$?
	if [ $status != 0 ]; then
		cat "$log"
		echo "Skip: perf record $* fails"
		exit 2
	fi
}

report()
{
	perf report -i "$1" --stdio -g none --sort comm,pid,dso,sym 2>"$log" | grep -v '^#'
}

# same_report NAME: of NAME and what --drop-mmaps makes of $2, or NAME
same_report()
{
	if ! perf inject --buildid-offset --drop-mmaps -i "${2-$1}" -o "$1.dropped" 2>said; then
		cat said
		fail "$1 is not converted"
	elif ! diff <(report "$1") <(report "$1.dropped"); then
		fail "the report of $1 is another"
	fi
}

# said NUMBER_OF WORDS
said()
{
	sed -n "s/.*[ ,]\([0-9]*\) $1.*/\1/p" said
}

no_build_id()
{
	write_program program.c
	cc -O1 -DROUNDS=200 -Wl,--build-id=none program.c -o program
	record none ./program
	same_report none
	report none.dropped | grep -q inner_function || fail "a program without a build ID has no symbols"
	[ "0$(said 'no build ID')" -gt 0 ] || fail "addresses without a build ID are not counted"
	# Nothing else is known of the mappings.
	perf script -i none.dropped --show-mmap-events >mmaps
	[ "$(grep -c 'MMAP.*[/[]' mmaps)" = "$(said 'mmap events kept')" ] ||
		fail "the number of kept mmap events is not true"
	grep 'MMAP' mmaps | grep -v -e program -e kernel &&
		fail "mmap events are kept that nothing needs"

	# What was an entry is counted, too, and converted no other than at first.
	local count
	count=$(said 'of [0-9]* entries still')
	perf inject --buildid-offset -i none -o none.converted
	same_report none ./none.converted
	[ "$(said 'of [0-9]* entries still')" = "$count" ] ||
		fail "addresses that are not resolved in the input are not counted"
}

jit()
{
	cc -O1 jit.c -o jitter
	for option in "" -c -n; do
		record "jit$option" ./jitter $option
		report "jit$option" | grep -q jitted_function || fail "there is no sample in the jitted function"
		same_report "jit$option"
	done
}

# The ID of a file is found in the second conversion only: the entry is resolved there.
resolved_later()
{
	cc -O1 -DROUNDS=100 -Wl,--build-id=sha1 program.c -o program
	record later --no-buildid-mmap -B ./program
	mv program hidden
	perf inject --buildid-offset -i later -o later.converted
	mv hidden program
	perf inject --buildid-offset -i later.converted -o later.again
	perf script -i later.again -F ip,sym,buildid >text
	if grep -w inner_function text | grep -v '+0x'; then
		fail "entries that can be resolved are not"
	fi
	grep -q '+0x' text || fail "no entry is resolved"
}

aux_data()
{
	local at

	record aux ./program
	# Of another record of perf's own, one that tells of AUX data
	at=$(perf script -D -i aux 2>/dev/null | sed -n 's/^\(0x[0-9a-f]*\).*: event: 73$/\1/p')
	printf F | dd of=aux bs=1 seek=$((at)) conv=notrunc status=none
	if perf inject --buildid-offset --drop-mmaps -i aux -o aux.dropped 2>"$log"; then
		fail "AUX data are taken, whose addresses need the mappings"
	fi
	grep -q 'AUX data.*--itrace' "$log" ||
		{ cat "$log"; fail "nothing tells what to do with AUX data"; }
}

off_cpu()
{
	if ! perf record -q --off-cpu -g -o off sleep 0.6 >"$log" 2>&1 ||
	   ! perf script -i off 2>/dev/null | grep -q offcpu-time; then
		echo "Skip: perf record --off-cpu does not work here"
		return
	fi
	if perf inject --buildid-offset --drop-mmaps -i off -o off.dropped 2>"$log"; then
		fail "samples of --off-cpu are taken, whose callchains need the mappings"
	fi
	grep -q 'off-cpu' "$log" || { cat "$log"; fail "nothing tells of --off-cpu"; }
}

no_build_id
jit
resolved_later
aux_data
off_cpu
exit $err
