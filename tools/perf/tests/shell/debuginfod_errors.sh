#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# perf report recovers when debuginfod servers do

set -e

shelldir=$(dirname "$0")
# shellcheck source=lib/setup_python.sh
. "${shelldir}"/lib/setup_python.sh

err=0
tmp=$(mktemp -d /tmp/perf.debuginfod_errors.XXXXXX)
# shellcheck source=lib/scratch.sh
. "${shelldir}"/lib/scratch.sh

fail()
{
	echo "debuginfod_errors [Failed: $*]"
	err=1
}

server=

stop_running()
{
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
}

need gcc objcopy strip
if perf check -q feature debuginfod; then :; else
	echo "Skip: perf is built without debuginfod"
	exit 2
fi

# A static program: nothing else is sampled and asked for.
mkdir "$tmp/bin" "$tmp/served"
write_program "$tmp/program.c"
if ! gcc -g -O1 -DROUNDS=300 -static -Wl,--build-id -o "$tmp/bin/program" "$tmp/program.c" \
	2>/dev/null; then
	echo "Skip: no static program can be built"
	exit 2
fi
perf record -q -N -e cpu-clock:u -F 2000 -o "$tmp/plain.data" "$tmp/bin/program"
perf inject --buildid-offset -i "$tmp/plain.data" -o "$tmp/perf.data"
build_id=$(perf buildid-list -i "$tmp/perf.data" | sed -n 's|^\([0-9a-f]*\) .*/bin/program$|\1|p')
objcopy --only-keep-debug "$tmp/bin/program" "$tmp/served/debuginfo"
strip -o "$tmp/served/executable" "$tmp/bin/program"
rm -r "${tmp:?}/bin"

# A server that answers in the way that $tmp/how names at the time.
cat >"$tmp/server.py" <<'END'
import http.server, os, sys

tmp = sys.argv[1]

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        how = open(tmp + '/how').read().strip()
        with open(tmp + '/requests', 'a') as f:
            f.write(self.path + '\n')
        if how.isdigit():
            self.send_error(int(how))
            return
        if how == 'hangup':
            return
        body = b'<html>Please log in</html>' * 100
        if how == 'other':
            body = open('/proc/self/exe', 'rb').read()
        if how == 'good':
            body = open(tmp + '/served/' + os.path.basename(self.path), 'rb').read()
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
os.rename(tmp + '/port.new', tmp + '/port')
server.serve_forever()
END
"$PYTHON" "$tmp/server.py" "$tmp" &
server=$!
for _ in $(seq 200); do
	[ ! -s "$tmp/port" ] || break
	sleep 0.1
done
DEBUGINFOD_URLS=http://127.0.0.1:$(cat "$tmp/port")
export DEBUGINFOD_URLS

# report HOW: with a server that answers so: the report, and in $tmp/err what is said beside
report()
{
	echo "$1" >"$tmp/how"
	: >"$tmp/requests"
	perf report -i "$tmp/perf.data" --stdio -g none --sort sym >"$tmp/out" 2>"$tmp/err" \
		</dev/null || fail "report with a server that answers $1"
}

# recovers HOW: a server that is well again is asked again, and what it sends is used
recovers()
{
	report good
	[ -s "$tmp/requests" ] || fail "$1: the server is not asked again"
	grep -q inner_function "$tmp/out" || fail "$1: no symbol from a server that is well again"
	! grep -q cannot "$tmp/err" || fail "$1: $(grep cannot "$tmp/err")"
}

# What was refused does not stay in the cache.
test_refused()
{
	for how in page other; do
		rm -rf "$DEBUGINFOD_CACHE_PATH"
		report "$how"
		grep -q "cannot fetch the executable of .*$build_id.*sent something else" \
			"$tmp/err" || fail "$how: it is not said: $(cat "$tmp/err")"
		[ -z "$(find "$DEBUGINFOD_CACHE_PATH" -path '*/executable')" ] ||
			fail "$how: what was refused is in the cache"
		recovers "$how"
	done
}

# Nor what another client has put there.
test_poisoned()
{
	rm -rf "$DEBUGINFOD_CACHE_PATH"
	mkdir -p "$DEBUGINFOD_CACHE_PATH/$build_id"
	for file in executable debuginfo; do
		echo '<html>Please log in</html>' >"$DEBUGINFOD_CACHE_PATH/$build_id/$file"
	done
	recovers poisoned
}

# A server that is out of order does not mean that a file is not there.
test_out_of_order()
{
	for how in 500 522 429 hangup; do
		rm -rf "$DEBUGINFOD_CACHE_PATH"
		report "$how"
		grep -q "cannot fetch the executable of .*$build_id" "$tmp/err" ||
			fail "$how: it is not said: $(cat "$tmp/err")"
		[ "$how" = hangup ] || grep -q "cannot fetch .*: HTTP status $how" "$tmp/err" ||
			fail "$how: it is not said what is wrong: $(cat "$tmp/err")"
		! grep -q 'not there' "$tmp/err" || fail "$how: the file counts as not there"
		recovers "$how"
	done
	rm -rf "$DEBUGINFOD_CACHE_PATH"
	report 404
	grep -q 'not there' "$tmp/err" || fail "404: it is not said"
	! grep -q 'cannot' "$tmp/err" || fail "404: $(grep cannot "$tmp/err")"
	report good
	[ ! -s "$tmp/requests" ] || fail "404: the server is asked again at once"
}

# Without a directory for a cache
test_no_cache()
{
	local cache=$DEBUGINFOD_CACHE_PATH home=$HOME

	unset DEBUGINFOD_CACHE_PATH
	HOME=$tmp/nowhere/home
	report good
	DEBUGINFOD_CACHE_PATH=$cache
	HOME=$home
	export DEBUGINFOD_CACHE_PATH
	grep -q "cannot write to the cache $tmp/nowhere/home" "$tmp/err" ||
		fail "no home directory: it is not said: $(cat "$tmp/err")"
	! grep -q 'not there' "$tmp/err" || fail "no home directory: files count as not there"
	[ ! -e "$tmp/nowhere" ] || fail "a home directory was made"
}

test_refused
test_poisoned
test_out_of_order
test_no_cache
cleanup
exit $err
