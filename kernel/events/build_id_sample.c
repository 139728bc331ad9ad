// SPDX-License-Identifier: GPL-2.0
/*
 * PERF_SAMPLE_BUILD_ID_OFFSET and PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET in
 * samples: prepared before space in the ring buffer is reserved, then written.
 */
#include <linux/minmax.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/user_buildid.h>

#include "build_id.h"
#include "internal.h"

/* Does the callchain end with a cookie in place of the user addresses? */
static bool callchain_is_deferred(const struct perf_event *event,
				  const struct perf_callchain_entry *chain)
{
	return event->attr.defer_callchain && chain->nr >= 2 &&
	       chain->ip[chain->nr - 2] == (u64)PERF_CONTEXT_USER_DEFERRED;
}

/*
 * Cut the callchain to @max words and to what fits in the sample, in the one or
 * two forms that @event writes, and in the ring buffer.
 */
static void cut_callchain(struct perf_sample_data *data, struct perf_event *event,
			  u32 max)
{
	u64 sample_type = event->attr.sample_type;
	u32 size = perf_sample_data_size(data, event) +
		   perf_sample_pending_size(event, sample_type & ~data->sample_flags);
	struct perf_callchain_entry *chain = data->callchain;
	u32 max_size = perf_record_max_size(event);
	u32 word_size = 0;
	u32 nr = chain->nr;

	if (sample_type & PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET)
		word_size += sizeof(struct perf_build_id_entry);
	if (sample_type & PERF_SAMPLE_CALLCHAIN) {
		size -= nr * sizeof(u64);
		word_size += sizeof(u64);
	}

	max = min(max, size < max_size ? (max_size - size) / word_size : 0);
	if (likely(nr <= max))
		return;

	/* The marker of a deferred callchain means nothing without its cookie. */
	if (callchain_is_deferred(event, chain)) {
		if (max < 2) {
			max = 0;
		} else {
			chain->ip[max - 2] = chain->ip[nr - 2];
			chain->ip[max - 1] = chain->ip[nr - 1];
		}
	}
	chain->nr = max;

	if (sample_type & PERF_SAMPLE_CALLCHAIN)
		data->dyn_size -= (nr - max) * sizeof(u64);
}

static void prepare_chain(struct perf_sample_data *data, struct perf_event *event,
			  struct user_buildid_ctx *ctx,
			  struct perf_build_id_chain *chain, u32 max)
{
	u32 nr;

	data->sample_flags |= PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET;
	data->dyn_size += sizeof(u64);
	data->build_id_chain_nr = 0;

	if (!chain)
		return;

	cut_callchain(data, event, max);
	nr = data->callchain->nr;
	perf_build_id_chain_fill(chain, data->callchain->ip, nr, ctx);
	data->build_id_chain = chain;
	data->build_id_chain_generation = chain->generation;
	data->build_id_chain_nr = nr;
	data->dyn_size += nr * sizeof(struct perf_build_id_entry);
}

/**
 * perf_prepare_build_ids() - resolve the addresses of a sample without faulting
 * @data: the sample; PERF_SAMPLE_IP is prepared, and so is everything before
 *	PERF_SAMPLE_CALLCHAIN
 * @event: has one of PERF_SAMPLE_BUILD_ID_TYPE
 * @regs: of the interrupted code
 *
 * Prepares PERF_SAMPLE_CALLCHAIN too, as that must leave room for the entries.
 *
 * Context: any, NMI included, preemption disabled, under rcu_read_lock().
 */
noinline void perf_prepare_build_ids(struct perf_sample_data *data,
				     struct perf_event *event, struct pt_regs *regs)
{
	u64 todo = event->attr.sample_type & ~data->sample_flags;
	struct user_buildid_ctx ctx, *ctxp = NULL;
	struct perf_build_id_chain *chain = NULL;
	bool user_ip = false, user_chain;
	struct user_buildid_map map;
	int rctx = -1;
	u32 max = 0;

	if ((todo & PERF_SAMPLE_CALLCHAIN_TYPE) && !(data->sample_flags & PERF_SAMPLE_CALLCHAIN))
		perf_sample_save_callchain(data, event, regs);

	if (todo & PERF_SAMPLE_BUILD_ID_OFFSET) {
		/* Kernel and guest addresses are written as they are. */
		user_ip = (perf_misc_flags(event, regs) &
			   PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER;
		data->sample_flags |= PERF_SAMPLE_BUILD_ID_OFFSET;
	}
	user_chain = (todo & PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET) &&
		     !callchain_is_deferred(event, data->callchain);
	if (todo & PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET)
		chain = perf_build_id_chain_alloc(&max, &rctx);

	/*
	 * Only the address space of current can be looked at. In execve() user
	 * addresses are still those of the old program, but the address space
	 * may be that of the new one.
	 */
	if (is_user_task(current) && !perf_event_crosstask(event) && !current->in_execve) {
		if (user_ip && perf_defer_build_id(event, data->ip, &data->build_id_ip)) {
			todo &= ~PERF_SAMPLE_BUILD_ID_OFFSET;
			user_ip = false;
		}
		if (user_ip || user_chain) {
			ctxp = &ctx;
			if (chain)
				user_buildid_begin_nofault(ctxp, chain->maps,
							   ARRAY_SIZE(chain->maps));
			else
				user_buildid_begin_nofault(ctxp, &map, 1);
		}
	}

	if (todo & PERF_SAMPLE_BUILD_ID_OFFSET)
		perf_build_id_resolve(user_ip ? ctxp : NULL, data->ip, &data->build_id_ip);

	if (todo & PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET)
		prepare_chain(data, event, ctxp, chain, max);
	else if ((event->attr.sample_type & PERF_SAMPLE_CALLCHAIN_TYPE) == PERF_SAMPLE_CALLCHAIN)
		cut_callchain(data, event, U32_MAX);

	if (ctxp)
		user_buildid_end(ctxp);
	if (chain)
		perf_build_id_chain_filled(rctx);
}

static void output_chain(struct perf_output_handle *handle,
			 const struct perf_sample_data *data)
{
	const struct perf_build_id_entry none = {};

	perf_output_put(handle, data->build_id_chain_nr);

	/* Without a buffer no space was reserved. */
	if (!data->build_id_chain_nr)
		return;

	if (likely(data->build_id_chain->generation == data->build_id_chain_generation)) {
		__output_copy(handle, data->build_id_chain->entries,
			      data->build_id_chain_nr * sizeof(none));
		return;
	}

	/* A page fault or BPF program since then was itself sampled. */
	for (u64 i = 0; i < data->build_id_chain_nr; i++)
		perf_output_put(handle, none);
}

/**
 * perf_output_build_ids() - write what perf_prepare_build_ids() has prepared
 * @handle: where space for the sample is reserved
 * @event: has one of PERF_SAMPLE_BUILD_ID_TYPE
 * @data: the sample
 */
void perf_output_build_ids(struct perf_output_handle *handle, struct perf_event *event,
			   const struct perf_sample_data *data)
{
	if (event->attr.sample_type & PERF_SAMPLE_BUILD_ID_OFFSET)
		perf_output_put(handle, data->build_id_ip);

	if (event->attr.sample_type & PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET)
		output_chain(handle, data);
}
