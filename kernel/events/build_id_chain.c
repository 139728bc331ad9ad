// SPDX-License-Identifier: GPL-2.0
/*
 * Callchains of build ID and file offset entries, and the buffers in which they
 * wait until there is space in the ring buffer.
 *
 * There is one buffer for each CPU and context, so that an interrupt or NMI has
 * its own while another sample is being resolved.
 */
#include <linux/cpumask.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "build_id.h"
#include "internal.h"

struct chain_buffers {
	struct rcu_head			rcu;
	u32				max;		/* entries in a buffer */
	size_t				size;		/* bytes of a buffer */
	/* PERF_NR_CONTEXTS buffers for each CPU; not percpu memory for NMIs. */
	void				*cpu[];
};

static DEFINE_MUTEX(buffers_mutex);
static int buffers_users;
static struct chain_buffers __rcu *buffers;
static DEFINE_PER_CPU(u8, chain_recursion[PERF_NR_CONTEXTS]);

static void buffers_free(struct chain_buffers *b)
{
	int cpu;

	for_each_possible_cpu(cpu)
		kfree(b->cpu[cpu]);
	kfree(b);
}

static void buffers_free_rcu(struct rcu_head *rcu)
{
	buffers_free(container_of(rcu, struct chain_buffers, rcu));
}

static struct chain_buffers *buffers_alloc(void)
{
	struct chain_buffers *b;
	int cpu;

	b = kzalloc(struct_size(b, cpu, nr_cpu_ids), GFP_KERNEL);
	if (!b)
		return NULL;

	/* The sysctls are fixed while there are users of callchains. */
	b->max = sysctl_perf_event_max_stack + sysctl_perf_event_max_contexts_per_stack;
	b->max = min_t(u32, b->max, U16_MAX / sizeof(struct perf_build_id_entry));
	b->size = sizeof(struct perf_build_id_chain) +
		  b->max * sizeof(struct perf_build_id_entry);

	for_each_possible_cpu(cpu) {
		b->cpu[cpu] = kzalloc_node(b->size * PERF_NR_CONTEXTS, GFP_KERNEL,
					   cpu_to_node(cpu));
		if (!b->cpu[cpu]) {
			buffers_free(b);
			return NULL;
		}
	}
	return b;
}

/**
 * perf_build_id_chain_get_buffers() - allocate the buffers for the first event
 *
 * The caller must have succeeded with get_callchain_buffers(), and not undo
 * that before perf_build_id_chain_put_buffers().
 *
 * Context: may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int perf_build_id_chain_get_buffers(void)
{
	guard(mutex)(&buffers_mutex);

	if (!buffers_users) {
		struct chain_buffers *b = buffers_alloc();

		if (!b)
			return -ENOMEM;
		rcu_assign_pointer(buffers, b);
	}
	buffers_users++;
	return 0;
}

/**
 * perf_build_id_chain_put_buffers() - free the buffers with the last event
 */
void perf_build_id_chain_put_buffers(void)
{
	struct chain_buffers *b;

	guard(mutex)(&buffers_mutex);

	if (--buffers_users)
		return;
	b = rcu_replace_pointer(buffers, NULL, lockdep_is_held(&buffers_mutex));
	call_rcu(&b->rcu, buffers_free_rcu);
}

/**
 * perf_build_id_chain_alloc() - get the buffer of this CPU and context
 * @max: set to the number of entries that it has space for
 * @rctx: set to what perf_build_id_chain_filled() must be given
 *
 * Context: under rcu_read_lock(), preemption disabled.
 *
 * Return: the buffer, or NULL if it is being filled by the code that was
 * interrupted. It stays valid until the end of the RCU read-side section, but
 * other samples of the same context reuse it: they leave another generation.
 */
struct perf_build_id_chain *perf_build_id_chain_alloc(u32 *max, int *rctx)
{
	struct perf_build_id_chain *chain;
	struct chain_buffers *b;

	b = rcu_dereference(buffers);
	if (!b)
		return NULL;

	*rctx = get_recursion_context(this_cpu_ptr(chain_recursion));
	if (*rctx < 0)
		return NULL;

	chain = b->cpu[smp_processor_id()] + *rctx * b->size;
	chain->generation++;
	*max = b->max;
	return chain;
}

/**
 * perf_build_id_chain_filled() - release the buffer
 * @rctx: as perf_build_id_chain_alloc() has set it
 */
void perf_build_id_chain_filled(int rctx)
{
	put_recursion_context(this_cpu_ptr(chain_recursion), rctx);
}

/**
 * perf_build_id_resolve() - make the entry for a user address of current
 * @ctx: context of the resolver, or NULL for an unresolved entry
 * @addr: the address
 * @entry: set, all of it
 */
void perf_build_id_resolve(struct user_buildid_ctx *ctx, u64 addr,
			   struct perf_build_id_entry *entry)
{
	if (!ctx) {
		perf_build_id_unresolved(entry, addr);
		return;
	}
	memset(entry, 0, offsetof(struct perf_build_id_entry, build_id));
	entry->build_id_size = user_buildid_find(ctx, addr, entry->build_id, &entry->offset);
}

/**
 * perf_build_id_chain_fill() - make the entries for a callchain of current
 * @chain: set, @nr entries
 * @words: the callchain with its PERF_CONTEXT_* markers
 * @nr: number of words
 * @ctx: context of the resolver for the words after PERF_CONTEXT_USER, or
 *	NULL for unresolved entries
 */
void perf_build_id_chain_fill(struct perf_build_id_chain *chain, const u64 *words,
			      u32 nr, struct user_buildid_ctx *ctx)
{
	bool user = false;

	for (u32 i = 0; i < nr; i++) {
		bool marker = words[i] >= (u64)PERF_CONTEXT_MAX;

		if (marker)
			user = words[i] == (u64)PERF_CONTEXT_USER;
		perf_build_id_resolve(user && !marker ? ctx : NULL, words[i],
				      &chain->entries[i]);
	}
}
