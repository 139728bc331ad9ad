// SPDX-License-Identifier: GPL-2.0
/*
 * What becomes of the attributes of events whose samples get build ID + file
 * offset entries in place of addresses, wherever a profile has them.
 */
#include "build-id-convert.h"

#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>

#include "event.h"

/**
 * build_id_converter__sample_type - what becomes of an event's sample_type
 * @attr: The event.
 *
 * Events that hold no address of user code in the fields in question stay as
 * they are: bpf-output, whose samples tell where a BPF program ran, and the
 * callchains of an event that leaves the user part to be unwound later. Where
 * the sampled address may be deferred as an entry, a callchain of addresses stays:
 * by that readers know which deferred record has the address alone.
 *
 * But without PERF_SAMPLE_IDENTIFIER the ID is found after PERF_SAMPLE_IP, in
 * the same place for all events. So then none keeps it.
 */
u64 build_id_converter__sample_type(const struct perf_event_attr *attr)
{
	u64 type = attr->sample_type;

	bool movable_id = !(type & PERF_SAMPLE_IDENTIFIER);
	bool bpf_output = attr->type == PERF_TYPE_SOFTWARE &&
			  attr->config == PERF_COUNT_SW_BPF_OUTPUT;

	if ((type & PERF_SAMPLE_IP) &&
	    (movable_id || !(bpf_output || (type & PERF_SAMPLE_BUILD_ID_OFFSET)))) {
		type &= ~(u64)PERF_SAMPLE_IP;
		type |= PERF_SAMPLE_BUILD_ID_OFFSET;
	}
	if (bpf_output ||
	    ((attr->sample_type & PERF_SAMPLE_BUILD_ID_OFFSET) &&
	     (attr->defer_callchain || attr->defer_output)))
		return type;

	if ((type & PERF_SAMPLE_CALLCHAIN) && !attr->exclude_callchain_user &&
	    !(type & PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET)) {
		type &= ~(u64)PERF_SAMPLE_CALLCHAIN;
		type |= PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET;
	}
	return type;
}

/* An attr of whatever version, @size bytes of which are in the profile. */
static void convert_attr(void *p, size_t size)
{
	struct perf_event_attr attr = {};
	const size_t end = offsetof(struct perf_event_attr, sample_type) + sizeof(attr.sample_type);

	if (size < end)
		return;
	memcpy(&attr, p, min_t(size_t, sizeof(attr), size));
	attr.sample_type = build_id_converter__sample_type(&attr);
	memcpy(p, &attr, end);
}

/**
 * build_id_converter__attr_event - convert an event's description in a pipe
 * @event: A PERF_RECORD_HEADER_ATTR, checked. It is changed.
 */
void build_id_converter__attr_event(union perf_event *event)
{
	convert_attr(&event->attr.attr, event->attr.attr.size ?: PERF_ATTR_SIZE_VER0);
}

/* Take the u32 at *@p, which goes on to @end, and step over it. */
static bool read_u32(void **p, const void *end, u32 *value)
{
	if (end - *p < (ssize_t)sizeof(*value))
		return false;
	memcpy(value, *p, sizeof(*value));
	*p += sizeof(*value);
	return true;
}

/**
 * build_id_converter__event_desc - convert the header feature HEADER_EVENT_DESC
 * @section: The feature. It is changed, as far as it is sound.
 * @size: Bytes in @section.
 */
void build_id_converter__event_desc(void *section, size_t size)
{
	const void *end = section + size;
	u32 nr, attr_size, nr_ids, name_size;
	u64 rest;

	if (!read_u32(&section, end, &nr) || !read_u32(&section, end, &attr_size))
		return;

	while (nr--) {
		void *attr = section;

		if (end - section < (ssize_t)attr_size)
			return;
		section += attr_size;
		convert_attr(attr, attr_size);
		if (!read_u32(&section, end, &nr_ids) || !read_u32(&section, end, &name_size))
			return;
		rest = name_size + (u64)nr_ids * sizeof(u64);
		if (rest > (u64)(end - section))
			return;
		section += rest;
	}
}
