#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# perf inject reads streams: compressed, of an older perf, interrupted

set -e
set -o pipefail

err=0
tmp=$(mktemp -d /tmp/perf.inject_streams.XXXXXX)
# shellcheck source=lib/scratch.sh
. "$(dirname "$0")"/lib/scratch.sh

fail()
{
	echo "inject streams [Failed: $*]"
	err=1
}

need gcc mkfifo

write_program "$tmp/prog.c"
gcc -g -O0 -fno-omit-frame-pointer -Wl,--build-id -DROUNDS=300 -o "$tmp/prog" "$tmp/prog.c"

# record OPTION...: to standard output
record()
{
	perf record -q -N -e cpu-clock:u -F 5000 -g "$@" -o - -- "$tmp/prog" 2>"$tmp/log"
}

if ! record >"$tmp/stream" || [ "$(wc -c <"$tmp/stream")" -lt 90000 ]; then
	cat "$tmp/log"
	echo "Skip: cannot record enough"
	exit 2
fi

# samples INPUT: one line for each sample, standard input is for "-"
samples()
{
	perf script -i "$1" -F comm,tid,time,event,ip,sym 2>"$tmp/log" | awk '
		NF { line = line " " $0 }
		!NF && line { print line; line = "" }
		END { if (line) print line }'
}

# same ORIGINAL CONVERTED WHAT: all samples are there, and have build IDs
same()
{
	samples "$1" >"$tmp/original.txt"
	samples "$2" >"$tmp/converted.txt"
	if ! [ -s "$tmp/original.txt" ] || ! cmp -s "$tmp/original.txt" "$tmp/converted.txt"; then
		fail "$3: $(wc -l <"$tmp/original.txt") samples, then $(wc -l <"$tmp/converted.txt")"
	elif ! perf script -i "$2" -F ip,buildid 2>/dev/null |
	     grep '[0-9a-f]\{40\}' >/dev/null; then
		fail "$3: no build IDs"
	fi
}

# Into a stream and into files, from a stream and from a stored one.
test_compressed()
{
	if ! perf check -q feature zstd; then
		echo "perf cannot compress"
		return
	fi
	record -z >"$tmp/z.stream"
	if ! perf inject --buildid-offset -i - -o - <"$tmp/z.stream" >"$tmp/b.stream"; then
		fail "a compressed stream is not converted"
		return
	fi
	same "$tmp/z.stream" "$tmp/b.stream" "compressed, stream to stream"
	perf inject --buildid-offset -i "$tmp/z.stream" -o "$tmp/b.data"
	same "$tmp/z.stream" "$tmp/b.data" "compressed, stream to file"
	# What is not to be looked at is copied, and converted then.
	perf inject -i "$tmp/z.stream" -o "$tmp/z.data"
	perf inject --buildid-offset -i "$tmp/z.data" -o "$tmp/b.data"
	same "$tmp/z.stream" "$tmp/b.data" "compressed, file to file"
	if perf script -i "$tmp/b.data" -D 2>/dev/null |
	   grep PERF_RECORD_COMPRESSED >/dev/null; then
		fail "what is decompressed is compressed"
	fi
}

addresses()
{
	perf script -i "$1" -F ip 2>/dev/null | awk 'NF && $1 !~ /^0+$/ { print $1 }' | sort -u
}

# All but copying needs to look into the records.
test_compressed_addresses()
{
	perf check -q feature zstd || return 0
	perf record -q -N -z -e cpu-clock:u -g -o "$tmp/z.data" -- "$tmp/prog" 2>"$tmp/log"
	perf inject --aslr -i "$tmp/z.data" -o "$tmp/aslr.data"
	addresses "$tmp/z.data" >"$tmp/before"
	addresses "$tmp/aslr.data" >"$tmp/after"
	if ! [ -s "$tmp/after" ] || [ "$(comm -12 "$tmp/before" "$tmp/after" | wc -l)" -ne 0 ]; then
		fail "--aslr leaves addresses of a compressed file"
	fi
}

# Perf 6.8 to 6.12 had 32 features, and ended them with a record of that number.
test_old_mark()
{
	need perl
	perl -0777 -pe 's/(\x50\0\0\0\0\0\x10\0).\0{7}/$1\x20\0\0\0\0\0\0\0/s or die' \
		<"$tmp/stream" >"$tmp/old.stream"
	perf inject -i "$tmp/old.stream" -o "$tmp/old.data"
	samples "$tmp/stream" >"$tmp/original.txt"
	samples "$tmp/old.data" >"$tmp/copied.txt" || true
	cmp -s "$tmp/original.txt" "$tmp/copied.txt" || fail "old stream: the copy cannot be read"
	perf inject --buildid-offset -i "$tmp/old.stream" -o "$tmp/old.data"
	same "$tmp/old.stream" "$tmp/old.data" "old stream"
	if perf script -i "$tmp/old.data" -D 2>/dev/null |
			grep '\[0x10\]: PERF_RECORD_FEATURE' >/dev/null; then
		fail "old stream: a file has the mark of a stream"
	fi
}

# interrupted SIGNAL...: perf inject gets them while it reads from a pipe
interrupted()
{
	local pid sig

	rm -f "$tmp/fifo" "$tmp/b.data"
	mkfifo "$tmp/fifo"
	perf inject --buildid-offset -i - -o "$tmp/b.data" <"$tmp/fifo" 2>"$tmp/log" &
	pid=$!
	exec 5>"$tmp/fifo"
	# More than a pipe holds and than is read at once, so that it is past the header.
	head -c 80000 "$tmp/stream" >&5
	for sig; do
		kill -s "$sig" "$pid"
	done
	(tail -c +80001 "$tmp/stream" >&5) 2>/dev/null || true
	exec 5>&-
	wait "$pid"
}

# With a pipe as input, the signal has ended the recording.
test_interrupted()
{
	local sig

	for sig in INT TERM; do
		if interrupted "$sig"; then
			same "$tmp/stream" "$tmp/b.data" "$sig"
		else
			fail "$sig: $(cat "$tmp/log")"
		fi
	done
	if interrupted INT TERM; then
		fail "two signals do not end it"
	elif [ -e "$tmp/b.data" ]; then
		fail "two signals leave a part of a file"
	fi
}

# The attributes come with the stream.
test_aslr_of_entries()
{
	perf inject --buildid-offset -i "$tmp/stream" -o "$tmp/b.stream.data"
	perf inject --buildid-offset -i - -o - <"$tmp/stream" >"$tmp/b.stream"
	for input in "$tmp/b.stream.data" "$tmp/b.stream"; do
		if perf inject --aslr -i "$input" -o "$tmp/aslr.data" 2>"$tmp/log"; then
			fail "--aslr takes build IDs from samples"
		elif ! grep -q 'has build IDs' "$tmp/log"; then
			fail "--aslr does not say why it cannot work"
		fi
	done
}

test_compressed
test_compressed_addresses
test_old_mark
test_interrupted
test_aslr_of_entries

exit $err
