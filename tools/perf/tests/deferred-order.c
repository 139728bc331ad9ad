// SPDX-License-Identifier: GPL-2.0
/* Deferred samples are delivered in time order, however late their callchains come. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>

#include "data.h"
#include "debug.h"
#include "event.h"
#include "header.h"
#include "ordered-events.h"
#include "sample.h"
#include "session.h"
#include "tests.h"
#include "tool.h"

#define MAGIC		0x32454c4946524550ULL	/* PERFILE2 */
#define MAX_SAMPLES	16
/* PERF_CONTEXT_USER_DEFERRED, and what a record has. */
#define COMPLETE	4

static const struct perf_event_attr attr = {
	.type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_CPU_CLOCK,
	.size = sizeof(attr),
	.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
	.sample_id_all = 1,
	.defer_callchain = 1,
	.defer_output = 1,
};

struct step {
	enum { SAMPLE, RECORD, EXIT, ROUND } what;
	u32 tid;
	u64 time, cookie;
};

struct expected {
	u64 time;
	u64 frames;
	/* It goes on before the last round is read. */
	bool early;
};

/* What the tool got. */
struct fixture {
	struct perf_tool tool;
	struct expected samples[MAX_SAMPLES];
	int nr;
	/* Rounds that are left */
	int rounds;
};

static int take_sample(const struct perf_tool *tool, union perf_event *event __maybe_unused,
		       struct perf_sample *sample, struct machine *machine __maybe_unused)
{
	struct fixture *f = container_of(tool, struct fixture, tool);

	if (f->nr == MAX_SAMPLES)
		return -1;
	f->samples[f->nr++] = (struct expected) {
		.time = sample->time,
		.frames = sample->callchain ? sample->callchain->nr : 0,
		.early = f->rounds > 0,
	};
	return 0;
}

static int end_round(const struct perf_tool *tool, union perf_event *event,
		     struct ordered_events *oe)
{
	struct fixture *f = container_of(tool, struct fixture, tool);
	int err = perf_event__process_finished_round(tool, event, oe);

	f->rounds--;
	return err;
}

static size_t compose_record(const struct step *step, u64 *rec)
{
	struct perf_event_header *header = (void *)rec;
	u32 *ids = (u32 *)(rec + 1);
	size_t nr = 1;

	header->misc = PERF_RECORD_MISC_USER;
	switch (step->what) {
	case SAMPLE:
		header->type = PERF_RECORD_SAMPLE;
		ids[0] = 1;
		ids[1] = step->tid;
		rec[2] = step->time;
		rec[3] = 2;
		rec[4] = PERF_CONTEXT_USER_DEFERRED;
		rec[5] = step->cookie;
		nr = 6;
		break;
	case RECORD:
		header->type = PERF_RECORD_CALLCHAIN_DEFERRED;
		rec[1] = step->cookie;
		rec[2] = 3;
		rec[3] = PERF_CONTEXT_USER;
		rec[4] = 0x401000;
		rec[5] = 0x402000;
		ids = (u32 *)(rec + 6);
		ids[0] = 1;
		ids[1] = step->tid;
		rec[7] = step->time;
		nr = 8;
		break;
	case EXIT:
		header->type = PERF_RECORD_EXIT;
		ids[0] = 1;
		ids[1] = 1;
		ids[2] = step->tid;
		ids[3] = step->tid;
		rec[3] = step->time;
		ids = (u32 *)(rec + 4);
		ids[0] = 1;
		ids[1] = step->tid;
		rec[5] = step->time;
		nr = 6;
		break;
	case ROUND:
	default:
		header->type = PERF_RECORD_FINISHED_ROUND;
		header->misc = 0;
		break;
	}
	header->size = nr * sizeof(u64);
	return header->size;
}

static int write_file_header(FILE *out, size_t data_size)
{
	const struct {
		struct perf_event_attr attr;
		struct perf_file_section ids;
	} f_attr = { .attr = attr };
	struct perf_file_header header = {
		.magic = MAGIC,
		.size = sizeof(header),
		.attr_size = sizeof(f_attr),
		.attrs = { .offset = sizeof(header), .size = sizeof(f_attr) },
		.data = { .offset = sizeof(header) + sizeof(f_attr), .size = data_size },
	};

	return fwrite(&header, sizeof(header), 1, out) == 1 &&
	       fwrite(&f_attr, sizeof(f_attr), 1, out) == 1 ? 0 : -1;
}

static int write_stream_header(FILE *out)
{
	struct perf_pipe_file_header header = { .magic = MAGIC, .size = sizeof(header) };
	struct {
		struct perf_event_header header;
		struct perf_event_attr attr;
	} rec = {
		.header = { .type = PERF_RECORD_HEADER_ATTR, .size = sizeof(rec) },
		.attr = attr,
	};

	return fwrite(&header, sizeof(header), 1, out) == 1 &&
	       fwrite(&rec, sizeof(rec), 1, out) == 1 ? 0 : -1;
}

static int compose(const char *path, const struct step *steps, int nr, bool stream)
{
	FILE *out = fopen(path, "w");
	u64 rec[8] = { 0 };
	size_t size = 0;
	int err;

	if (!out)
		return -1;
	for (int i = 0; i < nr; i++)
		size += compose_record(&steps[i], rec);
	err = stream ? write_stream_header(out) : write_file_header(out, size);
	for (int i = 0; i < nr && !err; i++) {
		size = compose_record(&steps[i], rec);
		if (fwrite(rec, size, 1, out) != 1)
			err = -1;
	}
	if (fclose(out))
		err = -1;
	return err;
}

static int read_back(struct fixture *f, const char *path, const struct step *steps, int nr)
{
	struct perf_data data = { .path = path, .mode = PERF_DATA_MODE_READ };
	struct perf_session *session;
	int err;

	memset(f, 0, sizeof(*f));
	perf_tool__init(&f->tool, /*ordered_events=*/true);
	f->tool.sample = take_sample;
	f->tool.attr = perf_event__process_attr;
	f->tool.finished_round = end_round;
	f->tool.no_warn = true;
	for (int i = 0; i < nr; i++)
		f->rounds += steps[i].what == ROUND;

	session = perf_session__new(&data, &f->tool);
	if (IS_ERR(session))
		return PTR_ERR(session);
	err = perf_session__process_events(session);
	perf_session__delete(session);
	return err;
}

static int check(const char *what, const struct step *steps, int nr_steps,
		 const struct expected *expected, int nr, bool stream)
{
	char path[] = "/tmp/perf-test-deferred-order-XXXXXX";
	int fd = mkstemp(path), err = TEST_FAIL;
	struct fixture f;

	if (fd < 0)
		return TEST_FAIL;
	close(fd);
	if (compose(path, steps, nr_steps, stream) || read_back(&f, path, steps, nr_steps)) {
		pr_debug("%s: cannot be read\n", what);
		goto out;
	}
	if (f.nr != nr) {
		pr_debug("%s: %d samples, not %d\n", what, f.nr, nr);
		goto out;
	}
	for (int i = 0; i < nr; i++) {
		if (f.samples[i].time == expected[i].time &&
		    f.samples[i].frames == expected[i].frames &&
		    (f.samples[i].early || !expected[i].early))
			continue;
		pr_debug("%s: sample %d: time %" PRIu64 ", %" PRIu64 " frames, early %d\n",
			 what, i, f.samples[i].time, f.samples[i].frames, f.samples[i].early);
		pr_debug("expected: time %" PRIu64 ", %" PRIu64 " frames, early %d\n",
			 expected[i].time, expected[i].frames, expected[i].early);
		goto out;
	}
	err = TEST_OK;
out:
	unlink(path);
	return err;
}

/* In which order threads leave the kernel has nothing to do with the order of samples. */
static const struct step late[] = {
	{ SAMPLE, 1, 100, 1 },
	{ SAMPLE, 2, 110, 2 },
	{ RECORD, 2, 120, 2 },
	{ SAMPLE, 3, 130, 3 },
	{ .what = ROUND },
	{ SAMPLE, 2, 140, 4 },
	{ RECORD, 4, 150, 5 },
	/* Taken while the record was written */
	{ SAMPLE, 4, 151, 5 },
	{ .what = ROUND },
	{ RECORD, 3, 160, 3 },
	{ RECORD, 2, 170, 4 },
	{ .what = ROUND },
	{ .what = ROUND },
	{ RECORD, 1, 200, 1 },
	/* Its record does not come. */
	{ SAMPLE, 1, 210, 6 },
	{ .what = ROUND },
};

static const struct expected late_expected[] = {
	{ 100, COMPLETE, false }, { 110, COMPLETE, false }, { 130, COMPLETE, false },
	{ 140, COMPLETE, false }, { 151, COMPLETE, false }, { 210, 0, false },
};

/* Nothing waits for a record that was lost. */
static const struct step lost[] = {
	{ SAMPLE, 1, 100, 1 },
	{ SAMPLE, 2, 110, 2 },
	{ SAMPLE, 3, 115, 3 },
	{ .what = ROUND },
	{ RECORD, 1, 120, 4 },
	{ EXIT, 2, 130, 0 },
	{ RECORD, 3, 135, 3 },
	/* Another thread of that ID */
	{ SAMPLE, 2, 140, 5 },
	{ RECORD, 2, 150, 5 },
	{ .what = ROUND },
	{ .what = ROUND },
	{ .what = ROUND },
};

static const struct expected lost_expected[] = {
	{ 100, 0, true }, { 110, 0, true }, { 115, COMPLETE, true }, { 140, COMPLETE, true },
};

static int check_both(const struct step *steps, int nr_steps, const struct expected *expected,
		      int nr)
{
	int err = check("file", steps, nr_steps, expected, nr, /*stream=*/false);

	return err ?: check("stream", steps, nr_steps, expected, nr, /*stream=*/true);
}

static int test__deferred_late(struct test_suite *test __maybe_unused,
			       int subtest __maybe_unused)
{
	return check_both(late, ARRAY_SIZE(late), late_expected, ARRAY_SIZE(late_expected));
}

static int test__deferred_lost(struct test_suite *test __maybe_unused,
			       int subtest __maybe_unused)
{
	return check_both(lost, ARRAY_SIZE(lost), lost_expected, ARRAY_SIZE(lost_expected));
}

static struct test_case tests__deferred_order[] = {
	TEST_CASE("Callchains that come late", deferred_late),
	TEST_CASE("Callchains that do not come", deferred_lost),
	{ .name = NULL, }
};

struct test_suite suite__deferred_order = {
	.desc = "Order of deferred samples",
	.test_cases = tests__deferred_order,
};
