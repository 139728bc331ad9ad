#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# perf record --buildid-offset gives the same reports (exclusive)

# shellcheck disable=SC2317 # cases are called by name
# The same workload is recorded with entries and with addresses. What code it
# spends its time in, and which files are on its stack, is known here.

set -e
set -o pipefail

dir=$(mktemp -d /tmp/perf-test-record-bid-offset.XXXXXXXXXX)
prog="${dir}/prog"
lib="${dir}/libcaller.so"
plain="${dir}/plain.data"
entries="${dir}/entries.data"
log="${dir}/log"
skip_code=77
err=0

# Neither what the user has configured nor a server may change the outcome, and
# the user's build-ID cache stays as it is.
export LC_ALL=C
export PERF_CONFIG="${dir}/config"
printf '[buildid]\ndir = %s/cache\n' "${dir}" > "${PERF_CONFIG}"
export DEBUGINFOD_URLS=

cleanup() {
	trap - EXIT TERM INT
	if [[ "${dir}" =~ ^/tmp/perf-test-record-bid-offset\. ]]; then
		rm -rf "${dir}"
	fi
}

trap_cleanup() {
	echo "Unexpected end in ${FUNCNAME[1]}"
	cleanup
	exit 1
}
trap trap_cleanup EXIT TERM INT

fail() {
	echo "$*"
	return 1
}

# Where the kernel has no such samples, all there is to see is what perf says.
check_support() {
	if perf record -q -e cpu-clock:u --buildid-offset -o "${dir}/try.data" \
			-- true > "${log}" 2>&1; then
		return 0
	fi
	if ! grep -q "does not write the build ID and offset" "${log}"; then
		cat "${log}"
		if perf record -q -e cpu-clock:u -o "${dir}/try.data" -- true > "${log}" 2>&1; then
			echo "The error does not name the reason [Failed]"
			cleanup
			exit 1
		fi
		echo "No right to record: skip"
	elif ! grep -q "perf inject --buildid-offset" "${log}"; then
		cat "${log}"
		echo "The error does not name the way out [Failed]"
		cleanup
		exit 1
	else
		echo "The kernel has no build ID and offset samples, and perf says so: skip"
	fi
	cleanup
	exit 2
}

build() {
	cat > "${dir}/lib.c" <<-'END'
	volatile int returned;

	/* Is on the stack all the time, and runs for next to none of it. */
	void library_caller(void (*fn)(void))
	{
		fn();
		returned = 1;
	}
	END
	cat > "${dir}/prog.c" <<-'END'
	#include <stdlib.h>
	#include <time.h>
	#include <unistd.h>

	void library_caller(void (*fn)(void));

	static double seconds;
	volatile unsigned long sum;

	__attribute__((noinline)) void hot_leaf(void)
	{
		for (unsigned long i = 0; i < 100000; i++)
			sum += i;
		sum++;
	}

	/* The callchain of a sample in the kernel has a user part, too. */
	__attribute__((noinline)) void hot_loop(void)
	{
		while (clock() < seconds * CLOCKS_PER_SEC) {
			hot_leaf();
			getppid();
		}
	}

	int main(int argc, char **argv)
	{
		seconds = argc > 1 ? atof(argv[1]) : 1;
		library_caller(hot_loop);
		return 0;
	}
	END
	local flags="-O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -Wl,--build-id=sha1"

	# shellcheck disable=SC2086 # flags are words
	cc ${flags} -fPIC -shared -o "${lib}" "${dir}/lib.c" &&
	cc ${flags} -o "${prog}" "${dir}/prog.c" "-Wl,-rpath,${dir}" "${lib}"
}

record() {
	local out=$1
	shift
	perf record -q -F 250 -o "${out}" "$@" > "${log}" 2>&1 || { cat "${log}"; return 1; }
}

# DSO and function of all that have more than 20 % of the samples in the workload's own
# code. How much of the time is the kernel's differs from run to run.
hot_symbols() {
	perf report -q --stdio -g none --no-children --percent-limit 20 -s dso,sym \
		--dsos "${prog##*/},${lib##*/}" --percentage relative -i "$1" 2> "${log}" |
		awk '$NF { print $2, $NF }' | sort
}

# The callchain that most samples of the workload's own code have.
top_chain() {
	perf script -F ip,sym -i "$1" 2> "${log}" | awk '
		NF == 0 { if (chain != "") n[chain]++; chain = ""; next }
		$2 ~ /^(hot_leaf|hot_loop|library_caller|main)$/ { chain = chain " " $2 }
		END {
			for (c in n)
				if (n[c] > max) { max = n[c]; top = c }
			print top
		}'
}

# A function that calls none may have no frame, and then its caller is not seen.
check_chain() {
	local chain

	chain=$(top_chain "$1")
	[[ "${chain}" =~ ^" hot_leaf"(" hot_loop")?" library_caller main"$ ]] ||
		fail "callchain in ${1##*/}: ${chain}"
}

nr_deferred() {
	perf script -D -i "$1" 2> /dev/null | grep -c PERF_RECORD_CALLCHAIN_DEFERRED || true
}

test_attr() {
	perf evlist -v -i "${entries}" > "${log}"
	grep -q "BUILD_ID_OFFSET" "${log}" || fail "no entries in the samples"
	! grep -q "sample_type: IP" "${log}" || fail "addresses in the samples"
}

test_flat() {
	record "${dir}/flat.data" -e cpu-clock:u --buildid-offset -- "${prog}"
	record "${dir}/flat-plain.data" -e cpu-clock:u -- "${prog}"
	hot_symbols "${dir}/flat-plain.data" > "${dir}/expect"
	hot_symbols "${dir}/flat.data" > "${dir}/actual"
	grep -q "prog hot_leaf" "${dir}/expect" || fail "no samples in the workload"
	diff -u "${dir}/expect" "${dir}/actual"
}

test_callchain() {
	hot_symbols "${plain}" > "${dir}/expect"
	hot_symbols "${entries}" > "${dir}/actual"
	diff -u "${dir}/expect" "${dir}/actual"

	check_chain "${plain}"
	check_chain "${entries}"
}

# The rest of a sample comes in a record of its own, and is not to be lost.
test_deferred() {
	local lost

	if [ "$(nr_deferred "${entries}")" = 0 ]; then
		echo "the kernel defers nothing"
		return "${skip_code}"
	fi
	lost=$(perf script -F ip,sym -i "${entries}" | awk '
		NF == 0 { if (loop && !main) n++; loop = main = 0; next }
		$2 ~ /^hot_/ { loop = 1 }
		$2 == "main" { main = 1 }
		END { print n + 0 }')
	[ "${lost}" = 0 ] || fail "${lost} samples in the loop are without main"

	# One entry alone has no callchain that it could come with.
	if [ "$(nr_deferred "${dir}/flat.data")" = 0 ]; then
		fail "single entries are not deferred"
	fi
	perf script --no-merge-callchains -i "${entries}" > "${log}"
	grep -q "DEFERRED CALLCHAIN" "${log}" || fail "no deferred callchain on its own"
	grep -q "(cookie)" "${log}" || fail "no cookie in the callchain"
	grep -q hot_leaf "${log}" || fail "deferred callchain without symbols"
	perf report --stdio -q -D -i "${entries}" > "${log}" 2>&1
}

test_inject() {
	perf inject -b -i "${entries}" -o "${dir}/injected.data"
	hot_symbols "${entries}" > "${dir}/expect"
	hot_symbols "${dir}/injected.data" > "${dir}/actual"
	diff -u "${dir}/expect" "${dir}/actual"
}

test_pipe() {
	perf record -q -F 250 -e cpu-clock:u -g --buildid-offset -o - -- "${prog}" 2> "${log}" |
		perf report -q --stdio -g none --no-children -s sym -i - \
			> "${dir}/actual" 2>> "${log}"
	grep -q hot_leaf "${dir}/actual" || fail "$(cat "${log}")"
}

# Files that are on the stack only are hit, too, by the header's table and the cache.
test_build_ids() {
	local id

	for how in --buildid-mmap --no-buildid-mmap; do
		rm -rf "${dir}/cache"
		record "${dir}/ids.data" -e cpu-clock:u -g --buildid-offset "${how}" -- "${prog}"
		for file in "${prog}" "${lib}"; do
			id=$(perf buildid-list -i "${file}")
			[ -e "${dir}/cache/.build-id/${id:0:2}/${id:2}/elf" ] ||
				fail "${how}: ${file} is not in the cache"
			perf buildid-list -H -i "${dir}/ids.data" | grep -q "${id} ${file}" ||
				fail "${how}: ${file} is not in the list of files hit"
		done
		hot_symbols "${dir}/ids.data" | grep -q "prog hot_leaf" || fail "${how}: no symbols"
	done
	record "${dir}/ids.data" -e cpu-clock:u -g --buildid-offset -B -- "${prog}"
	hot_symbols "${dir}/ids.data" | grep -q "prog hot_leaf" || fail "-B: no symbols"
	record "${dir}/ids.data" -e cpu-clock:u -g --buildid-offset -N -- "${prog}"
	hot_symbols "${dir}/ids.data" | grep -q "prog hot_leaf" || fail "-N: no symbols"
}

test_no_build_ids() {
	if perf record --buildid-offset --no-buildid-mmap -B -o "${dir}/none.data" \
			-- true > "${log}" 2>&1; then
		fail "records without a build ID of any file"
	fi
	grep -q "leave out --no-buildid-mmap" "${log}"
}

# Nothing tells the names of the files of a process that was there before.
test_no_synth() {
	local pid id

	"${prog}" 60 &
	pid=$!
	sleep 0.2
	record "${dir}/synth.data" -e cpu-clock:u -g --buildid-offset --synth=no -p "${pid}" \
		-- sleep 0.5 || { kill "${pid}"; return 1; }
	kill "${pid}"
	wait "${pid}" 2> /dev/null || true

	id=$(perf buildid-list -i "${prog}")
	perf report -q --stdio -g none --no-children -s dso -i "${dir}/synth.data" > "${log}" 2>&1
	grep -q "\[build-id:${id}\]" "${log}" || { cat "${log}"; fail "no file of that build ID"; }
	perf script -F ip,sym,dso,buildid -i "${dir}/synth.data" > "${log}" 2>&1
	perf inject -b -i "${dir}/synth.data" -o "${dir}/synth-b.data"
	perf report -q --stdio -s dso -i "${dir}/synth-b.data" > "${log}" 2>&1
	grep -q "\[build-id:${id}\]" "${log}" || fail "no file of that build ID, injected"
}

# Not all events have entries.
test_mixed() {
	record "${dir}/mixed.data" --buildid-offset -e cpu-clock/call-graph=fp/u \
		-e task-clock/call-graph=dwarf/u -e page-faults:u -e dummy:u -- "${prog}"
	perf script -F event,ip,sym -i "${dir}/mixed.data" > "${log}"
	for event in cpu-clock task-clock page-faults; do
		grep -q "${event}" "${log}" || fail "no samples of ${event}"
	done
	check_chain "${dir}/mixed.data"
}

test_system_wide() {
	record "${dir}/all.data" -a -e cpu-clock -g --buildid-offset -- "${prog}" ||
		{ grep -qi "permission" "${log}" && return "${skip_code}"; return 1; }
	check_chain "${dir}/all.data"
}

# It waits for keys, and for a signal that ends it.
test_top() {
	local pid status=0

	mkfifo "${dir}/keys"
	exec 3<> "${dir}/keys"
	"${prog}" 60 &
	pid=$!
	timeout -s INT 20 perf top --stdio -d 2 -e cpu-clock:u -F 250 -g --buildid-offset \
		-p "${pid}" <&3 > "${log}" 2>&1 || status=$?
	kill "${pid}"
	wait "${pid}" 2> /dev/null || true
	[ "${status}" = 0 ] || [ "${status}" = 124 ] || fail "$(cat "${log}")"
	for symbol in "prog .*hot_leaf" library_caller main; do
		grep -q "${symbol}" "${log}" || fail "no ${symbol}: $(tail -n 40 "${log}")"
	done
}

check_support
if ! [ -x "$(command -v cc)" ] || ! build; then
	echo "There is no compiler for the workload: skip"
	cleanup
	exit 2
fi
record "${plain}" -e cpu-clock -g -- "${prog}"
record "${entries}" -e cpu-clock -g --buildid-offset -- "${prog}"

for case in attr flat callchain deferred inject pipe build_ids no_build_ids no_synth mixed \
	    system_wide top; do
	ret=0
	# In a subshell with -e of its own, which no condition may switch off.
	set +e
	( set -e; trap - EXIT; "test_${case}" ) > "${dir}/out" 2>&1
	ret=$?
	set -e
	if [ ${ret} = 0 ]; then
		echo "${case} [Success]"
	elif [ ${ret} = ${skip_code} ]; then
		echo "${case} [Skipped: $(cat "${dir}/out")]"
	else
		cat "${dir}/out"
		echo "${case} [Failed]"
		err=1
	fi
done

cleanup
exit ${err}
