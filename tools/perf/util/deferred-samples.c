// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel may leave the user part of a sample to records of its own, written
 * when the thread goes back to user space: PERF_RECORD_CALLCHAIN_DEFERRED. Thread
 * and cookie say what belongs together. There is one record for each form in
 * which an event asks for it.
 *
 * Most samples come before their records and wait for them. Those that are taken
 * while the records are being written come after, so the last ones of each thread
 * are kept.
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

/* What a record has. */
enum deferred_part {
	DEFERRED_WORDS,		/* the callchain */
	DEFERRED_ENTRIES,	/* the callchain, and often the sampled address */
	DEFERRED_ADDRESS,	/* the sampled address alone, as an entry */
	NR_DEFERRED_PARTS
};

struct deferred_record {
	union perf_event	*event;
	/* Is the sampled address in DEFERRED_ENTRIES? */
	bool			has_address;
};

struct deferred_thread {
	struct list_head	waiting;
	struct deferred_record	last[NR_DEFERRED_PARTS];
};

struct waiting_sample {
	struct list_head	node;		/* of deferred_samples */
	struct list_head	thread_node;	/* of deferred_thread */
	struct deferred_thread	*thread;
	union perf_event	*event;
	struct machine		*machine;
	u64			file_offset;
	u64			cookie;
	/* What it waits for. */
	bool			address, words, entries;
};

struct deferred_samples {
	struct list_head	waiting;	/* in the order they were taken */
	struct hashmap		*threads;	/* deferred_thread by thread ID */
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
	deferred->threads = hashmap__new(tid_hash, tid_equal, /*ctx=*/NULL);
	if (IS_ERR(deferred->threads)) {
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
	list_del(&waiting->thread_node);
	free(waiting->event);
	free(waiting);
}

static void deferred_thread__delete(struct deferred_thread *thread)
{
	for (int part = 0; part < NR_DEFERRED_PARTS; part++)
		free(thread->last[part].event);
	free(thread);
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
	hashmap__for_each_entry(deferred->threads, cur, bkt)
		deferred_thread__delete(cur->pvalue);
	hashmap__free(deferred->threads);
	free(deferred);
}

static struct deferred_thread *get_thread(struct deferred_samples *deferred, pid_t tid)
{
	struct deferred_thread *thread = NULL;

	if (hashmap__find(deferred->threads, tid, &thread))
		return thread;

	thread = zalloc(sizeof(*thread));
	if (!thread)
		return NULL;
	INIT_LIST_HEAD(&thread->waiting);
	if (hashmap__add(deferred->threads, tid, thread)) {
		free(thread);
		return NULL;
	}
	return thread;
}

/* What is in the record that @sample was parsed from? */
static enum deferred_part deferred_part(struct evlist *evlist, const struct perf_sample *sample,
					bool *has_address)
{
	struct evsel *evsel;
	u64 type;

	*has_address = false;
	if (!sample->build_id_callchain)
		return DEFERRED_WORDS;

	evsel = evlist__id2evsel(evlist, sample->id);
	type = evsel ? evsel->core.attr.sample_type : 0;
	if (!evsel || (type & PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET)) {
		*has_address = !evsel || (type & PERF_SAMPLE_BUILD_ID_OFFSET);
		return DEFERRED_ENTRIES;
	}
	/*
	 * For such an event the kernel resolves the sampled address alone. More
	 * than one entry are the callchain of another event, converted from words.
	 */
	return sample->build_id_callchain->nr == 1 ? DEFERRED_ADDRESS : DEFERRED_ENTRIES;
}

/* Keep a copy of @event as the last record of its thread with that part. */
static int remember_record(struct deferred_thread *thread, enum deferred_part part,
			   bool has_address, const union perf_event *event)
{
	struct deferred_record *record = &thread->last[part];
	union perf_event *copy = realloc(record->event, event->header.size);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, event, event->header.size);
	record->event = copy;
	record->has_address = has_address;
	return 0;
}

static union perf_event *find_record(const struct deferred_thread *thread,
				     enum deferred_part part, u64 cookie)
{
	union perf_event *event = thread->last[part].event;

	return event && event->callchain_deferred.cookie == cookie ? event : NULL;
}

/* Is the sampled address in the entries of the callchain? */
static bool entries_have_address(const struct deferred_thread *thread, u64 cookie)
{
	return find_record(thread, DEFERRED_ENTRIES, cookie) &&
	       thread->last[DEFERRED_ENTRIES].has_address;
}

/* Have all records come? Entries make up for a callchain in words. */
static bool waiting_sample__is_complete(const struct waiting_sample *waiting)
{
	const struct deferred_thread *thread = waiting->thread;
	bool entries = find_record(thread, DEFERRED_ENTRIES, waiting->cookie);

	if (waiting->address && !entries_have_address(thread, waiting->cookie) &&
	    !find_record(thread, DEFERRED_ADDRESS, waiting->cookie))
		return false;
	if (waiting->entries)
		return entries;
	return !waiting->words || entries ||
	       find_record(thread, DEFERRED_WORDS, waiting->cookie);
}

/* Does the rest of the sample come in a PERF_RECORD_CALLCHAIN_DEFERRED? */
bool perf_sample__is_deferred(const struct perf_sample *sample)
{
	return sample->deferred_callchain || perf_sample__awaits_build_ids(sample);
}

typedef int (*merge_fn)(struct perf_sample *sample, struct perf_sample *rest);

static int merge_record(struct evlist *evlist, struct perf_sample *sample,
			union perf_event *record, merge_fn merge)
{
	struct perf_sample rest;
	int err;

	if (!record)
		return 0;
	perf_sample__init(&rest, /*all=*/false);
	err = evlist__parse_sample(evlist, record, &rest);
	if (!err)
		err = merge(sample, &rest);
	perf_sample__exit(&rest);
	return err;
}

/* Leave out the marker and the cookie of a callchain that does not come. */
static void give_up_callchain(struct perf_sample *sample)
{
	if (!sample->deferred_callchain && !sample->deferred_build_id_callchain)
		return;
	if (sample->callchain && sample->callchain->nr >= 2)
		sample->callchain->nr -= 2;
	if (sample->build_id_callchain && sample->build_id_callchain->nr >= 2)
		sample->build_id_callchain->nr -= 2;
	sample->deferred_callchain = false;
	sample->deferred_build_id_callchain = false;
}

/* Complete @sample with what has come. */
static int merge_records(struct evlist *evlist, const struct waiting_sample *waiting,
			 struct perf_sample *sample)
{
	const struct deferred_thread *thread = waiting->thread;
	union perf_event *record;
	int err = 0;

	if (sample->deferred_build_id_offset) {
		record = find_record(thread, DEFERRED_ADDRESS, waiting->cookie);
		if (!record && entries_have_address(thread, waiting->cookie))
			record = find_record(thread, DEFERRED_ENTRIES, waiting->cookie);
		err = merge_record(evlist, sample, record, perf_sample__merge_build_id_address);
		sample->deferred_build_id_offset = false;
	}
	if (!err && (waiting->words || waiting->entries)) {
		record = find_record(thread, DEFERRED_ENTRIES, waiting->cookie);
		err = merge_record(evlist, sample, record, perf_sample__merge_build_id_callchain);
		if (!err && !record && !waiting->entries) {
			record = find_record(thread, DEFERRED_WORDS, waiting->cookie);
			err = merge_record(evlist, sample, record,
					   sample__merge_deferred_callchain);
			if (!err && record)
				sample->deferred_callchain = false;
		}
	}
	give_up_callchain(sample);
	return err;
}

/* Deliver a sample, as complete as it is, and free what waited. */
static int deliver_waiting_sample(struct evlist *evlist, const struct perf_tool *tool,
				  struct waiting_sample *waiting)
{
	struct perf_sample sample;
	struct evsel *evsel;
	int ret;

	perf_sample__init(&sample, /*all=*/false);
	ret = evlist__parse_sample(evlist, waiting->event, &sample);
	if (!ret)
		ret = merge_records(evlist, waiting, &sample);
	if (ret) {
		pr_err("ERROR: at offset %#" PRIx64 ": can't complete a deferred sample, err = %d\n",
		       waiting->file_offset, ret);
		goto out;
	}
	sample.file_offset = waiting->file_offset;

	evsel = evlist__id2evsel(evlist, sample.id);
	if (evsel != sample.evsel) {
		evsel__put(sample.evsel);
		sample.evsel = evsel ? evsel__get(evsel) : NULL;
	}
	if (sample.evsel) {
		ret = evlist__deliver_sample(evlist, tool, waiting->event, &sample,
					     waiting->machine);
	} else {
		++evlist__stats(evlist)->nr_unknown_id;
	}
out:
	perf_sample__exit(&sample);
	waiting_sample__delete(waiting);
	return ret;
}

/**
 * evlist__defer_sample - deliver a sample when the rest of it is there
 * @evlist: Keeps the sample until then.
 * @tool: Its sample callback gets it, now if the rest came before.
 * @event: The record of the sample, is copied.
 * @sample: Parsed from @event, with perf_sample__is_deferred().
 * @machine: The machine it was taken on, stays until the sample is delivered.
 *
 * Return: 0, what the callback returns, or a negative error.
 */
int evlist__defer_sample(struct evlist *evlist, const struct perf_tool *tool,
			 const union perf_event *event, const struct perf_sample *sample,
			 struct machine *machine)
{
	struct deferred_samples *deferred = evlist__get_deferred_samples(evlist);
	struct waiting_sample *waiting;
	struct deferred_thread *thread;

	if (!deferred)
		return -ENOMEM;
	thread = get_thread(deferred, sample->tid);
	waiting = zalloc(sizeof(*waiting));
	if (!thread || !waiting)
		goto out_free;

	waiting->event = memdup(sample->unparsed ?: event, event->header.size);
	if (!waiting->event)
		goto out_free;
	waiting->machine = machine;
	waiting->file_offset = sample->file_offset;
	waiting->cookie = sample->deferred_cookie;
	waiting->address = sample->deferred_build_id_offset;
	waiting->words = sample->deferred_callchain;
	waiting->entries = sample->deferred_build_id_callchain;
	waiting->thread = thread;
	list_add_tail(&waiting->node, &deferred->waiting);
	list_add_tail(&waiting->thread_node, &thread->waiting);

	if (waiting_sample__is_complete(waiting))
		return deliver_waiting_sample(evlist, tool, waiting);
	return 0;

out_free:
	free(waiting);
	return -ENOMEM;
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
 * Samples that wait for more than this record go on waiting. Those of the same
 * thread that wait for records of another cookie are delivered with what they
 * have: what they lack was lost.
 *
 * Return: 0, what the callback returns, or a negative error.
 */
int evlist__deliver_deferred_callchain(struct evlist *evlist, const struct perf_tool *tool,
				       union perf_event *event, struct perf_sample *sample,
				       struct machine *machine)
{
	u64 cookie = event->callchain_deferred.cookie;
	struct waiting_sample *waiting, *tmp;
	struct deferred_samples *deferred;
	struct deferred_thread *thread;
	enum deferred_part part;
	bool has_address;
	int ret;

	if (!tool->merge_deferred_callchains)
		return deliver_record(evlist, tool, event, sample, machine);

	deferred = evlist__get_deferred_samples(evlist);
	thread = deferred ? get_thread(deferred, sample->tid) : NULL;
	if (!thread)
		return -ENOMEM;

	list_for_each_entry_safe(waiting, tmp, &thread->waiting, thread_node) {
		if (waiting->cookie == cookie)
			continue;
		ret = deliver_waiting_sample(evlist, tool, waiting);
		if (ret)
			return ret;
	}

	part = deferred_part(evlist, sample, &has_address);
	ret = remember_record(thread, part, has_address, event);
	if (ret)
		return ret;

	list_for_each_entry_safe(waiting, tmp, &thread->waiting, thread_node) {
		if (!waiting_sample__is_complete(waiting))
			continue;
		ret = deliver_waiting_sample(evlist, tool, waiting);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * evlist__flush_deferred_samples - deliver samples that no record can complete any more
 * @evlist: Has the samples from evlist__defer_sample().
 * @tool: Its sample callback gets them.
 *
 * Return: 0, what the callback returns, or a negative error.
 */
int evlist__flush_deferred_samples(struct evlist *evlist, const struct perf_tool *tool)
{
	struct deferred_samples *deferred = evlist__deferred_samples(evlist);
	struct waiting_sample *waiting, *tmp;
	int ret;

	if (!deferred)
		return 0;

	list_for_each_entry_safe(waiting, tmp, &deferred->waiting, node) {
		ret = deliver_waiting_sample(evlist, tool, waiting);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * evlist__flush_deferred_thread - deliver the samples of a thread that has exited
 * @evlist: Has the samples from evlist__defer_sample().
 * @tool: Its sample callback gets them.
 * @tid: The thread. Its ID may be that of another thread from now on.
 *
 * Return: 0, what the callback returns, or a negative error.
 */
int evlist__flush_deferred_thread(struct evlist *evlist, const struct perf_tool *tool, pid_t tid)
{
	struct deferred_samples *deferred = evlist__deferred_samples(evlist);
	struct waiting_sample *waiting, *tmp;
	struct deferred_thread *thread;
	int ret;

	if (!deferred || !hashmap__find(deferred->threads, tid, &thread))
		return 0;

	list_for_each_entry_safe(waiting, tmp, &thread->waiting, thread_node) {
		ret = deliver_waiting_sample(evlist, tool, waiting);
		if (ret)
			return ret;
	}
	hashmap__delete(deferred->threads, tid, NULL, NULL);
	deferred_thread__delete(thread);
	return 0;
}
