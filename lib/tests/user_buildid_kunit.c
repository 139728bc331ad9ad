// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test of resolving user addresses, with mappings in the address space
 * of the test's thread, of files that are made here.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/elf.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/mmap_lock.h>
#include <linux/pagemap.h>
#include <linux/rwsem.h>
#include <linux/shmem_fs.h>
#include <linux/swap.h>
#include <linux/timer.h>
#include <linux/user_buildid.h>
#include <linux/workqueue.h>

#define FILE_PAGES	4
#define NOTE_OFFSET	0x200
#define SECRET		0xa5

struct result {
	u32 size;
	u8 build_id[BUILD_ID_SIZE_MAX];
	u64 offset;
};

struct elf {
	bool is_32bit;
	u32 id_size;
	u8 first;	/* of the ID; the others count up from it */
	u32 empty_notes;	/* before that of the ID */
	loff_t note_offset;	/* NOTE_OFFSET if 0 */
	bool no_note;		/* none is written at note_offset */
};

static void write_at(struct kunit *test, struct file *file, loff_t pos,
		     const void *data, size_t size)
{
	KUNIT_ASSERT_EQ(test, kernel_write(file, data, size, &pos), size);
}

static void write_note(struct kunit *test, struct file *file, const struct elf *elf)
{
	struct {
		Elf32_Nhdr header;
		char name[4];
		u8 id[BUILD_ID_SIZE_MAX];
	} note = {
		.header = { .n_namesz = 4, .n_descsz = elf->id_size, .n_type = 3 },
		.name = "GNU",
	};
	const Elf32_Nhdr empty = {};
	loff_t pos = elf->note_offset ?: NOTE_OFFSET;

	if (elf->no_note)
		return;
	for (u32 i = 0; i < elf->id_size; i++)
		note.id[i] = elf->first + i;
	/* What follows the ID in the file must not be taken for a part of it. */
	for (u32 i = elf->id_size; i < BUILD_ID_SIZE_MAX; i++)
		note.id[i] = 0xee;
	for (u32 i = 0; i < elf->empty_notes; i++, pos += sizeof(empty))
		write_at(test, file, pos, &empty, sizeof(empty));
	write_at(test, file, pos, &note, sizeof(note));
}

static void put_file(void *file)
{
	fput(file);
}

/* A file of FILE_PAGES pages; without an ID it is no ELF file. */
static struct file *make_file(struct kunit *test, const struct elf *elf)
{
	struct file *file = shmem_file_setup("elf", FILE_PAGES * PAGE_SIZE, EMPTY_VMA_FLAGS);
	u32 note_size = elf->empty_notes * sizeof(Elf32_Nhdr) +
			sizeof(Elf32_Nhdr) + 4 + ALIGN(elf->id_size, 4);
	loff_t note_offset = elf->note_offset ?: NOTE_OFFSET;
	Elf64_Phdr phdr64 = { .p_type = PT_NOTE, .p_offset = note_offset, .p_filesz = note_size };
	Elf32_Phdr phdr32 = { .p_type = PT_NOTE, .p_offset = note_offset, .p_filesz = note_size };
	Elf64_Ehdr ehdr64 = { .e_type = ET_DYN, .e_phoff = sizeof(ehdr64), .e_phnum = 1 };
	Elf32_Ehdr ehdr32 = { .e_type = ET_DYN, .e_phoff = sizeof(ehdr32), .e_phnum = 1 };

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, file);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, put_file, file), 0);
	if (!elf->id_size)
		return file;

	memcpy(ehdr64.e_ident, ELFMAG, SELFMAG);
	memcpy(ehdr32.e_ident, ELFMAG, SELFMAG);
	ehdr64.e_ident[EI_CLASS] = ELFCLASS64;
	ehdr32.e_ident[EI_CLASS] = ELFCLASS32;
	if (elf->is_32bit) {
		write_at(test, file, 0, &ehdr32, sizeof(ehdr32));
		write_at(test, file, sizeof(ehdr32), &phdr32, sizeof(phdr32));
	} else {
		write_at(test, file, 0, &ehdr64, sizeof(ehdr64));
		write_at(test, file, sizeof(ehdr64), &phdr64, sizeof(phdr64));
	}
	write_note(test, file, elf);
	return file;
}

static unsigned long map(struct kunit *test, struct file *file, unsigned long pages,
			 unsigned long pgoff)
{
	unsigned long flags = MAP_PRIVATE | (file ? 0 : MAP_ANONYMOUS);
	unsigned long addr = kunit_vm_mmap(test, file, 0, pages * PAGE_SIZE, PROT_READ,
					   flags, pgoff * PAGE_SIZE);

	KUNIT_ASSERT_NE(test, addr, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(addr));
	return addr;
}

/* Too large for the stack, as is what uses it; the tests run one by one. */
static struct user_buildid_map maps[USER_BUILDID_NR_MAPS];

static void begin(struct user_buildid_ctx *ctx, bool may_sleep)
{
	memset(ctx, SECRET, sizeof(*ctx));
	memset(maps, SECRET, sizeof(maps));
	if (may_sleep)
		user_buildid_begin(ctx, maps, ARRAY_SIZE(maps), /*wait=*/true);
	else
		user_buildid_begin_nofault(ctx, maps, ARRAY_SIZE(maps));
}

static struct result find(struct user_buildid_ctx *ctx, unsigned long addr)
{
	struct result r;

	memset(&r, SECRET, sizeof(r));
	r.size = user_buildid_find(ctx, addr, r.build_id, &r.offset);
	return r;
}

static struct result find_one(unsigned long addr, bool may_sleep)
{
	struct user_buildid_ctx ctx;
	struct result r;

	begin(&ctx, may_sleep);
	r = find(&ctx, addr);
	user_buildid_end(&ctx);
	return r;
}

static void expect_resolved(struct kunit *test, const struct result *r, const struct elf *elf,
			    u64 offset)
{
	KUNIT_EXPECT_EQ(test, r->size, elf->id_size);
	KUNIT_EXPECT_EQ(test, r->offset, offset);
	for (u32 i = 0; i < BUILD_ID_SIZE_MAX; i++)
		KUNIT_EXPECT_EQ(test, r->build_id[i], i < elf->id_size ? (u8)(elf->first + i) : 0);
}

static void expect_unresolved(struct kunit *test, const struct result *r, unsigned long addr)
{
	static const u8 zero[BUILD_ID_SIZE_MAX];

	KUNIT_EXPECT_EQ(test, r->size, 0);
	KUNIT_EXPECT_EQ(test, r->offset, addr);
	KUNIT_EXPECT_MEMEQ(test, r->build_id, zero, sizeof(zero));
}

static void no_mm_test(struct kunit *test)
{
	struct result r;

	if (current->mm)
		kunit_skip(test, "the test's thread has an mm");

	for (int may_sleep = 0; may_sleep < 2; may_sleep++) {
		r = find_one(0x1000, may_sleep);
		expect_unresolved(test, &r, 0x1000);
	}
}

static const struct elf elf_params[] = {
	{ .id_size = 1, .first = 0x80 },
	{ .id_size = 8, .first = 0x10 },
	{ .id_size = 16, .first = 0x20 },
	{ .id_size = 20, .first = 0xf8 },
	{ .id_size = 20, .first = 0x30, .is_32bit = true },
};

static void elf_describe(const struct elf *elf, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u bytes, ELF%u", elf->id_size,
		 elf->is_32bit ? 32 : 64);
}

KUNIT_ARRAY_PARAM(elf, elf_params, elf_describe);

static void file_test(struct kunit *test)
{
	const struct elf *elf = test->param_value;
	struct file *file = make_file(test, elf);
	unsigned long addr = map(test, file, 2, 1);
	struct result r;

	for (int may_sleep = 0; may_sleep < 2; may_sleep++) {
		r = find_one(addr, may_sleep);
		expect_resolved(test, &r, elf, PAGE_SIZE);
		r = find_one(addr + 2 * PAGE_SIZE - 1, may_sleep);
		expect_resolved(test, &r, elf, 3 * PAGE_SIZE - 1);
	}
}

static void unresolved_test(struct kunit *test)
{
	const struct elf elf = { .id_size = 20, .first = 1 };
	const struct elf no_elf = {};
	unsigned long addr = map(test, make_file(test, &elf), 2, 0);
	unsigned long hole, anon, plain, bad[7];
	struct result r;

	/* Below a mapping of an ELF file there is a hole. */
	hole = addr;
	KUNIT_ASSERT_EQ(test, vm_munmap(hole, PAGE_SIZE), 0);
	addr += PAGE_SIZE;
	anon = map(test, NULL, 1, 0);
	plain = map(test, make_file(test, &no_elf), 1, 0);
	bad[0] = hole;
	bad[1] = addr - 1;
	bad[2] = anon;
	bad[3] = plain + 1;
	bad[4] = 0;
	bad[5] = TASK_SIZE;
	bad[6] = ~0UL;

	for (int may_sleep = 0; may_sleep < 2; may_sleep++) {
		struct user_buildid_ctx ctx;

		begin(&ctx, may_sleep);
		for (int i = 0; i < ARRAY_SIZE(bad); i++) {
			r = find(&ctx, bad[i]);
			expect_unresolved(test, &r, bad[i]);
			/* Nor does what is not resolved disturb what is. */
			r = find(&ctx, addr + i);
			expect_resolved(test, &r, &elf, PAGE_SIZE + i);
		}
		user_buildid_end(&ctx);
	}
}

/* A file must not decide how long an NMI takes. */
static void notes_test(struct kunit *test)
{
	const struct elf few = { .id_size = 20, .first = 1, .empty_notes = 255 };
	const struct elf many = { .id_size = 20, .first = 1, .empty_notes = 256 };
	unsigned long few_addr = map(test, make_file(test, &few), 1, 0);
	unsigned long many_addr = map(test, make_file(test, &many), 1, 0);
	struct result r;

	for (int may_sleep = 0; may_sleep < 2; may_sleep++) {
		r = find_one(few_addr, may_sleep);
		expect_resolved(test, &r, &few, 0);
		r = find_one(many_addr, may_sleep);
		expect_unresolved(test, &r, many_addr);
	}
}

/* More files than a context remembers, each mapped twice, in changing order. */
static void many_test(struct kunit *test)
{
	/* Too large for the stack. */
	static struct elf elf[USER_BUILDID_NR_MAPS + 3];
	static struct file *file[ARRAY_SIZE(elf)];
	static unsigned long addr[2][ARRAY_SIZE(elf)], count[ARRAY_SIZE(elf)];
	struct result r;

	for (int i = 0; i < ARRAY_SIZE(elf); i++) {
		elf[i] = (struct elf){ .id_size = 20 - i % 8, .first = i };
		file[i] = make_file(test, &elf[i]);
		addr[0][i] = map(test, file[i], 1, 0);
		addr[1][i] = map(test, file[i], 1, 2);
		count[i] = file_count(file[i]);
	}

	for (int may_sleep = 0; may_sleep < 2; may_sleep++) {
		for (int step = 1; step < ARRAY_SIZE(elf); step++) {
			struct user_buildid_ctx ctx;

			begin(&ctx, may_sleep);
			for (int n = 0; n < 4 * ARRAY_SIZE(elf); n++) {
				int i = n * step % ARRAY_SIZE(elf), second = n / 2 % 2;

				r = find(&ctx, addr[second][i] + n);
				expect_resolved(test, &r, &elf[i], 2 * second * PAGE_SIZE + n);
			}
			user_buildid_end(&ctx);
		}
	}

	for (int i = 0; i < ARRAY_SIZE(elf); i++)
		KUNIT_EXPECT_EQ(test, file_count(file[i]), count[i]);
}

/* Nor must the number of files: the work of a nofault context is bounded. */
static void budget_test(struct kunit *test)
{
	static struct elf elf[32];
	static unsigned long addr[ARRAY_SIZE(elf)];
	u32 resolved[2] = {};
	struct result first = {};

	for (int i = 0; i < ARRAY_SIZE(elf); i++) {
		elf[i] = (struct elf){ .id_size = 20, .first = i, .empty_notes = 255 };
		addr[i] = map(test, make_file(test, &elf[i]), 1, 0);
	}

	for (int may_sleep = 0; may_sleep < 2; may_sleep++) {
		struct user_buildid_ctx ctx;

		begin(&ctx, may_sleep);
		for (int i = 0; i < ARRAY_SIZE(elf); i++) {
			struct result r = find(&ctx, addr[i]);

			if (r.size) {
				expect_resolved(test, &r, &elf[i], 0);
				resolved[may_sleep]++;
			} else {
				expect_unresolved(test, &r, addr[i]);
			}
		}
		/* What is known already costs nothing. */
		first = find(&ctx, addr[0] + 1);
		user_buildid_end(&ctx);
		expect_resolved(test, &first, &elf[0], 1);
	}
	KUNIT_EXPECT_GE(test, resolved[false], 1);
	KUNIT_EXPECT_LE(test, resolved[false], 8);
	KUNIT_EXPECT_EQ(test, resolved[true], ARRAY_SIZE(elf));
}

static struct folio *first_folio(struct kunit *test, struct file *file)
{
	struct folio *folio = filemap_get_folio(file->f_mapping, 0);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, folio);
	return folio;
}

struct freezer {
	struct timer_list timer;
	struct folio *folio;
	int refs;
};

static void unfreeze(struct timer_list *timer)
{
	struct freezer *freezer = container_of(timer, struct freezer, timer);

	folio_ref_unfreeze(freezer->folio, freezer->refs);
}

/*
 * Reclaim and migration freeze folios. Without faulting a lookup must not wait
 * for them, as it may have interrupted them.
 */
static void frozen_test(struct kunit *test)
{
	const struct elf elf = { .id_size = 20, .first = 1 };
	struct file *file = make_file(test, &elf);
	unsigned long addr = map(test, file, 1, 0);
	struct freezer freezer = {};
	struct result frozen, after;

	lru_add_drain_all();
	freezer.folio = first_folio(test, file);
	freezer.refs = folio_ref_count(freezer.folio);
	timer_setup_on_stack(&freezer.timer, unfreeze, 0);
	mod_timer(&freezer.timer, jiffies + HZ);

	if (!folio_ref_freeze(freezer.folio, freezer.refs)) {
		timer_delete_sync(&freezer.timer);
		timer_destroy_on_stack(&freezer.timer);
		folio_put(freezer.folio);
		kunit_skip(test, "somebody else has taken a reference");
	}
	frozen = find_one(addr, false);
	if (timer_delete_sync(&freezer.timer))
		unfreeze(&freezer.timer);
	timer_destroy_on_stack(&freezer.timer);
	after = find_one(addr, false);
	folio_put(freezer.folio);

	expect_unresolved(test, &frozen, addr);
	expect_resolved(test, &after, &elf, 0);
}

static const struct file_operations *counted_fops;
static int nr_reads;

static ssize_t counting_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	nr_reads++;
	return counted_fops->read_iter(iocb, to);
}

static const struct file_operations counting_fops = {
	.read_iter = counting_read_iter,
};

/* Count the reads of @file, until its @f_op is restored to @counted_fops. */
static void count_reads(struct file *file)
{
	counted_fops = file->f_op;
	file->f_op = &counting_fops;
	nr_reads = 0;
}

static int reads_of(struct kunit *test, const struct elf *elf)
{
	struct file *file = make_file(test, elf);
	unsigned long addr;
	struct result r;

	if (!elf->id_size)
		write_at(test, file, 0, "#!/bin/sh", 9);
	addr = map(test, file, 1, 0);
	count_reads(file);
	r = find_one(addr, true);
	file->f_op = counted_fops;
	if (elf->id_size && !elf->no_note)
		expect_resolved(test, &r, elf, 0);
	else
		expect_unresolved(test, &r, addr);
	return nr_reads;
}

/* A file is read only if the page cache lacks some of it. */
static void reads_test(struct kunit *test)
{
	const struct elf cached = { .id_size = 20, .first = 1 };
	const struct elf no_elf = {};
	const struct elf no_note = { .id_size = 20, .no_note = true };
	const struct elf uncached = { .id_size = 20, .no_note = true, .note_offset = PAGE_SIZE };
	const struct elf past_end = { .id_size = 20, .no_note = true,
				      .note_offset = FILE_PAGES * PAGE_SIZE };

	KUNIT_EXPECT_EQ(test, reads_of(test, &cached), 0);
	KUNIT_EXPECT_EQ(test, reads_of(test, &no_elf), 0);
	KUNIT_EXPECT_EQ(test, reads_of(test, &no_note), 0);
	KUNIT_EXPECT_GT(test, reads_of(test, &uncached), 0);
	KUNIT_EXPECT_EQ(test, reads_of(test, &past_end), 0);
}

/* To read memory that has failed may stop the machine. */
static void hwpoison_test(struct kunit *test)
{
	const struct elf elf = { .id_size = 20, .first = 1 };
	struct file *file = make_file(test, &elf);
	unsigned long addr = map(test, file, 1, 0);
	struct folio *folio = first_folio(test, file);
	struct result r;

	if (!IS_ENABLED(CONFIG_MEMORY_FAILURE)) {
		folio_put(folio);
		kunit_skip(test, "CONFIG_MEMORY_FAILURE is off");
	}

	for (int may_sleep = 0; may_sleep < 2; may_sleep++) {
		count_reads(file);
		SetPageHWPoison(folio_page(folio, 0));
		r = find_one(addr, may_sleep);
		ClearPageHWPoison(folio_page(folio, 0));
		file->f_op = counted_fops;
		expect_unresolved(test, &r, addr);
		KUNIT_EXPECT_EQ(test, nr_reads, 0);

		r = find_one(addr, may_sleep);
		expect_resolved(test, &r, &elf, 0);
	}
	folio_put(folio);
}

/* Such as guest_memfd, whose pages need not be mapped in the kernel. */
static void inaccessible_test(struct kunit *test)
{
	const struct elf elf = { .id_size = 20, .first = 1 };
	struct file *file = make_file(test, &elf);
	unsigned long addr = map(test, file, 1, 0);
	struct result r;

	mapping_set_inaccessible(file->f_mapping);
	for (int may_sleep = 0; may_sleep < 2; may_sleep++) {
		count_reads(file);
		r = find_one(addr, may_sleep);
		file->f_op = counted_fops;
		expect_unresolved(test, &r, addr);
		KUNIT_EXPECT_EQ(test, nr_reads, 0);
	}
}

static void locked_test(struct kunit *test)
{
	const struct elf elf = { .id_size = 20, .first = 1 };
	unsigned long addr = map(test, make_file(test, &elf), 1, 0);
	struct mm_struct *mm = current->mm;
	unsigned long flags;
	struct result r;

	mmap_write_lock(mm);
	r = find_one(addr, false);
	mmap_write_unlock(mm);
	expect_unresolved(test, &r, addr);

	mmap_read_lock(mm);
	r = find_one(addr, false);
	mmap_read_unlock(mm);
	expect_resolved(test, &r, &elf, 0);

	local_irq_save(flags);
	r = find_one(addr, false);
	local_irq_restore(flags);
	expect_resolved(test, &r, &elf, 0);
}

struct lock_holder {
	struct work_struct work;
	struct mm_struct *mm;
	struct completion held, done;
	bool timed_out;
};

static void hold_lock(struct work_struct *work)
{
	struct lock_holder *holder = container_of(work, struct lock_holder, work);

	/* As a writer that has not changed anything yet. */
	down_write(&holder->mm->mmap_lock);
	complete(&holder->held);
	holder->timed_out = !wait_for_completion_timeout(&holder->done, 5 * HZ);
	up_write(&holder->mm->mmap_lock);
}

/* That there is no mapping is seen without mmap_lock, where VMAs have locks. */
static void hole_test(struct kunit *test)
{
	const struct elf elf = { .id_size = 20, .first = 1 };
	unsigned long addr = map(test, make_file(test, &elf), 2, 0);
	struct lock_holder holder = { .mm = current->mm };
	struct user_buildid_ctx ctx;
	struct result hole, mapped;

	if (!IS_ENABLED(CONFIG_PER_VMA_LOCK))
		kunit_skip(test, "CONFIG_PER_VMA_LOCK is off");

	KUNIT_ASSERT_EQ(test, vm_munmap(addr, PAGE_SIZE), 0);
	init_completion(&holder.held);
	init_completion(&holder.done);
	INIT_WORK_ONSTACK(&holder.work, hold_lock);
	schedule_work(&holder.work);
	wait_for_completion(&holder.held);
	begin(&ctx, true);
	hole = find(&ctx, addr);
	mapped = find(&ctx, addr + PAGE_SIZE);
	user_buildid_end(&ctx);
	complete(&holder.done);
	flush_work(&holder.work);
	destroy_work_on_stack(&holder.work);

	KUNIT_EXPECT_FALSE(test, holder.timed_out);
	expect_unresolved(test, &hole, addr);
	expect_resolved(test, &mapped, &elf, PAGE_SIZE);
}

/* Mappings change meanwhile: what was found stays, and what is new is found. */
static void changed_test(struct kunit *test)
{
	const struct elf elf = { .id_size = 20, .first = 1 };
	struct file *file = make_file(test, &elf);
	unsigned long first = map(test, file, 1, 0);
	unsigned long second = map(test, file, 1, 2);
	struct result before, during, after, again;
	struct user_buildid_ctx ctx;
	bool locked;

	begin(&ctx, false);
	before = find(&ctx, first);
	/* As mmap_write_lock(), which must not be waited for here. */
	locked = down_write_trylock(&current->mm->mmap_lock);
	if (locked)
		mm_lock_seqcount_begin(current->mm);
	during = find(&ctx, second);
	if (locked)
		mmap_write_unlock(current->mm);
	after = find(&ctx, second);
	again = find(&ctx, first);
	user_buildid_end(&ctx);

	expect_resolved(test, &before, &elf, 0);
	if (locked)
		expect_unresolved(test, &during, second);
	expect_resolved(test, &after, &elf, 2 * PAGE_SIZE);
	expect_resolved(test, &again, &elf, 0);
}

static struct kunit_case user_buildid_test_cases[] = {
	KUNIT_CASE(no_mm_test),
	KUNIT_CASE_PARAM(file_test, elf_gen_params),
	KUNIT_CASE(unresolved_test),
	KUNIT_CASE(notes_test),
	KUNIT_CASE(many_test),
	KUNIT_CASE(budget_test),
	KUNIT_CASE(frozen_test),
	KUNIT_CASE(reads_test),
	KUNIT_CASE(hwpoison_test),
	KUNIT_CASE(inaccessible_test),
	KUNIT_CASE(locked_test),
	KUNIT_CASE(hole_test),
	KUNIT_CASE(changed_test),
	{},
};

static struct kunit_suite user_buildid_test_suite = {
	.name = "user_buildid",
	.test_cases = user_buildid_test_cases,
};

kunit_test_suite(user_buildid_test_suite);

MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");
MODULE_DESCRIPTION("KUnit test of resolving user addresses to build IDs");
MODULE_LICENSE("GPL");
