// SPDX-License-Identifier: GPL-2.0
/*
 * Resolves user addresses of the current task to a build ID and an offset in
 * the file that has it.
 *
 *	struct user_buildid_map maps[USER_BUILDID_NR_MAPS];
 *	struct user_buildid_ctx ctx;
 *
 *	user_buildid_begin(&ctx, maps, ARRAY_SIZE(maps), wait);
 *						or user_buildid_begin_nofault()
 *	for each address
 *		size = user_buildid_find(&ctx, addr, build_id, &offset);
 *	user_buildid_end(&ctx);
 *
 * The context remembers in @maps the mappings that it has seen last, so that
 * addresses in the same mapping, or in the same file, cost a lookup and a read
 * of the file once. It also remembers where there is no build ID. No file is
 * read under mmap_lock or a VMA lock.
 */
#include <linux/cleanup.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/maple_tree.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/user_buildid.h>
#include <linux/xarray.h>

/*
 * Headers and notes that are looked at in one context that must not fault. Most
 * files need a dozen. The bound is for crafted files and a crafted stack, since
 * this may be an NMI.
 */
#define NOFAULT_BUDGET 1024

static void ctx_init(struct user_buildid_ctx *ctx, struct user_buildid_map *maps,
		     u32 max_maps, bool may_sleep, bool wait)
{
	ctx->mm = READ_ONCE(current->mm);
	ctx->maps = maps;
	ctx->max_maps = max_maps;
	ctx->nr_maps = 0;
	ctx->victim = 0;
	ctx->victim_none = 0;
	ctx->seq = 0;
	ctx->budget = NOFAULT_BUDGET;
	ctx->may_sleep = may_sleep;
	ctx->wait = wait;
	for (int i = 0; i < USER_BUILDID_NR_NONE; i++) {
		ctx->none[i].start = 1;
		ctx->none[i].last = 0;
	}
}

/**
 * user_buildid_begin() - begin to resolve addresses of current
 * @ctx: to be initialized, and ended with user_buildid_end()
 * @maps: memory of the context, not to be touched before user_buildid_end()
 * @max_maps: number of @maps, at least 1
 * @wait: whether to wait for mmap_lock while mappings are being changed. A
 *	tracing program must not, it may run under that lock.
 *
 * Files are read where the page cache does not have what is needed.
 *
 * Context: a task that may sleep and take page faults. It may lack an mm, then
 * nothing is resolved.
 */
void user_buildid_begin(struct user_buildid_ctx *ctx, struct user_buildid_map *maps,
			u32 max_maps, bool wait)
{
	might_sleep();
	ctx_init(ctx, maps, max_maps, true, wait);
}

/**
 * user_buildid_begin_nofault() - begin to resolve addresses of current
 * @ctx: to be initialized, and ended with user_buildid_end()
 * @maps: memory of the context, not to be touched before user_buildid_end()
 * @max_maps: number of @maps, at least 1
 *
 * Addresses in mappings that are being changed, and in files whose build ID is
 * not in the page cache or would take too long to find (NOFAULT_BUDGET), are not
 * resolved. Without CONFIG_PER_VMA_LOCK none is.
 *
 * Context: any, NMI included. The caller must not sleep before user_buildid_end().
 */
void user_buildid_begin_nofault(struct user_buildid_ctx *ctx,
				struct user_buildid_map *maps, u32 max_maps)
{
	ctx_init(ctx, maps, max_maps, false, false);

	/*
	 * VMAs, files and inodes are looked at without reference: none must be
	 * freed before the end.
	 */
	rcu_read_lock();

	/* Without the sequence count, a changed VMA cannot be detected. */
	if (!IS_ENABLED(CONFIG_PER_VMA_LOCK))
		ctx->mm = NULL;
}

/**
 * user_buildid_end() - release what a context holds
 * @ctx: the context, to be initialized again before it is used again
 */
void user_buildid_end(struct user_buildid_ctx *ctx)
{
	if (!ctx->may_sleep) {
		rcu_read_unlock();
		return;
	}

	for (u32 i = 0; i < ctx->nr_maps; i++)
		fput(ctx->maps[i].file);
}

/*
 * If @vma is not locked, the caller must check that it has not changed.
 * Anonymous memory may have a file, see vma_is_anonymous().
 */
static struct file *map_set(struct user_buildid_map *map, struct vm_area_struct *vma)
{
	struct file *file = READ_ONCE(vma->vm_ops) ? READ_ONCE(vma->vm_file) : NULL;

	map->start = READ_ONCE(vma->vm_start);
	map->last = READ_ONCE(vma->vm_end) - 1;
	map->pgoff = READ_ONCE(vma->vm_pgoff);
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

/* As vma_lookup(), but if nothing is mapped at @addr, set @map to the hole. */
static struct vm_area_struct *map_lookup(struct mm_struct *mm, unsigned long addr,
					 struct user_buildid_map *map)
{
	MA_STATE(mas, &mm->mm_mt, addr, addr);
	struct vm_area_struct *vma = mas_walk(&mas);

	if (vma && !xa_is_zero(vma))
		return vma;
	map->start = mas.index;
	map->last = mas.last;
	map->mapping = NULL;
	map->file = NULL;
	return NULL;
}

/*
 * Stacks end with words that are no addresses. That nothing is mapped there can
 * be seen without contending for mmap_lock.
 */
static bool map_find_hole(struct mm_struct *mm, unsigned long addr,
			  struct user_buildid_map *map)
{
	unsigned int seq;

	guard(rcu)();
	return mmap_lock_speculate_try_begin(mm, &seq) && !map_lookup(mm, addr, map) &&
	       !mmap_lock_speculate_retry(mm, seq);
}

/* Find what is mapped at @addr, with a reference to the file. */
static bool map_find(struct user_buildid_ctx *ctx, unsigned long addr,
		     struct user_buildid_map *map)
{
	struct mm_struct *mm = ctx->mm;
	struct vm_area_struct *vma;

	vma = lock_vma_under_rcu(mm, addr);
	if (vma) {
		map_set_get(map, vma);
		vma_end_read(vma);
		return true;
	}

	if (map_find_hole(mm, addr, map))
		return true;

	/* Without per-VMA locks, or mappings are being changed. */
	if (ctx->wait ? mmap_read_lock_killable(mm) : !mmap_read_trylock(mm))
		return false;
	vma = map_lookup(mm, addr, map);
	if (vma)
		map_set_get(map, vma);
	mmap_read_unlock(mm);
	return true;
}

/*
 * While the sequence count is unchanged, a file that was mapped still is, and
 * so its inode is the same one. RCU alone keeps the inode from being freed, but
 * not from becoming that of another file: xfs reuses inodes without waiting.
 */
static bool ctx_begin_lookup(struct user_buildid_ctx *ctx)
{
	unsigned int seq;

	/*
	 * This also keeps from walking the tree in the midst of a change that
	 * an NMI has interrupted.
	 */
	if (!mmap_lock_speculate_try_begin(ctx->mm, &seq))
		return false;
	if (seq == ctx->seq)
		return true;

	/* What was found before is still known by address, but not by file. */
	ctx->seq = seq;
	for (u32 i = 0; i < ctx->nr_maps; i++)
		ctx->maps[i].mapping = NULL;
	return true;
}

/* Has anything been mapped or unmapped since ctx_begin_lookup()? */
static bool ctx_is_stale(struct user_buildid_ctx *ctx)
{
	return !ctx->may_sleep && mmap_lock_speculate_retry(ctx->mm, ctx->seq);
}

/*
 * Find what is mapped at @addr, without reference.
 *
 * The lock of a VMA is no help here: to release it may wake a writer, which
 * takes locks that the interrupted code may hold. But nothing needs to be locked
 * only to be looked at. RCU keeps the memory of VMA and file in place, if
 * possibly for another VMA or file; if the sequence count is unchanged, the
 * lookup was valid.
 */
static bool map_find_nofault(struct user_buildid_ctx *ctx, unsigned long addr,
			     struct user_buildid_map *map)
{
	struct vm_area_struct *vma;

	if (!ctx_begin_lookup(ctx))
		return false;
	vma = map_lookup(ctx->mm, addr, map);
	if (vma)
		map_set(map, vma);
	return !ctx_is_stale(ctx);
}

static int map_read(struct user_buildid_ctx *ctx, struct user_buildid_map *map)
{
	int err;

	if (!map->mapping)
		return -ENOENT;
	if (!ctx->may_sleep)
		return build_id_parse_mapping_nofault(map->mapping, map->build_id,
						      &map->size, &ctx->budget);

	/* To read a device may have side effects, or take forever. */
	if (!S_ISREG(file_inode(map->file)->i_mode))
		return -ENOEXEC;
	/* Most often the page cache has it, and that costs a fraction. */
	err = build_id_parse_file_nofault(map->file, map->build_id, &map->size);
	/* Each read may take until a server answers: leave it to a task that lives on. */
	if (err == -EAGAIN && !fatal_signal_pending(current))
		err = build_id_parse_file(map->file, map->build_id, &map->size);
	return err;
}

/* Remember that @map has no build ID, without losing a map that has one. */
static void ctx_add_none(struct user_buildid_ctx *ctx, const struct user_buildid_map *map)
{
	ctx->none[ctx->victim_none].start = map->start;
	ctx->none[ctx->victim_none].last = map->last;
	ctx->victim_none = (ctx->victim_none + 1) % USER_BUILDID_NR_NONE;
	if (map->file)
		fput(map->file);
}

static bool ctx_has_none(const struct user_buildid_ctx *ctx, unsigned long addr)
{
	for (int i = 0; i < USER_BUILDID_NR_NONE; i++) {
		if (addr >= ctx->none[i].start && addr <= ctx->none[i].last)
			return true;
	}
	return false;
}

static struct user_buildid_map *ctx_add_map(struct user_buildid_ctx *ctx,
					    const struct user_buildid_map *new)
{
	struct user_buildid_map *map;

	if (ctx->nr_maps < ctx->max_maps) {
		map = &ctx->maps[ctx->nr_maps++];
	} else {
		map = &ctx->maps[ctx->victim];
		ctx->victim = (ctx->victim + 1) % ctx->max_maps;
		if (map->file)
			fput(map->file);
	}
	*map = *new;
	return map;
}

static struct user_buildid_map *ctx_find(struct user_buildid_ctx *ctx, unsigned long addr)
{
	struct user_buildid_map *map, new;
	int err;

	for (map = ctx->maps; map < ctx->maps + ctx->nr_maps; map++) {
		if (addr >= map->start && addr <= map->last)
			return map;
	}
	if (!ctx->mm || ctx_has_none(ctx, addr))
		return NULL;

	if (ctx->may_sleep ? !map_find(ctx, addr, &new) :
			      !map_find_nofault(ctx, addr, &new))
		return NULL;

	/* Another mapping of a file that is known? */
	for (map = ctx->maps; new.mapping && map < ctx->maps + ctx->nr_maps; map++) {
		if (map->mapping != new.mapping)
			continue;
		map->start = new.start;
		map->last = new.last;
		map->pgoff = new.pgoff;
		if (new.file)
			fput(new.file);
		return map;
	}

	err = map_read(ctx, &new);
	/* Found or not, it may have been the page cache of another file. */
	if (ctx_is_stale(ctx))
		return NULL;
	if (err) {
		ctx_add_none(ctx, &new);
		return NULL;
	}
	return ctx_add_map(ctx, &new);
}

/**
 * user_buildid_find() - resolve one address
 * @ctx: a context that has begun
 * @addr: the user address
 * @build_id: set to the build ID of the file mapped at @addr, padded with
 *	zeros; BUILD_ID_SIZE_MAX bytes
 * @offset: set to the offset in that file in bytes. It is not an ELF virtual
 *	address.
 *
 * Return: the size of the build ID in bytes, or 0 if @addr is not resolved.
 * Then @build_id is all zeros and @offset is @addr.
 */
u32 user_buildid_find(struct user_buildid_ctx *ctx, unsigned long addr,
		      u8 *build_id, u64 *offset)
{
	struct user_buildid_map *map = ctx_find(ctx, addr);

	if (!map) {
		memset(build_id, 0, BUILD_ID_SIZE_MAX);
		*offset = addr;
		return 0;
	}

	memcpy(build_id, map->build_id, BUILD_ID_SIZE_MAX);
	*offset = ((u64)map->pgoff << PAGE_SHIFT) + (addr - map->start);
	return map->size;
}
