// SPDX-License-Identifier: GPL-2.0
/*
 * Resolves user addresses of the current task to a build ID and an offset in
 * the file that has it.
 *
 *	struct user_buildid_walk walk;
 *
 *	user_buildid_begin(&walk, wait);	or user_buildid_begin_nofault()
 *	for each address
 *		size = user_buildid_find(&walk, addr, build_id, &offset);
 *	user_buildid_end(&walk);
 *
 * A walk remembers the mappings that it has seen last, so that addresses in
 * the same mapping, or in the same file, cost a lookup and a read of the file
 * once. No file is read under mmap_lock or the lock of a VMA.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/mmap_trylock.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/user_buildid.h>

static void walk_init(struct user_buildid_walk *walk, bool may_sleep, bool wait)
{
	walk->mm = READ_ONCE(current->mm);
	walk->unlock_work = NULL;
	walk->seq = 0;
	walk->may_sleep = may_sleep;
	walk->wait = wait;
	walk->victim = 0;
	for (int i = 0; i < USER_BUILDID_NR_MAPS; i++) {
		struct user_buildid_map *map = &walk->maps[i];

		map->start = 0;
		map->end = 0;
		map->mapping = NULL;
		map->file = NULL;
	}
}

/**
 * user_buildid_begin() - begin to resolve addresses of current
 * @walk: to be initialized, and ended with user_buildid_end()
 * @wait: whether to wait for mmap_lock while mappings are being changed. A
 *	tracing program must not, it may run under that lock.
 *
 * Files are read where the page cache does not have what is needed.
 *
 * Context: a task that may sleep and take page faults. It may lack an mm, then
 * nothing is resolved.
 */
void user_buildid_begin(struct user_buildid_walk *walk, bool wait)
{
	might_sleep();
	walk_init(walk, true, wait);
}

/**
 * user_buildid_begin_nofault() - begin to resolve addresses of current
 * @walk: to be initialized, and ended with user_buildid_end()
 *
 * What the page cache does not have, or what is being changed, is not resolved.
 *
 * Context: any, NMI included. The context must not be left, nor interrupts be
 * enabled, before user_buildid_end().
 */
void user_buildid_begin_nofault(struct user_buildid_walk *walk)
{
	walk_init(walk, false, false);

	/*
	 * VMAs, files and inodes are looked at without reference: none must be
	 * freed before the end.
	 */
	rcu_read_lock();

	if (!IS_ENABLED(CONFIG_PER_VMA_LOCK) && walk->mm &&
	    !mmap_read_trylock_atomic(walk->mm, &walk->unlock_work))
		walk->mm = NULL;
}

/**
 * user_buildid_end() - release what a walk holds
 * @walk: the walk, to be initialized again before it is used again
 */
void user_buildid_end(struct user_buildid_walk *walk)
{
	if (!walk->may_sleep) {
		if (!IS_ENABLED(CONFIG_PER_VMA_LOCK) && walk->mm)
			mmap_read_unlock_atomic(walk->mm, walk->unlock_work);
		rcu_read_unlock();
		return;
	}

	for (int i = 0; i < USER_BUILDID_NR_MAPS; i++) {
		if (walk->maps[i].file)
			fput(walk->maps[i].file);
	}
}

/* @vma must be stable, or be checked not to have changed. */
static struct file *map_set(struct user_buildid_map *map, struct vm_area_struct *vma)
{
	struct file *file = vma_is_anonymous(vma) ? NULL : READ_ONCE(vma->vm_file);

	map->start = vma->vm_start;
	map->end = vma->vm_end;
	map->pgoff = vma->vm_pgoff;
	map->mapping = file ? READ_ONCE(file->f_mapping) : NULL;
	map->file = NULL;
	return file;
}

/* The same with a reference to the file. @vma must be locked. */
static void map_set_get(struct user_buildid_map *map, struct vm_area_struct *vma)
{
	struct file *file = map_set(map, vma);

	if (file)
		map->file = get_file(file);
}

/* Find what is mapped at @addr, with a reference to the file. */
static bool map_find(struct user_buildid_walk *walk, unsigned long addr,
		     struct user_buildid_map *map)
{
	struct mm_struct *mm = walk->mm;
	struct vm_area_struct *vma;

	vma = lock_vma_under_rcu(mm, addr);
	if (vma) {
		map_set_get(map, vma);
		vma_end_read(vma);
		return true;
	}

	/* Without per-VMA locks, or the VMA is being changed. */
	if (walk->wait ? mmap_read_lock_killable(mm) : !mmap_read_trylock(mm))
		return false;
	vma = vma_lookup(mm, addr);
	if (vma)
		map_set_get(map, vma);
	mmap_read_unlock(mm);
	return vma;
}

/*
 * While the sequence count stands still, a file that was mapped still is, and
 * so its inode is the same one. RCU alone keeps the inode from being freed, but
 * not from becoming that of another file: xfs reuses inodes without waiting.
 */
static bool walk_begin_lookup(struct user_buildid_walk *walk)
{
	unsigned int seq;

	/*
	 * This also keeps from walking the tree in the midst of a change that
	 * an NMI has interrupted.
	 */
	if (!mmap_lock_speculate_try_begin(walk->mm, &seq))
		return false;
	if (seq == walk->seq)
		return true;

	/* What was found before is still known by address, but not by file. */
	walk->seq = seq;
	for (int i = 0; i < USER_BUILDID_NR_MAPS; i++)
		walk->maps[i].mapping = NULL;
	return true;
}

/* Has anything been mapped or unmapped since walk_begin_lookup()? */
static bool walk_is_stale(struct user_buildid_walk *walk)
{
	return IS_ENABLED(CONFIG_PER_VMA_LOCK) && !walk->may_sleep &&
	       mmap_lock_speculate_retry(walk->mm, walk->seq);
}

/*
 * Find what is mapped at @addr, without reference.
 *
 * The lock of a VMA is no help here: to release it may wake a writer, see
 * mm/mmap_trylock.c. But nothing needs to be locked only to be looked at. RCU
 * keeps the memory of VMA and file in place, if possibly for another VMA or
 * file; when the sequence count says that nothing has changed, they were what
 * they seem.
 */
static bool map_find_nofault(struct user_buildid_walk *walk, unsigned long addr,
			     struct user_buildid_map *map)
{
	struct vm_area_struct *vma;

	if (IS_ENABLED(CONFIG_PER_VMA_LOCK) && !walk_begin_lookup(walk))
		return false;
	vma = vma_lookup(walk->mm, addr);
	if (!vma)
		return false;
	map_set(map, vma);
	return !walk_is_stale(walk);
}

static int map_read(struct user_buildid_map *map, bool may_sleep)
{
	if (!map->mapping)
		return -ENOENT;
	if (!may_sleep)
		return build_id_parse_mapping_nofault(map->mapping, map->build_id, &map->size);

	/* To read a device may have side effects, or take forever. */
	if (!S_ISREG(file_inode(map->file)->i_mode))
		return -ENOEXEC;
	/* Most often the page cache has it, and that costs a fraction. */
	if (!build_id_parse_mapping_nofault(map->mapping, map->build_id, &map->size))
		return 0;
	return build_id_parse_file(map->file, map->build_id, &map->size);
}

static struct user_buildid_map *walk_find(struct user_buildid_walk *walk, unsigned long addr)
{
	struct user_buildid_map *map, new;
	int i;

	for (i = 0; i < USER_BUILDID_NR_MAPS; i++) {
		map = &walk->maps[i];
		if (addr >= map->start && addr < map->end)
			return map;
	}

	if (!walk->mm)
		return NULL;
	if (walk->may_sleep ? !map_find(walk, addr, &new) :
			      !map_find_nofault(walk, addr, &new))
		return NULL;

	/* Another mapping of a file that is known? */
	for (i = 0; new.mapping && i < USER_BUILDID_NR_MAPS; i++) {
		map = &walk->maps[i];
		if (map->mapping != new.mapping)
			continue;
		map->start = new.start;
		map->end = new.end;
		map->pgoff = new.pgoff;
		if (new.file)
			fput(new.file);
		return map;
	}

	if (map_read(&new, walk->may_sleep)) {
		new.size = 0;
		memset(new.build_id, 0, sizeof(new.build_id));
	}
	/* Found or not, it may have been the page cache of another file. */
	if (walk_is_stale(walk))
		return NULL;

	map = &walk->maps[walk->victim];
	walk->victim = (walk->victim + 1) % USER_BUILDID_NR_MAPS;
	if (map->file)
		fput(map->file);
	*map = new;
	return map;
}

/**
 * user_buildid_find() - resolve one address
 * @walk: a walk that has begun
 * @addr: the user address
 * @build_id: set to the build ID of the file mapped at @addr, padded with
 *	zeros; BUILD_ID_SIZE_MAX bytes
 * @offset: set to the offset in that file in bytes. It is not an ELF virtual
 *	address.
 *
 * Return: the size of the build ID in bytes, or 0 if @addr is not resolved.
 * Then @build_id is all zeros and @offset is @addr.
 */
u32 user_buildid_find(struct user_buildid_walk *walk, unsigned long addr,
		      u8 *build_id, u64 *offset)
{
	struct user_buildid_map *map = walk_find(walk, addr);

	if (!map || !map->size) {
		memset(build_id, 0, BUILD_ID_SIZE_MAX);
		*offset = addr;
		return 0;
	}

	memcpy(build_id, map->build_id, BUILD_ID_SIZE_MAX);
	*offset = ((u64)map->pgoff << PAGE_SHIFT) + (addr - map->start);
	return map->size;
}
