// SPDX-License-Identifier: GPL-2.0
/* Samples with build ID and file offset that come in a record of their own. */
#define _GNU_SOURCE
#include <sys/wait.h>
#include "build_id_records.h"

#define MAX_COOKIES 4096

static __attribute_noinline__ __attribute_used__ int deep_target(int frames)
{
	int depth = frames ? deep_target(frames - 1) : target(0);

	use(depth);		/* no tail call */
	return depth + 1;
}

struct seen {
	uint64_t cookie;
	uint64_t ip;		/* 0 if not deferred */
	bool chain, done;
};

/*
 * Read all records of an event with attr.defer_output, and match samples with
 * deferred callchains. Counts entries and words records in @nr, and entries
 * that are resolved in @resolved.
 */
static void check_deferred(struct __test_metadata *_metadata, struct event *event,
			   struct perf_event_header *record, int nr[2], int *resolved)
{
	struct seen *seen = calloc(MAX_COOKIES, sizeof(*seen));
	uint64_t type = event->attr.sample_type;
	uint64_t last_cookie = 0;
	int nr_seen = 0, missing = 0;
	bool has_deferred = false;

	ASSERT_NE(NULL, seen);
	nr[0] = 0;
	nr[1] = 0;
	*resolved = 0;
	while (next_record(event, record)) {
		if (record->type == PERF_RECORD_SAMPLE) {
			struct sample s = parse(_metadata, event, record);
			struct seen *new = &seen[nr_seen];

			*new = (struct seen){};
			if (s.ip_entry && is_deferred(s.ip_entry)) {
				const uint64_t *p = (const uint64_t *)s.ip_entry;

				ASSERT_TRUE(is_user_sample(&s));
				has_deferred = true;
				new->cookie = p[2];
				new->ip = p[3];
				if (type & PERF_SAMPLE_IP)
					ASSERT_EQ(s.ip, new->ip);
			} else if (s.ip_entry) {
				check_form(_metadata, s.ip_entry);
				/* On PREEMPT_RT, there is no memory in the first interrupt. */
				if (is_user_sample(&s))
					ASSERT_FALSE(has_deferred);
			}
			if (s.nr_entries >= 2 && s.entries[s.nr_entries - 2].offset ==
			    (uint64_t)PERF_CONTEXT_USER_DEFERRED) {
				uint64_t cookie = s.entries[s.nr_entries - 1].offset;

				if (new->cookie)
					ASSERT_EQ(new->cookie, cookie);
				new->cookie = cookie;
				new->chain = true;
			}
			/* Nothing is resolved where a deferred sample is taken. */
			for (uint64_t i = 0; i < s.nr_entries; i++) {
				check_form(_metadata, &s.entries[i]);
				ASSERT_EQ(0, s.entries[i].size);
			}
			/* Taken in the task work itself, after it wrote the record. */
			if (!new->ip && new->cookie == last_cookie)
				continue;
			if (new->cookie && nr_seen < MAX_COOKIES - 1)
				nr_seen++;
			continue;
		}
		if (record->type != PERF_RECORD_CALLCHAIN_DEFERRED)
			continue;

		struct deferred *d = (struct deferred *)record;
		bool entries = d->header.misc & PERF_RECORD_MISC_CALLCHAIN_BUILD_ID;
		const struct deferred_entries *de = (struct deferred_entries *)d;

		nr[entries]++;
		last_cookie = d->cookie;
		ASSERT_EQ(entries ? sizeof(*de) + de->nr * sizeof(de->ip) :
				    sizeof(*d) + d->nr * sizeof(d->words[0]), d->header.size);
		if (!entries)
			continue;
		if (!(type & PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET))
			ASSERT_EQ(0, de->nr);
		check_form(_metadata, &de->ip);
		if (!(type & PERF_SAMPLE_BUILD_ID_OFFSET)) {
			ASSERT_EQ(0, de->ip.size);
			ASSERT_EQ(0, de->ip.offset);
		}
		for (uint64_t i = 0; i < de->nr; i++) {
			check_form(_metadata, &de->ips[i]);
			*resolved += !!de->ips[i].size;
			if (de->ips[i].size)
				ASSERT_LT(de->ips[i].offset, 1ull << 40);
		}
		for (int i = 0; i < nr_seen; i++) {
			if (seen[i].cookie != d->cookie)
				continue;
			seen[i].done = true;
			if (seen[i].ip)
				*resolved += check_entry(_metadata, &de->ip, seen[i].ip, true);
		}
	}
	/* All has come but that of the system call that ends the measurement. */
	for (int i = 0; i < nr_seen; i++)
		missing += !seen[i].done && (!i || seen[i - 1].cookie != seen[i].cookie);
	if (type & BOTH)
		ASSERT_LE(missing, 1);
	free(seen);
}

FIXTURE(deferred)
{
	struct perf_event_header *record;
};

FIXTURE_VARIANT(deferred)
{
	uint64_t sample_type;
};

FIXTURE_VARIANT_ADD(deferred, plain)
{
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
};

FIXTURE_VARIANT_ADD(deferred, ip)
{
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BUILD_ID_OFFSET,
};

FIXTURE_VARIANT_ADD(deferred, chain)
{
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET,
};

FIXTURE_VARIANT_ADD(deferred, entries)
{
	.sample_type = PERF_SAMPLE_IP | BOTH,
};

FIXTURE_VARIANT_ADD(deferred, all)
{
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN | BOTH,
};

FIXTURE_SETUP(deferred)
{
	self->record = new_record(_metadata);
	if (self->record && !callchains_are_deferred(_metadata, self->record))
		SKIP(return, "callchains are not deferred here");
}

FIXTURE_TEARDOWN(deferred)
{
	free(self->record);
}

TEST_F(deferred, clock)
{
	struct perf_event_attr attr = clock_attr(variant->sample_type);
	struct event event;
	int nr[2], resolved;

	attr.defer_callchain = 1;
	attr.defer_output = 1;
	ASSERT_EQ(0, open_event(&event, attr, 0, -1));
	event_on(&event);
	deep(20, 200);
	event_off(&event);

	check_deferred(_metadata, &event, self->record, nr, &resolved);
	TH_LOG("%d records of words, %d of entries, %d resolved", nr[0], nr[1], resolved);
	ASSERT_EQ(!!nr[0], !!(variant->sample_type & PERF_SAMPLE_CALLCHAIN));
	ASSERT_EQ(!!nr[1], !!(variant->sample_type & BOTH));
	ASSERT_EQ(!!resolved, !!nr[1]);
	close_event(&event);
}

TEST_F(deferred, breakpoint)
{
	struct perf_event_attr attr = target_attr(variant->sample_type);
	int nr[2], resolved, err;
	struct event event;

	attr.defer_callchain = 1;
	attr.defer_output = 1;
	err = open_event(&event, attr, 0, -1);
	if (err)
		SKIP(return, "no breakpoints: %s", strerror(-err));
	event_on(&event);
	for (int i = 0; i < 10; i++)
		use(target(i));
	event_off(&event);

	check_deferred(_metadata, &event, self->record, nr, &resolved);
	if (variant->sample_type & BOTH) {
		ASSERT_EQ(10, nr[1]);
		ASSERT_GE(resolved, 10);
	}
	close_event(&event);
}

/* A record of entries has an identity as all records have, if that is asked for. */
TEST_F(build_id, sample_id)
{
	struct perf_event_attr attr = target_attr(PERF_SAMPLE_TID | BOTH);
	struct event event;
	int nr = 0, err;

	attr.defer_callchain = 1;
	attr.defer_output = 1;
	attr.sample_id_all = 1;
	err = open_event(&event, attr, 0, -1);
	if (err)
		SKIP(return, "no breakpoints: %s", strerror(-err));
	event_on(&event);
	for (int i = 0; i < 10; i++)
		use(target(i));
	event_off(&event);
	while (next_record(&event, self->record)) {
		struct deferred_entries *d = (struct deferred_entries *)self->record;
		uint64_t id;

		if (self->record->type != PERF_RECORD_CALLCHAIN_DEFERRED)
			continue;
		ASSERT_EQ(sizeof(*d) + d->nr * sizeof(d->ip) + sizeof(id), d->header.size);
		id = *(uint64_t *)((char *)d + d->header.size - sizeof(id));
		ASSERT_EQ((uint32_t)getpid(), (uint32_t)id);
		ASSERT_EQ((uint32_t)getpid(), id >> 32);
		nr++;
	}
	if (!nr)
		SKIP(return, "callchains are not deferred here");
	ASSERT_EQ(10, nr);
	close_event(&event);
}

/* Both forms of a callchain of 300 frames, as events get them. */
static int longest_record(struct __test_metadata *_metadata, struct perf_event_attr attr,
			  int ring_pages, struct perf_event_header *record, uint64_t nr[2])
{
	const struct deferred_entries *de = (struct deferred_entries *)record;
	const struct deferred *d = (struct deferred *)record;
	struct event event;
	int err;

	nr[0] = 0;
	nr[1] = 0;
	attr.exclude_callchain_kernel = 1;
	attr.defer_callchain = 1;
	attr.defer_output = 1;
	err = open_event_pages(&event, attr, 0, -1, ring_pages);
	if (err)
		return err;
	for (int i = 0; i < 10; i++) {
		event_on(&event);
		use(deep_target(300));
		event_off(&event);
		while (next_record(&event, record)) {
			bool entries = record->misc & PERF_RECORD_MISC_CALLCHAIN_BUILD_ID;

			if (record->type != PERF_RECORD_CALLCHAIN_DEFERRED)
				continue;
			if (!entries) {
				nr[0] = d->nr > nr[0] ? d->nr : nr[0];
				continue;
			}
			nr[1] = de->nr > nr[1] ? de->nr : nr[1];
			check_form(_metadata, &de->ip);
			for (uint64_t j = 0; j < de->nr; j++)
				check_form(_metadata, &de->ips[j]);
		}
	}
	close_event(&event);
	return 0;
}

/* In a ring buffer of one page there is space for a record beside its sample. */
TEST_F(build_id, small_ring)
{
	struct perf_event_attr attr = target_attr(PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET);
	uint64_t nr[2], half = page_size / sizeof(struct entry) / 2;
	int err;

	if (!callchains_are_deferred(_metadata, self->record))
		SKIP(return, "callchains are not deferred here");
	err = longest_record(_metadata, attr, 1, self->record, nr);
	if (err)
		SKIP(return, "no breakpoints: %s", strerror(-err));
	TH_LOG("%d entries", (int)nr[1]);
	ASSERT_GE(nr[1], half - 4);
	ASSERT_LT(nr[1], half);
}

TEST_F(build_id, deferred_max_stack)
{
	struct perf_event_attr attr = target_attr(PERF_SAMPLE_CALLCHAIN | BOTH);
	uint64_t nr[2];
	int err;

	if (!callchains_are_deferred(_metadata, self->record))
		SKIP(return, "callchains are not deferred here");
	attr.sample_max_stack = 20;
	err = longest_record(_metadata, attr, RING_PAGES, self->record, nr);
	if (err)
		SKIP(return, "no breakpoints: %s", strerror(-err));
	TH_LOG("%d words, %d entries", (int)nr[0], (int)nr[1]);
	ASSERT_EQ(20, nr[0]);
	ASSERT_EQ(20, nr[1]);
}

/* The callchain of the system call that ends the task. */
TEST_F(build_id, last_call)
{
	int id = tracepoint_id("syscalls/sys_enter_exit_group"), go[2], nr[2] = {};
	const struct deferred_entries *d = (struct deferred_entries *)self->record;
	struct perf_event_attr attr;
	uint64_t cookie = 0;
	struct event event;
	struct sample s;
	pid_t pid;
	char c;

	if (id < 0)
		SKIP(return, "no tracepoints");
	if (!callchains_are_deferred(_metadata, self->record))
		SKIP(return, "callchains are not deferred here");
	ASSERT_EQ(0, pipe(go));
	pid = fork();
	if (!pid) {
		if (read(go[0], &c, 1) == 1)
			_exit(0);
		_exit(1);
	}
	attr = tracepoint_attr(id, PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET);
	attr.defer_callchain = 1;
	attr.defer_output = 1;
	ASSERT_EQ(0, open_event(&event, attr, pid, -1));
	event_on(&event);
	ASSERT_EQ(1, write(go[1], "", 1));
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	while (next_record(&event, self->record)) {
		if (self->record->type == PERF_RECORD_SAMPLE) {
			s = parse(_metadata, &event, self->record);
			ASSERT_GE(s.nr_entries, 2);
			cookie = s.entries[s.nr_entries - 1].offset;
			nr[0]++;
		} else if (self->record->type == PERF_RECORD_CALLCHAIN_DEFERRED) {
			ASSERT_EQ(cookie, d->cookie);
			ASSERT_GE(d->nr, 1);
			nr[1]++;
		}
	}
	ASSERT_EQ(1, nr[0]);
	ASSERT_EQ(1, nr[1]);
	close_event(&event);
}

TEST_HARNESS_MAIN
