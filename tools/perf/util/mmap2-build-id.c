// SPDX-License-Identifier: GPL-2.0
/*
 * PERF_RECORD_MMAP2 has the build ID in place of device and inode if
 * PERF_RECORD_MISC_MMAP_BUILD_ID is set. Linux 5.12 to at least 6.18 sets the
 * flag for one event that asks for build IDs, and leaves it set in the records
 * of other events that are written for the same mmap() call. These have device
 * and inode where they claim a build ID.
 */
#include "mmap2-build-id.h"

#include <string.h>
#include <byteswap.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>

#include "build-id.h"
#include "dso.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"

/* A build ID as kernel and perf write it: every byte that is not used is zero. */
static bool build_id__is_well_formed(const struct perf_build_id *id)
{
	return id->size && id->size <= sizeof(id->data) && !id->__reserved_1 &&
	       !id->__reserved_2 &&
	       !memchr_inv(&id->data[id->size], 0, sizeof(id->data) - id->size);
}

static bool evlist__records_build_ids(struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel->core.attr.build_id)
			return true;
	}
	return false;
}

/**
 * perf_event__has_false_build_id - does a record claim a build ID it doesn't have?
 * @event: Any record.
 * @evlist: The events of the profile.
 *
 * Without an event that asks for build IDs only perf inject writes them. Of its
 * records those are told apart that cannot be device and inode: the generation
 * of an inode has 32 bits, so the last four bytes are zero.
 */
bool perf_event__has_false_build_id(const union perf_event *event, struct evlist *evlist)
{
	const struct perf_build_id *id = &event->mmap2.build_id;

	if (event->header.type != PERF_RECORD_MMAP2 ||
	    !(event->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID))
		return false;
	if (!build_id__is_well_formed(id))
		return true;
	if (memchr_inv(&id->data[sizeof(id->data) - sizeof(u32)], 0, sizeof(u32)))
		return false;
	return !evlist__records_build_ids(evlist);
}

/**
 * perf_event__check_build_id - give a record its device and inode back
 * @event: Any record.
 * @evsel: The event that it was written for, NULL if it isn't known.
 *
 * Return: @event, or where its build ID is false a copy without, to be freed by
 * the caller. NULL if there is no memory for it.
 */
union perf_event *perf_event__check_build_id(union perf_event *event, const struct evsel *evsel)
{
	struct perf_record_mmap2 *mmap2;
	union perf_event *copy;

	if (!evsel || !perf_event__has_false_build_id(event, evsel->evlist))
		return event;

	copy = memdup(event, event->header.size);
	if (!copy)
		return NULL;

	mmap2 = &copy->mmap2;
	mmap2->header.misc &= ~PERF_RECORD_MISC_MMAP_BUILD_ID;
	/* As a build ID it was left as it is. */
	if (evsel->needs_swap) {
		mmap2->maj = bswap_32(mmap2->maj);
		mmap2->min = bswap_32(mmap2->min);
		mmap2->ino = bswap_64(mmap2->ino);
		mmap2->ino_generation = bswap_64(mmap2->ino_generation);
	}
	return copy;
}

/**
 * dso_id__inode_is_build_id - is a build ID the inode that was taken for one?
 * @id: Has device and inode of the file.
 * @bid: Its build ID in the table of the profile, written by a perf that
 *       didn't know better.
 */
bool dso_id__inode_is_build_id(const struct dso_id *id, const struct build_id *bid)
{
	u8 data[BUILD_ID_SIZE];

	if (!id->mmap2_valid || !id->mmap2_ino_generation_valid || !bid->size)
		return false;
	memcpy(data, &id->min, sizeof(id->min));
	memcpy(data + 4, &id->ino, sizeof(id->ino));
	memcpy(data + 12, &id->ino_generation, sizeof(id->ino_generation));
	return !memcmp(bid->data, data, min_t(size_t, bid->size, sizeof(data)));
}
