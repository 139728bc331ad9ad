/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_MMAP_TRYLOCK_H
#define _LINUX_MMAP_TRYLOCK_H

#include <linux/types.h>

struct mm_struct;
struct mmap_unlock_work;

bool mmap_read_trylock_atomic(struct mm_struct *mm, struct mmap_unlock_work **workp);
void mmap_read_unlock_atomic(struct mm_struct *mm, struct mmap_unlock_work *work);

#endif /* _LINUX_MMAP_TRYLOCK_H */
