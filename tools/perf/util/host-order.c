// SPDX-License-Identifier: GPL-2.0
/*
 * Records of a file of the other endianness are swapped as far as perf
 * itself needs it. To be written again, it must be in host order altogether.
 */
#include "host-order.h"

#include <byteswap.h>
#include <string.h>

#include "build-id-offset.h"
#include "event.h"
#include "evsel.h"
#include "header.h"
#include "memswap.h"
#include "sample.h"

#include <linux/bitops.h>
#include <linux/kernel.h>

/* A pair of u32 that was swapped as one u64. */
static void u32_pair__to_host_order(__u64 *pair)
{
	*pair = *pair >> 32 | *pair << 32;
}

/* The number of u64 that the fields in @types take, one each. */
static int nr_words(u64 types)
{
	return hweight64(types);
}

static void build_ids__to_host_order(struct perf_build_id_offset *entries, u64 nr)
{
	for (u64 i = 0; i < nr; i++)
		mem_bswap_64(&entries[i].build_id, sizeof(entries[i].build_id));
}

/* The entries are at the end of a sample. */
static void sample_entries__to_host_order(union perf_event *event, u64 type,
					  const struct perf_sample *sample)
{
	void *end = (void *)event + event->header.size;

	if (type & PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET) {
		struct build_id_callchain *chain;

		end -= build_id_callchain__size(sample->build_id_callchain->nr);
		chain = end;
		build_ids__to_host_order(chain->entries, chain->nr);
	}
	/* A deferred one has u64 fields in place of the build ID. */
	if ((type & PERF_SAMPLE_BUILD_ID_OFFSET) && !sample->deferred_build_id_offset)
		build_ids__to_host_order(end - sizeof(struct perf_build_id_offset), 1);
}

static void sample__to_host_order(union perf_event *event, u64 type,
				  const struct perf_sample *sample)
{
	const u64 before_tid = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP;
	const u64 before_cpu = before_tid | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID;
	__u64 *words = event->sample.array;

	if (type & PERF_SAMPLE_TID)
		u32_pair__to_host_order(&words[nr_words(type & before_tid)]);
	if (type & PERF_SAMPLE_CPU)
		u32_pair__to_host_order(&words[nr_words(type & before_cpu)]);
	/* Parsing has put the data right, and with them their size in foreign order. */
	if (type & PERF_SAMPLE_RAW) {
		u32 *raw_size = sample->raw_data - sizeof(*raw_size);

		*raw_size = bswap_32(*raw_size);
	}
	sample_entries__to_host_order(event, type, sample);
}

/* The identity of other records, at their end. */
static void sample_id__to_host_order(union perf_event *event, u64 type)
{
	const u64 from_cpu = PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
	const u64 from_tid = from_cpu | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
			     PERF_SAMPLE_STREAM_ID;
	__u64 *end = (void *)event + event->header.size;

	if ((void *)(end - nr_words(type & from_tid)) < (void *)event->sample.array)
		return;
	if (type & PERF_SAMPLE_TID)
		u32_pair__to_host_order(end - nr_words(type & from_tid));
	if (type & PERF_SAMPLE_CPU)
		u32_pair__to_host_order(end - nr_words(type & from_cpu));
}

/**
 * perf_event__to_host_order - finish the swapping of a record
 * @event: A record of the other endianness, swapped, and parsed once.
 * @evsel: The event it belongs to.
 * @sample: Parsed from @event.
 *
 * @event must not be parsed again as one that was swapped.
 */
void perf_event__to_host_order(union perf_event *event, const struct evsel *evsel,
			       const struct perf_sample *sample)
{
	u64 type = evsel->core.attr.sample_type;

	/* perf's own records have no u64 that is anything else. */
	if (event->header.type >= PERF_RECORD_USER_TYPE_START)
		return;

	if (event->header.type == PERF_RECORD_SAMPLE) {
		sample__to_host_order(event, type, sample);
		return;
	}
	if (event->header.type == PERF_RECORD_CALLCHAIN_DEFERRED &&
	    callchain_deferred__has_build_ids(&event->header)) {
		struct build_id_callchain *chain = callchain_deferred__entries(event);

		if (event->header.misc & PERF_RECORD_MISC_CALLCHAIN_BUILD_ID)
			build_ids__to_host_order(&event->callchain_deferred_build_ids.ip, 1);
		build_ids__to_host_order(chain->entries, chain->nr);
	}
	if (evsel->core.attr.sample_id_all)
		sample_id__to_host_order(event, type);
}

/* Swap the u32 at @p if it is before @end, return the position after it. */
static void *u32__to_host_order(void *p, void *end)
{
	u32 value;

	if (end - p < (ssize_t)sizeof(value))
		return end;
	memcpy(&value, p, sizeof(value));
	value = bswap_32(value);
	memcpy(p, &value, sizeof(value));
	return p + sizeof(value);
}

/**
 * header_feature__to_host_order - swap the section of a header feature
 * @feat: HEADER_*.
 * @section: The section as it is in the file.
 * @size: Bytes in @section.
 *
 * Return: false if the layout of this feature isn't known here.
 */
bool header_feature__to_host_order(int feat, void *section, size_t size)
{
	void *end = section + size;

	switch (feat) {
	/* Has its own byte order mark. */
	case HEADER_TRACING_DATA:
		return true;
	/* A length, a string. */
	case HEADER_HOSTNAME:
	case HEADER_OSRELEASE:
	case HEADER_VERSION:
	case HEADER_ARCH:
	case HEADER_CPUDESC:
	case HEADER_CPUID:
		u32__to_host_order(section, end);
		return true;
	/* Numbers of 32 bits. */
	case HEADER_NRCPUS:
		for (void *p = section; p < end; )
			p = u32__to_host_order(p, end);
		return true;
	/* Numbers of 64 bits. */
	case HEADER_TOTAL_MEM:
	case HEADER_CLOCKID:
		mem_bswap_64(section, size);
		return true;
	default:
		return false;
	}
}
