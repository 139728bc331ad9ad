#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# files are kept where others find them by build ID
# shellcheck disable=SC2317 # check calls the tests

set -e

err=0
tmp=$(mktemp -d /tmp/perf.buildid_layout.XXXXXX)
# shellcheck source=lib/scratch.sh
. "$(dirname "$0")"/lib/scratch.sh

fail()
{
	echo "$name [Failed: $*]"
	err=1
}

need gcc objcopy strip
write_program "$tmp/program.c"
buildids=$tmp/buildids

# fresh: a program without debug info, that in a file beside it, and empty caches
fresh()
{
	rm -rf "$buildids" "$DEBUGINFOD_CACHE_PATH"
	printf '[buildid]\n\tdir = %s\n\tlayout = perf\n' "$buildids" >"$PERF_CONFIG"
	gcc -g -O1 -DROUNDS=100 -Wl,--build-id=sha1 -o "$tmp/program" "$tmp/program.c"
	objcopy --only-keep-debug "$tmp/program" "$tmp/program.debug"
	strip "$tmp/program"
	id=$(perf buildid-list -i "$tmp/program")
	shared=$DEBUGINFOD_CACHE_PATH/$id
}

# add FILE
add()
{
	perf buildid-cache --add "$1" >"$tmp/log" 2>&1 || fail "--add $1: status $?"
	! grep "Couldn't" "$tmp/log" || fail "--add $1"
}

is_copy()
{
	cmp -s "$1" "$2" || fail "$2 is not a copy of $1"
	! [ "$1" -ef "$2" ] || fail "$2 changes with $1"
}

test_recorded()
{
	perf record -q -e cpu-clock:u -o "$tmp/perf.data" -- "$tmp/program" 2>"$tmp/log" ||
		fail "record: $(tail -n 1 "$tmp/log")"
	is_copy "$tmp/program" "$shared/executable"
	! [ -e "$buildids/.build-id/${id:0:2}/${id:2}" ] || fail "it is in perf's own layout, too"
	perf buildid-cache --missing "$tmp/perf.data" >"$tmp/log" 2>&1 || fail "--missing: status $?"
	! grep "$id" "$tmp/log" || fail "--missing lists it"
	mv "$shared" "$tmp/away"
	perf buildid-cache --missing "$tmp/perf.data" | grep -q "^$id " ||
		fail "--missing does not list what is in no cache"
	mv "$tmp/away" "$shared"
	add "$tmp/program.debug"
	is_copy "$tmp/program.debug" "$shared/debuginfo"
	rm "$tmp/program" "$tmp/program.debug"
	perf report -q --stdio -s sym,srcline -i "$tmp/perf.data" 2>"$tmp/log" |
		grep -q 'inner_function *program.c:[5-6]' || fail "report does not find it there"
}

# Who uses elfutils' client asks no server for what is there.
test_client()
{
	add "$tmp/program"
	add "$tmp/program.debug"
	if ! command -v debuginfod-find >/dev/null; then
		echo "$name [Skip: there is no debuginfod-find]"
		return
	fi
	for file in executable debuginfo; do
		DEBUGINFOD_URLS=http://127.0.0.1:1 debuginfod-find "$file" "$id" \
			>"$tmp/found" 2>"$tmp/log" ||
			fail "no $file: $(tail -n 1 "$tmp/log")"
		[ "$(cat "$tmp/found")" = "$shared/$file" ] || fail "$file: $(cat "$tmp/found")"
	done
}

# An empty file means that no server had it.
test_missing()
{
	mkdir -p "$shared"
	: >"$shared/executable"
	add "$tmp/program"
	is_copy "$tmp/program" "$shared/executable"
}

test_remove()
{
	add "$tmp/program"
	add "$tmp/program.debug"
	perf buildid-cache --remove "$tmp/program" >"$tmp/log" 2>&1
	for file in executable debuginfo; do
		! [ -e "$shared/$file" ] || fail "$file is still there"
	done
	add "$tmp/program"
	perf buildid-cache --update "$tmp/program" >"$tmp/log" 2>&1
	is_copy "$tmp/program" "$shared/executable"
}

# A library that has no code is none of debug info.
test_data()
{
	echo 'const int data = 1;' >"$tmp/data.c"
	gcc -shared -nostdlib -Wl,--build-id=sha1 -o "$tmp/data.so" "$tmp/data.c"
	add "$tmp/data.so"
	id=$(perf buildid-list -i "$tmp/data.so")
	is_copy "$tmp/data.so" "$DEBUGINFOD_CACHE_PATH/$id/executable"
}

# Without build-ID cache nothing is kept.
test_off()
{
	printf '[buildid]\n\tdir = /dev/null\n\tlayout = elfutils\n' >"$PERF_CONFIG"
	perf buildid-cache --add "$tmp/program" >"$tmp/log" 2>&1 || true
	! [ -e "$shared" ] || fail "elfutils' cache has it"
}

# The default
test_own()
{
	add "$tmp/program"
	! [ -e "$shared" ] || fail "elfutils' cache has it"
	[ -e "$buildids/.build-id/${id:0:2}/${id:2}/elf" ] || fail "it is not in perf's own layout"
}

test_unknown()
{
	! perf buildid-cache --list >"$tmp/log" 2>&1 || fail "no error"
	grep -q 'buildid.layout is gdb: perf or elfutils' "$tmp/log" ||
		fail "$(tail -n 1 "$tmp/log")"
}

# check NAME LAYOUT
check()
{
	local before=$err

	name=$1
	fresh
	sed -i "s/layout = .*/layout = $2/" "$PERF_CONFIG"
	"test_$1"
	[ "$err" != "$before" ] || echo "$name [Success]"
}

check recorded elfutils
check client elfutils
check missing elfutils
check remove elfutils
check data elfutils
check off elfutils
check own perf
check unknown gdb
exit "$err"
