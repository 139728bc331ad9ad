#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# perf report does not wait for silent debuginfod servers

set -e

shelldir=$(dirname "$0")
# shellcheck source=lib/setup_python.sh
. "${shelldir}"/lib/setup_python.sh

err=0
tmp=$(mktemp -d /tmp/perf.debuginfod_silent.XXXXXX)
# shellcheck source=lib/scratch.sh
. "${shelldir}"/lib/scratch.sh

fail()
{
	echo "debuginfod_silent [Failed: $*]"
	err=1
}

server=

stop_running()
{
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
}

need gcc objcopy
if perf check -q feature debuginfod; then :; else
	echo "Skip: perf is built without debuginfod"
	exit 2
fi

# Three static programs: six files to ask for, and nothing else.
mkdir "$tmp/bin" "$tmp/served"
write_program "$tmp/program.c"
for n in 101 102 103; do
	if ! gcc -g -O1 -DROUNDS=$n -static -Wl,--build-id -o "$tmp/bin/program-$n" \
		"$tmp/program.c" 2>/dev/null; then
		echo "Skip: no static program can be built"
		exit 2
	fi
done
cat >"$tmp/run.sh" <<END
$tmp/bin/program-101
$tmp/bin/program-102
exec $tmp/bin/program-103
END
perf record -q -N -e cpu-clock:u -F 2000 -o "$tmp/plain.data" sh "$tmp/run.sh"
perf inject --buildid-offset -i "$tmp/plain.data" -o "$tmp/perf.data"
for n in 101 102 103; do
	build_id=$(perf buildid-list -i "$tmp/bin/program-$n")
	mkdir "$tmp/served/$build_id"
	objcopy --only-keep-debug "$tmp/bin/program-$n" "$tmp/served/$build_id/debuginfo"
	mv "$tmp/bin/program-$n" "$tmp/served/$build_id/executable"
done

# Three servers: one that accepts and is silent, one that sends a byte a second, and one that
# has the files.
cat >"$tmp/server.py" <<'END'
import os, socket, sys, threading, time

tmp = sys.argv[1]

def answer(name, s):
    path = s.recv(4096).decode().split(' ')[1]
    with open(tmp + '/requests', 'a') as f:
        f.write(name + ' ' + path + '\n')
    if name == 'silent':
        time.sleep(3600)
    if name == 'slow':
        s.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n')
        # The good one comes first.
        time.sleep(3)
        while True:
            s.sendall(b'x')
            time.sleep(1)
    try:
        body = open(tmp + '/served/' + path.split('/buildid/')[1], 'rb').read()
        status = b'200 OK'
    except OSError:
        body = b''
        status = b'404 Not Found'
    s.sendall(b'HTTP/1.1 %s\r\nConnection: close\r\n' % status)
    s.sendall(b'Content-Length: %d\r\n\r\n' % len(body))
    s.sendall(body)
    s.close()

def serve(name, listener):
    while True:
        s = listener.accept()[0]
        threading.Thread(target=answer, args=(name, s), daemon=True).start()

with open(tmp + '/ports.new', 'w') as f:
    for name in ('silent', 'slow', 'good'):
        listener = socket.socket()
        listener.bind(('127.0.0.1', 0))
        listener.listen(100)
        f.write('%s=http://127.0.0.1:%d\n' % (name, listener.getsockname()[1]))
        threading.Thread(target=serve, args=(name, listener), daemon=True).start()
os.rename(tmp + '/ports.new', tmp + '/ports')
time.sleep(3600)
END
"$PYTHON" "$tmp/server.py" "$tmp" 2>/dev/null &
server=$!
for _ in $(seq 200); do
	[ ! -s "$tmp/ports" ] || break
	sleep 0.1
done
silent=
slow=
good=
# shellcheck disable=SC1091 # written above
. "$tmp/ports"

report()
{
	: >"$tmp/requests"
	DEBUGINFOD_URLS=$1 perf report -i "$tmp/perf.data" --stdio -g none --sort dso,sym \
		>"$tmp/out" 2>"$tmp/err" </dev/null || fail "report with $1"
}

# requests NAME NUMBER WHAT: so many of a server
requests()
{
	local nr

	nr=$(grep -c "^$1 " "$tmp/requests" || true)
	[ "$nr" = "$2" ] || fail "$3: $nr requests to the $1 server, not $2"
}

# One timeout for a server, in this session and in the next ones
test_one_timeout()
{
	local name=$1 url=$2

	rm -rf "$DEBUGINFOD_CACHE_PATH"
	report "$url"
	requests "$name" 1 "first session"
	grep -q "$url does not answer" "$tmp/err" || fail "$name: it is not said: $(cat "$tmp/err")"
	grep -q 'no symbol for lack of files: [0-9]* in .*/bin/program-10[123] (build ID ' \
		"$tmp/err" || fail "$name: it is not said what is missing: $(cat "$tmp/err")"
	report "$url"
	requests "$name" 0 "second session"
	grep -q "not asking $url, which did not answer" "$tmp/err" ||
		fail "$name: it is not said in the second session: $(cat "$tmp/err")"
	[ -z "$(find "$DEBUGINFOD_CACHE_PATH" -path '*/executable' -o -path '*/debuginfo')" ] ||
		fail "$name: the files count as not there"
	touch -d '1 hour ago' "$DEBUGINFOD_CACHE_PATH"/perf-no-answer/*
	DEBUGINFOD_TIMEOUT=2 report "$url"
	requests "$name" 1 "an hour later"
}

# The others are asked all the same.
test_others()
{
	local missing

	rm -rf "$DEBUGINFOD_CACHE_PATH"
	report "$slow $good"
	[ "$(grep -c inner_function "$tmp/out")" = 3 ] ||
		fail "the server that has the files is not used"
	rm -rf "$DEBUGINFOD_CACHE_PATH"
	missing=$(find "$tmp/served" -name debuginfo | head -n 1)
	rm "$missing" "${missing%debuginfo}executable"
	DEBUGINFOD_TIMEOUT=2 report "$slow $good"
	[ "$(grep -c inner_function "$tmp/out")" = 2 ] ||
		fail "the server that has some files is not used"
	grep -q "$slow does not answer" "$tmp/err" ||
		fail "slow and good: it is not said: $(cat "$tmp/err")"
	! grep -q "$good does not answer" "$tmp/err" ||
		fail "the wrong server is not asked any more"
	grep -q 'samples have no symbol for lack of files: [0-9]* in [^,]*$' "$tmp/err" ||
		fail "it is not said which file is missing: $(cat "$tmp/err")"
}

test_one_timeout silent "$silent"
DEBUGINFOD_TIMEOUT=5 test_one_timeout slow "$slow"
test_others
cleanup
exit $err
