// SPDX-License-Identifier: GPL-2.0
/*
 * Build ID + file offset entries: from a record into a sample, from a sample to
 * a map, and from an address into a record.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>

#include "addr_location.h"
#include "build-id.h"
#include "build-id-convert.h"
#include "build-id-lookup.h"
#include "build-id-offset.h"
#include "debug.h"
#include "dso.h"
#include "dsos.h"
#include "event.h"
#include "evsel.h"
#include "machine.h"
#include "map.h"
#include "maps.h"
#include "memswap.h"
#include "sample.h"
#include "tests.h"
#include "thread.h"

#define PID		4321
#define COOKIE		0x1122334455667788ULL
#define KERNEL_IP	0xffffffff81000010ULL

#define ENTRY(_size, _first, _offset) {					\
	.build_id = { .size = (_size), .data = { (_first), 0xab } },	\
	.offset = (_offset),						\
}

#define UNRESOLVED(_word) { .offset = (_word) }

/* A record with the entry of the sampled instruction, a callchain, or both. */
struct record {
	struct perf_event_header header;
	__u64 words[64];
};

static void record__start(struct record *rec, u32 type, u16 misc)
{
	memset(rec, 0, sizeof(*rec));
	rec->header = (struct perf_event_header){
		.type = type,
		.misc = misc,
		.size = sizeof(rec->header),
	};
}

static void record__add(struct record *rec, const void *data, size_t size)
{
	if (size)
		memcpy((void *)rec + rec->header.size, data, size);
	rec->header.size += size;
}

static void record__add_chain(struct record *rec, u64 nr,
			      const struct perf_build_id_offset *entries, u64 present)
{
	record__add(rec, &nr, sizeof(nr));
	record__add(rec, entries, present * sizeof(entries[0]));
}

static struct evsel *new_evsel(u64 sample_type, bool defer)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_type = sample_type,
		.defer_callchain = defer,
	};

	return evsel__new(&attr);
}

static int parse(struct evsel *evsel, struct record *rec, struct perf_sample *sample)
{
	perf_sample__init(sample, /*all=*/true);
	return evsel__parse_sample(evsel, (union perf_event *)rec, sample);
}

static int parse_fails(u64 sample_type, struct record *rec)
{
	struct evsel *evsel = new_evsel(sample_type, /*defer=*/false);
	struct perf_sample sample;
	int err;

	if (!evsel)
		return -ENOMEM;
	err = parse(evsel, rec, &sample);
	perf_sample__exit(&sample);
	evsel__put(evsel);
	return err == -EFAULT ? 0 : -1;
}

static int test__parse(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	const struct perf_build_id_offset sampled = ENTRY(8, 0x11, 0x1234);
	const struct perf_build_id_offset entries[] = {
		UNRESOLVED(PERF_CONTEXT_KERNEL), UNRESOLVED(KERNEL_IP),
		UNRESOLVED(PERF_CONTEXT_USER), ENTRY(20, 0x22, 0x5678),
	};
	const u64 type = PERF_SAMPLE_BUILD_ID_OFFSET | PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET;
	struct evsel *evsel = new_evsel(type, /*defer=*/false);
	struct perf_sample sample;
	struct record rec;

	TEST_ASSERT_VAL("no memory", evsel);
	for (int swapped = 0; swapped <= 1; swapped++) {
		record__start(&rec, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
		record__add(&rec, &sampled, sizeof(sampled));
		record__add_chain(&rec, ARRAY_SIZE(entries), entries, ARRAY_SIZE(entries));

		/* As the session leaves it: numbers in order, build IDs not. */
		if (swapped) {
			mem_bswap_64(rec.words, sizeof(sampled.build_id));
			for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
				mem_bswap_64(&rec.words[5 + 4 * i], sizeof(sampled.build_id));
		}
		evsel->needs_swap = swapped;

		/* Twice: it may be parsed again when it is delivered late. */
		for (int again = 0; again <= 1; again++) {
			TEST_ASSERT_EQUAL("parse", parse(evsel, &rec, &sample), 0);
			TEST_ASSERT_VAL("has entry", sample.has_build_id_offset);
			TEST_ASSERT_VAL("entry", !memcmp(&sample.build_id_offset, &sampled,
							 sizeof(sampled)));
			TEST_ASSERT_VAL("ip", sample.ip == 0x1234);
			TEST_ASSERT_VAL("nr", sample.callchain->nr == ARRAY_SIZE(entries) &&
					sample.build_id_callchain->nr == ARRAY_SIZE(entries));
			TEST_ASSERT_VAL("entries", !memcmp(sample.build_id_callchain->entries,
							   entries, sizeof(entries)));
			for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
				TEST_ASSERT_VAL("word",
						sample.callchain->ips[i] == entries[i].offset);
			}
			perf_sample__exit(&sample);
		}
	}
	evsel__put(evsel);
	return TEST_OK;
}

static int test__parse_invalid(struct test_suite *test __maybe_unused,
			       int subtest __maybe_unused)
{
	const struct perf_build_id_offset good = ENTRY(20, 0x11, 0x1234);
	const struct perf_build_id_offset long_id = ENTRY(21, 0x11, 0x1234);
	const struct perf_build_id_offset far = ENTRY(20, 0x11, 1ULL << 63);
	const u64 nrs[] = { 2, 1ULL << 59, 1ULL << 63, ULLONG_MAX };
	const u64 words[] = { 1, 0x1000 };
	struct record rec;

	record__start(&rec, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	record__add(&rec, &long_id, sizeof(long_id));
	TEST_ASSERT_EQUAL("size", parse_fails(PERF_SAMPLE_BUILD_ID_OFFSET, &rec), 0);

	record__start(&rec, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	record__add(&rec, &far, sizeof(far));
	TEST_ASSERT_EQUAL("offset", parse_fails(PERF_SAMPLE_BUILD_ID_OFFSET, &rec), 0);

	record__start(&rec, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	record__add(&rec, &good, sizeof(good) - 8);
	TEST_ASSERT_EQUAL("entry cut", parse_fails(PERF_SAMPLE_BUILD_ID_OFFSET, &rec), 0);

	for (size_t i = 0; i < ARRAY_SIZE(nrs); i++) {
		record__start(&rec, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
		record__add_chain(&rec, nrs[i], &good, 1);
		TEST_ASSERT_EQUAL("nr", parse_fails(PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET, &rec),
				  0);
	}

	record__start(&rec, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	record__add_chain(&rec, 1, &long_id, 1);
	TEST_ASSERT_EQUAL("size in chain",
			  parse_fails(PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET, &rec), 0);

	/* A callchain must have as many addresses as entries. */
	record__start(&rec, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	record__add(&rec, words, sizeof(words));
	record__add_chain(&rec, 0, NULL, 0);
	TEST_ASSERT_EQUAL("both", parse_fails(PERF_SAMPLE_CALLCHAIN |
					      PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET, &rec), 0);
	return TEST_OK;
}

/*
 * Complete the sample @rec with the deferred record of @entries. The entry of the
 * sampled address is @ip, or in the older form one of @entries.
 */
static int merge(struct evsel *evsel, struct record *rec,
		 const struct perf_build_id_offset *ip,
		 const struct perf_build_id_offset *entries, u64 nr, struct perf_sample *sample)
{
	const u64 cookie = COOKIE;
	struct perf_sample deferred;
	struct record def;
	int err;

	record__start(&def, PERF_RECORD_CALLCHAIN_DEFERRED,
		      ip ? PERF_RECORD_MISC_CALLCHAIN_BUILD_ID : PERF_RECORD_MISC_MMAP_BUILD_ID);
	record__add(&def, &cookie, sizeof(cookie));
	if (ip)
		record__add(&def, ip, sizeof(*ip));
	record__add_chain(&def, nr, entries, nr);

	err = parse(evsel, rec, sample);
	if (err)
		return err;
	if (!perf_sample__awaits_build_ids(sample) || sample->deferred_cookie != COOKIE)
		return -EINVAL;

	err = parse(evsel, &def, &deferred);
	if (!err)
		err = perf_sample__merge_build_id_address(sample, &deferred);
	if (!err)
		err = perf_sample__merge_build_id_callchain(sample, &deferred);
	perf_sample__exit(&deferred);
	return err;
}

static int test__deferred(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	/* The sampled instruction isn't where the task entered the kernel. */
	const struct perf_build_id_offset precise[] = {
		ENTRY(20, 0x11, 0x1111), UNRESOLVED(PERF_CONTEXT_USER),
		ENTRY(20, 0x22, 0x2222), ENTRY(20, 0x22, 0x3333),
	};
	/* It is. */
	const struct perf_build_id_offset *same = &precise[1];
	const struct perf_build_id_offset kernel[] = {
		UNRESOLVED(PERF_CONTEXT_KERNEL), UNRESOLVED(KERNEL_IP),
		UNRESOLVED(PERF_CONTEXT_USER_DEFERRED), UNRESOLVED(COOKIE),
	};
	const u64 sampled[] = { 0, PERF_CONTEXT_USER_DEFERRED, COOKIE, 0x7f0000001111 };
	const struct perf_build_id_offset none = {};
	struct evsel *evsel = new_evsel(PERF_SAMPLE_BUILD_ID_OFFSET |
					PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET, /*defer=*/true);
	struct perf_sample sample;
	struct record rec, cut;

	TEST_ASSERT_VAL("no memory", evsel);
	record__start(&rec, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	record__add(&rec, sampled, sizeof(sampled));
	record__add_chain(&rec, ARRAY_SIZE(kernel), kernel, ARRAY_SIZE(kernel));

	/* Until then the address is known. */
	TEST_ASSERT_EQUAL("parse", parse(evsel, &rec, &sample), 0);
	TEST_ASSERT_VAL("address", sample.ip == 0x7f0000001111);
	TEST_ASSERT_VAL("not resolved", !build_id_offset__resolved(&sample.build_id_offset));
	perf_sample__exit(&sample);

	TEST_ASSERT_EQUAL("precise", merge(evsel, &rec, NULL, precise, 4, &sample), 0);
	TEST_ASSERT_VAL("sampled", sample.build_id_offset.offset == 0x1111);
	TEST_ASSERT_VAL("nr", sample.build_id_callchain->nr == 3 + 3);
	TEST_ASSERT_VAL("marker", sample.callchain->ips[3] == PERF_CONTEXT_USER);
	TEST_ASSERT_VAL("frame", sample.callchain->ips[4] == 0x2222);
	TEST_ASSERT_VAL("done", !perf_sample__awaits_build_ids(&sample));
	perf_sample__exit(&sample);

	TEST_ASSERT_EQUAL("same", merge(evsel, &rec, NULL, same, 3, &sample), 0);
	TEST_ASSERT_VAL("sampled", sample.build_id_offset.offset == 0x2222);
	TEST_ASSERT_VAL("nr", sample.build_id_callchain->nr == 3 + 3);
	perf_sample__exit(&sample);

	TEST_ASSERT_EQUAL("empty", merge(evsel, &rec, NULL, NULL, 0, &sample), 0);
	TEST_ASSERT_VAL("address stays", sample.ip == 0x7f0000001111);
	TEST_ASSERT_VAL("nr", sample.callchain->nr == 3);
	perf_sample__exit(&sample);

	/* With a place of its own, the sampled address may come with any callchain. */
	TEST_ASSERT_EQUAL("own place", merge(evsel, &rec, &precise[0], &precise[2], 2, &sample), 0);
	TEST_ASSERT_VAL("sampled", sample.build_id_offset.offset == 0x1111);
	TEST_ASSERT_VAL("nr", sample.build_id_callchain->nr == 3 + 2);
	TEST_ASSERT_VAL("frame", sample.callchain->ips[3] == 0x2222);
	perf_sample__exit(&sample);

	TEST_ASSERT_EQUAL("all", merge(evsel, &rec, &precise[0], precise, 4, &sample), 0);
	TEST_ASSERT_VAL("frames", sample.build_id_callchain->nr == 3 + 4);
	perf_sample__exit(&sample);

	TEST_ASSERT_EQUAL("alone", merge(evsel, &rec, &precise[0], NULL, 0, &sample), 0);
	TEST_ASSERT_VAL("sampled", sample.build_id_offset.offset == 0x1111);
	TEST_ASSERT_VAL("nr", sample.callchain->nr == 3);
	perf_sample__exit(&sample);

	TEST_ASSERT_EQUAL("absent", merge(evsel, &rec, &none, &precise[2], 2, &sample), 0);
	TEST_ASSERT_VAL("address stays", sample.ip == 0x7f0000001111);
	TEST_ASSERT_VAL("nr", sample.build_id_callchain->nr == 3 + 2);
	perf_sample__exit(&sample);

	/* Cut in the entry of the sampled address. */
	record__start(&cut, PERF_RECORD_CALLCHAIN_DEFERRED, PERF_RECORD_MISC_CALLCHAIN_BUILD_ID);
	record__add(&cut, sampled, sizeof(sampled));
	TEST_ASSERT_VAL("cut", parse(evsel, &cut, &sample));
	perf_sample__exit(&sample);

	evsel__put(evsel);
	return TEST_OK;
}

/* Map [pgoff, pgoff + 0x1000) of a file with a build ID at start. */
static int add_map(struct machine *machine, pid_t pid, u64 start, u64 pgoff, u32 prot,
		   const char *name, u8 id_size, u8 id_first)
{
	struct thread *thread = machine__findnew_thread(machine, pid, pid);
	struct dso_id id = dso_id_empty;
	struct map *map;
	int err = -ENOMEM;

	if (!thread)
		return err;
	id.build_id.size = id_size;
	id.build_id.data[0] = id_first;
	if (id_size)
		id.build_id.data[1] = 0xab;
	map = map__new(machine, start, 0x1000, pgoff, &id, prot, MAP_PRIVATE, (char *)name, thread);
	if (map)
		err = thread__insert_map(thread, map);
	map__put(map);
	thread__put(thread);
	return err;
}

/* The address that the entry has for the thread, or 0 without a location. */
static u64 locate(struct machine *machine, pid_t pid, const struct perf_build_id_offset *entry,
		  bool *in_thread)
{
	struct thread *thread = machine__findnew_thread(machine, pid, pid);
	struct perf_sample sample = {
		.pid = pid,
		.tid = pid,
		.cpumode = PERF_RECORD_MISC_USER,
		.has_build_id_offset = true,
		.build_id_offset = *entry,
		.ip = entry->offset,
	};
	struct addr_location al;
	u64 addr = 0;

	if (!thread)
		return 0;
	addr_location__init(&al);
	*in_thread = false;
	if (sample__find_map(&sample, thread, &al)) {
		struct map *map = maps__find_build_id_offset(thread__maps(thread), entry);

		addr = map__unmap_ip(al.map, al.addr);
		*in_thread = !!map;
		map__put(map);
	}
	addr_location__exit(&al);
	thread__put(thread);
	return addr;
}

static int test__lookup(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	const struct {
		const char *what;
		pid_t pid;
		struct perf_build_id_offset entry;
		u64 addr;
		bool in_thread;
	} cases[] = {
		{ "20 bytes", PID, ENTRY(20, 0x20, 0x1010), 0x10010, true },
		{ "16 bytes", PID, ENTRY(16, 0x16, 0x10), 0x20010, true },
		{ "8 bytes", PID, ENTRY(8, 0x08, 0x10), 0x30010, true },
		{ "8 bytes, padded to 20", PID, ENTRY(20, 0x08, 0x10), 0x30010, true },
		{ "8 bytes, padded to 16", PID, ENTRY(16, 0x08, 0x10), 0x10, false },
		{ "executable before data", PID, ENTRY(20, 0x55, 0x10), 0x50010, true },
		{ "youngest", PID, ENTRY(20, 0x66, 0x10), 0x70010, true },
		{ "not mapped part", PID, ENTRY(20, 0x20, 0x3010), 0x3010, false },
		{ "mapped by others", PID + 1, ENTRY(20, 0x20, 0x1010), 0x1010, false },
		{ "unknown", PID, ENTRY(20, 0x99, 0x1010), 0x1010, false },
		{ "address", PID, UNRESOLVED(0x30020), 0x30020, false },
	};
	const struct perf_build_id_offset late = ENTRY(20, 0x77, 0x10);
	struct build_id bid = { .size = 20, .data = { 0x77, 0xab } };
	struct machine machine;
	struct dso *dso;
	bool in_thread;

	TEST_ASSERT_EQUAL("machine", machine__init(&machine, "", HOST_KERNEL_ID), 0);
	/* In an order that is neither that of addresses nor of build IDs. */
	TEST_ASSERT_VAL("map", !add_map(&machine, PID, 0x80000, 0, PROT_EXEC, "/t/none", 0, 0));
	TEST_ASSERT_VAL("map", !add_map(&machine, PID, 0x60000, 0, PROT_EXEC, "/t/66", 20, 0x66));
	TEST_ASSERT_VAL("map", !add_map(&machine, PID, 0x30000, 0, PROT_EXEC, "/t/08", 8, 0x08));
	TEST_ASSERT_VAL("map", !add_map(&machine, PID, 0x10000, 0x1000, PROT_EXEC, "/t/20", 20,
					0x20));
	TEST_ASSERT_VAL("map", !add_map(&machine, PID, 0x50000, 0, PROT_EXEC, "/t/55", 20, 0x55));
	TEST_ASSERT_VAL("map", !add_map(&machine, PID, 0x40000, 0, PROT_READ, "/t/55", 20, 0x55));
	TEST_ASSERT_VAL("map", !add_map(&machine, PID, 0x20000, 0, PROT_EXEC, "/t/16", 16, 0x16));
	TEST_ASSERT_VAL("map", !add_map(&machine, PID, 0x70000, 0, PROT_EXEC, "/t/66", 20, 0x66));

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		u64 addr = locate(&machine, cases[i].pid, &cases[i].entry, &in_thread);

		pr_debug("%s: %#" PRIx64 "\n", cases[i].what, addr);
		TEST_ASSERT_VAL(cases[i].what, addr == cases[i].addr);
		TEST_ASSERT_VAL(cases[i].what, in_thread == cases[i].in_thread);
	}

	/* A build ID that becomes known later, and a map that goes. */
	TEST_ASSERT_VAL("not yet", locate(&machine, PID, &late, &in_thread) == 0x10 && !in_thread);
	dso = dsos__find(&machine.dsos, "[build-id:77ab000000000000000000000000000000000000]",
			 /*cmp_short=*/false);
	TEST_ASSERT_VAL("nameless", dso && dso__is_build_id_only(dso));
	TEST_ASSERT_VAL("not a module", !is_kernel_module(dso__long_name(dso),
							  PERF_RECORD_MISC_CPUMODE_UNKNOWN));
	dso__put(dso);
	dso = dsos__find(&machine.dsos, "/t/none", /*cmp_short=*/false);
	TEST_ASSERT_VAL("dso", dso);
	dso__set_build_id(dso, &bid);
	dso__put(dso);
	TEST_ASSERT_VAL("late", locate(&machine, PID, &late, &in_thread) == 0x80010 && in_thread);
	TEST_ASSERT_VAL("map", !add_map(&machine, PID, 0x80000, 0, PROT_EXEC, "/t/16", 16, 0x16));
	TEST_ASSERT_VAL("gone", locate(&machine, PID, &late, &in_thread) == 0x10 && !in_thread);
	dso = dsos__find_build_id(&machine.dsos, &bid);
	TEST_ASSERT_VAL("named", dso && !strcmp(dso__long_name(dso), "/t/none"));
	dso__put(dso);

	machine__delete_threads(&machine);
	machine__exit(&machine);
	return TEST_OK;
}

/* A sample of thread @tid, which need not be known, of process PID */
static int locate_sample(pid_t tid)
{
	const struct perf_build_id_offset sampled = ENTRY(20, 0x20, 0x1010);
	const struct perf_build_id_offset entries[] = {
		UNRESOLVED(PERF_CONTEXT_USER), ENTRY(20, 0x20, 0x1020), ENTRY(20, 0x99, 0x30),
		UNRESOLVED(0x7f0000000040),
	};
	const u64 expect[] = { PERF_CONTEXT_USER, 0x10020, 0x30, 0x7f0000000040 };
	struct evsel *evsel = new_evsel(PERF_SAMPLE_BUILD_ID_OFFSET |
					PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET, /*defer=*/false);
	struct perf_sample sample;
	struct machine machine;
	struct record rec;

	TEST_ASSERT_VAL("no memory", evsel);
	TEST_ASSERT_EQUAL("machine", machine__init(&machine, "", HOST_KERNEL_ID), 0);
	TEST_ASSERT_VAL("map", !add_map(&machine, PID, 0x10000, 0x1000, PROT_EXEC, "/t/20", 20,
					0x20));

	record__start(&rec, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	record__add(&rec, &sampled, sizeof(sampled));
	record__add_chain(&rec, ARRAY_SIZE(entries), entries, ARRAY_SIZE(entries));
	TEST_ASSERT_EQUAL("parse", parse(evsel, &rec, &sample), 0);
	sample.pid = PID;
	sample.tid = tid;

	machine__fixup_sample(&machine, &sample);
	TEST_ASSERT_VAL("ip", sample.ip == 0x10010);
	for (size_t i = 0; i < ARRAY_SIZE(expect); i++)
		TEST_ASSERT_VAL("callchain", sample.callchain->ips[i] == expect[i]);

	perf_sample__exit(&sample);
	evsel__put(evsel);
	machine__delete_threads(&machine);
	machine__exit(&machine);
	return TEST_OK;
}

static int test__locate(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	int ret = locate_sample(PID);

	/* Its other threads share the maps. One may have ended before its last samples. */
	return ret ?: locate_sample(PID + 1);
}

static void no_build_id(void *arg __maybe_unused, struct dso *dso __maybe_unused)
{
}

static int count_dso(void *arg, struct dso *dso __maybe_unused, struct map *map __maybe_unused,
		     struct perf_sample *sample __maybe_unused,
		     struct machine *machine __maybe_unused)
{
	++*(int *)arg;
	return 0;
}

static int test__convert(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	static const struct build_id_converter_ops ops = {
		.find_build_id = no_build_id,
		.dso_hit = count_dso,
	};
	const u64 type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			 PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_CGROUP;
	const u64 words[] = {
		77, 0x10010, PID | (u64)PID << 32,
		6, PERF_CONTEXT_KERNEL, KERNEL_IP, PERF_CONTEXT_USER, 0x10020, 0x20030, 0x30040,
		88,
	};
	const u64 expect_words[] = { 77, PID | (u64)PID << 32, 88 };
	const struct perf_build_id_offset expect_entry = ENTRY(20, 0x20, 0x1010);
	const struct perf_build_id_offset expect_chain[] = {
		UNRESOLVED(PERF_CONTEXT_KERNEL), UNRESOLVED(KERNEL_IP),
		UNRESOLVED(PERF_CONTEXT_USER), ENTRY(20, 0x20, 0x1020), UNRESOLVED(0x20030),
		UNRESOLVED(0x30040),
	};
	struct evsel *evsel = new_evsel(type, /*defer=*/false);
	struct build_id_converter *conv;
	struct perf_sample sample;
	struct record rec, expect;
	struct machine machine;
	union perf_event *out;
	int nr_dsos = 0;

	TEST_ASSERT_VAL("no memory", evsel);
	conv = build_id_converter__new(&ops, &nr_dsos);
	TEST_ASSERT_VAL("no memory", conv);
	TEST_ASSERT_EQUAL("machine", machine__init(&machine, "", HOST_KERNEL_ID), 0);
	TEST_ASSERT_VAL("map", !add_map(&machine, PID, 0x10000, 0x1000, PROT_EXEC, "/t/20", 20,
					0x20));
	TEST_ASSERT_VAL("map", !add_map(&machine, PID, 0x20000, 0, PROT_EXEC, "/t/none", 0, 0));

	record__start(&rec, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	record__add(&rec, words, sizeof(words));

	record__start(&expect, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	record__add(&expect, expect_words, sizeof(expect_words));
	record__add(&expect, &expect_entry, sizeof(expect_entry));
	record__add_chain(&expect, ARRAY_SIZE(expect_chain), expect_chain,
			  ARRAY_SIZE(expect_chain));

	TEST_ASSERT_EQUAL("parse", parse(evsel, &rec, &sample), 0);
	out = build_id_converter__event(conv, (union perf_event *)&rec, &sample, &machine);
	TEST_ASSERT_VAL("converted", !IS_ERR(out));
	TEST_ASSERT_VAL("size", out->header.size == expect.header.size);
	TEST_ASSERT_VAL("record", !memcmp(out, &expect, expect.header.size));
	TEST_ASSERT_VAL("one dso", nr_dsos == 1);
	perf_sample__exit(&sample);

	/* There is nothing left to convert: unresolved entries are looked up again. */
	evsel->core.attr.sample_type = build_id_converter__sample_type(&evsel->core.attr);
	evsel->sample_size = __evsel__sample_size(evsel->core.attr.sample_type);
	TEST_ASSERT_EQUAL("parse", parse(evsel, &expect, &sample), 0);
	out = build_id_converter__event(conv, (union perf_event *)&expect, &sample, &machine);
	TEST_ASSERT_VAL("not converted", !IS_ERR(out));
	TEST_ASSERT_VAL("as it is", out->header.size == expect.header.size &&
			!memcmp(out, &expect, expect.header.size));
	perf_sample__exit(&sample);

	build_id_converter__delete(conv);
	evsel__put(evsel);
	machine__delete_threads(&machine);
	machine__exit(&machine);
	return TEST_OK;
}

static struct test_case tests__build_id_offset[] = {
	TEST_CASE("Parse entries", parse),
	TEST_CASE("Reject invalid entries", parse_invalid),
	TEST_CASE("Merge deferred entries", deferred),
	TEST_CASE("Look up entries", lookup),
	TEST_CASE("Addresses of samples", locate),
	TEST_CASE("Convert a sample", convert),
	{ .name = NULL, }
};

struct test_suite suite__build_id_offset = {
	.desc = "Build ID offset",
	.test_cases = tests__build_id_offset,
};
