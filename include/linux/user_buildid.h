/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_USER_BUILDID_H
#define _LINUX_USER_BUILDID_H

#include <linux/buildid.h>
#include <linux/types.h>

struct address_space;
struct file;
struct mm_struct;
struct mmap_unlock_work;

/* Callchains go to and fro between so many files, of which there are seldom more. */
#define USER_BUILDID_NR_MAPS 16

/* What is known of the addresses from @start to before @end. */
struct user_buildid_map {
	unsigned long start;
	unsigned long end;
	unsigned long pgoff;
	struct address_space *mapping;	/* identifies the file */
	struct file *file;		/* a reference, where that may sleep */
	u32 size;			/* of @build_id, 0 if there is none */
	u8 build_id[BUILD_ID_SIZE_MAX];
};

/* State of resolving a number of addresses; private to lib/user_buildid.c. */
struct user_buildid_walk {
	struct mm_struct *mm;
	struct mmap_unlock_work *unlock_work;
	unsigned int seq;		/* of mmap_lock at the last lookup, if not may_sleep */
	bool may_sleep;
	bool wait;
	u8 victim;
	struct user_buildid_map maps[USER_BUILDID_NR_MAPS];
};

void user_buildid_begin(struct user_buildid_walk *walk, bool wait);
void user_buildid_begin_nofault(struct user_buildid_walk *walk);
u32 user_buildid_find(struct user_buildid_walk *walk, unsigned long addr,
		      u8 *build_id, u64 *offset);
void user_buildid_end(struct user_buildid_walk *walk);

#endif /* _LINUX_USER_BUILDID_H */
