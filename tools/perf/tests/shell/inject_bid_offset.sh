#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# perf inject --buildid-offset gives the same reports (exclusive)

# shellcheck disable=SC2317 # cases are called by name
# Profiles are converted, and must then be reported as before. What code was
# sampled is known here, so that both may not be wrong in the same way.

set -e
set -o pipefail

# Neither what the user has configured nor a server may change the outcome.
export LC_ALL=C
export PERF_CONFIG=/dev/null
export DEBUGINFOD_URLS=

usage=$(perf inject -h 2>&1) || true
if [ "${usage}" = "${usage/--buildid-offset/}" ]; then
	echo "perf inject has no --buildid-offset: skip"
	exit 2
fi
if ! [ -x "$(command -v cc)" ]; then
	echo "There is no compiler for the workloads: skip"
	exit 2
fi

dir=$(mktemp -d /tmp/perf-test-bid-offset.XXXXXXXXXX)
cache="${dir}/cache"
prog="${dir}/prog"
log="${dir}/log"
skip_code=77
err=0

cleanup() {
	trap - EXIT TERM INT
	if [[ "${dir}" =~ ^/tmp/perf-test-bid-offset\. ]]; then
		rm -rf "${dir}"
	fi
}

trap_cleanup() {
	echo "Unexpected end in ${FUNCNAME[1]}"
	cleanup
	exit 1
}
trap trap_cleanup EXIT TERM INT

#
# Workloads
#

# All they do is to spin in functions whose names and lines are set with -D.
cat > "${dir}/spin.c" <<'END'
#ifndef SECTION
#define SECTION
#endif
#ifdef PAD
__asm__(".text; .skip 256");
#endif
/* Nothing in it depends on where it is mapped. */
#line LINE FILE
__attribute__((noinline SECTION)) void FUNC(void)
{
	volatile unsigned long sum = 0;

	for (unsigned long i = 0; i < 50000; i++)
		sum += i;
}
END

cat > "${dir}/main.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef void spin_fn(void);
spin_fn spin_near, spin_far __attribute__((weak));
static volatile unsigned long calls;

static inline __attribute__((always_inline)) void call_inlined(spin_fn *fn)
{
	fn();
	calls++;
}

__attribute__((noinline)) void call_outer(spin_fn *fn)
{
	call_inlined(fn);
	calls++;
}

/* So much CPU time that many samples hit fn, however long it takes. */
static void burn(spin_fn *fn)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 25;

	while (clock() < end)
		call_outer(fn);
}

#ifndef STATIC
static spin_fn *load(const char *path, const char *name, int delete)
{
	char by_fd[64];
	void *lib, *fn;

	if (delete) {
		/* It is gone already when it is mapped. */
		snprintf(by_fd, sizeof(by_fd), "/proc/self/fd/%d", open(path, O_RDONLY));
		unlink(path);
		path = by_fd;
	}
	lib = dlopen(path, RTLD_NOW);
	fn = lib ? dlsym(lib, name) : NULL;
	if (!fn) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return fn;
}
#endif

/* Arguments: [-d(elete)] library function ... */
int main(int argc, char **argv)
{
	char *touched = malloc(1 << 20);

	/* For page-faults. */
	for (int i = 0; touched && i < 1 << 20; i += 1024)
		((volatile char *)touched)[i] = 1;

#ifndef STATIC
	while (argc > 2) {
		int delete = !strcmp(argv[1], "-d");

		burn(load(argv[1 + delete], argv[2 + delete], delete));
		argc -= 2 + delete;
		argv += 2 + delete;
	}
	if (argc != 1 || touched == argv[0])
		return 1;
#endif
	burn(spin_near);
	if (spin_far)
		burn(spin_far);
	return 0;
}
END

# Maps its own code twice more, in two ways, and runs it there too.
cat > "${dir}/twice.c" <<'END'
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef void spin_fn(void);
void spin_near(void);

static long file_offset(uintptr_t addr)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end, offset;
	char line[4096];

	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
		    addr >= start && addr < end)
			return addr - start + offset;
	}
	return -1;
}

static spin_fn *map_again(long offset, long from)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	char *map = mmap(NULL, offset - from + 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, from);

	return map == MAP_FAILED ? NULL : (spin_fn *)(map + offset - from);
}

static void burn(spin_fn *fn)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 25;

	while (fn && clock() < end)
		fn();
}

int main(void)
{
	long offset = file_offset((uintptr_t)spin_near);
	long page = sysconf(_SC_PAGESIZE);

	burn(spin_near);
	burn(map_again(offset, offset / page * page));
	burn(map_again(offset, 0));
	return 0;
}
END

# Moves the executable segments of a file 5 GiB up, and leaves a hole.
cat > "${dir}/move.c" <<'END'
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DISTANCE (5ULL << 30)

static void *get(int fd, size_t size, off_t at)
{
	void *buf = malloc(size);

	if (!buf || pread(fd, buf, size, at) != (ssize_t)size)
		exit(1);
	return buf;
}

static void put(int fd, const void *buf, size_t size, off_t at)
{
	if (pwrite(fd, buf, size, at) != (ssize_t)size)
		exit(1);
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR) : -1;
	ElfW(Ehdr) *ehdr = get(fd, sizeof(*ehdr), 0);
	size_t ph_size = ehdr->e_phnum * sizeof(ElfW(Phdr));
	size_t sh_size = ehdr->e_shnum * sizeof(ElfW(Shdr));
	ElfW(Phdr) *phdrs = get(fd, ph_size, ehdr->e_phoff);
	ElfW(Shdr) *shdrs = get(fd, sh_size, ehdr->e_shoff);

	if (sizeof(void *) < 8 || sizeof(off_t) < 8)
		return 1;

	for (int i = 0; i < ehdr->e_phnum; i++) {
		ElfW(Off) start = phdrs[i].p_offset, end = start + phdrs[i].p_filesz;

		if (phdrs[i].p_type != PT_LOAD || !(phdrs[i].p_flags & PF_X))
			continue;
		if (start == 0)
			return 1;
		put(fd, get(fd, end - start, start), end - start, start + DISTANCE);
		phdrs[i].p_offset += DISTANCE;
		for (int j = 0; j < ehdr->e_shnum; j++) {
			if ((shdrs[j].sh_flags & SHF_EXECINSTR) &&
			    shdrs[j].sh_offset >= start && shdrs[j].sh_offset < end)
				shdrs[j].sh_offset += DISTANCE;
		}
		/* Nobody shall find the code where it was. */
		put(fd, calloc(1, end - start), end - start, start);
	}
	put(fd, phdrs, ph_size, ehdr->e_phoff);
	put(fd, shdrs, sh_size, ehdr->e_shoff);
	return 0;
}
END

cflags=(-g -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -I "${dir}")

# What a function has for its first line.
line_of() {
	case $1 in
	spin_near)	echo 1000 ;;
	spin_far)	echo 2000 ;;
	spin_one)	echo 3000 ;;
	spin_two)	echo 4000 ;;
	spin_old)	echo 5000 ;;
	spin_new)	echo 6000 ;;
	esac
}

# compile_spin OUTPUT FUNCTION [CFLAGS...]
compile_spin() {
	local out=$1 func=$2
	shift 2
	cc "${cflags[@]}" -fPIC -DFUNC="${func}" -DLINE="$(line_of "${func}")" \
		-DFILE="\"${func}.c\"" "$@" "${dir}/spin.c" -o "${out}"
}

# build_prog OUTPUT [CFLAGS...]: a program that spins in spin_near
build_prog() {
	local out=$1
	shift
	compile_spin "${out}.near.o" spin_near -c
	cc "${cflags[@]}" "${dir}/main.c" "${out}.near.o" -o "${out}" -ldl -Wl,--build-id=sha1 "$@"
}

# build_far_prog OUTPUT [CFLAGS...]: one that also spins in spin_far, elsewhere
build_far_prog() {
	local out=$1
	shift
	compile_spin "${out}.far.o" spin_far -c '-DSECTION=,section("far_text")'
	build_prog "${out}" "${out}.far.o" -Wl,--section-start=far_text=0x4000000 "$@"
}

# build_lib OUTPUT FUNCTION [CFLAGS...]
build_lib() {
	local out=$1 func=$2
	shift 2
	compile_spin "${out}" "${func}" -shared -Wl,--build-id=sha1 "$@"
}

build_id_of() {
	readelf -n "$1" 2> /dev/null | awk '/Build ID:/ { print $NF }'
}

skip() {
	echo "skip: $*"
	exit "${skip_code}"
}

fail() {
	echo "$*"
	exit 1
}

has_feature() {
	perf version --build-options | grep -E " $1: \[ on +\]" > /dev/null
}

# For a linker that does not know an option.
build_or_skip() {
	"$@" || skip "cannot be built here"
	chmod 755 "${2}"
}

#
# Record, convert, compare
#

perf_cached() {
	perf --buildid-dir "${cache}" "$@"
}

# record OUTPUT [OPTIONS...] -- COMMAND...
#
# With -N, the cache has what a case puts there, and no copy of kallsyms.
record() {
	local out=$1
	shift
	perf_cached record -q -N -c 400000 -o "${out}" "$@"
}

# The default for cases that are not about events.
user_event=(-e cpu-clock:u)

convert() {
	local in=$1 out=$2
	shift 2
	perf_cached inject --buildid-offset -i "${in}" -o "${out}" "$@"
	[ -s "${out}" ] || fail "nothing converted"
	is_converted "${out}"
}

# show FILE COMMAND...: as perf prints it, without the headings
show() {
	local file=$1 command=$2
	shift 2
	if [ "${file}" = "${file%.pipe}" ]; then
		perf_cached "${command}" -i "${file}" "$@"
	else
		perf_cached "${command}" -i - "$@" < "${file}"
	fi 2> "${dir}/stderr" | sed -e '/^#/d'
}

# same_output ORIGINAL CONVERTED COMMAND...
same_output() {
	local from=$1 to=$2
	shift 2
	show "${from}" "$@" > "${dir}/from.txt"
	show "${to}" "$@" > "${dir}/to.txt"
	[ -s "${dir}/from.txt" ] || fail "perf $* prints nothing: $(cat "${dir}/stderr")"
	if ! diff -u "${dir}/from.txt" "${dir}/to.txt" > "${dir}/diff.txt"; then
		head -n 40 "${dir}/diff.txt"
		fail "perf $* differs"
	fi
}

# frames FILE: symbol and file of each frame in a file. For its address an offset may be
# printed, or that of another mapping.
frames() {
	show "$1" script -F "${fields},ip,sym,symoff,dso" | grep -F " (/" |
		sed -E 's/[[:space:]]+[0-9a-f]+ ([^ ]+ \()/ \1/'
}

# same_frames ORIGINAL CONVERTED
same_frames() {
	frames "$1" > "${dir}/from.txt"
	frames "$2" > "${dir}/to.txt"
	grep -q "+0x" "${dir}/from.txt" || fail "perf script prints no symbols: $(cat "${dir}/stderr")"
	if ! diff -u "${dir}/from.txt" "${dir}/to.txt" > "${dir}/diff.txt"; then
		head -n 40 "${dir}/diff.txt"
		fail "perf script has other symbols"
	fi
}

# What a sample has besides code. Not all have the time.
fields=comm,pid,tid,time,event,period

# All that there is, in few runs of perf, and without the debug information of libc.
same_samples() {
	same_output "$@" script --no-inline -F "${fields},ip,sym,symoff,dso"
	same_output "$@" report --stdio --no-inline --no-children --sort comm,dso,sym,srcline
}

same_reports() {
	same_samples "$@"
	same_output "$@" report --stdio
	same_output "$@" report --stdio -g none
	same_output "$@" report --stdio -g none --sort comm,dso,sym
	same_output "$@" report --stdio -g none --sort sym,srcline
}

# Sample types, as evlist names them, of the events in a file.
sample_types() {
	perf evlist -v -i "$1" | sed -ne 's/.*sample_type: \([A-Z_|]*\).*/|\1|/p'
}

is_converted() {
	local types
	types=$(sample_types "$1")
	[ -n "${types}" ] || fail "$1 has no sample types"
	if grep -q -v -F "|BUILD_ID_OFFSET|" <<< "${types}" ||
	   grep -q -F "|IP|" <<< "${types}"; then
		fail "not converted: ${types}"
	fi
}

# has_entry FILE BUILD_ID
has_entry() {
	perf report -D -i "$1" > "${dir}/dump.txt" 2> "${dir}/stderr" ||
		fail "perf report -D of ${1##*/}: $(cat "${dir}/stderr")"
	grep -q -F "$2+0x" "${dir}/dump.txt"
}

# needs_entry FILE BUILD_ID WHAT
needs_entry() {
	has_entry "$1" "$2" && return
	grep "build ID offset: " "${dir}/dump.txt" | sort | uniq -c | sort -rn | head
	fail "${1##*/} has no entry with $2: $3"
}

# spins_in FILE FUNCTION DSO: it, and nothing else, is what takes the time
#
# There is no more than one function in a DSO of these to spin in, or one gets
# its share at least. Every line must be one of the function's.
by_line=(report --stdio -g none --no-children --percent-limit 0 -t ';'
	 -F "sample,dso,sym,srcline")

spins_in() {
	show "$1" "${by_line[@]}" > "${dir}/to.txt"
	lines_right "$2" "$3"
}

lines_right() {
	local func=$1 dso=$2 first
	first=$(line_of "${func}")
	tr -d ' ' < "${dir}/to.txt" |
		awk -F ';' -v func_name="${func}" -v dso="${dso}" -v first="${first}" '
		# How much is of the kernel depends on the kernel.
		$3 ~ /^\[\.\]/ { all += $1 }
		$2 == dso && $3 == "[.]" func_name {
			split($4, at, ":")
			if (at[1] == func_name ".c" && at[2] >= first && at[2] <= first + 8)
				right += $1
			else
				wrong += $1
		}
		END {
			print func_name ": " right + 0 " right, " wrong + 0 " wrong of " all + 0
			exit !(right > all / 10 && !wrong)
		}' && return
	head -n 20 "${dir}/to.txt"
	fail "${dso} was not sampled in ${func} at its lines"
}

never_names() {
	local file=$1 func=$2
	if show "${file}" script -F comm,ip,sym,srcline | grep "${func}" | sort | uniq -c; then
		fail "${file##*/} names ${func}, which did not run"
	fi
}

# layout FUNCTION DSO -- COMMAND...: what all layouts of files have to pass
layout() {
	local func=$1 dso=$2
	shift 3
	record "${dir}/from" "${user_event[@]}" --call-graph fp -- "$@"
	perf_cached inject --buildid-offset -i "${dir}/from" -o "${dir}/to"
	same_layout "${func}" "${dso}"
	same_output "${dir}/from" "${dir}/to" script --no-inline -F "${fields},ip,sym,symoff,dso"
}

# same_layout FUNCTION DSO: of what was recorded already
same_layout() {
	same_output "${dir}/from" "${dir}/to" "${by_line[@]}"
	lines_right "$@"
	same_output "${dir}/from" "${dir}/to" annotate --stdio -l -s "$1"
	if ! grep -q "$1\.c:[1-9]" "${dir}/to.txt"; then
		head -n 20 "${dir}/to.txt"
		fail "perf annotate does not have the lines of $1"
	fi
}

#
# Cases: files and pipes
#

case_file_to_file() {
	record "${dir}/from" -e cpu-clock -g -- "${prog}"
	convert "${dir}/from" "${dir}/to"
	needs_entry "${dir}/to" "$(build_id_of "${prog}")" "no entry is resolved"
	same_reports "${dir}/from" "${dir}/to"
	same_output "${dir}/from" "${dir}/to" report --stdio --no-children -g caller
	same_output "${dir}/from" "${dir}/to" report --stdio --children -g callee,0.5,address
	same_output "${dir}/from" "${dir}/to" script -F comm,tid,time,event,ip,sym,symoff,dso
	same_output "${dir}/from" "${dir}/to" script -F ip,sym,srcline
	same_layout spin_near prog

	# Each frame in it, and no other, is said to be in the file.
	show "${dir}/to" script -F ip,sym,dso,buildid > "${dir}/to.txt"
	grep -F "(${prog})" "${dir}/to.txt" > "${dir}/in_prog.txt" || fail "no frame in the program"
	! grep -v -E "\(${prog}\) $(build_id_of "${prog}")\+0x[0-9a-f]+$" "${dir}/in_prog.txt" ||
		fail "perf script -F buildid does not have the build ID and offset"
}

case_file_to_pipe() {
	record "${dir}/from" -e cpu-clock -g -- "${prog}"
	perf_cached inject --buildid-offset -i "${dir}/from" -o - > "${dir}/to.pipe"
	perf_cached inject -i "${dir}/from" -o - > "${dir}/from.pipe"
	same_reports "${dir}/from.pipe" "${dir}/to.pipe"
	spins_in "${dir}/to.pipe" spin_near prog
}

case_pipe_to_pipe() {
	record - -e cpu-clock -g -- "${prog}" > "${dir}/from.pipe"
	perf_cached inject --buildid-offset < "${dir}/from.pipe" > "${dir}/to.pipe"
	same_samples "${dir}/from.pipe" "${dir}/to.pipe"
	perf report --header-only -i - < "${dir}/to.pipe" > "${dir}/header"
	grep -q "sample_type = .*|BUILD_ID_OFFSET" "${dir}/header" ||
		fail "the header has the events as they were"
	spins_in "${dir}/to.pipe" spin_near prog
}

case_pipe_to_file() {
	record - -e cpu-clock -g -- "${prog}" > "${dir}/from.pipe"
	perf_cached inject -i - -o "${dir}/from" < "${dir}/from.pipe"
	perf_cached inject --buildid-offset -i - -o "${dir}/to" < "${dir}/from.pipe"
	is_converted "${dir}/to"
	same_samples "${dir}/from" "${dir}/to"
	spins_in "${dir}/to" spin_near prog
}

case_same_name() {
	record "${dir}/from" "${user_event[@]}" -- "${prog}"
	cp "${dir}/from" "${dir}/to"
	convert "${dir}/to" "${dir}/to"
	same_samples "${dir}/from" "${dir}/to"
}

case_twice_converted() {
	record "${dir}/from" "${user_event[@]}" -g -- "${prog}"
	convert "${dir}/from" "${dir}/to"
	convert "${dir}/to" "${dir}/again"
	is_converted "${dir}/again"
	same_samples "${dir}/to" "${dir}/again"
	same_output "${dir}/to" "${dir}/again" evlist -v
}

case_truncated() {
	local size
	record - "${user_event[@]}" -g -- "${prog}" > "${dir}/from.pipe"
	size=$(stat -c %s "${dir}/from.pipe")
	# In the first record's header, in the first record, in the last.
	for size in 19 29 $((size - 3)); do
		head -c "${size}" "${dir}/from.pipe" > "${dir}/cut.pipe"
		rm -f "${dir}/to"
		if perf inject --buildid-offset -i - -o "${dir}/to" \
				< "${dir}/cut.pipe" 2> "${dir}/stderr"; then
			fail "a pipe cut at ${size} was converted"
		fi
		cat "${dir}/stderr"
		grep -q -E "0x[0-9a-f]+|offset" "${dir}/stderr" ||
			fail "the error does not say where"
		[ -z "$(compgen -G "${dir}/to*")" ] || fail "output was left"
	done

	record "${dir}/from" "${user_event[@]}" -g -- "${prog}"
	size=$(stat -c %s "${dir}/from")
	head -c $((size / 2 + 3)) "${dir}/from" > "${dir}/cut"
	! perf inject --buildid-offset -i "${dir}/cut" -o "${dir}/to" ||
		fail "a truncated file was converted"
	[ -z "$(compgen -G "${dir}/to*")" ] || fail "output was left"
}

#
# Cases: kinds of profiles
#

case_several_events() {
	record "${dir}/from" -e cpu-clock,task-clock -e page-faults/period=1/ -g -- \
		sh -c "${prog}; ${prog}"
	convert "${dir}/from" "${dir}/to"
	same_samples "${dir}/from" "${dir}/to"
}

case_group() {
	record "${dir}/from" -e '{cpu-clock,task-clock}:S' -g -- "${prog}"
	convert "${dir}/from" "${dir}/to"
	same_samples "${dir}/from" "${dir}/to"
	same_output "${dir}/from" "${dir}/to" report --stdio -g none --group
	# With what was read of each event.
	local reads=(grep -e "sample_read" -e "\.\.\.\.\. id ")
	if [ "$(perf report -D -i "${dir}/from" | "${reads[@]}" | md5sum)" != \
	     "$(perf report -D -i "${dir}/to" | "${reads[@]}" | md5sum)" ]; then
		fail "values read differ"
	fi
}

case_no_callchain() {
	record "${dir}/from" -e cpu-clock -d --sample-cpu -- "${prog}"
	convert "${dir}/from" "${dir}/to"
	same_samples "${dir}/from" "${dir}/to"
	same_output "${dir}/from" "${dir}/to" script -F comm,tid,time,event,ip,sym,symoff,dso
	same_output "${dir}/from" "${dir}/to" script -F comm,pid,tid,time,cpu,event,period,addr
}

case_dwarf() {
	has_feature dwarf-unwind ||
		skip "perf cannot unwind"
	record "${dir}/from" "${user_event[@]}" --call-graph dwarf,1024 -- "${prog}"
	convert "${dir}/from" "${dir}/to"
	same_samples "${dir}/from" "${dir}/to"
	show "${dir}/to" script | grep call_outer > /dev/null || fail "callchains are not unwound"
}

# Samples of 64 KiB: the entries must find room.
case_largest_stack_dump() {
	has_feature dwarf-unwind ||
		skip "perf cannot unwind"
	record "${dir}/from" "${user_event[@]}" -c 4000000 --call-graph dwarf,65528 -- "${prog}"
	perf_cached inject --buildid-offset -i "${dir}/from" -o "${dir}/to" 2> "${dir}/stderr"
	grep -q "stack dumps shortened" "${dir}/stderr" || fail "nobody is told that data were cut"
	is_converted "${dir}/to"
	same_samples "${dir}/from" "${dir}/to"
	show "${dir}/to" script | grep call_outer > /dev/null || fail "callchains are not unwound"
}

case_compressed() {
	has_feature zstd || skip "perf cannot compress"
	record "${dir}/from" -z -e cpu-clock -g -- "${prog}"
	convert "${dir}/from" "${dir}/to"
	same_samples "${dir}/from" "${dir}/to"
}

# What was a directory is a file then.
case_directory() {
	record "${dir}/from" --threads -e cpu-clock -g -- "${prog}"
	[ -d "${dir}/from" ] || fail "perf record --threads has not made a directory"
	convert "${dir}/from" "${dir}/to"
	same_samples "${dir}/from" "${dir}/to"
	perf_cached inject -i "${dir}/from" -o "${dir}/again"
	same_samples "${dir}/from" "${dir}/again"
}

case_per_thread() {
	fields=comm,pid,tid,event,period
	record "${dir}/from" --per-thread -e cpu-clock -g -- "${prog}"
	convert "${dir}/from" "${dir}/to"
	same_samples "${dir}/from" "${dir}/to"
}

case_build_id_table() {
	local id
	record "${dir}/from" --no-buildid-mmap "${user_event[@]}" -g -- "${prog}"
	id=$(build_id_of "${prog}")
	convert "${dir}/from" "${dir}/to"
	same_samples "${dir}/from" "${dir}/to"
	needs_entry "${dir}/to" "${id}" "the build-ID table was not used"

	# A pipe has no such table, its reader must be told otherwise.
	perf_cached inject --buildid-offset -i "${dir}/from" -o - > "${dir}/to.pipe"
	spins_in "${dir}/to.pipe" spin_near prog
}

case_build_id_of_file() {
	local id
	record "${dir}/from" --no-buildid-mmap --no-buildid "${user_event[@]}" -g -- "${prog}"
	id=$(build_id_of "${prog}")
	convert "${dir}/from" "${dir}/to"
	same_samples "${dir}/from" "${dir}/to"
	needs_entry "${dir}/to" "${id}" "the file was not asked for its build ID"
}

case_with_build_ids() {
	local option id
	record "${dir}/from" --no-buildid-mmap "${user_event[@]}" -g -- "${prog}"
	id=$(build_id_of "${prog}")
	for option in -b --buildid-all -B --mmap2-buildid-all; do
		echo "${option}"
		rm -f "${dir}/to"
		convert "${dir}/from" "${dir}/to" "${option}"
		same_samples "${dir}/from" "${dir}/to"
		spins_in "${dir}/to" spin_near prog
		needs_entry "${dir}/to" "${id}" "no entry is resolved"
	done
}

# The names of files come from the build-ID table, no mapping is left to be sought.
case_drop_mmaps() {
	# Addresses in the vdso stay, and nothing tells what they are then.
	local report=(report --stdio -g none --no-children --dsos "${prog##*/}")

	record "${dir}/from" "${user_event[@]}" -g -- "${prog}"
	convert "${dir}/from" "${dir}/to" --drop-mmaps
	if perf script -i "${dir}/to" --show-mmap-events | grep "PERF_RECORD_MMAP" |
	   grep -v -e "\[kernel" -e "\.ko" -e "^swapper"; then
		fail "mmap events are left"
	fi
	same_frames "${dir}/from" "${dir}/to"
	same_output "${dir}/from" "${dir}/to" "${report[@]}"
	perf_cached inject --buildid-offset --drop-mmaps -i "${dir}/from" > "${dir}/to.pipe"
	same_output "${dir}/from" "${dir}/to.pipe" "${report[@]}"

	perf record -q "${user_event[@]}" -d -o "${dir}/with-addr" -- "${prog}"
	if perf inject --buildid-offset --drop-mmaps -i "${dir}/with-addr" -o "${dir}/no" \
	   2> "${dir}/no.err"; then
		fail "memory addresses are not refused"
	fi
	grep -q "memory addresses" "${dir}/no.err" || fail "it is not said what is refused"
	[ ! -e "${dir}/no" ] || fail "there is an output"
}

case_refused() {
	local options
	record "${dir}/from" "${user_event[@]}" -g -- "${prog}"
	for options in --aslr --itrace --jit --sched-stat --convert-callchain \
			"--guest-data=${dir}/from,1,0" --vm-time-correlation; do
		echo "${options}"
		rm -f "${dir}/to"
		! perf inject --buildid-offset "${options}" -i "${dir}/from" -o "${dir}/to" \
			2> "${dir}/stderr" || fail "was not refused"
		cat "${dir}/stderr"
		grep -q -e "${options%%=*}" "${dir}/stderr" || fail "the error does not name it"
		grep -q -i -e "run 'perf inject" -e "use one of" "${dir}/stderr" ||
			fail "the error does not say what to do"
		[ -z "$(compgen -G "${dir}/to*")" ] || fail "output was left"
	done

	convert "${dir}/from" "${dir}/to"
	! perf inject --aslr -i "${dir}/to" -o "${dir}/again" 2> "${dir}/stderr" ||
		fail "--aslr of a converted file was not refused"
	cat "${dir}/stderr"
	[ -z "$(compgen -G "${dir}/again*")" ] || fail "output was left"
}

#
# Cases: files of all kinds
#

case_pie() {
	build_or_skip build_prog "${dir}/pie" -pie
	layout spin_near pie -- "${dir}/pie"
}

case_no_pie() {
	build_or_skip build_prog "${dir}/no_pie" -no-pie
	layout spin_near no_pie -- "${dir}/no_pie"
}

case_static() {
	build_or_skip build_prog "${dir}/static" -static -DSTATIC
	layout spin_near static -- "${dir}/static"
}

case_other_linker() {
	build_or_skip build_prog "${dir}/lld" -fuse-ld=lld
	layout spin_near lld -- "${dir}/lld"
}

# Addresses are not offsets, neither in a program nor in a library.
case_segment_moved() {
	build_or_skip build_prog "${dir}/moved" -no-pie -Wl,-Ttext-segment=0x40000000
	layout spin_near moved -- "${dir}/moved"
	build_or_skip build_lib "${dir}/libmoved.so" spin_one -Wl,-Ttext-segment=0x70000000
	layout spin_one libmoved.so -- "${prog}" "${dir}/libmoved.so" spin_one
}

# Several executable segments, each with a distance of its own.
several_segments() {
	layout spin_near "$1" -- "${dir}/$1"
	same_layout spin_far "$1"
}

case_several_segments() {
	build_or_skip build_far_prog "${dir}/far" -no-pie
	several_segments far
}

case_several_segments_pie() {
	build_or_skip build_far_prog "${dir}/far_pie" -pie
	several_segments far_pie
}

case_beyond_4g() {
	cc "${cflags[@]}" "${dir}/move.c" -o "${dir}/move"
	build_or_skip build_prog "${dir}/big" -Wl,-z,separate-code
	"${dir}/move" "${dir}/big" || skip "no file of this size here"
	"${dir}/big" || skip "it does not run"
	layout spin_near big -- "${dir}/big"
	needs_entry "${dir}/to" "$(build_id_of "${dir}/big")" "no entry is resolved"
	grep -q -F "$(build_id_of "${dir}/big")+0x14000" "${dir}/dump.txt" ||
		fail "no entry is beyond 4 GiB"
	rm -f "${dir}/big"
}

case_build_id_sizes() {
	local lib
	build_or_skip build_lib "${dir}/libsize8.so" spin_one -Wl,--build-id=0x1122334455667788
	build_or_skip build_lib "${dir}/libsize16.so" spin_two -Wl,--build-id=md5
	build_or_skip build_lib "${dir}/libsize20.so" spin_old -Wl,--build-id=sha1
	layout spin_one libsize8.so -- "${prog}" "${dir}/libsize8.so" spin_one \
		"${dir}/libsize16.so" spin_two "${dir}/libsize20.so" spin_old
	same_layout spin_two libsize16.so
	same_layout spin_old libsize20.so
	for lib in "${dir}"/libsize*.so; do
		needs_entry "${dir}/to" "$(build_id_of "${lib}")" "that is the ID of ${lib##*/}"
	done
}

case_no_build_id() {
	build_or_skip build_lib "${dir}/libnone.so" spin_one -Wl,--build-id=none
	layout spin_one libnone.so -- "${prog}" "${dir}/libnone.so" spin_one
}

case_libraries_of_one_name() {
	mkdir -p "${dir}/one" "${dir}/two"
	build_or_skip build_lib "${dir}/one/libname.so" spin_one
	build_or_skip build_lib "${dir}/two/libname.so" spin_two -DPAD
	layout spin_one libname.so -- "${prog}" "${dir}/one/libname.so" spin_one \
		"${dir}/two/libname.so" spin_two
	same_layout spin_two libname.so
	needs_entry "${dir}/to" "$(build_id_of "${dir}/one/libname.so")" "one is missing"
	needs_entry "${dir}/to" "$(build_id_of "${dir}/two/libname.so")" "two is missing"
}

same_symbols() {
	same_output "$@" report --stdio -g none --sort comm,dso,sym,srcline
	same_frames "$@"
}

# An entry does not tell one mapping of the file from another, so addresses differ.
case_mapped_twice() {
	compile_spin "${dir}/twice.o" spin_near -c
	cc "${cflags[@]}" "${dir}/twice.c" "${dir}/twice.o" -o "${dir}/twice" -Wl,--build-id=sha1
	record "${dir}/from" "${user_event[@]}" -- "${dir}/twice"
	convert "${dir}/from" "${dir}/to"
	same_symbols "${dir}/from" "${dir}/to"
	spins_in "${dir}/to" spin_near twice
}

case_deleted() {
	build_or_skip build_lib "${dir}/libgone.so" spin_one
	cp "${dir}/libgone.so" "${dir}/libgone.copy"
	record "${dir}/from" "${user_event[@]}" -- "${prog}" -d "${dir}/libgone.so" spin_one
	convert "${dir}/from" "${dir}/to"
	needs_entry "${dir}/to" "$(build_id_of "${dir}/libgone.copy")" "no entry is resolved"
	same_samples "${dir}/from" "${dir}/to"
}

# Only the cache has the files, under their build IDs.
case_only_in_cache() {
	mkdir -p "${dir}/was"
	build_or_skip build_prog "${dir}/was/moved_away"
	build_or_skip build_lib "${dir}/was/libaway.so" spin_one
	record "${dir}/from" "${user_event[@]}" -g -- "${dir}/was/moved_away" \
		"${dir}/was/libaway.so" spin_one
	perf_cached buildid-cache --add "${dir}/was/moved_away,${dir}/was/libaway.so"
	mv "${dir}/was" "${dir}/away"
	convert "${dir}/from" "${dir}/to"
	same_layout spin_near moved_away
	same_layout spin_one libaway.so
	same_reports "${dir}/from" "${dir}/to"
}

# replaced_lib HOW [OPTIONS...]: recorded with them, and then another has its name
replaced_lib() {
	local how=$1
	shift
	build_or_skip build_lib "${dir}/libreplaced.so" spin_old
	build_or_skip build_lib "${dir}/libnew.so" spin_new
	cp "${dir}/libreplaced.so" "${dir}/libold.so"
	record "${dir}/from" "${user_event[@]}" "$@" -- "${prog}" "${dir}/libreplaced.so" spin_old
	"${how}" "${dir}/libnew.so" "${dir}/libreplaced.so"
	convert "${dir}/from" "${dir}/to"
	! has_entry "${dir}/to" "$(build_id_of "${dir}/libreplaced.so")" ||
		fail "an entry has the ID of the new library"
	same_samples "${dir}/from" "${dir}/to"
}

case_replaced() {
	replaced_lib mv
	never_names "${dir}/to" spin_new
	never_names "${dir}/from" spin_new
	needs_entry "${dir}/to" "$(build_id_of "${dir}/libold.so")" \
		"no entry has the ID of the old library"
	perf_cached buildid-cache --add "${dir}/libold.so"
	same_layout spin_old libreplaced.so
}

# Without a build ID the readers go by the path, as ever. The entries must not.
case_replaced_no_build_id() {
	replaced_lib mv --no-buildid-mmap --no-buildid
}

# As a linker does it. The inode may get the number that the last one had.
delete_and_copy() {
	rm -f "$2"
	cp "$1" "$2"
}

case_rebuilt_no_build_id() {
	replaced_lib delete_and_copy --no-buildid-mmap --no-buildid
}

check() {
	local code
	# Nothing that a case leaves behind shall help the next.
	rm -rf "${cache}" "${dir}"/from* "${dir}"/to* "${dir}"/again* "${dir}"/cut*
	set +e
	(
		trap - EXIT TERM INT
		set -e
		"case_$1"
	) > "${log}" 2>&1
	code=$?
	set -e
	case ${code} in
	0)
		echo "$1: ok"
		;;
	"${skip_code}")
		echo "$1: $(grep "^skip: " "${log}")"
		;;
	*)
		echo "$1: FAILED"
		sed -e 's/^/    /' "${log}"
		err=1
		;;
	esac
}

build_prog "${prog}"
if ! "${prog}" || ! perf record -q -e cpu-clock:u -o "${dir}/try" -- "${prog}"; then
	echo "Workloads cannot be recorded here: skip"
	cleanup
	exit 2
fi

if [ $# -gt 0 ] && [ "$1" != -v ]; then
	cases=$*
else
	cases=$(sed -ne 's/^case_\([a-z0-9_]*\)().*/\1/p' "$0")
fi
for name in ${cases}; do
	check "${name}"
done

cleanup
exit ${err}
