#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# perf record --buildid-offset filters by address

set -e

tmp=$(mktemp -d /tmp/perf.record_bid_offset_filter.XXXXXX)
# shellcheck source=lib/scratch.sh
. "$(dirname "$0")"/lib/scratch.sh

need gcc

if ! perf record -q -B -N -e cpu-clock:u --filter 'ip > 0' -o "$tmp/perf.data" true \
	>"$tmp/log" 2>&1; then
	echo "Skip: no BPF filters here: $(tail -n 1 "$tmp/log")"
	exit 2
fi

# So that it works on any kernel: the event is opened without what old ones do not know. The
# samples are none that perf could read, but it only has to get as far as to record them.
cat >"$tmp/open.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>

long syscall(long nr, ...)
{
	static unsigned long long copy[512];
	struct perf_event_attr *attr;
	long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	long args[6];
	va_list ap;

	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		args[i] = va_arg(ap, long);
	va_end(ap);

	attr = (void *)args[0];
	if (nr == SYS_perf_event_open && (attr->sample_type & 1 << 25)) {
		memcpy(copy, attr, attr->size);
		attr = (void *)copy;
		attr->sample_type &= ~(3 << 25);
		attr->sample_type |= PERF_SAMPLE_IP;
		copy[5] &= ~(3ULL << 38);	/* defer_callchain, defer_output */
		args[0] = (long)attr;
	}
	return next(nr, args[0], args[1], args[2], args[3], args[4], args[5]);
}
END
gcc -shared -fPIC -o "$tmp/open.so" "$tmp/open.c" -ldl

if LD_PRELOAD=$tmp/open.so perf record -B -N -e cpu-clock:u --buildid-offset --filter 'ip > 0' \
	-o "$tmp/perf.data" true >"$tmp/log" 2>&1; then
	echo "--buildid-offset with --filter 'ip ...' [Success]"
else
	echo "--buildid-offset with --filter 'ip ...' [Failed]"
	cat "$tmp/log"
	exit 1
fi
