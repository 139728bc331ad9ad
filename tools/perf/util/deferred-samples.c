// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel may leave the user part of a sample to records of its own, written
 * when the thread goes back to user space: PERF_RECORD_CALLCHAIN_DEFERRED. Thread
 * and cookie identify what belongs together. There is one record for each form in
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

/* A record that has been read but not delivered. */
struct record_ahead {
	struct list_head	node;		/* of deferred_thread */
	struct deferred_record	record;
	enum deferred_part	part;
	bool			copied;
	u64			time;
};

struct deferred_thread {
	struct list_head	waiting;
	struct list_head	ahead;		/* in time order */
	u64			exit_time;	/* of an exit that was read, or 0 */
	struct deferred_record	last[NR_DEFERRED_PARTS];
};

/* The records of one cookie. */
struct deferred_rest {
	struct deferred_record	records[NR_DEFERRED_PARTS];
};

struct waiting_sample {
	struct list_head	node;		/* of deferred_samples */
	struct list_head	thread_node;	/* of deferred_thread */
	struct deferred_thread	*thread;
	union perf_event	*event;
	struct machine		*machine;
	u64			file_offset;
	u64			cookie;
	u64			time;
	/* What the session has found out about it. */
	u32			cpu;
	pid_t			machine_pid;
	int			vcpu;
	/* What it waits for. */
	bool			address, words, entries;
};

struct deferred_samples {
	struct list_head	waiting;	/* in the order they were taken */
	struct hashmap		*threads;	/* deferred_thread by thread ID */
	/* Records are read before the samples are delivered that they complete. */
	bool			in_order;
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
	list_del_init(&waiting->node);
	list_del_init(&waiting->thread_node);
	free(waiting->event);
	free(waiting);
}

static void record_ahead__delete(struct record_ahead *ahead)
{
	list_del(&ahead->node);
	if (ahead->copied)
		free(ahead->record.event);
	free(ahead);
}

static void deferred_thread__forget_last(struct deferred_thread *thread)
{
	for (int part = 0; part < NR_DEFERRED_PARTS; part++)
		zfree(&thread->last[part].event);
}

static void deferred_thread__forget_ahead(struct deferred_thread *thread)
{
	struct record_ahead *ahead, *tmp;

	list_for_each_entry_safe(ahead, tmp, &thread->ahead, node)
		record_ahead__delete(ahead);
}

static void deferred_thread__delete(struct deferred_thread *thread)
{
	deferred_thread__forget_last(thread);
	deferred_thread__forget_ahead(thread);
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
	INIT_LIST_HEAD(&thread->ahead);
	if (hashmap__add(deferred->threads, tid, thread)) {
		free(thread);
		return NULL;
	}
	return thread;
}

/* The contents of the record that @sample was parsed from */
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
	 * than one entry are the callchain of another event, converted from addresses.
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

static u64 deferred_record__cookie(const struct deferred_record *record)
{
	return record->event->callchain_deferred.cookie;
}

/*
 * The kernel writes one record for each part and buffer, so the records of a
 * cookie are among the first ones that a thread has ahead.
 */
#define MAX_RECORDS_AHEAD 64

/* Find what has been read for @cookie, of which a sample was taken at @time. */
static void find_rest(const struct deferred_thread *thread, u64 cookie, u64 time,
		      struct deferred_rest *rest)
{
	struct record_ahead *ahead;
	int nr = 0;

	memset(rest, 0, sizeof(*rest));
	for (int part = 0; part < NR_DEFERRED_PARTS; part++) {
		const struct deferred_record *last = &thread->last[part];

		if (last->event && deferred_record__cookie(last) == cookie)
			rest->records[part] = *last;
	}
	list_for_each_entry(ahead, &thread->ahead, node) {
		if (++nr > MAX_RECORDS_AHEAD)
			break;
		if (deferred_record__cookie(&ahead->record) != cookie) {
			if (ahead->time > time)
				break;
		} else if (!rest->records[ahead->part].event) {
			rest->records[ahead->part] = ahead->record;
		}
	}
}

/* Is the sampled address in the entries of the callchain? */
static bool entries_have_address(const struct deferred_rest *rest)
{
	return rest->records[DEFERRED_ENTRIES].event &&
	       rest->records[DEFERRED_ENTRIES].has_address;
}

/* Have all records come? Entries replace a callchain of addresses. */
static bool rest_is_complete(const struct deferred_rest *rest, bool address, bool words,
			     bool entries)
{
	if (address && !entries_have_address(rest) && !rest->records[DEFERRED_ADDRESS].event)
		return false;
	if (rest->records[DEFERRED_ENTRIES].event)
		return true;
	return !entries && (!words || rest->records[DEFERRED_WORDS].event);
}

static bool waiting_sample__is_complete(const struct waiting_sample *waiting,
					struct deferred_rest *rest)
{
	find_rest(waiting->thread, waiting->cookie, waiting->time, rest);
	return rest_is_complete(rest, waiting->address, waiting->words, waiting->entries);
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
			 const struct deferred_rest *rest, struct perf_sample *sample)
{
	union perf_event *record;
	int err = 0;

	if (sample->deferred_build_id_offset) {
		record = rest->records[DEFERRED_ADDRESS].event;
		if (!record && entries_have_address(rest))
			record = rest->records[DEFERRED_ENTRIES].event;
		err = merge_record(evlist, sample, record, perf_sample__merge_build_id_address);
		sample->deferred_build_id_offset = false;
	}
	if (!err && (waiting->words || waiting->entries)) {
		record = rest->records[DEFERRED_ENTRIES].event;
		err = merge_record(evlist, sample, record, perf_sample__merge_build_id_callchain);
		if (!err && !record && !waiting->entries) {
			record = rest->records[DEFERRED_WORDS].event;
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
	struct deferred_rest rest;
	struct perf_sample sample;
	struct evsel *evsel;
	int ret;

	find_rest(waiting->thread, waiting->cookie, waiting->time, &rest);
	perf_sample__init(&sample, /*all=*/false);
	ret = evlist__parse_sample(evlist, waiting->event, &sample);
	if (!ret)
		ret = merge_records(evlist, waiting, &rest, &sample);
	if (ret) {
		pr_err("ERROR: at offset %#" PRIx64 ": can't complete a deferred sample, err = %d\n",
		       waiting->file_offset, ret);
		goto out;
	}
	sample.file_offset = waiting->file_offset;
	sample.cpu = waiting->cpu;
	sample.machine_pid = waiting->machine_pid;
	sample.vcpu = waiting->vcpu;

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

static struct waiting_sample *waiting_sample__new(struct deferred_thread *thread,
						  const union perf_event *event,
						  const struct perf_sample *sample,
						  struct machine *machine)
{
	struct waiting_sample *waiting = zalloc(sizeof(*waiting));

	if (!waiting)
		return NULL;
	waiting->event = memdup(sample->unparsed ?: event, event->header.size);
	if (!waiting->event) {
		free(waiting);
		return NULL;
	}
	INIT_LIST_HEAD(&waiting->node);
	INIT_LIST_HEAD(&waiting->thread_node);
	waiting->thread = thread;
	waiting->machine = machine;
	waiting->file_offset = sample->file_offset;
	waiting->cookie = sample->deferred_cookie;
	waiting->time = sample->time;
	waiting->cpu = sample->cpu;
	waiting->machine_pid = sample->machine_pid;
	waiting->vcpu = sample->vcpu;
	waiting->address = sample->deferred_build_id_offset;
	waiting->words = sample->deferred_callchain;
	waiting->entries = sample->deferred_build_id_callchain;
	return waiting;
}

/**
 * evlist__defer_sample - deliver a sample when the rest of it is there
 * @evlist: Keeps the sample until then.
 * @tool: Its sample callback gets it, now if the rest came before or if records
 *        are read ahead.
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
	struct deferred_thread *thread = deferred ? get_thread(deferred, sample->tid) : NULL;
	struct waiting_sample *waiting;
	struct deferred_rest rest;

	if (!thread)
		return -ENOMEM;
	waiting = waiting_sample__new(thread, event, sample, machine);
	if (!waiting)
		return -ENOMEM;

	if (deferred->in_order || waiting_sample__is_complete(waiting, &rest))
		return deliver_waiting_sample(evlist, tool, waiting);

	list_add_tail(&waiting->node, &deferred->waiting);
	list_add_tail(&waiting->thread_node, &thread->waiting);
	return 0;
}

/**
 * evlist__read_deferred_ahead - start or end reading records ahead
 * @evlist: With @ahead, its samples do not wait: they are delivered at once, with
 *          the records from evlist__add_deferred_ahead(). Without, these are freed.
 * @ahead: Start?
 *
 * Return: 0 or a negative error.
 */
int evlist__read_deferred_ahead(struct evlist *evlist, bool ahead)
{
	struct deferred_samples *deferred = evlist__get_deferred_samples(evlist);
	struct hashmap_entry *cur;
	size_t bkt;

	if (!deferred)
		return -ENOMEM;
	deferred->in_order = ahead;
	if (ahead)
		return 0;
	hashmap__for_each_entry(deferred->threads, cur, bkt)
		deferred_thread__forget_ahead(cur->pvalue);
	return 0;
}

static void deferred_thread__add_ahead(struct deferred_thread *thread, struct record_ahead *new)
{
	struct record_ahead *pos;

	/* The buffers of several CPUs are read in turn: mostly, it is the latest. */
	list_for_each_entry_reverse(pos, &thread->ahead, node) {
		if (pos->time <= new->time)
			break;
	}
	list_add(&new->node, &pos->node);
}

/**
 * evlist__add_deferred_ahead - keep a record for samples to be delivered before it
 * @evlist: Reads records ahead.
 * @event: The PERF_RECORD_CALLCHAIN_DEFERRED.
 * @sample: Parsed from @event.
 * @copy: Keep a copy, or else @event until it is delivered.
 *
 * Return: 0 or a negative error.
 */
int evlist__add_deferred_ahead(struct evlist *evlist, union perf_event *event,
			       const struct perf_sample *sample, bool copy)
{
	struct deferred_samples *deferred = evlist__get_deferred_samples(evlist);
	struct deferred_thread *thread = deferred ? get_thread(deferred, sample->tid) : NULL;
	struct record_ahead *new;

	if (!thread)
		return -ENOMEM;
	new = zalloc(sizeof(*new));
	if (!new)
		return -ENOMEM;
	new->record.event = copy ? memdup(event, event->header.size) : event;
	if (!new->record.event) {
		free(new);
		return -ENOMEM;
	}
	new->copied = copy;
	new->time = sample->time;
	new->part = deferred_part(evlist, sample, &new->record.has_address);
	deferred_thread__add_ahead(thread, new);
	return 0;
}

/**
 * evlist__add_exit_ahead - note the exit of a thread before it is delivered
 * @evlist: Reads records ahead.
 * @tid: The thread.
 * @time: Of its exit.
 */
void evlist__add_exit_ahead(struct evlist *evlist, pid_t tid, u64 time)
{
	struct deferred_samples *deferred = evlist__deferred_samples(evlist);
	struct deferred_thread *thread = deferred ? get_thread(deferred, tid) : NULL;

	if (thread)
		thread->exit_time = time;
}

/**
 * evlist__awaits_deferred - may a record complete a sample that was not read yet?
 * @evlist: Reads records ahead.
 * @sample: A deferred sample.
 * @read_until: All records up to that time have been read.
 *
 * A thread that has exited or that wrote the record of a later cookie has written
 * those of earlier ones before.
 */
bool evlist__awaits_deferred(struct evlist *evlist, const struct perf_sample *sample,
			     u64 read_until)
{
	struct deferred_samples *deferred = evlist__get_deferred_samples(evlist);
	struct deferred_thread *thread;
	struct record_ahead *ahead;
	struct deferred_rest rest;
	int nr = 0;

	thread = deferred ? get_thread(deferred, sample->tid) : NULL;
	if (!thread)
		return false;

	find_rest(thread, sample->deferred_cookie, sample->time, &rest);
	if (rest_is_complete(&rest, sample->deferred_build_id_offset, sample->deferred_callchain,
			     sample->deferred_build_id_callchain))
		return false;
	if (thread->exit_time > sample->time && thread->exit_time <= read_until)
		return false;
	list_for_each_entry(ahead, &thread->ahead, node) {
		if (ahead->time > sample->time &&
		    deferred_record__cookie(&ahead->record) != sample->deferred_cookie)
			return ahead->time > read_until;
		if (++nr > MAX_RECORDS_AHEAD)
			return false;
	}
	return true;
}

/* A record is delivered. */
static void deferred_thread__remove_ahead(struct deferred_thread *thread,
					  enum deferred_part part, u64 cookie)
{
	struct record_ahead *ahead;
	int nr = 0;

	list_for_each_entry(ahead, &thread->ahead, node) {
		if (ahead->part == part && deferred_record__cookie(&ahead->record) == cookie) {
			record_ahead__delete(ahead);
			return;
		}
		if (++nr > MAX_RECORDS_AHEAD)
			return;
	}
}

static int deliver_record(struct evlist *evlist, const struct perf_tool *tool,
			  union perf_event *event, struct perf_sample *sample,
			  struct machine *machine)
{
	struct evsel *saved_evsel = sample->evsel;
	int ret;

	machine__fixup_sample(machine, sample);
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
	struct deferred_rest rest;
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
	deferred_thread__remove_ahead(thread, part, cookie);

	list_for_each_entry_safe(waiting, tmp, &thread->waiting, thread_node) {
		if (!waiting_sample__is_complete(waiting, &rest))
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
	if (list_empty(&thread->ahead)) {
		hashmap__delete(deferred->threads, tid, NULL, NULL);
		deferred_thread__delete(thread);
	} else {
		/* They are of the next thread of that ID. */
		deferred_thread__forget_last(thread);
	}
	return 0;
}
