// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel may leave the user part of a sample to a record of its own, a
 * PERF_RECORD_CALLCHAIN_DEFERRED, written when the thread goes back to user
 * space. Thread and cookie say what belongs together.
 *
 * Most samples come before their record and wait for it. Those that are taken
 * while the record is being written come after it, so the last one of each
 * thread is kept.
 */
#include "deferred-samples.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/string.h>
#include <linux/zalloc.h>

#include "build-id-lookup.h"
#include "build-id-offset.h"
#include "callchain.h"
#include "debug.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "hashmap.h"
#include "sample.h"
#include "session.h"
#include "tool.h"

struct waiting_sample {
	struct list_head	node;
	union perf_event	*event;
	u64			file_offset;
	u64			cookie;
	pid_t			tid;
	/* A record of entries must come, not one of words. */
	bool			awaits_build_ids;
};

/* The last records of a thread. There may be two of one cookie. */
struct thread_records {
	union perf_event	*words;
	union perf_event	*entries;
};

struct deferred_samples {
	struct list_head	waiting;	/* in the order they were taken */
	struct hashmap		*records;	/* thread_records by thread ID */
};

static size_t tid_hash(long tid, void *ctx __maybe_unused)
{
	return hash_bits(tid, sizeof(size_t) * 8);
}

static bool tid_equal(long a, long b, void *ctx __maybe_unused)
{
	return a == b;
}

static struct deferred_samples *deferred_samples__new(void)
{
	struct deferred_samples *deferred = zalloc(sizeof(*deferred));

	if (!deferred)
		return NULL;
	INIT_LIST_HEAD(&deferred->waiting);
	deferred->records = hashmap__new(tid_hash, tid_equal, /*ctx=*/NULL);
	if (IS_ERR(deferred->records)) {
		free(deferred);
		return NULL;
	}
	return deferred;
}

/* Most sessions have none, and make none. */
static struct deferred_samples *evlist__get_deferred_samples(struct evlist *evlist)
{
	if (!evlist__deferred_samples(evlist))
		evlist__set_deferred_samples(evlist, deferred_samples__new());
	return evlist__deferred_samples(evlist);
}

static void waiting_sample__delete(struct waiting_sample *waiting)
{
	list_del(&waiting->node);
	free(waiting->event);
	free(waiting);
}

static void thread_records__delete(struct thread_records *records)
{
	if (!records)
		return;
	free(records->words);
	free(records->entries);
	free(records);
}

/** deferred_samples__delete - free it with what still waits */
void deferred_samples__delete(struct deferred_samples *deferred)
{
	struct waiting_sample *waiting, *tmp;
	struct hashmap_entry *cur;
	size_t bkt;

	if (!deferred)
		return;
	list_for_each_entry_safe(waiting, tmp, &deferred->waiting, node)
		waiting_sample__delete(waiting);
	hashmap__for_each_entry(deferred->records, cur, bkt)
		thread_records__delete(cur->pvalue);
	hashmap__free(deferred->records);
	free(deferred);
}

/* Keep a copy of @event as the last record of its thread. */
static int remember_record(struct deferred_samples *deferred, const union perf_event *event,
			   const struct perf_sample *sample)
{
	struct thread_records *records = NULL;
	union perf_event **last, *copy;

	if (!hashmap__find(deferred->records, sample->tid, &records)) {
		records = zalloc(sizeof(*records));
		if (!records || hashmap__add(deferred->records, sample->tid, records)) {
			free(records);
			return -ENOMEM;
		}
	}
	last = sample->build_id_callchain ? &records->entries : &records->words;
	copy = realloc(*last, event->header.size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, event, event->header.size);
	*last = copy;
	return 0;
}

static void forget_records(struct deferred_samples *deferred, pid_t tid)
{
	struct thread_records *records = NULL;

	if (hashmap__delete(deferred->records, tid, NULL, &records))
		thread_records__delete(records);
}

/* The record that completes @sample, if it came already. */
static union perf_event *find_record(struct deferred_samples *deferred,
				     const struct perf_sample *sample)
{
	struct thread_records *records = NULL;
	union perf_event *event;

	/* What the sampled address resolved to was that of a sample before the record. */
	if (sample->deferred_build_id_offset)
		return NULL;
	if (!hashmap__find(deferred->records, sample->tid, &records))
		return NULL;
	event = perf_sample__awaits_build_ids(sample) ? records->entries : records->words;
	return event && event->callchain_deferred.cookie == sample->deferred_cookie ? event : NULL;
}

/* Does the rest of the sample come in a PERF_RECORD_CALLCHAIN_DEFERRED? */
bool perf_sample__is_deferred(const struct perf_sample *sample)
{
	return sample->deferred_callchain || perf_sample__awaits_build_ids(sample);
}

/* Deliver @sample with what @record, which came before it, has of it. */
static int deliver_late_sample(struct evlist *evlist, const struct perf_tool *tool,
			       union perf_event *event, struct perf_sample *sample,
			       struct machine *machine, union perf_event *record)
{
	struct perf_sample rest;
	int ret;

	perf_sample__init(&rest, /*all=*/false);
	ret = evlist__parse_sample(evlist, record, &rest);
	if (!ret)
		ret = sample__merge_deferred_callchain(sample, &rest);
	if (ret)
		pr_debug("sample without its deferred callchain, err = %d\n", ret);
	ret = evlist__deliver_sample(evlist, tool, event, sample, machine);
	perf_sample__exit(&rest);
	return ret;
}

/**
 * evlist__defer_sample - deliver a sample when the rest of it is there
 * @evlist: Keeps the sample until then.
 * @tool: Its sample callback gets it, now if the rest came before.
 * @event: The record of the sample, is copied.
 * @sample: Parsed from @event, with perf_sample__is_deferred().
 * @machine: The machine it was taken on.
 *
 * Return: 0, what the callback returns, or -ENOMEM.
 */
int evlist__defer_sample(struct evlist *evlist, const struct perf_tool *tool,
			 union perf_event *event, struct perf_sample *sample,
			 struct machine *machine)
{
	struct deferred_samples *deferred = evlist__get_deferred_samples(evlist);
	const union perf_event *unparsed = sample->unparsed ?: event;
	struct waiting_sample *waiting;
	union perf_event *record;

	if (!deferred)
		return -ENOMEM;

	record = find_record(deferred, sample);
	if (record)
		return deliver_late_sample(evlist, tool, event, sample, machine, record);

	waiting = zalloc(sizeof(*waiting));
	if (!waiting)
		return -ENOMEM;
	waiting->event = memdup(unparsed, event->header.size);
	if (!waiting->event) {
		free(waiting);
		return -ENOMEM;
	}
	waiting->file_offset = sample->file_offset;
	waiting->cookie = sample->deferred_cookie;
	waiting->tid = sample->tid;
	waiting->awaits_build_ids = perf_sample__awaits_build_ids(sample);
	list_add_tail(&waiting->node, &deferred->waiting);
	return 0;
}

/* Deliver and free a sample that waited, with @rest or, if that is NULL, without. */
static int deliver_waiting_sample(struct evlist *evlist, const struct perf_tool *tool,
				  struct waiting_sample *waiting, struct perf_sample *rest,
				  struct machine *machine)
{
	struct perf_sample sample;
	struct evsel *evsel;
	int ret;

	perf_sample__init(&sample, /*all=*/false);
	ret = evlist__parse_sample(evlist, waiting->event, &sample);
	if (ret) {
		pr_err("ERROR: at offset %#" PRIx64 ": can't parse a deferred sample, err = %d\n",
		       waiting->file_offset, ret);
		goto out;
	}
	sample.file_offset = waiting->file_offset;

	if (rest) {
		sample__merge_deferred_callchain(&sample, rest);
	} else {
		sample.deferred_callchain = false;
		sample.deferred_build_id_offset = false;
		sample.deferred_build_id_callchain = false;
	}

	evsel = evlist__id2evsel(evlist, sample.id);
	if (evsel != sample.evsel) {
		evsel__put(sample.evsel);
		sample.evsel = evsel ? evsel__get(evsel) : NULL;
	}
	if (sample.evsel)
		ret = evlist__deliver_sample(evlist, tool, waiting->event, &sample, machine);
	else
		++evlist__stats(evlist)->nr_unknown_id;
out:
	perf_sample__exit(&sample);
	waiting_sample__delete(waiting);
	return ret;
}

static int deliver_record(struct evlist *evlist, const struct perf_tool *tool,
			  union perf_event *event, struct perf_sample *sample,
			  struct machine *machine)
{
	struct evsel *saved_evsel = sample->evsel;
	int ret;

	machine__locate_sample(machine, sample);
	sample->evsel = evlist__id2evsel(evlist, sample->id);
	if (sample->evsel)
		sample->evsel = evsel__get(sample->evsel);
	ret = tool->callchain_deferred(tool, event, sample, machine);
	evsel__put(sample->evsel);
	sample->evsel = saved_evsel;
	return ret;
}

/**
 * evlist__deliver_deferred_callchain - deliver the samples that waited for a record
 * @evlist: Has the samples from evlist__defer_sample().
 * @tool: Its sample callback gets them, complete. If it does not want them
 *        merged, its callchain_deferred callback gets the record.
 * @event: The PERF_RECORD_CALLCHAIN_DEFERRED.
 * @sample: Parsed from @event.
 * @machine: The machine it was taken on.
 *
 * Samples of the same thread that wait for another record are delivered
 * incomplete. It was lost.
 *
 * Return: 0, what the callback returns, or a negative error.
 */
int evlist__deliver_deferred_callchain(struct evlist *evlist, const struct perf_tool *tool,
				       union perf_event *event, struct perf_sample *sample,
				       struct machine *machine)
{
	struct deferred_samples *deferred;
	struct waiting_sample *waiting, *tmp;

	if (!tool->merge_deferred_callchains)
		return deliver_record(evlist, tool, event, sample, machine);

	deferred = evlist__get_deferred_samples(evlist);
	if (!deferred)
		return -ENOMEM;

	list_for_each_entry_safe(waiting, tmp, &deferred->waiting, node) {
		bool same = waiting->cookie == event->callchain_deferred.cookie;
		int ret;

		if (waiting->tid != (pid_t)sample->tid)
			continue;
		/* Its own record, of the other form, is still to come. */
		if (same && waiting->awaits_build_ids != !!sample->build_id_callchain)
			continue;
		ret = deliver_waiting_sample(evlist, tool, waiting, same ? sample : NULL, machine);
		if (ret)
			return ret;
	}
	return remember_record(deferred, event, sample);
}

/**
 * evlist__flush_deferred_samples - deliver samples that no record can complete any more
 * @evlist: Has the samples from evlist__defer_sample().
 * @tool: Its sample callback gets them.
 * @machine: The machine they were taken on.
 * @tid: Only those of this thread, which has exited, or -1 for all.
 *
 * Return: 0, what the callback returns, or a negative error.
 */
int evlist__flush_deferred_samples(struct evlist *evlist, const struct perf_tool *tool,
				   struct machine *machine, pid_t tid)
{
	struct deferred_samples *deferred = evlist__deferred_samples(evlist);
	struct waiting_sample *waiting, *tmp;

	if (!deferred)
		return 0;

	list_for_each_entry_safe(waiting, tmp, &deferred->waiting, node) {
		int ret;

		if (tid != -1 && waiting->tid != tid)
			continue;
		ret = deliver_waiting_sample(evlist, tool, waiting, /*rest=*/NULL, machine);
		if (ret)
			return ret;
	}
	if (tid != -1)
		forget_records(deferred, tid);
	return 0;
}
