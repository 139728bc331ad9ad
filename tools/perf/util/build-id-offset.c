// SPDX-License-Identifier: GPL-2.0
/*
 * The build ID + file offset entries of samples: from a record to struct
 * perf_sample. What they resolve to is the business of location lookup.
 */
#include "build-id-offset.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "build-id.h"
#include "callchain.h"
#include "debug.h"
#include "event.h"
#include "evsel.h"
#include "memswap.h"
#include "sample.h"

#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/zalloc.h>

/**
 * build_id_offset__snprintf - print an entry
 * @entry: The entry.
 * @bf: Buffer, BUILD_ID_OFFSET_STR_SIZE bytes are enough.
 * @size: Bytes in @bf.
 *
 * A resolved entry reads "BUILDID+0xOFFSET", another one "0xADDRESS".
 *
 * Return: characters printed without the terminating null byte.
 */
int build_id_offset__snprintf(const struct perf_build_id_offset *entry, char *bf, size_t size)
{
	char sbuild_id[SBUILD_ID_SIZE];
	struct build_id bid;

	if (!build_id_offset__resolved(entry))
		return scnprintf(bf, size, "0x%" PRIx64, (u64)entry->offset);

	build_id__from_event(&bid, &entry->build_id);
	build_id__snprintf(&bid, sbuild_id, sizeof(sbuild_id));
	return scnprintf(bf, size, "%s+0x%" PRIx64, sbuild_id, (u64)entry->offset);
}

static bool build_id_offset__valid(const struct perf_build_id_offset *entry)
{
	if (entry->build_id.size > BUILD_ID_SIZE) {
		pr_err("ERROR: build ID of %u bytes in a sample, %u is the maximum\n",
		       entry->build_id.size, BUILD_ID_SIZE);
		return false;
	}
	/* In the callchain it would be taken for a context marker. */
	if (build_id_offset__resolved(entry) && entry->offset > INT64_MAX) {
		pr_err("ERROR: file offset %#" PRIx64 " in a sample is out of range\n",
		       (u64)entry->offset);
		return false;
	}
	return true;
}

/* Events are swapped as u64 throughout, but the build ID is bytes. */
static void build_id_offset__unswap(struct perf_build_id_offset *entry)
{
	mem_bswap_64(&entry->build_id, sizeof(entry->build_id));
}

/** perf_sample__has_recorded_ip - is sample->ip from the record, not made of an entry? */
bool perf_sample__has_recorded_ip(const struct perf_sample *sample)
{
	return sample->evsel && (sample->evsel->core.attr.sample_type & PERF_SAMPLE_IP);
}

/**
 * perf_sample__parse_build_id_offset - take the entry of the sampled instruction
 * @sample: The sample, with its evsel.
 * @array: The entry in the record, checked to be within it.
 * @swapped: The record was swapped as u64.
 *
 * Without PERF_SAMPLE_IP sample->ip becomes the entry's offset: the address
 * where the entry is not resolved.
 *
 * Return: 0 or -EFAULT if the entry is invalid.
 */
int perf_sample__parse_build_id_offset(struct perf_sample *sample, const __u64 *array,
				       bool swapped)
{
	struct perf_build_id_offset *entry = &sample->build_id_offset;

	memcpy(entry, array, sizeof(*entry));
	sample->has_build_id_offset = true;

	if (array[0] == 0 && array[1] == PERF_CONTEXT_USER_DEFERRED &&
	    sample->evsel && sample->evsel->core.attr.defer_callchain) {
		memset(&entry->build_id, 0, sizeof(entry->build_id));
		sample->deferred_build_id_offset = true;
		sample->deferred_cookie = array[2];
	} else if (swapped) {
		build_id_offset__unswap(entry);
	}

	if (!build_id_offset__valid(entry))
		return -EFAULT;

	if (!perf_sample__has_recorded_ip(sample))
		sample->ip = entry->offset;
	return 0;
}

/* The callchain as addresses, for code that only needs its shape and markers. */
static int perf_sample__copy_offsets(struct perf_sample *sample)
{
	const struct build_id_callchain *chain = sample->build_id_callchain;
	struct ip_callchain *words = malloc((1 + chain->nr) * sizeof(u64));

	if (!words)
		return -ENOMEM;

	words->nr = chain->nr;
	for (u64 i = 0; i < chain->nr; i++)
		words->ips[i] = chain->entries[i].offset;

	free(sample->callchain_copy);
	sample->callchain_copy = words;
	sample->callchain = words;
	return 0;
}

/**
 * perf_sample__parse_build_id_callchain - take the entries of the callchain
 * @sample: The sample, whose callchain is set if the record has one of addresses.
 * @array: Position of nr in the record, checked to be within it.
 * @endp: End of the record.
 * @swapped: The record was swapped as u64.
 *
 * Without a callchain of addresses sample->callchain becomes the offsets of the
 * entries. The entries of a record that was swapped are copied, so that it can
 * be parsed again. perf_sample__free_build_id_callchain() frees what this
 * allocates.
 *
 * Return: 0, -EFAULT if the callchain doesn't fit the record or an entry is
 * invalid, -ENOMEM.
 */
int perf_sample__parse_build_id_callchain(struct perf_sample *sample, const __u64 *array,
					  const void *endp, bool swapped)
{
	struct build_id_callchain *chain = (struct build_id_callchain *)array;
	size_t avail = endp - (void *)chain->entries;

	if (chain->nr > avail / sizeof(chain->entries[0])) {
		pr_err("ERROR: callchain of %" PRIu64 " build ID offsets in a record with %zu bytes left\n",
		       chain->nr, avail);
		return -EFAULT;
	}

	if (swapped) {
		size_t size = build_id_callchain__size(chain->nr);

		chain = malloc(size);
		if (!chain)
			return -ENOMEM;
		sample->build_id_callchain_copy = chain;
		memcpy(chain, array, size);
		for (u64 i = 0; i < chain->nr; i++)
			build_id_offset__unswap(&chain->entries[i]);
	}
	sample->build_id_callchain = chain;

	for (u64 i = 0; i < chain->nr; i++) {
		if (!build_id_offset__valid(&chain->entries[i]))
			return -EFAULT;
	}

	if (chain->nr >= 2 && sample->evsel && sample->evsel->core.attr.defer_callchain) {
		const struct perf_build_id_offset *last = &chain->entries[chain->nr - 1];

		if (!build_id_offset__resolved(&last[-1]) && !build_id_offset__resolved(last) &&
		    last[-1].offset == PERF_CONTEXT_USER_DEFERRED) {
			sample->deferred_build_id_callchain = true;
			sample->deferred_cookie = last->offset;
		}
	}

	if (!sample->callchain)
		return perf_sample__copy_offsets(sample);

	if (sample->callchain->nr != chain->nr) {
		pr_err("ERROR: callchain of %" PRIu64 " addresses and of %" PRIu64 " build ID offsets in one sample\n",
		       (u64)sample->callchain->nr, chain->nr);
		return -EFAULT;
	}
	return 0;
}

/**
 * perf_sample__parse_deferred_build_ids - parse a deferred callchain with entries
 * @sample: The sample, with its evsel.
 * @event: callchain_deferred__has_build_ids(), of at least the size of
 *         struct perf_record_callchain_deferred.
 * @swapped: The record was swapped as u64.
 *
 * Return: see perf_sample__parse_build_id_callchain().
 */
int perf_sample__parse_deferred_build_ids(struct perf_sample *sample, union perf_event *event,
					  bool swapped)
{
	const void *endp = (void *)event + event->header.size;
	struct perf_build_id_offset *ip = &sample->build_id_offset;
	const __u64 *entries;

	sample->deferred_cookie = event->callchain_deferred.cookie;
	if (event->header.misc & PERF_RECORD_MISC_CALLCHAIN_BUILD_ID) {
		if (event->header.size < sizeof(event->callchain_deferred_build_ids)) {
			pr_err("ERROR: deferred callchain of %u bytes has no room for build ID offsets\n",
			       event->header.size);
			return -EFAULT;
		}
		*ip = event->callchain_deferred_build_ids.ip;
		if (swapped)
			build_id_offset__unswap(ip);
		if (!build_id_offset__valid(ip))
			return -EFAULT;
	}
	entries = (const __u64 *)callchain_deferred__entries(event);
	return perf_sample__parse_build_id_callchain(sample, entries, endp, swapped);
}

/*
 * In the older form, the first entry that isn't a marker resolves the sampled
 * instruction. If the marker of the user context follows, it isn't a frame.
 */
static const struct perf_build_id_offset *
deferred__sampled_entry(const struct perf_sample *deferred, u64 *first_frame)
{
	const struct build_id_callchain *chain = deferred->build_id_callchain;
	const struct perf_build_id_offset *entries = chain->entries;

	*first_frame = 0;
	if (deferred->misc & PERF_RECORD_MISC_CALLCHAIN_BUILD_ID) {
		entries = &deferred->build_id_offset;
		return build_id_offset__resolved(entries) || entries->offset ? entries : NULL;
	}
	for (u64 i = 0; i < chain->nr; i++) {
		if (!build_id_offset__resolved(&entries[i]) &&
		    entries[i].offset >= PERF_CONTEXT_MAX)
			continue;
		if (i == 0 && chain->nr > 1 && !build_id_offset__resolved(&entries[1]) &&
		    entries[1].offset == PERF_CONTEXT_USER)
			*first_frame = 1;
		return &entries[i];
	}
	return NULL;
}

/**
 * perf_sample__merge_build_id_address - resolve a sampled address that was deferred
 * @sample: The sample.
 * @deferred: A PERF_RECORD_CALLCHAIN_DEFERRED of its cookie that has the address.
 *
 * Return: 0, -EINVAL if @deferred has no entries.
 */
int perf_sample__merge_build_id_address(struct perf_sample *sample,
					struct perf_sample *deferred)
{
	const struct perf_build_id_offset *sampled;
	u64 first_frame;

	if (!deferred->build_id_callchain)
		return -EINVAL;
	if (!sample->deferred_build_id_offset)
		return 0;

	sampled = deferred__sampled_entry(deferred, &first_frame);
	if (sampled)
		sample->build_id_offset = *sampled;
	if (!perf_sample__has_recorded_ip(sample))
		sample->ip = sample->build_id_offset.offset;
	sample->deferred_build_id_offset = false;
	return 0;
}

/**
 * perf_sample__merge_build_id_callchain - complete a callchain with deferred entries
 * @sample: The sample.
 * @deferred: The PERF_RECORD_CALLCHAIN_DEFERRED of its cookie, with entries.
 *
 * The cookie at the end of the sample's callchain gives way to the deferred
 * part. Its addresses are replaced by the offsets of all entries. They complete a
 * callchain of addresses, too.
 *
 * Return: 0, -EINVAL if @deferred has no entries, -ENOMEM.
 */
int perf_sample__merge_build_id_callchain(struct perf_sample *sample,
					  struct perf_sample *deferred)
{
	const struct build_id_callchain *tail = deferred->build_id_callchain;
	const struct build_id_callchain *head = sample->build_id_callchain;
	u64 first_frame, nr_head, nr_tail;
	struct build_id_callchain *chain;

	if (!tail)
		return -EINVAL;
	if (!sample->deferred_build_id_callchain && !sample->deferred_callchain)
		return 0;

	deferred__sampled_entry(deferred, &first_frame);
	nr_head = sample->callchain->nr - 1;
	nr_tail = tail->nr - first_frame;
	chain = calloc(1, build_id_callchain__size(nr_head + nr_tail));
	if (!chain)
		return -ENOMEM;

	chain->nr = nr_head + nr_tail;
	for (u64 i = 0; i < nr_head; i++) {
		if (head)
			chain->entries[i] = head->entries[i];
		else
			chain->entries[i].offset = sample->callchain->ips[i];
	}
	memcpy(&chain->entries[nr_head], &tail->entries[first_frame],
	       nr_tail * sizeof(chain->entries[0]));

	free(sample->build_id_callchain_copy);
	sample->build_id_callchain_copy = chain;
	sample->build_id_callchain = chain;
	sample->deferred_build_id_callchain = false;
	sample->deferred_callchain = false;
	return perf_sample__copy_offsets(sample);
}

/** perf_sample__free_build_id_callchain - free what parsing and merging allocated */
void perf_sample__free_build_id_callchain(struct perf_sample *sample)
{
	zfree(&sample->callchain_copy);
	zfree(&sample->build_id_callchain_copy);
}
