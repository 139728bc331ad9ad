#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2034,SC2154 # tmp and test are the test's, which ends with err
# For a test that records programs of its own and converts the profile. To be read after
# scratch.sh; the test's directory is the current one then.

fail()
{
	echo "$test [Failed: $*]"
	err=1
}

printf '[buildid]\n\tdir = %s\n' "$tmp/buildids" >"$PERF_CONFIG"
cd "$tmp" || exit 1
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
