#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# files of one name keep their build IDs and symbols

set -e

err=0
tmp=$(mktemp -d /tmp/perf.same_name_files.XXXXXX)
# shellcheck source=lib/scratch.sh
. "$(dirname "$0")"/lib/scratch.sh

fail()
{
	echo "$test [Failed: $*]"
	err=1
}

need gcc strip
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

# Maps code of two files of one name, the first with a build ID, and is in the second's.
cat >generator.c <<-'END'
	#define _GNU_SOURCE
	#include <fcntl.h>
	#include <string.h>
	#include <sys/mman.h>
	#include <unistd.h>

	static void *map(const void *data, size_t size)
	{
		int fd = memfd_create("generated", 0);

		if (fd < 0 || write(fd, data, size) != (ssize_t)size)
			_exit(1);
		return mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	}

	int main(int argc, char **argv)
	{
		/* mov $1000000,%ecx; 1: dec %ecx; jnz 1b; ret */
		static const unsigned char code[4096] = "\xb9\x40\x42\x0f\0\xff\xc9\x75\xfc\xc3";
		static char elf[65536];
		int fd = open(argv[1], O_RDONLY);
		void (*hot)(void);

		map(elf, read(fd, elf, sizeof(elf)));
		hot = (void (*)(void))map(code, sizeof(code));
		for (int i = 0; i < 200 && hot != MAP_FAILED; i++)
			hot();
		return 0;
	}
END

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

test_memfds()
{
	test="memfds of one name"
	if [ "$(uname -m)" != x86_64 ]; then
		echo "$test [Skip: x86_64 code]"
		return
	fi
	gcc generator.c -o generator
	build program first
	record ./generator program
	convert
	[ "$(nr_with "$(id_of program)")" = 0 ] ||
		fail "generated code has the build ID of another file"
}

test_replaced()
{
	test="a file replaced by one without a build ID"
	build program first
	strip -R .note.gnu.build-id -o next program
	printf 'int main(void) { return 0; }\n' | gcc -xc -o empty -
	record sh -c 'cp empty moving; ./moving; rm moving; cp next moving; ./moving'
	convert
	# The first may have been met when it started.
	[ "$(nr_with "$(id_of empty)")" -lt 5 ] || fail "code has the build ID of another file"
}

test_one_path()
{
	local mode=$1

	test="two files at one path, $mode"
	build program first
	build next second -O2
	record sh -c 'cp program moving; ./moving; rm moving; cp next moving; ./moving'
	perf buildid-cache -a program,next 2>log || fail "buildid-cache: $(tail -n 1 log)"
	convert --drop-mmaps
	case $mode in
	file)	report -i converted.data -s dso,sym >out ;;
	stream)	perf inject -i converted.data -o - 2>log | report -i - -s dso,sym >out ;;
	esac
	grep -q 'moving .* first$' out || fail "the first: $(head -n 2 out)"
	grep -q 'moving .* second$' out || fail "the second: $(head -n 2 out)"
	! grep -q 'build-id:' out || fail "a name is lost: $(grep build-id: out)"
}

# The same stream, but with the name of "program" after half of the samples. Two ends of a
# round make perf deliver them before it.
move_name()
{
	python3 - "$1" <<-'END'
		import struct, sys
		data = open(sys.argv[1], 'rb').read()
		records, at = [], 16
		while at < len(data):
		    kind, misc, size = struct.unpack_from('=IHH', data, at)
		    records.append((kind, data[at:at + size]))
		    at += size
		rows = [r for r in records if r[0] == 67 and b'/program' in r[1]]
		rest = [r for r in records if r not in rows]
		samples = [i for i, r in enumerate(rest) if r[0] == 9]
		half = samples[len(samples) // 2]
		end = struct.pack('=IHH', 68, 0, 8)
		out = [r[1] for r in rest[:half]] + [end, end] + [r[1] for r in rows]
		out += [r[1] for r in rest[half:]]
		sys.stdout.buffer.write(data[:16] + b''.join(out))
	END
}

test_late_name()
{
	test="a name that comes in the middle"
	if ! command -v python3 >/dev/null; then
		echo "$test [Skip: there is no python3]"
		return
	fi
	build program first
	record ./program
	perf buildid-cache -a program 2>log || fail "buildid-cache: $(tail -n 1 log)"
	convert --drop-mmaps
	perf inject -i converted.data -o - 2>log >stream
	move_name stream >late
	for keys in dso,sym comm,dso,sym; do
		report -i late -s $keys >out
		[ "$(grep -c ' first$' out)" = 1 ] || fail "$keys: $(grep ' first$' out)"
		grep -q 'program .* first$' out || fail "$keys: $(grep ' first$' out)"
	done
}

test_diff()
{
	test="perf diff"
	build program first
	record ./program
	convert --drop-mmaps
	perf diff plain.data converted.data >out 2>log || fail "$(tail -n 1 log)"
	grep -q '+0.00% *program .* first$' out || fail "$(grep first out)"
	! grep -q 'build-id:' out || fail "a name is not found: $(grep build-id: out)"
}

test_memfds
test_replaced
test_one_path file
test_one_path stream
test_late_name
test_diff
[ "$err" -ne 0 ] || echo "files of one name [Done]"
exit "$err"
