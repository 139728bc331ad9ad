#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# perf report counts inlined functions

set -e

err=0
tmp=$(mktemp -d /tmp/perf.report_inlines.XXXXXX)
# shellcheck source=lib/scratch.sh
. "$(dirname "$0")"/lib/scratch.sh

need gcc timeout

# outer_1() to outer_12() call each other, with no gap between them, and each has step() inlined.
# The last of them calls itself in one line.
{
	cat <<-'END'
	static volatile unsigned long sink;
	static inline __attribute__((always_inline)) void step(int n)
	{
		for (int i = 0; i < n; i++)
			sink += i;
	}
	__attribute__((noinline, aligned(1))) void recurse(int n)
	{
		for (int i = 0; i < 20000; i++) { sink += i; if (i == 9999 && n) recurse(n - 1); }
		sink++;
	}
	END
	called="recurse(3)"
	for i in 12 11 10 9 8 7 6 5 4 3 2 1; do
		echo "__attribute__((noinline, aligned(1))) void outer_$i(void)"
		echo "{ step($((20000 + 100 * i))); $called; sink++; }"
		called="outer_$i()"
	done
	echo "int main(void) { for (int i = 0; i < 500; i++) outer_1(); return 0; }"
} >"$tmp/program.c"
gcc -g -O1 -falign-functions=1 -fno-omit-frame-pointer -fno-optimize-sibling-calls \
	-o "$tmp/program" "$tmp/program.c"

# Twice, so that each function is in two processes
if ! perf record -q -N -e '{cpu-clock:u,task-clock:u}' -F 1000 -g -o "$tmp/perf.data" \
	sh -c "$tmp/program; $tmp/program" 2>"$tmp/log"; then
	echo "Skip: cannot record: $(tail -n 1 "$tmp/log")"
	exit 2
fi

# Children, self, and symbol: a line for each entry
report()
{
	timeout 60 perf report -q --stdio -g none --comm program -i "$tmp/perf.data" "$@" \
		>"$tmp/out" 2>"$tmp/log"
}

result()
{
	if [ "$status" = 0 ]; then
		echo "$1 [Success]"
	else
		echo "$1 [Failed]"
		head -n 40 "$tmp/out"
		err=1
	fi
}

# A function is one entry, and each of the inlined ones is under its own name.
test_entries()
{
	status=0
	report --no-group -s sym || status=1
	awk '/\[\.\] (outer_|recurse|main)/ { seen[$4]++ }
		/\[\.\] step \(inlined\)/ { steps++ }
		END {
			for (s in seen)
				if (seen[s] != 2)	# events
					exit 1
			exit length(seen) != 14 || steps != 24
		}' "$tmp/out" || status=1
	result "One entry for each function and inlined function"
}

test_group()
{
	status=0
	report -s sym || status=1
	[ "$(grep -c 'outer_' "$tmp/out")" = 12 ] || status=1
	result "Inlined functions of a group of events"
}

# No sample is counted twice in one line, and each of the recursive function is in its loop.
test_srcline()
{
	status=0
	report --no-group -s sym,srcline || status=1
	awk '/ recurse *program.c:9( |$)/ { seen++; if ($1 != $2) bad = 1 }
		/ outer_1 / { sum += $1 }
		END { exit bad || seen != 2 || sum > 2 * 101 }' "$tmp/out" || status=1
	result "Children by source line"
}

test_entries
test_group
test_srcline
exit $err
