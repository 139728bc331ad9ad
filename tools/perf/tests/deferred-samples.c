// SPDX-License-Identifier: GPL-2.0
/* Samples that wait for a PERF_RECORD_CALLCHAIN_DEFERRED, and how they go on. */
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>

#include "build-id-offset.h"
#include "debug.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "machine.h"
#include "sample.h"
#include "session.h"
#include "tests.h"
#include "tool.h"

#define IP	0x401000
#define OFFSET	0x1000

/* A sample of one entry, no callchain: as short as it gets. */
struct waiting_sample {
	struct perf_event_header header;
	u32 pid, tid;
	/* Zero, PERF_CONTEXT_USER_DEFERRED, cookie, address. */
	u64 words[4];
};

struct deferred_record {
	struct perf_event_header header;
	u64 cookie;
	u64 nr;
	struct perf_build_id_offset entry;
	u32 pid, tid;
};

struct delivery {
	struct perf_tool tool;
	int nr;
	u32 tid;
	bool resolved;
};

static int take_sample(const struct perf_tool *tool, union perf_event *event __maybe_unused,
		       struct perf_sample *sample, struct machine *machine __maybe_unused)
{
	struct delivery *d = container_of(tool, struct delivery, tool);

	d->nr++;
	d->tid = sample->tid;
	d->resolved = build_id_offset__resolved(&sample->build_id_offset) &&
		      sample->ip == OFFSET;
	return 0;
}

static int defer(struct evlist *evlist, u32 tid, u64 cookie)
{
	struct waiting_sample rec = {
		.header = {
			.type = PERF_RECORD_SAMPLE,
			.misc = PERF_RECORD_MISC_USER,
			.size = sizeof(rec),
		},
		.pid = 1,
		.tid = tid,
		.words = { 0, PERF_CONTEXT_USER_DEFERRED, cookie, IP },
	};
	union perf_event *event = (union perf_event *)&rec;
	struct perf_sample sample;
	int err;

	perf_sample__init(&sample, /*all=*/true);
	err = evlist__parse_sample(evlist, event, &sample);
	if (!err && !perf_sample__is_deferred(&sample))
		err = -1;
	if (!err)
		err = evlist__defer_sample(evlist, event, /*file_offset=*/0);
	perf_sample__exit(&sample);
	return err;
}

static int complete(struct evlist *evlist, struct delivery *d, struct machine *machine,
		    u32 tid, u64 cookie)
{
	struct deferred_record rec = {
		.header = {
			.type = PERF_RECORD_CALLCHAIN_DEFERRED,
			.misc = PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID,
			.size = sizeof(rec),
		},
		.cookie = cookie,
		.nr = 1,
		.entry = {
			.build_id = { .size = 20, .data = { 1, 2, 3 } },
			.offset = OFFSET,
		},
		.pid = 1,
		.tid = tid,
	};
	union perf_event *event = (union perf_event *)&rec;
	struct perf_sample sample;
	int err;

	perf_sample__init(&sample, /*all=*/true);
	err = evlist__parse_sample(evlist, event, &sample);
	if (!err) {
		d->nr = 0;
		err = evlist__deliver_deferred_callchain(evlist, &d->tool, event, &sample, machine);
	}
	perf_sample__exit(&sample);
	return err;
}

static int flush(struct evlist *evlist, struct delivery *d, struct machine *machine, pid_t tid)
{
	d->nr = 0;
	return evlist__flush_deferred_samples(evlist, &d->tool, machine, tid);
}

static int test__deferred_samples(struct test_suite *test __maybe_unused,
				  int subtest __maybe_unused)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_BUILD_ID_OFFSET,
		.sample_id_all = 1,
		.defer_callchain = 1,
		.defer_output = 1,
	};
	struct evlist *evlist = evlist__new();
	struct evsel *evsel = evsel__new(&attr);
	struct delivery d = {};
	struct machine machine;

	TEST_ASSERT_VAL("no memory", evlist && evsel);
	evlist__add(evlist, evsel);
	evlist__set_id_pos(evlist);
	TEST_ASSERT_EQUAL("machine", machine__init(&machine, "", HOST_KERNEL_ID), 0);
	perf_tool__init(&d.tool, /*ordered_events=*/false);
	d.tool.sample = take_sample;

	/* Two of one thread, in one stay in the kernel, and one of another. */
	TEST_ASSERT_EQUAL("defer", defer(evlist, /*tid=*/1, /*cookie=*/10), 0);
	TEST_ASSERT_EQUAL("defer", defer(evlist, /*tid=*/2, /*cookie=*/20), 0);
	TEST_ASSERT_EQUAL("defer", defer(evlist, /*tid=*/1, /*cookie=*/10), 0);

	/* A cookie does not tell the thread. */
	TEST_ASSERT_EQUAL("deliver", complete(evlist, &d, &machine, /*tid=*/3, /*cookie=*/10), 0);
	TEST_ASSERT_EQUAL("other thread", d.nr, 0);
	TEST_ASSERT_EQUAL("deliver", complete(evlist, &d, &machine, /*tid=*/1, /*cookie=*/10), 0);
	TEST_ASSERT_EQUAL("both samples", d.nr, 2);
	TEST_ASSERT_VAL("resolved", d.resolved && d.tid == 1);

	/* The record of thread 2 was lost. */
	TEST_ASSERT_EQUAL("deliver", complete(evlist, &d, &machine, /*tid=*/2, /*cookie=*/21), 0);
	TEST_ASSERT_EQUAL("given up", d.nr, 1);
	TEST_ASSERT_VAL("not resolved", !d.resolved && d.tid == 2);

	/* Or the thread ends. */
	TEST_ASSERT_EQUAL("defer", defer(evlist, /*tid=*/1, /*cookie=*/11), 0);
	TEST_ASSERT_EQUAL("defer", defer(evlist, /*tid=*/2, /*cookie=*/22), 0);
	TEST_ASSERT_EQUAL("flush", flush(evlist, &d, &machine, /*tid=*/2), 0);
	TEST_ASSERT_EQUAL("of one thread", d.nr, 1);
	TEST_ASSERT_VAL("not resolved", !d.resolved && d.tid == 2);
	TEST_ASSERT_EQUAL("flush", flush(evlist, &d, &machine, /*tid=*/-1), 0);
	TEST_ASSERT_EQUAL("the rest", d.nr, 1);
	TEST_ASSERT_VAL("nothing left", list_empty(evlist__deferred_samples(evlist)));

	machine__exit(&machine);
	evlist__put(evlist);
	return TEST_OK;
}

DEFINE_SUITE("Deferred samples", deferred_samples);
