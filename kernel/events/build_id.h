/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KERNEL_EVENTS_BUILD_ID_H
#define _KERNEL_EVENTS_BUILD_ID_H

#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <linux/user_buildid.h>

struct perf_callchain_deferred_event;

static_assert(sizeof(struct perf_build_id_entry) == 32);
static_assert(sizeof_field(struct perf_build_id_entry, build_id) == BUILD_ID_SIZE_MAX);

/* A callchain in the form of PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET. */
struct perf_build_id_chain {
	/* Incremented on reuse: tells whether it is still that of a sample. */
	u64				generation;
	/* Used while the entries are resolved; too large for the stack of an NMI. */
	struct user_buildid_map		maps[USER_BUILDID_NR_MAPS];
	struct perf_build_id_entry	entries[];
};

/* An unresolved entry has the word of PERF_SAMPLE_IP or PERF_SAMPLE_CALLCHAIN. */
static inline void perf_build_id_unresolved(struct perf_build_id_entry *entry, u64 word)
{
	memset(entry, 0, sizeof(*entry));
	entry->offset = word;
}

/* build_id_chain.c: callchain buffers */
int perf_build_id_chain_get_buffers(void);
void perf_build_id_chain_put_buffers(void);
struct perf_build_id_chain *perf_build_id_chain_alloc(u32 *max, int *rctx);
void perf_build_id_chain_filled(int rctx);
void perf_build_id_resolve(struct user_buildid_ctx *ctx, u64 addr,
			   struct perf_build_id_entry *entry);
void perf_build_id_chain_fill(struct perf_build_id_chain *chain, const u64 *words,
			      u32 nr, struct user_buildid_ctx *ctx);

/* build_id_sample.c: fields of PERF_RECORD_SAMPLE */
void perf_prepare_build_ids(struct perf_sample_data *data, struct perf_event *event,
			    struct pt_regs *regs);
void perf_output_build_ids(struct perf_output_handle *handle, struct perf_event *event,
			   const struct perf_sample_data *data);

/* build_id_deferred.c: entries in PERF_RECORD_CALLCHAIN_DEFERRED */
static inline bool perf_event_defers_build_ids(const struct perf_event *event)
{
	return event->attr.defer_output &&
	       (event->attr.sample_type & PERF_SAMPLE_BUILD_ID_TYPE);
}

#define PERF_DEFERRED_IP_NONE (~0ULL)

#ifdef CONFIG_UNWIND_USER
extern atomic_t perf_nr_deferred_build_id_events;

void perf_deferred_ip_init(struct task_struct *child);
void perf_deferred_ip_free(struct task_struct *task);
void perf_deferred_ip_exec(void);
bool perf_defer_build_id(struct perf_event *event, u64 ip,
			 struct perf_build_id_entry *entry);
void perf_output_deferred_build_ids(struct perf_event *event,
				    struct perf_callchain_deferred_event *deferred);
bool perf_resolve_deferred_build_ids(struct perf_callchain_deferred_event *deferred);

/* @change: 1 for a new event, -1 for one that goes */
static inline void perf_account_deferred_build_ids(const struct perf_event *event, int change)
{
	if (perf_event_defers_build_ids(event))
		atomic_add(change, &perf_nr_deferred_build_id_events);
}

#else
static inline void perf_deferred_ip_init(struct task_struct *child) { }
static inline void perf_deferred_ip_free(struct task_struct *task) { }
static inline void perf_deferred_ip_exec(void) { }

static inline bool perf_defer_build_id(struct perf_event *event, u64 ip,
				       struct perf_build_id_entry *entry)
{
	return false;
}

static inline void
perf_output_deferred_build_ids(struct perf_event *event,
			       struct perf_callchain_deferred_event *deferred)
{
}

static inline bool
perf_resolve_deferred_build_ids(struct perf_callchain_deferred_event *deferred)
{
	return false;
}

static inline void perf_account_deferred_build_ids(const struct perf_event *event, int change) { }
#endif

#endif /* _KERNEL_EVENTS_BUILD_ID_H */
