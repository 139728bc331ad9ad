// SPDX-License-Identifier: GPL-2.0
/* What perf record --buildid-offset asks the kernel for, event by event. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>

#include "callchain.h"
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "parse-events.h"
#include "record.h"
#include "tests.h"

#define LOCATION_TYPES (PERF_SAMPLE_IP_TYPE | PERF_SAMPLE_CALLCHAIN_TYPE)

#define IP		PERF_SAMPLE_IP
#define CHAIN		PERF_SAMPLE_CALLCHAIN
#define ENTRY		PERF_SAMPLE_BUILD_ID_OFFSET
#define ENTRY_CHAIN	PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET

static const struct callchain_param no_callchain = {};
static const struct callchain_param fp = { .enabled = true, .record_mode = CALLCHAIN_FP };
static const struct callchain_param dwarf = {
	.enabled = true, .record_mode = CALLCHAIN_DWARF, .dump_size = 8192,
};

static const struct callchain_param lbr = { .enabled = true, .record_mode = CALLCHAIN_LBR };

struct attr_case {
	const char *event;
	const struct callchain_param *callchain;
	/** @name: Name to give to the event. */
	const char *name;
	bool aux;
	bool aux_output;
	bool kernel_callchains;
	/** @types: Which of LOCATION_TYPES the event must get. */
	u64 types;
	bool defer;
};

static const struct attr_case cases[] = {
	{ "cpu-clock", &no_callchain, .types = ENTRY, .defer = true },
	{ "cpu-clock:u", &fp, .types = ENTRY | ENTRY_CHAIN, .defer = true },
	{ "page-faults", &fp, .types = ENTRY | ENTRY_CHAIN, .defer = true },
	{ "mem:0x1000:w", &fp, .types = ENTRY | ENTRY_CHAIN, .defer = true },
	{ "cpu-clock", &lbr, .types = ENTRY | ENTRY_CHAIN, .defer = true },
	/* The chain has no user part. */
	{ "cpu-clock", &dwarf, .types = ENTRY | CHAIN, .defer = true },
	{ "cpu-clock", &fp, .kernel_callchains = true, .types = ENTRY | CHAIN, .defer = true },
	/* The event's own setting. */
	{ "cpu-clock/call-graph=fp/", &no_callchain, .types = ENTRY | ENTRY_CHAIN, .defer = true },
	{ "cpu-clock/call-graph=dwarf/", &no_callchain, .types = ENTRY | CHAIN, .defer = true },
	/* Those that are left alone. */
	{ "dummy", &fp, .types = IP | CHAIN },
	{ "bpf-output/name=output/", &fp, .types = IP | CHAIN },
	{ "cpu-clock", &fp, .name = "ftrace:function", .types = IP | CHAIN },
	{ "cpu-clock", &fp, .aux = true, .types = IP | CHAIN },
	{ "cpu-clock", &fp, .aux_output = true, .types = IP | CHAIN },
};

static struct evlist *new_evlist(const struct attr_case *c)
{
	struct evlist *evlist = evlist__new();
	struct evsel *evsel;

	if (!evlist)
		return NULL;
	if (parse_event(evlist, c->event)) {
		evlist__put(evlist);
		return NULL;
	}
	evsel = evlist__first(evlist);
	evsel->needs_auxtrace_mmap = c->aux;
	evsel->core.attr.aux_output = c->aux_output;
	if (c->name) {
		free(evsel->name);
		evsel->name = strdup(c->name);
	}
	return evlist;
}

static int check(const struct attr_case *c, bool buildid_offset)
{
	u64 types = buildid_offset ? c->types :
		    IP | (c->types & (CHAIN | ENTRY_CHAIN) ? CHAIN : 0);
	struct record_opts opts = {
		.buildid_offset = buildid_offset,
		.kernel_callchains = c->kernel_callchains,
		.user_freq = UINT_MAX,
		.user_interval = ULLONG_MAX,
		.freq = 4000,
	};
	struct evlist *evlist = new_evlist(c);
	struct perf_event_attr *attr;
	struct evsel *evsel;
	u16 size;

	TEST_ASSERT_VAL("no event", evlist);
	evsel = evlist__first(evlist);
	attr = &evsel->core.attr;

	evsel__config(evsel, &opts, c->callchain);
	size = evsel->sample_size;
	/* perf record does it again if the event must take over the tracking. */
	evsel__config(evsel, &opts, c->callchain);

	pr_debug("%s: sample_type %#llx\n", c->event, (unsigned long long)attr->sample_type);
	TEST_ASSERT_EQUAL("locations", (int)(attr->sample_type & LOCATION_TYPES), (int)types);
	TEST_ASSERT_EQUAL("sample size", evsel->sample_size, size);
	TEST_ASSERT_EQUAL("defer_callchain", (int)attr->defer_callchain,
			  (int)(buildid_offset && c->defer));
	TEST_ASSERT_EQUAL("defer_output", (int)attr->defer_output,
			  (int)(buildid_offset && c->defer));

	evlist__put(evlist);
	return TEST_OK;
}

/* A tracking dummy gets the deferred records of the others, in their form. */
static int test__tracking(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	struct record_opts opts = {
		.buildid_offset = true,
		.user_freq = UINT_MAX,
		.user_interval = ULLONG_MAX,
		.freq = 4000,
	};
	struct callchain_param callchain = {};
	struct evlist *evlist = evlist__new();
	struct evsel *dummy;

	TEST_ASSERT_VAL("no memory", evlist);
	TEST_ASSERT_VAL("parse", !parse_event(evlist, "cpu-clock"));
	TEST_ASSERT_VAL("parse", !parse_event(evlist, "task-clock/call-graph=fp/"));
	TEST_ASSERT_VAL("parse", !parse_event(evlist, "dummy"));
	dummy = evlist__last(evlist);
	evlist__set_tracking_event(evlist, dummy);

	evlist__config(evlist, &opts, &callchain);

	TEST_ASSERT_EQUAL("first does not write it",
			  (int)evlist__first(evlist)->core.attr.defer_output, 0);
	TEST_ASSERT_EQUAL("dummy does", (int)dummy->core.attr.defer_output, 1);
	TEST_ASSERT_EQUAL("dummy defers nothing", (int)dummy->core.attr.defer_callchain, 0);
	TEST_ASSERT_EQUAL("in the form of all",
			  (int)(dummy->core.attr.sample_type & LOCATION_TYPES),
			  (IP | ENTRY | ENTRY_CHAIN));

	evlist__put(evlist);
	return TEST_OK;
}

static int test__attr(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		TEST_ASSERT_EQUAL("with entries", check(&cases[i], true), TEST_OK);
		TEST_ASSERT_EQUAL("without", check(&cases[i], false), TEST_OK);
	}
	return TEST_OK;
}

static struct test_case tests__build_id_offset_attr[] = {
	TEST_CASE("Sample types of an event", attr),
	TEST_CASE("Where deferred entries go", tracking),
	{ .name = NULL, }
};

struct test_suite suite__build_id_offset_attr = {
	.desc = "Build ID offset event attributes",
	.test_cases = tests__build_id_offset_attr,
};
