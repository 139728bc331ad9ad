#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# perf report finds files with debuginfod

set -e

shelldir=$(dirname "$0")
# shellcheck source=lib/setup_python.sh
. "${shelldir}"/lib/setup_python.sh

err=0
tmp=$(mktemp -d /tmp/perf.debuginfod.XXXXXX)
# shellcheck source=lib/scratch.sh
. "${shelldir}"/lib/scratch.sh

fail()
{
	echo "debuginfod [Failed: $*]"
	err=1
}

server=

stop_server()
{
	if [ -n "$server" ]; then
		kill "$server" 2>/dev/null || true
		wait "$server" 2>/dev/null || true
	fi
	server=
}

stop_running()
{
	stop_server
}

need gcc objcopy strip debuginfod
if perf check -q feature debuginfod; then :; else
	echo "Skip: perf is built without debuginfod"
	exit 2
fi
mkdir "$tmp/bin" "$tmp/served"

# A program of which there are, in the end, only two parts with the server. It is all that
# is sampled: whatever else is asked for may be missing, and change what is said.
write_program "$tmp/program.c"
if ! gcc -g -O1 -DROUNDS=300 -fno-omit-frame-pointer -static -Wl,--build-id \
	-o "$tmp/bin/program" "$tmp/program.c" 2>/dev/null; then
	echo "Skip: no static program can be built"
	exit 2
fi
objcopy --only-keep-debug "$tmp/bin/program" "$tmp/served/program.debug"
strip "$tmp/bin/program"
cp "$tmp/bin/program" "$tmp/served/program"
cp "$tmp/served/program" "$tmp/kept"
perf record -q -N -e cpu-clock:u -F 2000 -g -o "$tmp/plain.data" "$tmp/bin/program"
perf inject --buildid-offset -i "$tmp/plain.data" -o "$tmp/perf.data"
rm -r "${tmp:?}/bin"
build_id=$(perf buildid-list -i "$tmp/perf.data" | sed -n 's|^\([0-9a-f]*\) .*/bin/program$|\1|p')

# start_server COMMAND...: it writes its port number to $tmp/port
start_server()
{
	rm -f "$tmp/port"
	"$@" >"$tmp/server.log" 2>&1 &
	server=$!
	for _ in $(seq 200); do
		if [ -s "$tmp/port" ]; then
			DEBUGINFOD_URLS=http://127.0.0.1:$(cat "$tmp/port")
			export DEBUGINFOD_URLS
			return 0
		fi
		sleep 0.1
	done
	echo "Skip: the server does not start: $(tail -n 1 "$tmp/server.log")"
	exit 2
}

# A server that answers each request in the way of its first argument, and notes it.
cat >"$tmp/bad.py" <<'EOF'
import http.server, sys, time

how, tmp = sys.argv[1:]

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with open(tmp + '/requests', 'a') as f:
            f.write(self.path + '\n')
        if how == 'slow':
            time.sleep(3600)
        if how in ('404', '500'):
            self.send_error(int(how))
            return
        body = b'not an ELF file' * 1000
        if how == 'other':
            with open('/proc/self/exe', 'rb') as f:
                body = f.read()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass

server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
server.daemon_threads = True
with open(tmp + '/port.new', 'w') as f:
    f.write(str(server.server_port))
import os
os.rename(tmp + '/port.new', tmp + '/port')
server.serve_forever()
EOF

start_bad()
{
	stop_server
	rm -rf "$DEBUGINFOD_CACHE_PATH"
	: >"$tmp/requests"
	start_server "$PYTHON" "$tmp/bad.py" "$1" "$tmp"
}

# A real one, on a port that it finds free.
start_debuginfod()
{
	local port file kind

	stop_server
	rm -rf "$DEBUGINFOD_CACHE_PATH"
	port=$("$PYTHON" -c '
import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
	for file in "$tmp/served"/*; do
		kind=executable
		[ "$file" = "${file%.debug}" ] || kind=debuginfo
		echo "http://127.0.0.1:$port/buildid/$(perf buildid-list -i "$file")/$kind"
	done >"$tmp/wanted"
	# It answers when it has scanned its files.
	start_server sh -c '
		debuginfod -d :memory: -F "$1/served" -p "$2" -c 1 &
		trap "kill $!" TERM
		i=0
		until "$3" -c "import urllib.request as r, sys
for url in open(sys.argv[1]): r.urlopen(url)" "$1/wanted" 2>/dev/null; do
			i=$((i + 1))
			[ $i -lt 100 ] || exit 1
			sleep 0.1
		done
		echo "$2" >"$1/port"
		wait' sh "$tmp" "$port" "$PYTHON"
}

# report OPTIONS: what perf report says, and in $tmp/err what it says beside
report()
{
	perf report -i "$tmp/perf.data" --stdio -g none --sort sym "$@" 2>"$tmp/err" </dev/null
}

test_found()
{
	start_debuginfod
	report >"$tmp/out" || fail "report with a server"
	grep -q inner_function "$tmp/out" || fail "no symbol with a server"
	[ "$(grep -c '^debuginfod: asking http' "$tmp/err")" = 1 ] ||
		fail "it is not said who is asked"
	report --sort srcline >"$tmp/out" || fail "report of source lines"
	grep -q 'program.c:[0-9]' "$tmp/out" || fail "no source lines"
	perf annotate -i "$tmp/perf.data" --stdio inner_function >"$tmp/out" 2>/dev/null ||
		fail "annotate"
	grep -q '<inner_function>:' "$tmp/out" || fail "no annotation"
	perf script -i "$tmp/perf.data" -F ip,sym >"$tmp/out" 2>/dev/null || fail "script"
	grep -q ' main$' "$tmp/out" || fail "no caller in script"

	# What was fetched is in the cache of all of elfutils' clients.
	cmp -s "$tmp/served/program" "$DEBUGINFOD_CACHE_PATH/$build_id/executable" ||
		fail "the executable is not in the cache"
	stop_server
	report >"$tmp/out" || fail "report from the cache"
	grep -q inner_function "$tmp/out" || fail "no symbol from the cache"
	! grep -q debuginfod "$tmp/err" || fail "a server was asked for what is in the cache"
	report --no-debuginfod >"$tmp/out" || fail "report from the cache without servers"
	grep -q inner_function "$tmp/out" || fail "no symbol from the cache without servers"
}

# not_asked WHAT: neither of the servers' own accord nor by libdw's client
not_asked()
{
	[ ! -s "$tmp/requests" ] || fail "a server was asked: $1: $(head -n 1 "$tmp/requests")"
	! grep -q debuginfod "$tmp/err" || fail "$1: $(grep -m 1 debuginfod "$tmp/err")"
	: >"$tmp/requests"
}

test_off()
{
	start_bad 404
	report --no-debuginfod >/dev/null || fail "report --no-debuginfod"
	not_asked "--no-debuginfod"
	report --no-debuginfod --sort srcline >/dev/null ||
		fail "report --no-debuginfod --sort srcline"
	not_asked "--no-debuginfod, source lines"
	for key in core report; do
		printf '[%s]\n\tdebuginfod = false\n' "$key" >"$tmp/config"
		report >/dev/null || fail "report with $key.debuginfod=false"
		not_asked "$key.debuginfod=false"
	done
	printf '[buildid]\n\tdir = /dev/null\n' >"$tmp/config"
	report >/dev/null || fail "report without build-ID cache"
	not_asked "buildid.dir=/dev/null"
	: >"$tmp/config"
	DEBUGINFOD_URLS='' report >/dev/null || fail "report without URLs"
	not_asked "no URLs"
	report >/dev/null || fail "report"
	[ -s "$tmp/requests" ] || fail "the server is not asked when it is not off"
}

# Other commands that fetch files have the same client.
test_commands()
{
	start_debuginfod
	printf '[buildid]\n\tdir = %s\n' "$tmp/buildids" >"$tmp/config"
	perf buildid-cache --debuginfod --add "$tmp/kept" >"$tmp/out" 2>"$tmp/err" ||
		fail "buildid-cache --add: $(cat "$tmp/err")"
	cmp -s "$tmp/served/program.debug" \
		"$tmp/buildids/.build-id/${build_id:0:2}/${build_id:2}/debug" ||
		fail "no debug info in the build-ID cache"
	: >"$tmp/config"
	rm -rf "$DEBUGINFOD_CACHE_PATH"
	if perf probe -h 2>&1 | grep -q -e --line; then
		perf probe -x "$tmp/kept" -L inner_function >"$tmp/out" 2>"$tmp/err" ||
			fail "probe -L: $(cat "$tmp/err")"
		grep -q 'sink += i;' "$tmp/out" || fail "no source lines in probe -L"
		grep -q '^debuginfod: asking http' "$tmp/err" || fail "probe does not say who is asked"
	fi
	stop_server
}

# Debug info that several files share, and that only the server has
test_shared()
{
	local n id

	if ! command -v dwz >/dev/null; then
		echo "debuginfod [Skip: there is no dwz]"
		return
	fi
	cat >"$tmp/shared.c" <<-'END'
	#include <stdio.h>
	#include <stdlib.h>
	#include <sys/socket.h>
	static volatile unsigned long sink;
	static inline __attribute__((always_inline)) void inlined_function(void)
	{
		for (int i = 0; i < 1000000; i++)
			sink += i;
	}
	int main(void)
	{
		for (int i = 0; i < ROUNDS; i++)
			inlined_function();
		return 0;
	}
	END
	for n in 300 301; do
		gcc -g -O1 -fno-eliminate-unused-debug-types -DROUNDS=$n -static -Wl,--build-id \
			-o "$tmp/shared-$n" "$tmp/shared.c"
		objcopy --only-keep-debug "$tmp/shared-$n" "$tmp/served/shared-$n.debug"
	done
	dwz -m "$tmp/served/shared.debug" -M /nowhere/shared.debug \
		"$tmp/served"/shared-30[01].debug 2>"$tmp/err" || fail "dwz: $(cat "$tmp/err")"
	id=$(perf buildid-list -i "$tmp/served/shared.debug")
	strip "$tmp/shared-300"
	cp "$tmp/shared-300" "$tmp/served/shared"
	perf record -q -N -e cpu-clock:u -F 2000 -g -o "$tmp/plain.data" "$tmp/shared-300"
	perf inject --buildid-offset -i "$tmp/plain.data" -o "$tmp/shared.data"
	rm "$tmp/shared-300"

	start_debuginfod
	perf script -i "$tmp/shared.data" -F ip,sym,srcline --inline >"$tmp/out" 2>"$tmp/err" ||
		fail "script with shared debug info"
	tr -s '\n\t ' ' ' <"$tmp/out" |
		grep -q ' inlined_function shared.c:[789] (inlined) [0-9a-f]* main shared.c:13 ' ||
		fail "no inlined function with shared debug info"
	[ -s "$DEBUGINFOD_CACHE_PATH/$id/debuginfo" ] || fail "shared debug info is not in the cache"
	stop_server
}

# Without DEBUGINFOD_URLS it is files of the system that name servers.
test_system()
{
	if ! [ -d /etc/debuginfod ] || ! unshare -rm true 2>/dev/null; then
		echo "debuginfod [Skip: /etc/debuginfod cannot be replaced]"
		return
	fi
	start_debuginfod
	mkdir "$tmp/system"
	echo "$DEBUGINFOD_URLS" >"$tmp/system/test.urls"
	# shellcheck disable=SC2016 # for the inner shell
	env -u DEBUGINFOD_URLS unshare -rm sh -c '
		mount --bind "$1" /etc/debuginfod || exit
		perf report -i "$2" --stdio -g none --sort sym' sh \
		"$tmp/system" "$tmp/perf.data" >"$tmp/out" 2>"$tmp/err" </dev/null ||
		fail "report: $(cat "$tmp/err")"
	grep -q inner_function "$tmp/out" || fail "no symbol with a server of the system"
	stop_server
}

test_bad()
{
	local how lines requests wanted cannot="cannot fetch the executable of .*$build_id"

	for how in 404 500 garbage other slow; do
		start_bad "$how"
		# Who reads source lines does not ask again.
		report --sort sym,srcline >"$tmp/out" || fail "report with a server that answers $how"
		grep -q '%' "$tmp/out" || fail "no report with a server that answers $how"
		# Its two files, once each, and one is enough for a server that does not answer.
		wanted=2
		[ "$how" != slow ] || wanted=1
		requests=$(grep -c "$build_id" "$tmp/requests" || true)
		[ "$requests" = $wanted ] ||
			fail "$how: $requests requests for the two files of a program"
		case $how in
		404) lines=$(grep -c 'some files are not there' "$tmp/err" || true) ;;
		slow)
			lines=$(grep -c "^debuginfod: $DEBUGINFOD_URLS does not answer" \
				"$tmp/err" || true)
			;;
		*) lines=$(grep -c "$cannot" "$tmp/err" || true) ;;
		esac
		[ "$lines" = 1 ] || fail "$how: it is not said once: $(cat "$tmp/err")"
	done
	stop_server
	rm -rf "$DEBUGINFOD_CACHE_PATH"
	report >"$tmp/out" || fail "report with a server that is down"
	grep -q '%' "$tmp/out" || fail "no report with a server that is down"
	grep -q "$cannot" "$tmp/err" || fail "nothing is said of a server that is down"
}

test_found
test_off
test_commands
test_shared
test_system
test_bad
cleanup
exit $err
