/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_USER_BUILDID_H
#define _LINUX_USER_BUILDID_H

#include <linux/buildid.h>
#include <linux/types.h>

struct address_space;
struct file;
struct mm_struct;

/* Enough files for a typical callchain. */
#define USER_BUILDID_NR_MAPS 16

/* Ranges without a build ID, which are holes, anonymous memory or other files. */
#define USER_BUILDID_NR_NONE 4

/* What is mapped from @start to @last. */
struct user_buildid_map {
	unsigned long start;
	unsigned long last;
	unsigned long pgoff;
	struct address_space *mapping;	/* identifies the file */
	struct file *file;		/* a reference, where that may sleep */
	u32 size;			/* of @build_id */
	u8 build_id[BUILD_ID_SIZE_MAX];
};

/* State of resolving a number of addresses; private to lib/user_buildid.c. */
struct user_buildid_ctx {
	struct mm_struct *mm;
	struct user_buildid_map *maps;
	u32 max_maps;
	u32 nr_maps;
	u32 victim;			/* the map to be replaced next */
	u32 victim_none;
	unsigned int seq;		/* of mmap_lock at the last lookup, if not may_sleep */
	u32 budget;			/* for reading files, if not may_sleep */
	bool may_sleep;
	bool wait;
	struct {
		unsigned long start;
		unsigned long last;
	} none[USER_BUILDID_NR_NONE];
};

void user_buildid_begin(struct user_buildid_ctx *ctx, struct user_buildid_map *maps,
			u32 max_maps, bool wait);
void user_buildid_begin_nofault(struct user_buildid_ctx *ctx,
				struct user_buildid_map *maps, u32 max_maps);
u32 user_buildid_find(struct user_buildid_ctx *ctx, unsigned long addr,
		      u8 *build_id, u64 *offset);
void user_buildid_end(struct user_buildid_ctx *ctx);

#endif /* _LINUX_USER_BUILDID_H */
