/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KERNEL_EVENTS_BUILD_ID_CHAIN_H
#define _KERNEL_EVENTS_BUILD_ID_CHAIN_H

#include <linux/build_bug.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <linux/user_buildid.h>

static_assert(sizeof(struct perf_build_id_offset) == 32);

/* A callchain as PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET has it. */
struct perf_build_id_chain {
	/* Another one with each use: whether it is still that of a sample. */
	u64				generation;
	/* For resolving the entries; too large for the stack of an NMI. */
	struct user_buildid_map		maps[USER_BUILDID_NR_MAPS];
	struct perf_build_id_offset	entries[];
};

/* What is not resolved stands as in PERF_SAMPLE_IP or PERF_SAMPLE_CALLCHAIN. */
static inline void perf_build_id_unresolved(struct perf_build_id_offset *entry, u64 word)
{
	memset(entry, 0, sizeof(*entry));
	entry->offset = word;
}

int perf_build_id_chain_get_buffers(void);
void perf_build_id_chain_put_buffers(void);
struct perf_build_id_chain *perf_build_id_chain_alloc(u32 *max, int *rctx);
void perf_build_id_chain_filled(int rctx);
void perf_build_id_resolve(struct user_buildid_walk *walk, u64 addr,
			   struct perf_build_id_offset *entry);
void perf_build_id_chain_fill(struct perf_build_id_chain *chain, const u64 *words,
			      u32 nr, struct user_buildid_walk *walk);

#endif /* _KERNEL_EVENTS_BUILD_ID_CHAIN_H */
