#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# the build ID of the vdso is recorded and found

set -e -o pipefail

tmp=$(mktemp -d /tmp/perf.vdso_build_id.XXXXXX)
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

cat >clock.c <<'END'
#include <time.h>

int main(void)
{
	struct timespec now;
	clock_t end = clock() + CLOCKS_PER_SEC / 4;

	while (clock() < end) {
		for (int i = 0; i < 20000; i++)
			clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	}
	return 0;
}
END
cc -O1 clock.c -o clock

record()
{
	if ! perf record -q -e cpu-clock "$@" ./clock 2>"$log"; then
		cat "$log"
		echo "Skip: perf record fails"
		exit 2
	fi
}

# convert FILE: to FILE.dropped
convert()
{
	perf inject --buildid-offset --drop-mmaps -i "$1" -o "$1.dropped" 2>"$log" ||
		{ cat "$log"; fail "$1 is not converted"; }
}

report()
{
	perf report -i "$1" --stdio -g none --sort dso,sym 2>"$log" | grep -v '^#'
}

# patch FILE OFFSET BYTE
patch()
{
	printf '%s' "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# offset FILE BYTES: of the first place with BYTES, a regular expression
offset()
{
	(LC_ALL=C grep -obUaP "$2" "$1" || true) | LC_ALL=C cut -d: -f1 | head -1
}

record -o recorded
if ! report recorded | grep -q '\[vdso\]'; then
	echo "Skip: no sample is in the vdso"
	exit 2
fi
# The first record with its name is not an mmap event: PERF_RECORD_HEADER_BUILD_ID is 67.
at=$(offset recorded '\[vdso\]')
dd if=recorded bs=1 skip=$((at - 36)) count=4 status=none | grep -q C ||
	fail "perf record does not write the build ID of the vdso"
convert recorded
report recorded.dropped | grep -q '\[vdso\]' || fail "code of the vdso is not resolved"
if ! diff <(report recorded) <(report recorded.dropped); then
	fail "the report of the converted profile is another"
fi
# The temporary file that the vdso is read from is not its name.
for option in -b --buildid-all -B --mmap2-buildid-all; do
	perf inject --buildid-offset "$option" -i recorded -o named 2>"$log" ||
		{ cat "$log"; fail "inject $option"; }
	report named | grep -q '\[vdso\]' || fail "inject $option loses the name of the vdso"
	rm -f named
done

# The table in the header has it, too.
record --no-buildid-mmap -N -o table
report table | grep -q '\[vdso\].*vdso' || fail "the vdso of the table is not the one that runs"

# The kernel is known by its build ID.
cp recorded without
at=$(offset without '\[vdso\]')
patch without $((at + 1)) V
kernel=$(perf buildid-list -k)
# shellcheck disable=SC2046 # one word for each byte
kernel_at=$(offset without "$(printf '\\x%s' $(fold -w 2 <<<"$kernel"))")
if [ -n "$kernel_at" ]; then
	convert without
	report without.dropped | grep -q '\[vdso\]' ||
		fail "the vdso of the kernel that runs is not taken for its own"
	patch without "$kernel_at" X
fi
convert without
if report without.dropped | grep -q '\[vdso\]' &&
   perf script -i without.dropped -F buildid,dso,ip | grep vdso | grep -q +; then
	fail "the vdso of another kernel is taken for this one's"
fi

record --no-buildid-mmap -B -o unknown
convert unknown
if perf script -i unknown.dropped -F buildid,dso,ip | grep vdso | grep -q +; then
	fail "the vdso of an unknown kernel is taken for this one's"
fi
exit $err
