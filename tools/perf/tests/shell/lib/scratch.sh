#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2154 # tmp: the test's
# For a test that has made a directory $tmp of its own: it goes at the end, and nothing of
# the user's settings and caches is seen.

export HOME=$tmp/home PERF_CONFIG=$tmp/config DEBUGINFOD_CACHE_PATH=$tmp/elfutils
unset XDG_CACHE_HOME DEBUGINFOD_TIMEOUT DEBUGINFOD_MAXTIME
# Not even servers that /etc/debuginfod names
export DEBUGINFOD_URLS=
mkdir "$HOME"
: >"$PERF_CONFIG"

# A test that has something running defines it anew.
stop_running()
{
	:
}

cleanup()
{
	trap - EXIT TERM INT
	stop_running
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'cleanup; exit 130' TERM INT

# need TOOL...: or the test is skipped
need()
{
	local tool

	for tool; do
		if ! command -v "$tool" >/dev/null; then
			echo "Skip: there is no $tool"
			exit 2
		fi
	done
}

# write_program FILE: in C, to be compiled with -DROUNDS=N. It is in inner_function() most of
# the time, in lines 5 and 6.
write_program()
{
	cat >"$1" <<-'END'
	static volatile unsigned long sink;

	__attribute__((noinline)) static void inner_function(void)
	{
		for (int i = 0; i < 1000000; i++)
			sink += i;
	}

	__attribute__((noinline)) static void outer_function(void)
	{
		inner_function();
		sink++;
	}

	int main(void)
	{
		for (int i = 0; i < ROUNDS; i++)
			outer_function();
		return 0;
	}
	END
}
