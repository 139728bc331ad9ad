// SPDX-License-Identifier: GPL-2.0
/* Samples that wait for a PERF_RECORD_CALLCHAIN_DEFERRED, and how they go on. */
#include <byteswap.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>

#include "branch.h"
#include "build-id-offset.h"
#include "debug.h"
#include "deferred-samples.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "machine.h"
#include "memswap.h"
#include "sample.h"
#include "tests.h"
#include "tool.h"

#define IP	0x401000
#define OFFSET	0x1000
#define KERNEL_IP	0xffffffff81000000
/* The branch was mispredicted: the first bit from the other end. */
#define FOREIGN_FLAGS	(1ULL << 63)

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
	struct perf_build_id_offset ip;
	u64 nr;
	struct perf_build_id_offset entry;
	u32 pid, tid;
};

/* What a session has, and what its tool got last. */
struct fixture {
	struct perf_tool tool;
	struct evlist *evlist;
	struct machine machine;
	int nr;
	u32 tid;
	int frames;
	bool resolved;
};

static int take_sample(const struct perf_tool *tool, union perf_event *event __maybe_unused,
		       struct perf_sample *sample, struct machine *machine __maybe_unused)
{
	struct fixture *f = container_of(tool, struct fixture, tool);

	f->nr++;
	f->tid = sample->tid;
	f->frames = sample->callchain ? sample->callchain->nr : 0;
	f->resolved = build_id_offset__resolved(&sample->build_id_offset) &&
		      sample->ip == OFFSET;
	return 0;
}

/* Give up a sample as a session does: @tool gets it now or later. */
static int defer_event(struct fixture *f, void *rec)
{
	struct perf_sample sample;
	int err;

	f->nr = 0;
	perf_sample__init(&sample, /*all=*/true);
	err = evlist__parse_sample(f->evlist, rec, &sample);
	if (!err && !perf_sample__is_deferred(&sample))
		err = -1;
	if (!err)
		err = evlist__defer_sample(f->evlist, &f->tool, rec, &sample, &f->machine);
	perf_sample__exit(&sample);
	return err;
}

static int defer(struct fixture *f, u32 tid, u64 cookie)
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

	return defer_event(f, &rec);
}

static int deliver_record(struct fixture *f, void *rec)
{
	struct perf_sample sample;
	int err;

	f->nr = 0;
	perf_sample__init(&sample, /*all=*/true);
	err = evlist__parse_sample(f->evlist, rec, &sample);
	if (!err)
		err = evlist__deliver_deferred_callchain(f->evlist, &f->tool, rec, &sample,
							 &f->machine);
	perf_sample__exit(&sample);
	return err;
}

/* The record of @cookie with the sampled address, which is the only frame, too. */
static int complete(struct fixture *f, u32 tid, u64 cookie)
{
	struct deferred_record rec = {
		.header = {
			.type = PERF_RECORD_CALLCHAIN_DEFERRED,
			.misc = PERF_RECORD_MISC_USER | PERF_RECORD_MISC_CALLCHAIN_BUILD_ID,
			.size = sizeof(rec),
		},
		.cookie = cookie,
		.ip = {
			.build_id = { .size = 20, .data = { 1, 2, 3 } },
			.offset = OFFSET,
		},
		.nr = 1,
		.entry = {
			.build_id = { .size = 20, .data = { 1, 2, 3 } },
			.offset = OFFSET,
		},
		.pid = 1,
		.tid = tid,
	};

	return deliver_record(f, &rec);
}

/* Give up all, or those of a thread that has exited. */
static int flush(struct fixture *f, pid_t tid)
{
	f->nr = 0;
	return tid == -1 ? evlist__flush_deferred_samples(f->evlist, &f->tool) :
			   evlist__flush_deferred_thread(f->evlist, &f->tool, tid);
}

/* A session with one event that defers, and has the records in its own buffer. */
static int set_up(struct fixture *f, u64 sample_type, event_sample take)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_type = sample_type,
		.sample_id_all = 1,
		.defer_callchain = 1,
		.defer_output = 1,
	};
	struct evsel *evsel = evsel__new(&attr);

	f->evlist = evlist__new();
	TEST_ASSERT_VAL("no memory", f->evlist && evsel);
	evlist__add(f->evlist, evsel);
	evlist__set_id_pos(f->evlist);
	TEST_ASSERT_EQUAL("machine", machine__init(&f->machine, "", HOST_KERNEL_ID), 0);
	perf_tool__init(&f->tool, /*ordered_events=*/false);
	f->tool.sample = take;
	return 0;
}

static void tear_down(struct fixture *f)
{
	machine__exit(&f->machine);
	evlist__put(f->evlist);
}

/* Samples that come before their record. */
static int test__samples_wait(struct test_suite *test __maybe_unused,
			      int subtest __maybe_unused)
{
	struct fixture f = {};

	if (set_up(&f, PERF_SAMPLE_TID | PERF_SAMPLE_BUILD_ID_OFFSET, take_sample))
		return TEST_FAIL;

	/* Two of one thread, in one stay in the kernel, and one of another. */
	TEST_ASSERT_EQUAL("defer", defer(&f, /*tid=*/1, /*cookie=*/10), 0);
	TEST_ASSERT_EQUAL("defer", defer(&f, /*tid=*/2, /*cookie=*/20), 0);
	TEST_ASSERT_EQUAL("defer", defer(&f, /*tid=*/1, /*cookie=*/10), 0);

	/* The cookie does not identify the thread. */
	TEST_ASSERT_EQUAL("deliver", complete(&f, /*tid=*/3, /*cookie=*/10), 0);
	TEST_ASSERT_EQUAL("other thread", f.nr, 0);
	TEST_ASSERT_EQUAL("deliver", complete(&f, /*tid=*/1, /*cookie=*/10), 0);
	TEST_ASSERT_EQUAL("both samples", f.nr, 2);
	TEST_ASSERT_VAL("resolved", f.resolved && f.tid == 1);

	/* The record of thread 2 was lost. */
	TEST_ASSERT_EQUAL("deliver", complete(&f, /*tid=*/2, /*cookie=*/21), 0);
	TEST_ASSERT_EQUAL("given up", f.nr, 1);
	TEST_ASSERT_VAL("not resolved", !f.resolved && f.tid == 2);

	/* Or the thread ends. */
	TEST_ASSERT_EQUAL("defer", defer(&f, /*tid=*/1, /*cookie=*/11), 0);
	TEST_ASSERT_EQUAL("defer", defer(&f, /*tid=*/2, /*cookie=*/22), 0);
	TEST_ASSERT_EQUAL("flush", flush(&f, /*tid=*/2), 0);
	TEST_ASSERT_EQUAL("of one thread", f.nr, 1);
	TEST_ASSERT_VAL("not resolved", !f.resolved && f.tid == 2);
	TEST_ASSERT_EQUAL("flush", flush(&f, /*tid=*/-1), 0);
	TEST_ASSERT_EQUAL("the rest", f.nr, 1);
	TEST_ASSERT_EQUAL("flush", flush(&f, /*tid=*/-1), 0);
	TEST_ASSERT_EQUAL("nothing left", f.nr, 0);

	/* This one is freed with the evlist. */
	TEST_ASSERT_EQUAL("defer", defer(&f, /*tid=*/1, /*cookie=*/12), 0);

	tear_down(&f);
	return TEST_OK;
}

/* A sample in the kernel whose callchain is there but for the user part. */
struct chain_sample {
	struct perf_event_header header;
	u32 pid, tid;
	u64 nr;
	struct perf_build_id_offset entries[4];
};

static int defer_chain(struct fixture *f, u32 tid, u64 cookie)
{
	struct chain_sample rec = {
		.header = {
			.type = PERF_RECORD_SAMPLE,
			.misc = PERF_RECORD_MISC_KERNEL,
			.size = sizeof(rec),
		},
		.pid = 1,
		.tid = tid,
		.nr = ARRAY_SIZE(rec.entries),
		.entries = {
			{ .offset = PERF_CONTEXT_KERNEL },
			{ .offset = KERNEL_IP },
			{ .offset = PERF_CONTEXT_USER_DEFERRED },
			{ .offset = cookie },
		},
	};

	return defer_event(f, &rec);
}

/* Samples that are taken while, or after, their record is written. */
static int test__samples_come_late(struct test_suite *test __maybe_unused,
				   int subtest __maybe_unused)
{
	struct fixture f = {};

	if (set_up(&f, PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET, take_sample))
		return TEST_FAIL;

	TEST_ASSERT_EQUAL("deliver", complete(&f, /*tid=*/1, /*cookie=*/10), 0);
	TEST_ASSERT_EQUAL("none waits", f.nr, 0);

	/* The kernel part has two entries, then the marker and the record's. */
	TEST_ASSERT_EQUAL("late", defer_chain(&f, /*tid=*/1, /*cookie=*/10), 0);
	TEST_ASSERT_EQUAL("at once", f.nr, 1);
	TEST_ASSERT_EQUAL("whole", f.frames, 4);

	/* Neither of another thread nor of another cookie. */
	TEST_ASSERT_EQUAL("other", defer_chain(&f, /*tid=*/2, /*cookie=*/10), 0);
	TEST_ASSERT_EQUAL("waits", f.nr, 0);
	TEST_ASSERT_EQUAL("later", defer_chain(&f, /*tid=*/1, /*cookie=*/11), 0);
	TEST_ASSERT_EQUAL("waits", f.nr, 0);
	TEST_ASSERT_EQUAL("deliver", complete(&f, /*tid=*/1, /*cookie=*/11), 0);
	TEST_ASSERT_EQUAL("complete", f.nr, 1);
	TEST_ASSERT_EQUAL("whole", f.frames, 4);

	/* A thread that is gone may have its ID reused. */
	TEST_ASSERT_EQUAL("flush", flush(&f, /*tid=*/1), 0);
	TEST_ASSERT_EQUAL("reused", defer_chain(&f, /*tid=*/1, /*cookie=*/11), 0);
	TEST_ASSERT_EQUAL("waits", f.nr, 0);
	TEST_ASSERT_EQUAL("flush", flush(&f, /*tid=*/-1), 0);
	TEST_ASSERT_EQUAL("given up", f.nr, 2);
	/* Neither marker nor cookie are frames. */
	TEST_ASSERT_EQUAL("kernel part", f.frames, 2);

	tear_down(&f);
	return TEST_OK;
}

/* A callchain of addresses, and a sampled address that is resolved later. */
struct mixed_sample {
	struct perf_event_header header;
	u32 pid, tid;
	u64 nr;
	u64 ips[2];
	u64 words[4];
};

struct words_record {
	struct perf_event_header header;
	u64 cookie;
	u64 nr;
	u64 ips[3];
	u32 pid, tid;
};

/* There are two records of one cookie: one entry, and a callchain of addresses. */
static int test__two_records(struct test_suite *test __maybe_unused,
			     int subtest __maybe_unused)
{
	struct mixed_sample rec = {
		.header = {
			.type = PERF_RECORD_SAMPLE,
			.misc = PERF_RECORD_MISC_USER,
			.size = sizeof(rec),
		},
		.pid = 1,
		.tid = 1,
		.nr = 2,
		.ips = { PERF_CONTEXT_USER_DEFERRED, 10 },
		.words = { 0, PERF_CONTEXT_USER_DEFERRED, 10, IP },
	};
	struct words_record words = {
		.header = {
			.type = PERF_RECORD_CALLCHAIN_DEFERRED,
			.misc = PERF_RECORD_MISC_USER,
			.size = sizeof(words),
		},
		.cookie = 10,
		.nr = 3,
		.ips = { IP, IP + 1, IP + 2 },
		.pid = 1,
		.tid = 1,
	};
	struct fixture f = {};

	if (set_up(&f, PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BUILD_ID_OFFSET,
		   take_sample))
		return TEST_FAIL;

	TEST_ASSERT_EQUAL("defer", defer_event(&f, &rec), 0);
	TEST_ASSERT_EQUAL("deliver", complete(&f, /*tid=*/1, /*cookie=*/10), 0);
	TEST_ASSERT_EQUAL("the address alone", f.nr, 0);
	TEST_ASSERT_EQUAL("deliver", deliver_record(&f, &words), 0);
	TEST_ASSERT_EQUAL("complete", f.nr, 1);
	/* The marker and three addresses. */
	TEST_ASSERT_EQUAL("whole", f.frames, 4);
	TEST_ASSERT_VAL("resolved", f.resolved);

	/* Late, it finds both. */
	TEST_ASSERT_EQUAL("late", defer_event(&f, &rec), 0);
	TEST_ASSERT_EQUAL("at once", f.nr, 1);
	TEST_ASSERT_EQUAL("whole", f.frames, 4);

	/* The second one was lost. */
	rec.ips[1] = 11;
	rec.words[2] = 11;
	TEST_ASSERT_EQUAL("defer", defer_event(&f, &rec), 0);
	TEST_ASSERT_EQUAL("deliver", complete(&f, /*tid=*/1, /*cookie=*/11), 0);
	TEST_ASSERT_EQUAL("the address alone", f.nr, 0);
	TEST_ASSERT_EQUAL("deliver", complete(&f, /*tid=*/1, /*cookie=*/12), 0);
	TEST_ASSERT_EQUAL("given up", f.nr, 1);
	TEST_ASSERT_EQUAL("no callchain", f.frames, 0);
	TEST_ASSERT_VAL("resolved", f.resolved);

	tear_down(&f);
	return TEST_OK;
}

/* Raw data and branch flags are swapped in the record. */
struct swapped_sample {
	struct perf_event_header header;
	u32 tid, pid;			/* as one u64 they were swapped */
	u32 raw[4];
	u64 nr_branches;
	struct {
		u64 from, to, flags;
	} branch;
	u64 words[4];
};

static int take_swapped_sample(const struct perf_tool *tool, union perf_event *event __maybe_unused,
			       struct perf_sample *sample, struct machine *machine __maybe_unused)
{
	struct fixture *f = container_of(tool, struct fixture, tool);
	struct branch_entry *branches = perf_sample__branch_entries(sample);

	f->nr++;
	f->tid = sample->tid;
	f->resolved = sample->raw_size == 12 && !memcmp(sample->raw_data, "raw data 12\0", 12) &&
		      branches[0].flags.value == evsel__bitfield_swap_branch_flags(FOREIGN_FLAGS);
	return 0;
}

static int test__other_endianness(struct test_suite *test __maybe_unused,
				  int subtest __maybe_unused)
{
	struct swapped_sample rec = {
		.header = {
			.type = PERF_RECORD_SAMPLE,
			.misc = PERF_RECORD_MISC_USER,
			.size = sizeof(rec),
		},
		.pid = 1,
		.tid = 1,
		.nr_branches = 1,
		.branch = { .from = IP, .to = IP, .flags = FOREIGN_FLAGS },
		.words = { 0, PERF_CONTEXT_USER_DEFERRED, 10, IP },
	};
	struct fixture f = {};

	if (set_up(&f, PERF_SAMPLE_TID | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK |
		       PERF_SAMPLE_BUILD_ID_OFFSET, take_swapped_sample))
		return TEST_FAIL;
	evlist__first(f.evlist)->needs_swap = true;

	/* As it is when the reader has swapped it as u64 throughout. */
	rec.raw[0] = bswap_32(12);
	memcpy(&rec.raw[1], "raw data 12\0", 12);
	mem_bswap_64(rec.raw, sizeof(rec.raw));

	TEST_ASSERT_EQUAL("defer", defer_event(&f, &rec), 0);
	TEST_ASSERT_EQUAL("waits", f.nr, 0);
	TEST_ASSERT_EQUAL("flush", flush(&f, /*tid=*/-1), 0);
	TEST_ASSERT_EQUAL("delivered", f.nr, 1);
	TEST_ASSERT_VAL("swapped once", f.resolved && f.tid == 1);

	tear_down(&f);
	return TEST_OK;
}

static struct test_case tests__deferred_samples[] = {
	TEST_CASE("Samples wait for the rest", samples_wait),
	TEST_CASE("Samples come after their record", samples_come_late),
	TEST_CASE("Samples with two records", two_records),
	TEST_CASE("Samples of the other endianness", other_endianness),
	{ .name = NULL, },
};

struct test_suite suite__deferred_samples = {
	.desc = "Deferred samples",
	.test_cases = tests__deferred_samples,
};
