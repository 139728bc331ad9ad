#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# perf sched, kmem, lock, timechart and trace read deferred callchains (exclusive)

# shellcheck disable=SC2317 # called by name
# A user callchain comes when its thread returns to user space, as late as that may be. These
# tools compute with the times of samples, which must be in order nevertheless.

set -e

err=0
tmp=$(mktemp -d /tmp/perf.deferred_tools.XXXXXX)
# shellcheck source=lib/scratch.sh
. "$(dirname "$0")"/lib/scratch.sh

fail()
{
	echo "deferred tools [Failed: $*]"
	err=1
}

# Tasks that sleep for longer than others need for many switches.
workload='for i in 1 2 3; do sleep 0.3 & (: | cat >/dev/null); done; wait'
done_one=

# perf timechart record has no --call-graph.
printf '[call-graph]\n\trecord-mode = fp,defer\n' >"$PERF_CONFIG"

# record TOOL OPTION...: with deferred callchains, or return 1
record()
{
	rm -f "$tmp/data"
	perf "$@" -g -o "$tmp/data" -- bash -c "$workload" >"$tmp/log" 2>&1 </dev/null || return 1
	perf evlist -v -i "$tmp/data" 2>/dev/null | grep -q 'defer_callchain: 1'
}

in_order()
{
	perf script -i "$1" -F time 2>/dev/null | grep -E '^ *[0-9]+\.[0-9]+:' |
		tr -d ' :' >"$tmp/times" || true
	if ! [ -s "$tmp/times" ]; then
		fail "$2: no samples"
	elif ! sort -c -n "$tmp/times" 2>"$tmp/log"; then
		fail "$2: samples are not in time order: $(cat "$tmp/log")"
	fi
}

# check TOOL ARGUMENT...: it reads what was recorded, and finds nothing odd
check()
{
	if ! perf "$@" >"$tmp/out" 2>&1 </dev/null; then
		fail "perf $*: $(tail -n 3 "$tmp/out")"
	elif grep -E 'delta: -|18446744|out of order|[^0-9a-z]-[0-9]+\.[0-9]+ ms' "$tmp/out" \
			>"$tmp/odd"; then
		fail "perf $*: $(head -n 3 "$tmp/odd")"
	fi
}

test_sched()
{
	record sched record || return 0
	in_order "$tmp/data" sched
	check sched latency -i "$tmp/data"
	check sched timehist -i "$tmp/data"
	check sched map -i "$tmp/data"
	done_one=1
}

test_kmem()
{
	record kmem record || return 0
	in_order "$tmp/data" kmem
	check kmem -i "$tmp/data" stat --caller
	done_one=1
}

test_lock()
{
	record lock record || return 0
	in_order "$tmp/data" lock
	check lock contention -i "$tmp/data"
	done_one=1
}

test_timechart()
{
	record timechart record || return 0
	in_order "$tmp/data" timechart
	check timechart -i "$tmp/data" -o "$tmp/chart.svg"
	done_one=1
}

test_trace()
{
	record trace record || return 0
	in_order "$tmp/data" trace
	check trace -i "$tmp/data"
	done_one=1
}

for tool in sched kmem lock timechart trace; do
	"test_$tool"
done
if ! [ "$done_one" ]; then
	echo "Skip: no deferred callchains, or no tracepoints"
	exit 2
fi
exit $err
