#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# scripts and converters show build IDs and offsets

# What else perf can do with a profile than to report it: here, after conversion and without
# maps, when build ID and offset are all that is known.

set -e

err=0
tmp=$(mktemp -d /tmp/perf.bid_offset_readers.XXXXXX)
# shellcheck source=lib/scratch.sh
. "$(dirname "$0")"/lib/scratch.sh

need gcc cmp

# Two files that differ in one letter have a frame at the same offset.
for x in a b; do
	cat >"$tmp/$x.c" <<-END
	static volatile unsigned long calls;
	void step_$x(void **next)
	{
		((void (*)(void **))next[0])(next + 1);
		calls++;
	}
	END
	gcc -g -O1 -fno-omit-frame-pointer -shared -fPIC -Wl,--build-id=sha1 \
		-o "$tmp/lib$x.so" "$tmp/$x.c"
done
cat >"$tmp/program.c" <<'END'
void step_a(void **next);
void step_b(void **next);
static volatile unsigned long sink;

/* It may have no frame. */
__attribute__((noinline)) static void spin(void)
{
	for (int i = 0; i < 1000000; i++)
		sink += i;
}

__attribute__((noinline)) static void leaf(void **next)
{
	spin();
	sink += !next;
}

int main(void)
{
	void *next[] = { step_b, leaf, 0 };

	for (int i = 0; i < 100; i++)
		step_a(next);
	return 0;
}
END
gcc -g -O1 -fno-omit-frame-pointer -Wl,-rpath,"$tmp" -o "$tmp/program" "$tmp/program.c" \
	"$tmp/liba.so" "$tmp/libb.so"
a=$(perf buildid-list -i "$tmp/liba.so")
b=$(perf buildid-list -i "$tmp/libb.so")

if ! perf record -q -N -e cpu-clock:u -F 1000 -g -o "$tmp/plain.data" "$tmp/program" \
	2>"$tmp/log"; then
	echo "Skip: cannot record: $(tail -n 1 "$tmp/log")"
	exit 2
fi
perf inject --buildid-offset --drop-mmaps -i "$tmp/plain.data" -o "$tmp/perf.data" 2>"$tmp/log"

result()
{
	if [ "$status" = 0 ]; then
		echo "$1 [Success]"
	else
		echo "$1 [Failed]"
		head -n 20 "$tmp/out"
		err=1
	fi
}

# frames: from lines of build ID, offset and symbol on standard input: step_a and step_b are in
# files of their own, many at one offset
frames()
{
	awk -v a="$a" -v b="$b" '
		$3 == "step_a" { na++; if ($1 != a) bad = 1; offset_a[$2] }
		$3 == "step_b" { if ($2 in offset_a) nb++; if ($1 != b) bad = 1 }
		END { exit bad || na < 10 || nb < 10 }'
}

test_script()
{
	status=0
	perf script -F ip,sym,buildid -i "$tmp/perf.data" >"$tmp/out" 2>"$tmp/log" || status=1
	sed -n 's/^[[:space:]]*[0-9a-f]* \([a-z_]*\) \([0-9a-f]*\)+\(0x.*\)/\2 \3 \1/p' \
		"$tmp/out" | tac | frames || status=1
	result "perf script -F buildid"
}

test_insn()
{
	status=0
	for x in plain perf; do
		perf script -F tid,time,insn,insnlen -G -i "$tmp/$x.data" >"$tmp/$x.insn" \
			2>"$tmp/log" || status=1
	done
	cp "$tmp/perf.insn" "$tmp/out"
	grep -q 'ilen: [1-9].* insn: [0-9a-f]' "$tmp/out" || status=1
	# Kernel code that a sample is in all the same need not be readable.
	cmp "$tmp/plain.insn" "$tmp/out" || status=1
	result "perf script -F insn,insnlen"

	perf check feature -q libcapstone || return 0
	status=0
	perf script -F disasm -i "$tmp/perf.data" >"$tmp/out" 2>"$tmp/log" || status=1
	grep -q '[a-z]' "$tmp/out" || status=1
	result "perf script -F disasm"
}

test_python()
{
	if ! perf check feature -q libpython; then
		echo "Callchain of python scripts [Skip: not built in]"
		return
	fi
	cat >"$tmp/script.py" <<-'END'
	def process_event(event):
	    for node in event['callchain']:
	        if 'build_id' in node and 'sym' in node:
	            print(node['build_id'], hex(node['file_offset']), node['sym']['name'])
	END
	status=0
	perf script -s "$tmp/script.py" -i "$tmp/perf.data" >"$tmp/out" 2>"$tmp/log" || status=1
	tac "$tmp/out" | frames || status=1
	result "Callchain of python scripts"
}

test_json()
{
	status=0
	perf data convert --to-json "$tmp/json" -i "$tmp/perf.data" 2>"$tmp/log" || status=1
	tr -d '",' <"$tmp/json" | awk '
		$1 == "ip:" { id = offset = "-" }
		$1 == "build_id:" { id = $2 }
		$1 == "file_offset:" { offset = $2 }
		$1 == "symbol:" { print id, offset, $2 }' | tac | frames || status=1
	result "perf data convert --to-json"
}

test_dlfilter()
{
	cat >"$tmp/filter.c" <<-'END'
	#include <perf/perf_dlfilter.h>
	#include <stddef.h>
	#include <stdio.h>

	struct perf_dlfilter_fns perf_dlfilter_fns;

	int filter_event(void *data, const struct perf_dlfilter_sample *sample, void *ctx)
	{
		__u32 len = 0;

		if (sample->size <= offsetof(struct perf_dlfilter_sample, raw_callchain_entries) ||
		    !sample->raw_callchain_entries)
			return 1;
		for (__u64 i = 0; i < sample->raw_callchain_nr; i++) {
			const struct perf_dlfilter_callchain_entry *entry =
				&sample->raw_callchain_entries[i];

			if (!entry->buildid_size)
				continue;
			for (int j = 0; j < entry->buildid_size; j++)
				printf("%02x", entry->buildid[j]);
			printf(" %#llx\n", entry->buildid_offset);
		}
		printf("insn %d\n", perf_dlfilter_fns.insn(ctx, &len) && len);
		return 1;
	}
	END
	if ! gcc -I "$(dirname "$0")/../../include" -shared -fPIC -o "$tmp/filter.so" "$tmp/filter.c" \
		2>"$tmp/log"; then
		echo "dlfilter [Skip: $(head -n 1 "$tmp/log")]"
		return
	fi
	status=0
	perf script --dlfilter "$tmp/filter.so" -i "$tmp/perf.data" >"$tmp/out" 2>"$tmp/log" ||
		status=1
	sed "s/^$a .*/& step_a/; s/^$b .*/& step_b/" "$tmp/out" | tac | frames || status=1
	grep -q 'insn 1' "$tmp/out" || status=1
	result "Callchain and instruction of dlfilters"
}

test_script
test_insn
test_python
test_json
test_dlfilter
exit $err
