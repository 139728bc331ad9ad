// SPDX-License-Identifier: GPL-2.0
#include "dso-segments.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <linux/zalloc.h>

/**
 * dso_segments__add - note a segment
 * @segs: Where, zeroed in the beginning.
 * @seg: The segment. One that takes no space in the file is not of use.
 *
 * Return: 0 or -ENOMEM.
 */
int dso_segments__add(struct dso_segments *segs, const struct dso_segment *seg)
{
	struct dso_segment *segments;

	if (!seg->size)
		return 0;

	segments = realloc(segs->segments, (segs->nr + 1) * sizeof(*segments));
	if (!segments)
		return -ENOMEM;

	segs->segments = segments;
	segments[segs->nr++] = *seg;
	return 0;
}

/** dso_segments__clear - forget all segments */
void dso_segments__clear(struct dso_segments *segs)
{
	zfree(&segs->segments);
	segs->nr = 0;
}

/*
 * The segment of an offset, or of a virtual address if @vaddr. Only when there
 * is none the one that ends there.
 */
static const struct dso_segment *dso_segments__find(const struct dso_segments *segs, u64 pos,
						    bool vaddr)
{
	const struct dso_segment *before = NULL;

	for (unsigned int i = 0; i < segs->nr; i++) {
		const struct dso_segment *seg = &segs->segments[i];
		u64 start = vaddr ? seg->vaddr : seg->offset;

		if (pos < start)
			continue;
		if (pos - start < seg->size)
			return seg;
		if (pos - start == seg->size && !before)
			before = seg;
	}
	return before;
}

/**
 * dso_segments__offset_to_vaddr - the virtual address of code at a file offset
 * @segs: The segments.
 * @offset: The offset in the file, bytes. It may be the end of a range, and
 *          then just after a segment.
 * @text_offset: Virtual address minus file offset of .text, taken where no
 *               segment has @offset.
 */
u64 dso_segments__offset_to_vaddr(const struct dso_segments *segs, u64 offset, u64 text_offset)
{
	const struct dso_segment *seg = dso_segments__find(segs, offset, /*vaddr=*/false);

	return seg ? offset - seg->offset + seg->vaddr : offset + text_offset;
}

/**
 * dso_segments__vaddr_to_offset - the inverse of dso_segments__offset_to_vaddr()
 * @segs: The segments.
 * @vaddr: The ELF virtual address.
 * @text_offset: As above.
 */
u64 dso_segments__vaddr_to_offset(const struct dso_segments *segs, u64 vaddr, u64 text_offset)
{
	const struct dso_segment *seg = dso_segments__find(segs, vaddr, /*vaddr=*/true);

	return seg ? vaddr - seg->vaddr + seg->offset : vaddr - text_offset;
}
