// SPDX-License-Identifier: GPL-2.0
/*
 * A first pass over the files of a session, for PERF_RECORD_CALLCHAIN_DEFERRED
 * only. A thread writes such a record when it returns to user space, which is as
 * late as it likes, or never. To know it before its samples are delivered is the
 * only way to deliver these completely and in time order.
 *
 * Records stay where they are mapped. Those that are compressed or of the other
 * endianness are copied.
 */
#include "deferred-scan.h"

#include <byteswap.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/zalloc.h>

#include <internal/lib.h>

#include "compress.h"
#include "data.h"
#include "debug.h"
#include "deferred-samples.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "header.h"
#include "memswap.h"
#include "sample.h"
#include "session.h"

/* The pass over one file. */
struct scanner {
	struct perf_session	*session;
	struct zstd_data	zstd;
	/* What was decompressed last, the first @rest bytes are the start of a record. */
	char			*buf;
	size_t			buf_size;
	size_t			rest;
	u32			comp_mmap_len;
	/* The record does not stay. */
	bool			copy;
};

static int add_record(struct scanner *s, union perf_event *event,
		      const struct perf_event_header *hdr)
{
	bool swap = s->session->header.needs_swap;
	struct evlist *evlist = s->session->evlist;
	union perf_event *swapped = NULL;
	struct perf_sample sample;
	int err = 0;

	/* The session finds it, too, and prints the error. */
	if (hdr->size < sizeof(event->callchain_deferred) || hdr->size % sizeof(u64))
		return 0;
	if (swap) {
		swapped = memdup(event, hdr->size);
		if (!swapped)
			return -ENOMEM;
		swapped->header = *hdr;
		mem_bswap_64(&swapped->header + 1, hdr->size - sizeof(*hdr));
		event = swapped;
	}
	perf_sample__init(&sample, /*all=*/false);
	if (!evlist__parse_sample(evlist, event, &sample))
		err = evlist__add_deferred_ahead(evlist, event, &sample, s->copy || swap);
	perf_sample__exit(&sample);
	free(swapped);
	return err;
}

static int read_comp_mmap_len(struct scanner *s, const union perf_event *event,
			      const struct perf_event_header *hdr)
{
	const u32 *data = (const u32 *)event->feat.data;
	u64 feat = event->feat.feat_id;

	if (s->session->header.needs_swap)
		feat = bswap_64(feat);
	/* Version, type, level, ratio, length */
	if (feat == HEADER_COMPRESSED && hdr->size >= sizeof(event->feat) + 5 * sizeof(u32)) {
		s->comp_mmap_len = s->session->header.needs_swap ? bswap_32(data[4]) : data[4];
		zfree(&s->buf);
	}
	return 0;
}

static s64 scan_records(struct scanner *s, void *data, size_t size);

static int scan_compressed(struct scanner *s, union perf_event *event,
			   const struct perf_event_header *hdr)
{
	size_t size, skip = sizeof(event->pack);
	s64 used;

	/* Nothing is compressed twice. */
	if (s->copy)
		return -EINVAL;
	if (hdr->type == PERF_RECORD_COMPRESSED2)
		skip = sizeof(event->pack2);
	if (hdr->size < skip)
		return -EINVAL;
	size = hdr->size - skip;
	if (hdr->type == PERF_RECORD_COMPRESSED2) {
		u64 data_size = event->pack2.data_size;

		if (s->session->header.needs_swap)
			data_size = bswap_64(data_size);
		if (data_size > size)
			return -EINVAL;
		size = data_size;
	}
	if (!s->buf) {
		if (!s->comp_mmap_len)
			return -EINVAL;
		s->rest = 0;
		s->buf_size = (size_t)s->comp_mmap_len + PERF_SAMPLE_MAX_SIZE;
		s->buf = malloc(s->buf_size);
		if (!s->buf)
			return -ENOMEM;
	}
	size = zstd_decompress_stream(&s->zstd, (void *)event + skip, size, s->buf + s->rest,
				      s->buf_size - s->rest);
	if (!size)
		return -EINVAL;
	size += s->rest;
	s->copy = true;
	used = scan_records(s, s->buf, size);
	s->copy = false;
	if (used < 0)
		return used;
	s->rest = size - used;
	if (s->rest > PERF_SAMPLE_MAX_SIZE)
		return -EINVAL;
	memmove(s->buf, s->buf + used, s->rest);
	return 0;
}

/* Return a negative error, or set @skip to what follows the record. */
static int scan_record(struct scanner *s, union perf_event *event,
		       const struct perf_event_header *hdr, u64 *skip)
{
	bool swap = s->session->header.needs_swap;

	*skip = 0;
	switch (hdr->type) {
	case PERF_RECORD_CALLCHAIN_DEFERRED:
		return add_record(s, event, hdr);
	case PERF_RECORD_AUXTRACE:
		if (hdr->size < sizeof(event->auxtrace))
			return -EINVAL;
		*skip = swap ? bswap_64(event->auxtrace.size) : event->auxtrace.size;
		return 0;
	case PERF_RECORD_HEADER_TRACING_DATA:
		if (hdr->size < offsetof(struct perf_record_header_tracing_data, pad))
			return -EINVAL;
		*skip = swap ? bswap_32(event->tracing_data.size) : event->tracing_data.size;
		*skip = PERF_ALIGN(*skip, sizeof(u64));
		return 0;
	case PERF_RECORD_HEADER_FEATURE:
		return read_comp_mmap_len(s, event, hdr);
	case PERF_RECORD_COMPRESSED:
	case PERF_RECORD_COMPRESSED2:
		return scan_compressed(s, event, hdr);
	default:
		return 0;
	}
}

/* Return a negative error, or the size of the records that are complete. */
static s64 scan_records(struct scanner *s, void *data, size_t size)
{
	size_t head = 0;

	while (size - head >= sizeof(struct perf_event_header)) {
		union perf_event *event = data + head;
		struct perf_event_header hdr = event->header;
		u64 skip;
		int err;

		if (s->session->header.needs_swap)
			perf_event_header__bswap(&hdr);
		if (hdr.size < sizeof(hdr))
			return -EINVAL;
		if (hdr.size > size - head)
			break;
		err = scan_record(s, event, &hdr, &skip);
		if (err)
			return err;
		head += hdr.size;
		if (skip > size - head)
			return -EINVAL;
		head += skip;
	}
	return head;
}

static int deferred_scan__file(struct deferred_scan *scan, struct perf_session *session, int fd,
			       u64 offset, u64 size)
{
	u64 start = offset / page_size * page_size;
	struct scanner s = {
		.session = session,
		.comp_mmap_len = perf_session__env(session)->comp_mmap_len,
	};
	struct stat st;
	void *addr;
	s64 ret;

	/* Pages past the end of the file cannot be mapped. */
	if (fstat(fd, &st) || offset >= (u64)st.st_size || !size)
		return 0;
	size = min(size, (u64)st.st_size - offset);
	if (offset - start + size > SIZE_MAX)
		return -EFBIG;
	addr = mmap(NULL, offset - start + size, PROT_READ, MAP_SHARED, fd, start);
	if (addr == MAP_FAILED)
		return -errno;
	scan->maps[scan->nr_maps].addr = addr;
	scan->maps[scan->nr_maps++].len = offset - start + size;

	if (zstd_init(&s.zstd, 0))
		return -ENOMEM;
	ret = scan_records(&s, addr + (offset - start), size);
	free(s.buf);
	zstd_fini(&s.zstd);
	return ret < 0 ? ret : 0;
}

/**
 * deferred_scan__init - read the deferred callchains of the files of a session ahead
 * @scan: The pass.
 * @session: Its samples can be delivered with them until deferred_scan__exit().
 *
 * Return: 0 or a negative error: what could be read of damaged files is there.
 */
int deferred_scan__init(struct deferred_scan *scan, struct perf_session *session)
{
	struct perf_data *data = session->data;
	int nr_files = perf_data__is_dir(data) ? data->dir.nr : 0;
	int err;

	scan->nr_maps = 0;
	scan->maps = calloc(1 + nr_files, sizeof(*scan->maps));
	if (!scan->maps)
		return -ENOMEM;
	err = deferred_scan__file(scan, session, perf_data__fd(data), session->header.data_offset,
				  session->header.data_size);
	for (int i = 0; !err && i < nr_files; i++) {
		struct perf_data_file *file = &data->dir.files[i];

		err = deferred_scan__file(scan, session, perf_data_file__fd(file), /*offset=*/0,
					  file->size);
	}
	if (err)
		pr_debug("Cannot read all deferred callchains ahead: %d\n", err);
	return err;
}

/** deferred_scan__exit - forget what was read ahead */
void deferred_scan__exit(struct deferred_scan *scan, struct perf_session *session)
{
	if (!scan->maps)
		return;
	evlist__read_deferred_ahead(session->evlist, /*ahead=*/false);
	for (int i = 0; i < scan->nr_maps; i++)
		munmap(scan->maps[i].addr, scan->maps[i].len);
	zfree(&scan->maps);
}
