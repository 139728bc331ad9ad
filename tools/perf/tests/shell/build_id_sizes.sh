#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# build IDs of any size are whole or none

set -e

err=0
tmp=$(mktemp -d /tmp/perf.build_id_sizes.XXXXXX)
# shellcheck source=lib/scratch.sh
. "$(dirname "$0")"/lib/scratch.sh

need gcc
# shellcheck source=lib/recorded_programs.sh
. "$(dirname "$0")"/lib/recorded_programs.sh

test_long_ids()
{
	local start=0x000102030405060708090a0b0c0d0e0f10111213 opt

	test="build IDs of more than 20 bytes"
	build program first -Wl,--build-id=${start}aaaaaaaaaaaaaaaaaaaaaaaa
	build next second -Wl,--build-id=${start}bbbbbbbbbbbbbbbbbbbbbbbb
	[ -z "$(id_of program 2>log)" ] || fail "buildid-list: $(id_of program)"
	perf buildid-cache -a program >log 2>&1 || true
	[ ! -e buildids/.build-id/00 ] || fail "buildid-cache takes it"
	for opt in --buildid-mmap --no-buildid-mmap; do
		record $opt sh -c './program; ./next'
		convert --drop-mmaps
		[ "$(nr_with 000102030405)" = 0 ] || fail "converted, $opt"
		report -i plain.data -s comm,sym >out
		grep -q 'program .* first$' out || fail "$opt, no symbols: $(head -n 2 out)"
		grep -q 'next .* second$' out || fail "$opt, no symbols: $(head -n 2 out)"
	done
}

test_short_id()
{
	test="a build ID of 5 bytes"
	build program first -Wl,--build-id=0x0102030405
	[ "$(id_of program)" = 0102030405 ] || fail "buildid-list: $(id_of program)"
}

test_known()
{
	local id=00112233445566778899aabbccddeeff00112233

	test="inject --known-build-ids"
	build program first
	record --no-buildid --no-buildid-mmap ./program
	perf inject -b --known-build-ids="$id $tmp/program" -i plain.data -o known.data 2>log ||
		fail "inject: $(tail -n 1 log)"
	perf buildid-list -i known.data >out
	grep -q "^$id " out || fail "$(grep program out)"
}

test_long_ids
test_short_id
test_known
[ "$err" -ne 0 ] || echo "sizes of build IDs [Done]"
exit "$err"
