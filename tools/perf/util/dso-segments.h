/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DSO_SEGMENTS_H
#define __PERF_DSO_SEGMENTS_H

#include <linux/types.h>

/** struct dso_segment - a loadable, executable segment of an ELF file */
struct dso_segment {
	u64 offset;	/* in the file, bytes */
	u64 vaddr;	/* ELF virtual address of that offset */
	u64 size;	/* in the file, bytes */
};

/** struct dso_segments - how file offsets and virtual addresses of code relate */
struct dso_segments {
	struct dso_segment	*segments;
	unsigned int		 nr;
};

int dso_segments__add(struct dso_segments *segs, const struct dso_segment *seg);
void dso_segments__clear(struct dso_segments *segs);
u64 dso_segments__offset_to_vaddr(const struct dso_segments *segs, u64 offset, u64 text_offset);
u64 dso_segments__vaddr_to_offset(const struct dso_segments *segs, u64 vaddr, u64 text_offset);

#endif /* __PERF_DSO_SEGMENTS_H */
