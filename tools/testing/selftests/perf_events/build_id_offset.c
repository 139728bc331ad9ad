// SPDX-License-Identifier: GPL-2.0
/*
 * Samples with build ID and file offset: opens events by hand and compares the
 * entries in the ring buffer with the addresses beside them, /proc/self/maps and
 * the build ID notes of the mapped files.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#define BOTH (PERF_SAMPLE_BUILD_ID_OFFSET | PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET)
#define RING_PAGES 128		/* what an unprivileged user may have */
#define MAX_RECORD 65536

struct entry {
	uint8_t size;
	uint8_t reserved[3];
	uint8_t build_id[20];
	uint64_t offset;
};

/* A record taken apart; pointers are into the record. */
struct sample {
	const struct perf_event_header *header;
	uint64_t ip;
	uint64_t nr_words;
	const uint64_t *words;
	const struct entry *ip_entry;
	uint64_t nr_entries;
	const struct entry *entries;
	uint64_t stack_size;
};

struct deferred {
	struct perf_event_header header;
	uint64_t cookie;
	uint64_t nr;
	uint64_t words[];
};

struct event {
	struct perf_event_attr attr;
	int fd;
	struct perf_event_mmap_page *ring;
};

struct map {
	uint64_t start, end, pgoff;
	uint8_t build_id[20];
	int size;
};

static long page_size;

/*
 * Expectations
 */

/* The GNU build ID of an ELF file of either class, and its size or 0. */
static int file_build_id(const char *path, uint8_t *build_id)
{
	int fd = open(path, O_RDONLY), size = 0;
	union {
		Elf64_Ehdr e64;
		Elf32_Ehdr e32;
	} eh = {};

	if (fd < 0)
		return 0;
	if (pread(fd, &eh, sizeof(eh), 0) < (ssize_t)sizeof(eh.e32) ||
	    memcmp(eh.e64.e_ident, ELFMAG, SELFMAG))
		goto out;

	bool is64 = eh.e64.e_ident[EI_CLASS] == ELFCLASS64;
	int phnum = is64 ? eh.e64.e_phnum : eh.e32.e_phnum;

	for (int i = 0; i < phnum && !size; i++) {
		uint64_t type, offset, filesz;

		if (is64) {
			Elf64_Phdr ph = {};

			if (pread(fd, &ph, sizeof(ph), eh.e64.e_phoff + i * sizeof(ph)) < 0)
				break;
			type = ph.p_type;
			offset = ph.p_offset;
			filesz = ph.p_filesz;
		} else {
			Elf32_Phdr ph = {};

			if (pread(fd, &ph, sizeof(ph), eh.e32.e_phoff + i * sizeof(ph)) < 0)
				break;
			type = ph.p_type;
			offset = ph.p_offset;
			filesz = ph.p_filesz;
		}
		for (uint64_t end = offset + filesz; type == PT_NOTE && offset + 12 < end;) {
			Elf32_Nhdr nh = {};
			char name[4] = {};

			if (pread(fd, &nh, sizeof(nh), offset) < 0 ||
			    pread(fd, name, sizeof(name), offset + sizeof(nh)) < 0)
				break;
			if (nh.n_type == NT_GNU_BUILD_ID && nh.n_namesz == 4 &&
			    !memcmp(name, "GNU", 4) && nh.n_descsz <= 20) {
				memset(build_id, 0, 20);
				size = pread(fd, build_id, nh.n_descsz, offset + sizeof(nh) + 4);
				break;
			}
			offset += sizeof(nh) + ((nh.n_namesz + 3) & ~3) + ((nh.n_descsz + 3) & ~3);
		}
	}
out:
	close(fd);
	return size;
}

/* The mapping of this process at @addr. Those of files do not change here. */
static bool find_map(uint64_t addr, struct map *map)
{
	static struct map known[16];
	static unsigned int nr_known;
	char line[4096], path[4096];
	bool found = false;
	FILE *maps;

	for (int i = 0; i < 16; i++) {
		if (addr >= known[i].start && addr < known[i].end) {
			*map = known[i];
			return true;
		}
	}

	maps = fopen("/proc/self/maps", "r");
	if (!maps)
		return false;
	while (!found && fgets(line, sizeof(line), maps)) {
		path[0] = 0;
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %4095s", &map->start, &map->end,
			   &map->pgoff, path) >= 3 && addr >= map->start && addr < map->end) {
			found = true;
			map->size = path[0] == '/' ? file_build_id(path, map->build_id) : 0;
		}
	}
	fclose(maps);
	if (found && map->size)
		known[nr_known++ % 16] = *map;
	return found;
}

/* What must hold of any entry. */
static void check_form(struct __test_metadata *_metadata, const struct entry *e)
{
	static const uint8_t zero[20];

	ASSERT_LE(e->size, 20);
	ASSERT_EQ(0, memcmp(e->reserved, zero, 3));
	ASSERT_EQ(0, memcmp(e->build_id + e->size, zero, 20 - e->size));
}

/*
 * @e stands for the word @word, an address of this process if @user. Returns
 * whether it is resolved.
 */
static bool check_entry(struct __test_metadata *_metadata, const struct entry *e,
			uint64_t word, bool user)
{
	struct map map;

	check_form(_metadata, e);
	if (!e->size) {
		ASSERT_EQ(e->offset, word);
		return false;
	}
	ASSERT_TRUE(user);
	ASSERT_TRUE(find_map(word, &map));
	ASSERT_EQ(e->size, map.size);
	ASSERT_EQ(0, memcmp(e->build_id, map.build_id, 20));
	ASSERT_EQ(e->offset, word - map.start + map.pgoff);
	return true;
}

static bool is_user_sample(const struct sample *s)
{
	return (s->header->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER;
}

static bool is_marker(uint64_t word)
{
	return word >= (uint64_t)PERF_CONTEXT_MAX;
}

/* The entries of a callchain against its words. Returns the number resolved. */
static int check_chain(struct __test_metadata *_metadata, const struct sample *s)
{
	bool user = false;
	int resolved = 0;

	ASSERT_EQ(s->nr_words, s->nr_entries);
	for (uint64_t i = 0; i < s->nr_words; i++) {
		if (is_marker(s->words[i]))
			user = s->words[i] == (uint64_t)PERF_CONTEXT_USER;
		resolved += check_entry(_metadata, &s->entries[i], s->words[i], user);
	}
	return resolved;
}

/*
 * Events and records
 */

static struct perf_event_attr clock_attr(uint64_t sample_type)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_type = sample_type,
		.sample_period = 1000000,	/* ns */
		.disabled = 1,
		.exclude_hv = 1,
	};
}

static int open_attr(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	return syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int open_event(struct event *event, struct perf_event_attr attr, pid_t pid, int cpu)
{
	event->attr = attr;
	event->fd = open_attr(&event->attr, pid, cpu);
	if (event->fd < 0)
		return -errno;
	event->ring = mmap(NULL, (1 + RING_PAGES) * page_size, PROT_READ | PROT_WRITE,
			   MAP_SHARED, event->fd, 0);
	if (event->ring == MAP_FAILED)
		return -errno;
	return 0;
}

static void close_event(struct event *event)
{
	munmap(event->ring, (1 + RING_PAGES) * page_size);
	close(event->fd);
}

/* Copy the next record, in one piece. */
static bool next_record(struct event *event, struct perf_event_header *record)
{
	uint64_t head = __atomic_load_n(&event->ring->data_head, __ATOMIC_ACQUIRE);
	uint64_t size = RING_PAGES * page_size, tail = event->ring->data_tail;
	const char *data = (char *)event->ring + page_size;

	if (head == tail)
		return false;
	memcpy(record, data + tail % size, sizeof(*record));
	for (uint64_t i = 0; i < record->size; i++)
		((char *)record)[i] = data[(tail + i) % size];
	__atomic_store_n(&event->ring->data_tail, tail + record->size, __ATOMIC_RELEASE);
	return true;
}

/* Take apart a PERF_RECORD_SAMPLE; every byte must be accounted for. */
static struct sample parse(struct __test_metadata *_metadata, const struct event *event,
			   const struct perf_event_header *header)
{
	const uint64_t *p = (uint64_t *)(header + 1);
	uint64_t type = event->attr.sample_type;
	struct sample s = { .header = header };

	ASSERT_EQ(0, header->size % 8);
	if (type & PERF_SAMPLE_IP)
		s.ip = *p++;
	if (type & PERF_SAMPLE_TID)
		p++;
	if (type & PERF_SAMPLE_CALLCHAIN) {
		s.nr_words = *p++;
		s.words = p;
		p += s.nr_words;
	}
	if (type & PERF_SAMPLE_RAW) {
		uint32_t size = *(uint32_t *)p;

		p += (sizeof(size) + size) / 8;
	}
	if (type & PERF_SAMPLE_REGS_USER)
		p += *p ? 1 + __builtin_popcountll(event->attr.sample_regs_user) : 1;
	if (type & PERF_SAMPLE_STACK_USER) {
		s.stack_size = *p++;
		p += s.stack_size / 8 + !!s.stack_size;
	}
	if (type & PERF_SAMPLE_REGS_INTR)
		p += *p ? 1 + __builtin_popcountll(event->attr.sample_regs_intr) : 1;
	if (type & PERF_SAMPLE_BUILD_ID_OFFSET) {
		s.ip_entry = (struct entry *)p;
		p += 4;
	}
	if (type & PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET) {
		s.nr_entries = *p++;
		s.entries = (struct entry *)p;
		p += 4 * s.nr_entries;
	}
	ASSERT_EQ((char *)p - (char *)header, header->size);
	return s;
}

static void event_on(struct event *event)
{
	ioctl(event->fd, PERF_EVENT_IOC_ENABLE, 0);
}

static void event_off(struct event *event)
{
	ioctl(event->fd, PERF_EVENT_IOC_DISABLE, 0);
}

/*
 * Workloads
 */

static uint64_t sink;

/* What the compiler must not drop. */
static void use(uint64_t value)
{
	sink += value;
	asm volatile("" : : "m" (sink));
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ull + ts.tv_nsec / 1000000;
}

/* Spend time in user mode, and some in the kernel. */
static __attribute_noinline__ void burn(int ms)
{
	uint64_t end = now_ms() + ms;

	do {
		for (int i = 0; i < 20000; i++)
			use(i);
		syscall(SYS_getppid);
	} while (now_ms() < end);
}

static __attribute_noinline__ int deep(int frames, int ms)
{
	int depth = 0;

	if (frames)
		depth = deep(frames - 1, ms);
	else
		burn(ms);
	use(depth);		/* no tail call */
	return depth + 1;
}

static __attribute_noinline__ int target(int i)
{
	asm volatile("");
	return i + 1;
}

/* A breakpoint on target(): a sample with an address that is known. */
static struct perf_event_attr target_attr(uint64_t sample_type)
{
	struct perf_event_attr attr = clock_attr(sample_type);

	attr.type = PERF_TYPE_BREAKPOINT;
	attr.config = 0;
	attr.bp_type = HW_BREAKPOINT_X;
	attr.bp_addr = (uintptr_t)target;
	attr.bp_len = sizeof(long);
	attr.sample_period = 1;
	attr.exclude_kernel = 1;
	return attr;
}

FIXTURE(build_id_offset)
{
	struct perf_event_header *record;
};

FIXTURE_SETUP(build_id_offset)
{
	struct perf_event_attr attr = clock_attr(PERF_SAMPLE_IP);
	uint8_t build_id[20];
	int fd;

	page_size = sysconf(_SC_PAGESIZE);
	self->record = malloc(MAX_RECORD);
	ASSERT_NE(NULL, self->record);

	attr.exclude_kernel = 1;
	fd = open_attr(&attr, 0, -1);
	if (fd < 0)
		SKIP(return, "perf_event_open: %s", strerror(errno));
	close(fd);
	attr.sample_type |= PERF_SAMPLE_BUILD_ID_OFFSET;
	fd = open_attr(&attr, 0, -1);
	if (fd < 0)
		SKIP(return, "the kernel does not write build ID and offset");
	close(fd);
	if (!file_build_id("/proc/self/exe", build_id))
		SKIP(return, "this program has no build ID");
}

FIXTURE_TEARDOWN(build_id_offset)
{
	free(self->record);
}

/* Both forms of address and callchain in one sample must tell the same. */
TEST_F(build_id_offset, in_place)
{
	struct perf_event_attr attr = clock_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TID |
						 PERF_SAMPLE_CALLCHAIN | BOTH);
	int samples = 0, users = 0, resolved = 0, chained = 0;
	struct event event;

	ASSERT_EQ(0, open_event(&event, attr, 0, -1));
	event_on(&event);
	burn(200);
	event_off(&event);

	while (next_record(&event, self->record)) {
		struct sample s;

		if (self->record->type != PERF_RECORD_SAMPLE)
			continue;
		s = parse(_metadata, &event, self->record);
		samples++;
		users += is_user_sample(&s);
		resolved += check_entry(_metadata, s.ip_entry, s.ip, is_user_sample(&s));
		chained += check_chain(_metadata, &s);
	}
	TH_LOG("%d samples, %d in user mode, %d resolved, %d in callchains", samples, users,
	       resolved, chained);
	ASSERT_GT(users, 0);
	ASSERT_GT(resolved, 0);
	ASSERT_GT(chained, 0);
	close_event(&event);
}

/* Each type alone, at an address that is known. */
TEST_F(build_id_offset, breakpoint)
{
	for (int chain = 0; chain < 2; chain++) {
		struct event event;
		int err, nr = 0;

		err = open_event(&event, target_attr(chain ? PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET :
						     PERF_SAMPLE_BUILD_ID_OFFSET), 0, -1);
		if (err)
			SKIP(return, "no breakpoints: %s", strerror(-err));
		event_on(&event);
		for (int i = 0; i < 10; i++)
			use(target(i));
		event_off(&event);

		while (next_record(&event, self->record)) {
			struct sample s;
			const struct entry *e;

			if (self->record->type != PERF_RECORD_SAMPLE)
				continue;
			s = parse(_metadata, &event, self->record);
			e = s.ip_entry;
			if (chain) {
				ASSERT_GE(s.nr_entries, 2);
				ASSERT_EQ(0, s.entries[0].size);
				ASSERT_EQ((uint64_t)PERF_CONTEXT_USER, s.entries[0].offset);
				e = &s.entries[1];
			}
			ASSERT_TRUE(check_entry(_metadata, e, (uintptr_t)target, true));
			nr++;
		}
		ASSERT_EQ(10, nr);
		close_event(&event);
	}
}

/* Does @e say that the address is resolved in the record of a cookie? */
static bool is_deferred(const struct entry *e)
{
	const uint64_t *p = (const uint64_t *)e;

	return p[0] == 0 && p[1] == (uint64_t)PERF_CONTEXT_USER_DEFERRED;
}

#define MAX_COOKIES 4096

struct seen {
	uint64_t cookie;
	uint64_t ip;		/* 0 if not deferred */
	bool chain, done;
};

/*
 * Read all records of an event with attr.defer_output, and match samples with
 * deferred callchains. Counts entries and words records in @nr, and entries
 * that are resolved in @resolved.
 */
static void check_deferred(struct __test_metadata *_metadata, struct event *event,
			   struct perf_event_header *record, int nr[2], int *resolved)
{
	struct seen *seen = calloc(MAX_COOKIES, sizeof(*seen));
	uint64_t type = event->attr.sample_type;
	uint64_t last_cookie = 0;
	int nr_seen = 0, missing = 0;

	ASSERT_NE(NULL, seen);
	nr[0] = 0;
	nr[1] = 0;
	*resolved = 0;
	while (next_record(event, record)) {
		if (record->type == PERF_RECORD_SAMPLE) {
			struct sample s = parse(_metadata, event, record);
			struct seen *new = &seen[nr_seen];

			*new = (struct seen){};
			if (s.ip_entry && is_deferred(s.ip_entry)) {
				const uint64_t *p = (const uint64_t *)s.ip_entry;

				ASSERT_TRUE(is_user_sample(&s));
				new->cookie = p[2];
				new->ip = p[3];
				if (type & PERF_SAMPLE_IP)
					ASSERT_EQ(s.ip, new->ip);
			} else if (s.ip_entry) {
				check_form(_metadata, s.ip_entry);
				/* Nothing refuses it here. */
				ASSERT_FALSE(is_user_sample(&s));
			}
			if (s.nr_entries >= 2 && s.entries[s.nr_entries - 2].offset ==
			    (uint64_t)PERF_CONTEXT_USER_DEFERRED) {
				uint64_t cookie = s.entries[s.nr_entries - 1].offset;

				if (new->cookie)
					ASSERT_EQ(new->cookie, cookie);
				new->cookie = cookie;
				new->chain = true;
			}
			/* Nothing is resolved where a deferred sample is taken. */
			for (uint64_t i = 0; i < s.nr_entries; i++) {
				check_form(_metadata, &s.entries[i]);
				ASSERT_EQ(0, s.entries[i].size);
			}
			/* Taken in the task work itself, after it wrote the record. */
			if (!new->ip && new->cookie == last_cookie)
				continue;
			if (new->cookie && nr_seen < MAX_COOKIES - 1)
				nr_seen++;
			continue;
		}
		if (record->type != PERF_RECORD_CALLCHAIN_DEFERRED)
			continue;

		struct deferred *d = (struct deferred *)record;
		bool entries = d->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID;
		const struct entry *e = (struct entry *)d->words;

		nr[entries]++;
		last_cookie = d->cookie;
		ASSERT_EQ(sizeof(*d) + d->nr * (entries ? sizeof(*e) : 8), d->header.size);
		if (!entries)
			continue;
		if (!(type & PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET))
			ASSERT_EQ(1, d->nr);
		for (uint64_t i = 0; i < d->nr; i++) {
			check_form(_metadata, &e[i]);
			*resolved += !!e[i].size;
			if (e[i].size)
				ASSERT_LT(e[i].offset, 1ull << 40);
		}
		for (int i = 0; i < nr_seen; i++) {
			if (seen[i].cookie != d->cookie)
				continue;
			seen[i].done = true;
			if (seen[i].ip) {
				ASSERT_GE(d->nr, 1);
				*resolved += check_entry(_metadata, e, seen[i].ip, true);
			}
		}
	}
	/* All has come but that of the system call that ends the measurement. */
	for (int i = 0; i < nr_seen; i++)
		missing += !seen[i].done && (!i || seen[i - 1].cookie != seen[i].cookie);
	if (type & BOTH)
		ASSERT_LE(missing, 1);
	free(seen);
}

FIXTURE(deferred)
{
	struct perf_event_header *record;
};

FIXTURE_VARIANT(deferred)
{
	uint64_t sample_type;
};

FIXTURE_VARIANT_ADD(deferred, plain)
{
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
};

FIXTURE_VARIANT_ADD(deferred, ip)
{
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BUILD_ID_OFFSET,
};

FIXTURE_VARIANT_ADD(deferred, chain)
{
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET,
};

FIXTURE_VARIANT_ADD(deferred, entries)
{
	.sample_type = PERF_SAMPLE_IP | BOTH,
};

FIXTURE_VARIANT_ADD(deferred, all)
{
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN | BOTH,
};

FIXTURE_SETUP(deferred)
{
	struct perf_event_attr attr = clock_attr(variant->sample_type);
	int fd;

	page_size = sysconf(_SC_PAGESIZE);
	self->record = malloc(MAX_RECORD);
	ASSERT_NE(NULL, self->record);
	attr.defer_callchain = 1;
	attr.exclude_kernel = 1;
	attr.exclude_callchain_kernel = 1;
	fd = open_attr(&attr, 0, -1);
	if (fd < 0)
		SKIP(return, "perf_event_open: %s", strerror(errno));
	close(fd);
}

FIXTURE_TEARDOWN(deferred)
{
	free(self->record);
}

TEST_F(deferred, clock)
{
	struct perf_event_attr attr = clock_attr(variant->sample_type);
	struct event event;
	int nr[2], resolved;

	attr.defer_callchain = 1;
	attr.defer_output = 1;
	ASSERT_EQ(0, open_event(&event, attr, 0, -1));
	event_on(&event);
	deep(20, 200);
	event_off(&event);

	check_deferred(_metadata, &event, self->record, nr, &resolved);
	TH_LOG("%d records of words, %d of entries, %d resolved", nr[0], nr[1], resolved);
	if (!nr[0] && !nr[1])
		SKIP(return, "callchains are not deferred here");

	ASSERT_EQ(!!nr[0], !!(variant->sample_type & PERF_SAMPLE_CALLCHAIN));
	ASSERT_EQ(!!nr[1], !!(variant->sample_type & BOTH));
	ASSERT_EQ(!!resolved, !!nr[1]);
	close_event(&event);
}

TEST_F(deferred, breakpoint)
{
	struct perf_event_attr attr = target_attr(variant->sample_type);
	int nr[2], resolved, err;
	struct event event;

	attr.defer_callchain = 1;
	attr.defer_output = 1;
	err = open_event(&event, attr, 0, -1);
	if (err)
		SKIP(return, "no breakpoints: %s", strerror(-err));
	event_on(&event);
	for (int i = 0; i < 10; i++)
		use(target(i));
	event_off(&event);

	check_deferred(_metadata, &event, self->record, nr, &resolved);
	if (!nr[0] && !nr[1])
		SKIP(return, "callchains are not deferred here");
	if (variant->sample_type & BOTH) {
		ASSERT_EQ(10, nr[1]);
		ASSERT_GE(resolved, 10);
	}
	close_event(&event);
}

/* Whatever is asked for, a record stays within what its header can tell. */
TEST_F(build_id_offset, sizes)
{
	static const uint64_t extra[] = {
		PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_INTR,
		PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR | BOTH,
		PERF_SAMPLE_STACK_USER | PERF_SAMPLE_CALLCHAIN | BOTH,
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(extra); i++) {
		struct perf_event_attr attr = clock_attr(PERF_SAMPLE_IP | extra[i]);
		int samples = 0, largest = 0, err;
		struct event event;

		attr.exclude_kernel = 1;
		attr.exclude_callchain_kernel = 1;
		attr.sample_stack_user = 65528;
		attr.sample_regs_user = 0xff;
		attr.sample_regs_intr = 0xff;
		attr.sample_period = 5000000;
		err = open_event(&event, attr, 0, -1);
		if (err == -ENOSYS)
			SKIP(return, "no dump of the user stack");
		ASSERT_EQ(0, err);
		event_on(&event);
		deep(2000, 100);
		event_off(&event);
		while (next_record(&event, self->record)) {
			ASSERT_GE(self->record->size, sizeof(*self->record));
			if (self->record->type != PERF_RECORD_SAMPLE)
				continue;
			parse(_metadata, &event, self->record);
			samples++;
			if (self->record->size > largest)
				largest = self->record->size;
		}
		TH_LOG("%d samples, largest record %d bytes", samples, largest);
		ASSERT_GT(samples, 0);
		close_event(&event);
	}
}

/* Events that overflow together, each of them with its own types. */
TEST_F(build_id_offset, together)
{
	static const uint64_t types[] = {
		PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET,
		PERF_SAMPLE_IP | PERF_SAMPLE_BUILD_ID_OFFSET,
		PERF_SAMPLE_IP,
		PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
	};
	const int nr_events = ARRAY_SIZE(types);
	struct event event[ARRAY_SIZE(types)];
	char *p = mmap(NULL, 64 * page_size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, p);
	for (int i = 0; i < nr_events; i++) {
		struct perf_event_attr attr = clock_attr(types[i]);

		attr.config = PERF_COUNT_SW_PAGE_FAULTS;
		attr.sample_period = 1;
		attr.exclude_kernel = 1;
		attr.exclude_callchain_kernel = 1;
		ASSERT_EQ(0, open_event(&event[i], attr, 0, -1));
		event_on(&event[i]);
	}
	for (int i = 0; i < 64; i++)
		p[i * page_size] = 1;
	for (int i = 0; i < nr_events; i++) {
		int samples = 0;

		event_off(&event[i]);
		while (next_record(&event[i], self->record)) {
			struct sample s;

			if (self->record->type != PERF_RECORD_SAMPLE)
				continue;
			s = parse(_metadata, &event[i], self->record);
			if (s.ip_entry)
				check_entry(_metadata, s.ip_entry, s.ip, is_user_sample(&s));
			if (s.nr_entries)
				check_chain(_metadata, &s);
			samples++;
		}
		ASSERT_GE(samples, 64);
		close_event(&event[i]);
	}
}

static int sysctl_max_stack(int value)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_max_stack", value ? "r+" : "r");
	int old = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%d", &old) != 1)
		old = -1;
	rewind(f);
	if (value && (fprintf(f, "%d\n", value) < 0 || fflush(f)))
		old = -1;
	fclose(f);
	return old;
}

TEST_F(build_id_offset, max_stack)
{
	struct perf_event_attr attr = clock_attr(PERF_SAMPLE_CALLCHAIN | BOTH);
	int old = sysctl_max_stack(0), samples = 0;
	struct event event;

	ASSERT_GT(old, 0);
	attr.exclude_kernel = 1;
	attr.exclude_callchain_kernel = 1;
	attr.sample_max_stack = old + 1;
	ASSERT_EQ(-1, open_attr(&attr, 0, -1));
	ASSERT_EQ(EOVERFLOW, errno);

	attr.sample_max_stack = 3;
	ASSERT_EQ(0, open_event(&event, attr, 0, -1));
	event_on(&event);
	deep(50, 100);
	event_off(&event);
	while (next_record(&event, self->record)) {
		struct sample s;

		if (self->record->type != PERF_RECORD_SAMPLE)
			continue;
		s = parse(_metadata, &event, self->record);
		check_chain(_metadata, &s);
		ASSERT_LE(s.nr_entries, 3 + 1);
		samples++;
	}
	ASSERT_GT(samples, 0);
	close_event(&event);
}

/* A callchain that is too long for a record is cut, in both forms. */
TEST_F(build_id_offset, long_chain)
{
	struct perf_event_attr attr = clock_attr(PERF_SAMPLE_CALLCHAIN | BOTH);
	int old = sysctl_max_stack(4000), samples = 0;
	struct event event;
	uint64_t longest = 0;
	int err;

	if (old < 0)
		SKIP(return, "cannot set kernel.perf_event_max_stack");
	attr.exclude_kernel = 1;
	attr.exclude_callchain_kernel = 1;
	attr.sample_period = 5000000;
	err = open_event(&event, attr, 0, -1);
	if (!err) {
		event_on(&event);
		deep(3500, 100);
		event_off(&event);
		while (next_record(&event, self->record)) {
			struct sample s;

			if (self->record->type != PERF_RECORD_SAMPLE)
				continue;
			s = parse(_metadata, &event, self->record);
			ASSERT_EQ(s.nr_words, s.nr_entries);
			if (s.nr_entries > longest)
				longest = s.nr_entries;
			samples++;
		}
		close_event(&event);
	}
	/* The buffers are freed after a while. */
	for (int i = 0; i < 100 && sysctl_max_stack(old) < 0; i++)
		usleep(10000);
	ASSERT_EQ(0, err);
	TH_LOG("%d samples, longest callchain %ld", samples, (long)longest);
	ASSERT_GT(samples, 0);
	ASSERT_LE(longest, (65535 - 48) / 40);
}

/* Code that is in no file. */
TEST_F(build_id_offset, jit)
{
#if defined(__x86_64__)
	/* 1: dec %rdi; jnz 1b; ret */
	static const uint8_t code[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
#elif defined(__aarch64__)
	/* 1: subs x0, x0, #1; b.ne 1b; ret */
	static const uint32_t code[] = { 0xf1000400, 0x54ffffe1, 0xd65f03c0 };
#else
	static const uint8_t code[] = {};

	SKIP(return, "no code for this architecture");
#endif
	struct event event;
	int samples = 0;
	char *jit;

	jit = mmap(NULL, page_size, PROT_READ | PROT_WRITE | PROT_EXEC,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, jit);
	memcpy(jit, code, sizeof(code));
	__builtin___clear_cache(jit, jit + sizeof(code));

	for (int defer = 0; defer < 2; defer++) {
		struct perf_event_attr attr = clock_attr(PERF_SAMPLE_IP |
							 PERF_SAMPLE_BUILD_ID_OFFSET);

		attr.exclude_kernel = 1;
		attr.defer_callchain = defer;
		attr.defer_output = defer;
		ASSERT_EQ(0, open_event(&event, attr, 0, -1));
		event_on(&event);
		((void (*)(long))jit)(100000000);
		event_off(&event);
		while (next_record(&event, self->record)) {
			const struct entry *e = NULL;

			if (!defer && self->record->type == PERF_RECORD_SAMPLE)
				e = parse(_metadata, &event, self->record).ip_entry;
			if (defer && self->record->type == PERF_RECORD_CALLCHAIN_DEFERRED)
				e = (struct entry *)((struct deferred *)self->record)->words;
			if (!e)
				continue;
			check_form(_metadata, e);
			if (e->size || e->offset - (uintptr_t)jit >= sizeof(code))
				continue;
			samples++;
		}
		ASSERT_GT(samples, 0);
		close_event(&event);
	}
}

/*
 * Write an ELF program of either class that loops forever at file offset @loop,
 * and has a build ID of 8 bytes.
 */
static bool write_program(const char *path, bool is64, uint64_t loop)
{
#if defined(__aarch64__)
	static const uint8_t code[] = { 0x00, 0x00, 0x00, 0x14 };	/* b . */
	int machine = is64 ? EM_AARCH64 : EM_NONE;
#elif defined(__x86_64__)
	static const uint8_t code[] = { 0xeb, 0xfe };			/* jmp . */
	int machine = is64 ? EM_X86_64 : EM_386;
#else
	static const uint8_t code[] = {};
	int machine = EM_NONE;
#endif
	static const struct {
		Elf32_Nhdr nh;
		char name[4];
		uint8_t id[8];
	} note = { { 4, 8, NT_GNU_BUILD_ID }, "GNU", { 1, 2, 3, 4, 5, 6, 7, 8 } };
	uint64_t base = 0x400000, size = loop + sizeof(code), at = 0x400;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	bool ok = machine != EM_NONE && fd >= 0 && !fchmod(fd, 0755);

	if (is64) {
		struct {
			Elf64_Ehdr eh;
			Elf64_Phdr ph[2];
		} elf = { {
			.e_type = ET_EXEC, .e_machine = machine, .e_version = 1,
			.e_entry = base + loop, .e_phoff = sizeof(Elf64_Ehdr),
			.e_ehsize = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2,
		}, {
			{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = base,
			  .p_filesz = size, .p_memsz = size, .p_align = 0x1000 },
			{ .p_type = PT_NOTE, .p_offset = at, .p_filesz = sizeof(note) },
		} };

		memcpy(elf.eh.e_ident, ELFMAG "\2\1\1", 7);
		ok = ok && write(fd, &elf, sizeof(elf)) == sizeof(elf);
	} else {
		struct {
			Elf32_Ehdr eh;
			Elf32_Phdr ph[2];
		} elf = { {
			.e_type = ET_EXEC, .e_machine = machine, .e_version = 1,
			.e_entry = base + loop, .e_phoff = sizeof(Elf32_Ehdr),
			.e_ehsize = sizeof(Elf32_Ehdr), .e_phentsize = sizeof(Elf32_Phdr),
			.e_phnum = 2,
		}, {
			{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = base,
			  .p_filesz = size, .p_memsz = size, .p_align = 0x1000 },
			{ .p_type = PT_NOTE, .p_offset = at, .p_filesz = sizeof(note) },
		} };

		memcpy(elf.eh.e_ident, ELFMAG "\1\1\1", 7);
		ok = ok && write(fd, &elf, sizeof(elf)) == sizeof(elf);
	}
	ok = ok && pwrite(fd, &note, sizeof(note), at) == sizeof(note) &&
	     pwrite(fd, code, sizeof(code), loop) == sizeof(code);
	if (fd >= 0)
		close(fd);
	return ok;
}

/* Programs of both classes, started while the event is on its parent. */
TEST_F(build_id_offset, exec)
{
	static const uint8_t id[20] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	char path[] = "/tmp/build_id_offset.XXXXXX";
	const uint64_t loop = 0x1234;
	int fd = mkstemp(path), done = 0;

	ASSERT_GE(fd, 0);
	close(fd);
	for (int mode = 0; mode < 4; mode++) {
		bool is64 = mode & 1, defer = mode & 2;
		struct perf_event_attr attr = clock_attr(PERF_SAMPLE_IP | BOTH);
		int samples = 0, resolved = 0, go[2], failed = 0;
		struct event event;
		pid_t pid;

		if (!write_program(path, is64, loop))
			continue;
		ASSERT_EQ(0, pipe2(go, O_CLOEXEC));
		pid = fork();
		if (!pid) {
			char c;

			if (read(go[0], &c, 1) == 1)
				execl(path, path, NULL);
			_exit(127);
		}
		attr.exclude_kernel = 1;
		attr.exclude_callchain_kernel = 1;
		attr.enable_on_exec = 1;
		attr.defer_callchain = defer;
		attr.defer_output = defer;
		ASSERT_EQ(0, open_event(&event, attr, pid, -1));
		ASSERT_EQ(1, write(go[1], "", 1));
		for (int i = 0; i < 100 && event.ring->data_head < 5000; i++) {
			usleep(10000);
			failed = waitpid(pid, NULL, WNOHANG);
			if (failed)
				break;
		}
		if (!failed) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
		}
		close(go[0]);
		close(go[1]);
		while (!failed && next_record(&event, self->record)) {
			const struct entry *e = NULL;

			if (!defer && self->record->type == PERF_RECORD_SAMPLE)
				e = parse(_metadata, &event, self->record).ip_entry;
			if (defer && self->record->type == PERF_RECORD_CALLCHAIN_DEFERRED)
				e = (struct entry *)((struct deferred *)self->record)->words;
			if (!e)
				continue;
			check_form(_metadata, e);
			samples++;
			if (!e->size)
				continue;
			ASSERT_EQ(8, e->size);
			ASSERT_EQ(0, memcmp(e->build_id, id, 20));
			ASSERT_EQ(loop, e->offset);
			resolved++;
		}
		close_event(&event);
		TH_LOG("ELF%d, %s: %d samples, %d resolved%s", is64 ? 64 : 32,
		       defer ? "deferred" : "in place", samples, resolved,
		       failed ? ", does not run here" : "");
		if (failed)
			continue;
		done++;
		ASSERT_GT(resolved, 0);
	}
	unlink(path);
	if (!done)
		SKIP(return, "no program for this architecture");
}

/* Whole CPUs: kernel threads, idle, tasks that come, map, run and end. */
TEST_F(build_id_offset, system)
{
	int nr_cpus = sysconf(_SC_NPROCESSORS_ONLN), samples = 0, resolved = 0;
	struct event event[2 * 64];

	if (nr_cpus > 64)
		nr_cpus = 64;
	for (int i = 0; i < 2 * nr_cpus; i++) {
		struct perf_event_attr attr = clock_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TID |
							 PERF_SAMPLE_CALLCHAIN | BOTH);
		int err;

		attr.config = PERF_COUNT_SW_CPU_CLOCK;
		attr.defer_callchain = i & 1;
		attr.defer_output = i & 1;
		err = open_event(&event[i], attr, -1, i / 2);
		if (err == -EACCES || err == -EPERM)
			SKIP(return, "not allowed to sample CPUs");
		ASSERT_EQ(0, err);
		event_on(&event[i]);
	}
	for (uint64_t end = now_ms() + 1000; now_ms() < end;) {
		pid_t pid = fork();

		if (!pid) {
			void *p = mmap(NULL, 16 * page_size, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			memset(p, 1, 16 * page_size);
			munmap(p, 16 * page_size);
			if (getpid() & 1)
				execl("/bin/true", "true", NULL);
			_exit(0);
		}
		ASSERT_GT(pid, 0);
		waitpid(pid, NULL, 0);
	}
	for (int i = 0; i < 2 * nr_cpus; i++) {
		event_off(&event[i]);
		while (next_record(&event[i], self->record)) {
			struct sample s;

			if (self->record->type != PERF_RECORD_SAMPLE)
				continue;
			s = parse(_metadata, &event[i], self->record);
			if (!is_deferred(s.ip_entry)) {
				check_form(_metadata, s.ip_entry);
				if (s.ip_entry->size)
					ASSERT_TRUE(is_user_sample(&s));
				if (!s.ip_entry->size)
					ASSERT_EQ(s.ip, s.ip_entry->offset);
			}
			ASSERT_EQ(s.nr_words, s.nr_entries);
			for (uint64_t n = 0; n < s.nr_entries; n++) {
				check_form(_metadata, &s.entries[n]);
				if (!s.entries[n].size)
					ASSERT_EQ(s.words[n], s.entries[n].offset);
				resolved += !!s.entries[n].size;
			}
			samples++;
		}
		close_event(&event[i]);
	}
	TH_LOG("%d samples, %d resolved in callchains", samples, resolved);
	ASSERT_GT(samples, 0);
}

/* What cannot work is refused, and what is not allowed. */
TEST_F(build_id_offset, refused)
{
	struct perf_event_attr attr = clock_attr(PERF_SAMPLE_BUILD_ID_OFFSET);
	int level = -1, status;
	FILE *f;
	pid_t pid;

	attr.exclude_kernel = 1;
	attr.exclude_callchain_kernel = 1;
	attr.aux_output = 1;
	ASSERT_EQ(-1, open_attr(&attr, 0, -1));
	ASSERT_EQ(EINVAL, errno);
	attr.aux_output = 0;
	attr.sample_type = 1ull << 27;
	ASSERT_EQ(-1, open_attr(&attr, 0, -1));
	ASSERT_EQ(EINVAL, errno);

	f = fopen("/proc/sys/kernel/perf_event_paranoid", "r");
	if (!f || fscanf(f, "%d", &level) != 1 || level != 2)
		SKIP(return, "kernel.perf_event_paranoid is not 2");
	fclose(f);
	if (geteuid())
		SKIP(return, "not root");

	pid = fork();
	if (!pid) {
		int bad = 0, fd;

		if (setresuid(65534, 65534, 65534))
			_exit(99);
		for (int chain = 0; chain < 2; chain++) {
			attr = clock_attr(chain ? PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET :
					  PERF_SAMPLE_BUILD_ID_OFFSET);
			fd = open_attr(&attr, 0, -1);
			bad |= (fd >= 0 || errno != EACCES) << 4 * chain;
			attr.exclude_kernel = 1;
			fd = open_attr(&attr, 0, -1);
			bad |= (chain ? fd >= 0 || errno != EACCES : fd < 0) << (4 * chain + 1);
			attr.exclude_callchain_kernel = 1;
			fd = open_attr(&attr, 0, -1);
			bad |= (fd < 0) << (4 * chain + 2);
		}
		_exit(bad);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	ASSERT_EQ(0, WEXITSTATUS(status));
}

TEST_HARNESS_MAIN
