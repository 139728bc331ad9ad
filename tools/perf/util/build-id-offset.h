/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_BUILD_ID_OFFSET_H
#define __PERF_BUILD_ID_OFFSET_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
#include <perf/event.h>
#include "sample.h"

/** struct build_id_callchain - payload of PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET */
struct build_id_callchain {
	u64 nr;
	struct perf_build_id_offset entries[];
};

/* "BUILDID+0xOFFSET" with 20 bytes of build ID, and the terminating null byte. */
#define BUILD_ID_OFFSET_STR_SIZE (2 * 20 + 3 + 16 + 1)

/** An entry that is not resolved holds an address or a context marker. */
static inline bool build_id_offset__resolved(const struct perf_build_id_offset *entry)
{
	return entry->build_id.size != 0;
}

/** build_id_callchain__size - bytes that a callchain of @nr entries takes in a record */
static inline size_t build_id_callchain__size(u64 nr)
{
	return sizeof(u64) + nr * sizeof(struct perf_build_id_offset);
}

/** Must this sample be completed with the entries of a deferred record? */
static inline bool perf_sample__awaits_build_ids(const struct perf_sample *sample)
{
	return sample->deferred_build_id_offset || sample->deferred_build_id_callchain;
}

/** Has a PERF_RECORD_CALLCHAIN_DEFERRED entries, in one of the two forms? */
static inline bool callchain_deferred__has_build_ids(const struct perf_event_header *header)
{
	return header->misc & (PERF_RECORD_MISC_CALLCHAIN_BUILD_ID |
			       PERF_RECORD_MISC_MMAP_BUILD_ID);
}

/** Where nr and the entries are in such a record. */
static inline struct build_id_callchain *callchain_deferred__entries(union perf_event *event)
{
	return (void *)(event->header.misc & PERF_RECORD_MISC_CALLCHAIN_BUILD_ID ?
			&event->callchain_deferred_build_ids.nr :
			&event->callchain_deferred.nr);
}

int build_id_offset__snprintf(const struct perf_build_id_offset *entry, char *bf, size_t size);

bool perf_sample__has_recorded_ip(const struct perf_sample *sample);

int perf_sample__parse_build_id_offset(struct perf_sample *sample, const __u64 *array,
				       bool swapped);
int perf_sample__parse_build_id_callchain(struct perf_sample *sample, const __u64 *array,
					  const void *endp, bool swapped);
int perf_sample__parse_deferred_build_ids(struct perf_sample *sample, union perf_event *event,
					  bool swapped);
int perf_sample__merge_build_id_address(struct perf_sample *sample,
					struct perf_sample *deferred);
int perf_sample__merge_build_id_callchain(struct perf_sample *sample,
					  struct perf_sample *deferred);
void perf_sample__free_build_id_callchain(struct perf_sample *sample);

#endif /* __PERF_BUILD_ID_OFFSET_H */
