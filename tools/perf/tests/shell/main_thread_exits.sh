#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# threads go on after the main thread has exited

set -e

err=0
tmp=$(mktemp -d /tmp/perf.main_thread_exits.XXXXXX)
# shellcheck source=lib/scratch.sh
. "$(dirname "$0")"/lib/scratch.sh

fail()
{
	echo "[Failed: $*]"
	err=1
}

need gcc
# The last thread is made by another one when the main thread is gone.
cat >"$tmp/threads.c" <<'END'
#include <pthread.h>
#include <stdlib.h>

volatile unsigned long sink;

__attribute__((noinline)) void last_thread_function(void)
{
	for (unsigned long i = 0; i < 200000000; i++)
		sink += i;
}

static void *last(void *arg)
{
	last_thread_function();
	return arg;
}

static void *first(void *arg)
{
	pthread_t thread;

	pthread_join(*(pthread_t *)arg, NULL);
	pthread_create(&thread, NULL, last, NULL);
	pthread_join(thread, NULL);
	exit(0);
}

int main(void)
{
	static pthread_t self;
	pthread_t thread;

	self = pthread_self();
	pthread_create(&thread, NULL, first, &self);
	pthread_exit(NULL);
}
END
gcc -O1 -pthread -o "$tmp/threads" "$tmp/threads.c"
if ! perf record -q -e cpu-clock:u -F 1000 -o "$tmp/plain.data" "$tmp/threads" 2>"$tmp/log"; then
	echo "Skip: cannot record: $(tail -n 1 "$tmp/log")"
	exit 2
fi
perf inject --buildid-offset -i "$tmp/plain.data" -o "$tmp/converted.data" 2>"$tmp/log" ||
	fail "inject: $(tail -n 1 "$tmp/log")"
perf inject --buildid-offset --drop-mmaps -i "$tmp/plain.data" -o "$tmp/dropped.data" \
	2>"$tmp/log" || fail "inject --drop-mmaps: $(tail -n 1 "$tmp/log")"

samples=$(perf script -F tid -i "$tmp/plain.data" 2>"$tmp/log" | wc -l)
for file in plain converted dropped; do
	found=$(perf script -F ip,sym -i "$tmp/$file.data" 2>"$tmp/log" |
		grep -c ' last_thread_function') || true
	# The rest is the start of the program.
	[ $((found * 10)) -gt $((samples * 7)) ] ||
		fail "$found of $samples samples of $file.data are in the last thread's function"
	[ "$file" != plain ] || expected=$found
	[ "$found" = "$expected" ] || fail "$file.data has $found samples in it, not $expected"
done

exit $err
