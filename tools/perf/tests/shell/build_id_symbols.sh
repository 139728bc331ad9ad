#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# symbols are found by build ID alone

set -e

err=0
tmp=$(mktemp -d /tmp/perf.build_id_symbols.XXXXXX)
# shellcheck source=lib/scratch.sh
. "$(dirname "$0")"/lib/scratch.sh

fail()
{
	echo "$layout [Failed: $*]"
	err=1
}

need gcc objcopy
write_program "$tmp/program.c"

# fresh: no file is left where perf looks
fresh()
{
	rm -rf "$tmp/buildids" "$DEBUGINFOD_CACHE_PATH" "$tmp/root" "$tmp/bin/program"
	printf '[buildid]\n\tdir = %s\n' "$tmp/buildids" >"$PERF_CONFIG"
	mkdir -p "$tmp/root"
}

# shown WHERE [OPTION]...: function and line are in the report
shown()
{
	local where=$1
	shift
	perf report -q --stdio -g none -s sym,srcline "$@" -i "$tmp/perf.data" \
		>"$tmp/out" 2>"$tmp/log" ||
		fail "report, $where: $(tail -n 1 "$tmp/log")"
	grep -q 'inner_function *program.c:[5-6]' "$tmp/out" ||
		fail "not found $where: $(head -n 1 "$tmp/out")"
}

not_shown()
{
	local where=$1
	shift
	perf report -q --stdio -g none -s sym "$@" -i "$tmp/perf.data" \
		>"$tmp/out" 2>"$tmp/log" ||
		fail "report, $where: $(tail -n 1 "$tmp/log")"
	! grep -q '_function' "$tmp/out" || fail "symbols $where"
}

test_layout()
{
	local id dir

	mkdir -p "$tmp/bin"
	# shellcheck disable=SC2086 # flags are words
	if ! gcc -g -O1 -DROUNDS=100 -fno-omit-frame-pointer $flags -o "$tmp/bin/program" "$tmp/program.c" \
		2>"$tmp/log"; then
		echo "$layout [Skip: the compiler cannot]"
		return
	fi
	if ! perf record -q -N -e cpu-clock:u -F 1000 -o "$tmp/plain.data" "$tmp/bin/program" \
		2>"$tmp/log"; then
		echo "Skip: cannot record: $(tail -n 1 "$tmp/log")"
		exit 2
	fi
	perf inject --buildid-offset --drop-mmaps -i "$tmp/plain.data" -o "$tmp/perf.data" \
		2>"$tmp/log" || fail "inject: $(tail -n 1 "$tmp/log")"
	id=$(perf buildid-list -i "$tmp/bin/program")
	mv "$tmp/bin/program" "$tmp/program"
	objcopy --only-keep-debug "$tmp/program" "$tmp/program.debug"
	dir=.build-id/${id:0:2}

	fresh
	not_shown "of a file that is nowhere"

	fresh
	perf buildid-cache --add "$tmp/program" 2>"$tmp/log" || fail "buildid-cache --add"
	mv "$tmp/program" "$tmp/program.away"
	shown "in the build-ID cache"
	mv "$tmp/program.away" "$tmp/program"

	fresh
	mkdir -p "$DEBUGINFOD_CACHE_PATH/$id"
	cp "$tmp/program" "$DEBUGINFOD_CACHE_PATH/$id/executable"
	shown "in the cache of elfutils"
	rm "$DEBUGINFOD_CACHE_PATH/$id/executable"
	cp "$tmp/program.debug" "$DEBUGINFOD_CACHE_PATH/$id/debuginfo"
	shown "in the cache of elfutils, debug info alone"
	# An empty file means that no server had it.
	: >"$DEBUGINFOD_CACHE_PATH/$id/debuginfo"
	not_shown "of an empty file"

	fresh
	mkdir -p "$tmp/root/usr/lib/debug/$dir"
	cp "$tmp/program.debug" "$tmp/root/usr/lib/debug/$dir/${id:2}.debug"
	shown "below /usr/lib/debug/.build-id" --symfs "$tmp/root"

	# The file at the path, as the plain profile knows it, is good only when it is the same.
	fresh
	cp "$tmp/program" "$tmp/bin/program"
	perf inject --buildid-offset -i "$tmp/plain.data" -o "$tmp/perf.data" 2>"$tmp/log" ||
		fail "inject: $(tail -n 1 "$tmp/log")"
	shown "at the path"
	gcc -g -O1 -DROUNDS=100 -DOTHER -Wl,--build-id=0x0123456789abcdef -o "$tmp/bin/program" "$tmp/program.c"
	not_shown "of another build at the path"
	echo "$layout [Done]"
}

for layout in default not-pie one-segment eight-bytes md5 lld gold; do
	flags="-Wl,--build-id"
	case $layout in
	not-pie) flags+=" -no-pie -Wl,-Ttext-segment=0x40000000" ;;
	one-segment) flags+=" -Wl,-z,noseparate-code -Wl,-z,max-page-size=0x10000" ;;
	eight-bytes) flags+="=0x1122334455667788" ;;
	md5) flags+="=md5" ;;
	lld | gold) flags+=" -fuse-ld=$layout" ;;
	esac
	test_layout
done
exit "$err"
