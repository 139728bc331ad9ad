#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# core.dso-memory-limit drops what can be read again

set -e

err=0
tmp=$(mktemp -d /tmp/perf.dso_memory.XXXXXX)
# shellcheck source=lib/scratch.sh
. "$(dirname "$0")"/lib/scratch.sh

fail()
{
	echo "dso memory [Failed: $*]"
	err=1
}

need gcc

# Two libraries, so that there is one to drop while the other is used.
for name in one two; do
	cat >"$tmp/$name.c" <<-END
	volatile unsigned long ${name}_sum;

	static inline __attribute__((always_inline)) void ${name}_inlined(unsigned long n)
	{
		while (n--)
			${name}_sum += n;
	}

	__attribute__((noinline)) static void ${name}_leaf(void)
	{
		${name}_inlined(20000);
		${name}_sum++;
	}

	void ${name}_work(void)
	{
		${name}_leaf();
		${name}_sum++;
	}
	END
	gcc -g -O1 -fno-omit-frame-pointer -fPIC -shared -Wl,--build-id \
		-o "$tmp/lib$name.so" "$tmp/$name.c"
done
cat >"$tmp/prog.c" <<'END'
void one_work(void);
void two_work(void);

int main(void)
{
	for (int i = 0; i < 4000; i++) {
		one_work();
		two_work();
	}
	return 0;
}
END
gcc -g -O1 -fno-omit-frame-pointer -Wl,--build-id -o "$tmp/prog" "$tmp/prog.c" \
	-Wl,-rpath,"$tmp" "$tmp/libone.so" "$tmp/libtwo.so"

if ! perf record -q -N -e cpu-clock:u -F 2000 -g -o "$tmp/perf.data" -- "$tmp/prog" \
	2>"$tmp/log"; then
	cat "$tmp/log"
	echo "Skip: cannot record"
	exit 2
fi

# with_limit LIMIT COMMAND...: perf with that limit
with_limit()
{
	local limit=$1
	shift
	printf '[core]\n\tdso-memory-limit = %s\n' "$limit" >"$PERF_CONFIG"
	perf "$@" 2>"$tmp/log"
}

# The same whether everything stays, or goes after each sample but for one DSO.
same()
{
	local bytes

	with_limit 0 "$@" >"$tmp/all" || fail "perf $*"
	with_limit 1B "$@" >"$tmp/least" || fail "perf $*, little memory"
	bytes=$(stat -c %s "$tmp/all")
	if [ "$bytes" -lt 100 ]; then
		fail "perf $* says nothing"
	elif ! diff -u "$tmp/all" "$tmp/least" >"$tmp/diff"; then
		head -n 20 "$tmp/diff"
		fail "perf $*, differs with little memory"
	fi
}

data=$tmp/perf.data
same report --stdio -i "$data" -g caller
same report --stdio -i "$data" -g address,srcline --no-children
same report --stdio -i "$data" -g none -s dso,sym,srcline
same script -i "$data" -F comm,ip,sym,symoff,dso,srcline
same script -i "$data" -F comm,ip,sym --inline
same annotate --stdio -i "$data" one_leaf
same diff -q -s dso,sym "$data" "$data"

for name in one two; do
	grep -q "${name}_inlined" <(with_limit 1B script -i "$data" -F comm,ip,sym) ||
		fail "no inlined function of lib$name.so"
done
with_limit 1B report --stdio -vv -i "$data" >"$tmp/out" || fail "report -vv"
grep -q "dropped the data of [1-9]" "$tmp/log" "$tmp/out" || fail "nothing is dropped"
with_limit 1G report --stdio -vv -i "$data" >"$tmp/out" || fail "report -vv"
! grep -q "dropped the data of" "$tmp/log" "$tmp/out" || fail "data are dropped without need"

# Not taken for a limit of nothing.
if with_limit much report --stdio -i "$data" >/dev/null; then
	fail "a limit that is no size is accepted"
fi

exit "$err"
