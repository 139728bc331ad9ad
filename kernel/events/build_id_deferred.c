// SPDX-License-Identifier: GPL-2.0
/*
 * Build ID and offset of addresses that are resolved in task work, with the
 * deferred callchain.
 *
 * unwind_deferred_request() gives a cookie for each entry to the kernel. The
 * sample has the cookie in place of what is deferred, and PERF_RECORD_CALLCHAIN_
 * DEFERRED with the same cookie has the entries.
 */
#include <linux/atomic.h>
#include <linux/minmax.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/unwind_deferred.h>
#include <linux/user_buildid.h>

#include "build_id.h"
#include "internal.h"

/* Number of events for which perf_event_defers_build_ids() */
atomic_t perf_nr_deferred_build_id_events __read_mostly;

/* The sampled address that is resolved with the deferred callchain of @cookie. */
struct perf_deferred_ip {
	u64	cookie;
	u64	ip;		/* or PERF_DEFERRED_IP_NONE */
	bool	stale;		/* execve() has replaced the program since */
	bool	busy;
};

/*
 * Return the perf_deferred_ip of current, allocated if needed; NULL on failure.
 * An NMI may interrupt this and allocate one, too.
 */
static struct perf_deferred_ip *deferred_ip_of_current(bool may_sleep)
{
	struct perf_deferred_ip *dip = READ_ONCE(current->perf_deferred_ip), *old;

	if (likely(dip))
		return dip;

	if (may_sleep)
		dip = kzalloc(sizeof(*dip), GFP_KERNEL_ACCOUNT);
	else
		dip = kmalloc_nolock(sizeof(*dip), __GFP_ACCOUNT | __GFP_ZERO, NUMA_NO_NODE);
	if (!dip)
		return NULL;
	old = cmpxchg(&current->perf_deferred_ip, NULL, dip);
	if (!old)
		return dip;
	if (may_sleep)
		kfree(dip);
	else
		kfree_nolock(dip);
	return old;
}

/* dup_task_struct() has copied the pointer of the parent. */
void perf_deferred_ip_init(struct task_struct *child)
{
	child->perf_deferred_ip = NULL;
}

/* @task does not run any more. */
void perf_deferred_ip_free(struct task_struct *task)
{
	kfree(task->perf_deferred_ip);
	task->perf_deferred_ip = NULL;
}

/*
 * Record @ip as the sampled address of @cookie. Return true if it is, whether set
 * now or before. There is only one for each cookie.
 *
 * Code that interrupts the task ends before the task goes on. So if it finds that
 * @busy is set, it has interrupted one of these functions.
 */
static bool deferred_ip_set(u64 cookie, u64 ip)
{
	struct perf_deferred_ip *dip = deferred_ip_of_current(/*may_sleep=*/false);
	bool set;

	if (!dip || READ_ONCE(dip->busy) || ip == PERF_DEFERRED_IP_NONE)
		return false;

	WRITE_ONCE(dip->busy, true);
	barrier();
	if (dip->cookie != cookie) {
		dip->cookie = cookie;
		dip->ip = ip;
		dip->stale = false;
	}
	set = dip->ip == ip && !dip->stale;
	barrier();
	WRITE_ONCE(dip->busy, false);
	return set;
}

/*
 * Get the sampled address of @cookie, in task context. If there is none, none can
 * be set any more. @stale is set if the address is one of a program that execve()
 * has replaced.
 */
static u64 deferred_ip_get(u64 cookie, bool *stale)
{
	struct perf_deferred_ip *dip = deferred_ip_of_current(/*may_sleep=*/true);
	u64 ip;

	*stale = false;
	if (!dip)
		return PERF_DEFERRED_IP_NONE;

	WRITE_ONCE(dip->busy, true);
	barrier();
	if (dip->cookie != cookie) {
		dip->cookie = cookie;
		dip->ip = PERF_DEFERRED_IP_NONE;
	}
	ip = dip->ip;
	*stale = dip->stale;
	barrier();
	WRITE_ONCE(dip->busy, false);
	return ip;
}

/**
 * perf_deferred_ip_exec() - mark the sampled address of current as stale
 *
 * Nothing is deferred while current->in_execve, so the address was sampled
 * before.
 */
void perf_deferred_ip_exec(void)
{
	struct perf_deferred_ip *dip = READ_ONCE(current->perf_deferred_ip);

	if (dip)
		WRITE_ONCE(dip->stale, true);
}

/**
 * perf_defer_build_id() - leave a sampled user address to the deferred callchain
 * @event: the event that is sampled
 * @ip: the address
 * @entry: set to the deferred form, four u64
 *
 * Context: any, NMI included; current is the sampled task and not in execve().
 *
 * Return: true if the deferred record will have the address, else the caller must
 * resolve it.
 */
bool perf_defer_build_id(struct perf_event *event, u64 ip,
			 struct perf_build_id_entry *entry)
{
	u64 cookie;

	if (!event->attr.defer_callchain ||
	    unwind_deferred_request(&perf_unwind_work, &cookie) < 0 ||
	    !deferred_ip_set(cookie, ip))
		return false;

	*entry = (struct perf_build_id_entry){
		.marker = PERF_CONTEXT_USER_DEFERRED,
		.cookie = cookie,
		.offset = ip,
	};
	return true;
}

static void output_entry(struct perf_output_handle *handle,
			 const struct perf_build_id_entry *resolved, u64 word)
{
	struct perf_build_id_entry unresolved;

	if (resolved) {
		perf_output_put(handle, *resolved);
		return;
	}
	perf_build_id_unresolved(&unresolved, word);
	perf_output_put(handle, unresolved);
}

/**
 * perf_output_deferred_build_ids() - write PERF_RECORD_CALLCHAIN_DEFERRED with entries
 * @event: perf_event_defers_build_ids()
 * @deferred: the sampled address and the callchain
 */
void perf_output_deferred_build_ids(struct perf_event *event,
				    struct perf_callchain_deferred_event *deferred)
{
	bool has_chain = event->attr.sample_type & PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET;
	bool has_ip = (event->attr.sample_type & PERF_SAMPLE_BUILD_ID_OFFSET) &&
		      deferred->ip != PERF_DEFERRED_IP_NONE;
	struct perf_build_id_entry *entries = deferred->entries;
	struct unwind_stacktrace *trace = deferred->trace;
	const struct perf_build_id_entry none = {};
	struct perf_output_handle handle;
	struct perf_sample_data sample;
	u32 nr = 0, max;

	if (!has_chain && !has_ip)
		return;

	/* Limit the record to half of the buffer, as the sample may still be in it. */
	max = (perf_record_max_size(event) / 2 - sizeof(deferred->event) - sizeof(none) -
	       event->id_header_size) / sizeof(none);
	if (has_chain)
		nr = min3(trace->nr, event->attr.sample_max_stack, max);

	deferred->event.nr = nr;
	perf_event_header__init(&deferred->event.header, &sample,
				PERF_RECORD_CALLCHAIN_DEFERRED,
				PERF_RECORD_MISC_USER | PERF_RECORD_MISC_CALLCHAIN_BUILD_ID,
				sizeof(deferred->event) + (1 + nr) * sizeof(none),
				event);

	if (perf_output_begin(&handle, &sample, event, deferred->event.header.size))
		return;

	perf_output_put(&handle, deferred->event.header);
	perf_output_put(&handle, deferred->event.cookie);
	output_entry(&handle, has_ip ? entries : &none, deferred->ip);
	perf_output_put(&handle, deferred->event.nr);
	/* @event may have been enabled after it was decided what to resolve. */
	for (u32 i = 0; i < nr; i++)
		output_entry(&handle, i < deferred->nr_resolved ? &entries[1 + i] : NULL,
			     trace->entries[i]);
	perf_event__output_id_sample(event, &handle, &sample);

	perf_output_end(&handle);
}

/* Sample types and stack depth that events which get a record of this task ask for. */
struct deferred_request {
	u64	sample_type;
	u32	max_stack;
};

static void deferred_request_add(struct perf_event *event, void *data)
{
	struct deferred_request *request = data;

	if (!perf_event_defers_build_ids(event))
		return;
	request->sample_type |= event->attr.sample_type & PERF_SAMPLE_BUILD_ID_TYPE;
	if (event->attr.sample_type & PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET)
		request->max_stack = max(request->max_stack, event->attr.sample_max_stack);
}

/* A deferred callchain that is to be resolved. */
struct deferred_work {
	struct callback_head		work;
	u64				cookie;
	struct unwind_stacktrace	trace;
	u32				nr_to_resolve;	/* words of @trace */
	struct user_buildid_map		maps[USER_BUILDID_NR_MAPS];
	struct perf_build_id_entry	entries[];	/* the words of @trace follow */
};

/* Signals are not delivered any more, so a wait for a file could not be interrupted. */
static bool current_is_dying(void)
{
	return current->flags & (PF_EXITING | PF_POSTCOREDUMP);
}

static void deferred_work_resolve(struct deferred_work *dw,
				  struct perf_callchain_deferred_event *deferred)
{
	struct user_buildid_ctx ctx;
	bool stale;

	/* May allocate memory, so before user_buildid_begin_nofault(). */
	deferred->ip = deferred_ip_get(dw->cookie, &stale);

	if (current_is_dying())
		user_buildid_begin_nofault(&ctx, dw->maps, ARRAY_SIZE(dw->maps));
	else
		user_buildid_begin(&ctx, dw->maps, ARRAY_SIZE(dw->maps), /*wait=*/true);

	if (deferred->ip != PERF_DEFERRED_IP_NONE)
		perf_build_id_resolve(stale ? NULL : &ctx, deferred->ip, &dw->entries[0]);
	for (u32 i = 0; i < dw->nr_to_resolve; i++)
		perf_build_id_resolve(&ctx, dw->trace.entries[i], &dw->entries[1 + i]);
	user_buildid_end(&ctx);

	deferred->entries = dw->entries;
	deferred->nr_resolved = dw->nr_to_resolve;
}

static void deferred_work_func(struct callback_head *work)
{
	struct deferred_work *dw = container_of(work, struct deferred_work, work);
	struct perf_callchain_deferred_event deferred = {
		.trace = &dw->trace,
		.event = {
			.cookie = dw->cookie,
		},
	};

	/* Before perf_iterate_sb(), where it must not sleep. */
	deferred_work_resolve(dw, &deferred);
	perf_callchain_deferred_write(&deferred);
	kvfree(dw);
}

/**
 * perf_resolve_deferred_build_ids() - resolve a deferred callchain, then write it
 * @deferred: the callchain and its cookie; on failure, ->ip is set
 *
 * Resolves what events that get a record of current, on this CPU, ask for. That
 * may take until the server of a file has answered, so it is left to task work of
 * its own: unwind_deferred_cancel() waits for the callback of the unwinder.
 *
 * Context: the callback of the unwinder.
 *
 * Return: false if the caller must write the records, as no event asks for
 * entries or there is no memory.
 */
bool perf_resolve_deferred_build_ids(struct perf_callchain_deferred_event *deferred)
{
	struct unwind_stacktrace *trace = deferred->trace;
	u64 cookie = deferred->event.cookie;
	struct deferred_request request = {};
	struct deferred_work *dw = NULL;
	bool stale;
	u32 nr;

	if (!atomic_read(&perf_nr_deferred_build_id_events)) {
		/* An event that is enabled later must not defer to a record that is written. */
		if (READ_ONCE(current->perf_deferred_ip))
			deferred_ip_get(cookie, &stale);
		return false;
	}

	perf_iterate_sb(deferred_request_add, &request, NULL);

	nr = min(trace->nr, request.max_stack);
	if (request.sample_type)
		dw = kvmalloc(size_add(struct_size(dw, entries, 1 + nr),
				       array_size(trace->nr, sizeof(*trace->entries))),
			      GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN);
	if (!dw) {
		deferred->ip = deferred_ip_get(cookie, &stale);
		return false;
	}

	init_task_work(&dw->work, deferred_work_func);
	dw->cookie = cookie;
	dw->nr_to_resolve = nr;
	dw->trace.nr = trace->nr;
	dw->trace.entries = (unsigned long *)&dw->entries[1 + nr];
	memcpy(dw->trace.entries, trace->entries, trace->nr * sizeof(*trace->entries));

	/* The task work of a dying task runs when its mm is gone. */
	if (current_is_dying() || task_work_add(current, &dw->work, TWA_RESUME))
		deferred_work_func(&dw->work);
	return true;
}
