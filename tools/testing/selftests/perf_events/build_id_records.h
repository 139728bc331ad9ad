/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests of samples with build ID and file offset: opens events by hand, and
 * compares the entries in the ring buffer with the addresses beside them,
 * /proc/self/maps and the build ID notes of the mapped files.
 */
#ifndef BUILD_ID_RECORDS_H
#define BUILD_ID_RECORDS_H

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
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
	uint32_t pid, tid;
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

/* The same with PERF_RECORD_MISC_CALLCHAIN_BUILD_ID. */
struct deferred_entries {
	struct perf_event_header header;
	uint64_t cookie;
	struct entry ip;
	uint64_t nr;
	struct entry ips[];
};

struct event {
	struct perf_event_attr attr;
	int fd;
	struct perf_event_mmap_page *ring;
	int ring_pages;
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
static inline int file_build_id(const char *path, uint8_t *build_id)
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
static inline bool find_map(uint64_t addr, struct map *map)
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

/* A mapping of this process of a file with that build ID. */
static inline bool find_build_id(const uint8_t *build_id, int size, struct map *map)
{
	char line[4096], path[4096];
	bool found = false;
	FILE *maps;

	maps = fopen("/proc/self/maps", "r");
	if (!maps)
		return false;
	while (!found && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %4095s", &map->start, &map->end,
			   &map->pgoff, path) == 4 && path[0] == '/') {
			map->size = file_build_id(path, map->build_id);
			found = map->size == size && !memcmp(map->build_id, build_id, size);
		}
	}
	fclose(maps);
	return found;
}

/* What must hold of any entry. */
static inline void check_form(struct __test_metadata *_metadata, const struct entry *e)
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
static inline bool check_entry(struct __test_metadata *_metadata, const struct entry *e,
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

static inline bool is_user_sample(const struct sample *s)
{
	return (s->header->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER;
}

static inline bool is_marker(uint64_t word)
{
	return word >= (uint64_t)PERF_CONTEXT_MAX;
}

/* The entries of a callchain against its words. Returns the number resolved. */
static inline int check_chain(struct __test_metadata *_metadata, const struct sample *s)
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

static inline struct perf_event_attr clock_attr(uint64_t sample_type)
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

/* The number by which a tracepoint is opened, or -1. */
static inline int tracepoint_id(const char *name)
{
	static const char * const mounts[] = {
		"/sys/kernel/tracing", "/sys/kernel/debug/tracing",
	};
	char path[256];
	int id = -1;

	for (unsigned int i = 0; i < 2 && id < 0; i++) {
		FILE *f;

		snprintf(path, sizeof(path), "%s/events/%s/id", mounts[i], name);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (fscanf(f, "%d", &id) != 1)
			id = -1;
		fclose(f);
	}
	return id;
}

static inline struct perf_event_attr tracepoint_attr(int id, uint64_t sample_type)
{
	struct perf_event_attr attr = clock_attr(sample_type);

	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = id;
	attr.sample_period = 1;
	return attr;
}

static inline int open_attr(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	return syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static inline int open_event_pages(struct event *event, struct perf_event_attr attr, pid_t pid,
				   int cpu, int ring_pages)
{
	event->attr = attr;
	event->fd = open_attr(&event->attr, pid, cpu);
	if (event->fd < 0)
		return -errno;
	event->ring_pages = ring_pages;
	event->ring = mmap(NULL, (1 + ring_pages) * page_size, PROT_READ | PROT_WRITE,
			   MAP_SHARED, event->fd, 0);
	if (event->ring == MAP_FAILED)
		return -errno;
	return 0;
}

static inline int open_event(struct event *event, struct perf_event_attr attr, pid_t pid, int cpu)
{
	return open_event_pages(event, attr, pid, cpu, RING_PAGES);
}

static inline void close_event(struct event *event)
{
	munmap(event->ring, (1 + event->ring_pages) * page_size);
	close(event->fd);
}

/* Copy the next record, in one piece. */
static inline bool next_record(struct event *event, struct perf_event_header *record)
{
	uint64_t head = __atomic_load_n(&event->ring->data_head, __ATOMIC_ACQUIRE);
	uint64_t size = event->ring_pages * page_size, tail = event->ring->data_tail;
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
static inline struct sample parse(struct __test_metadata *_metadata, const struct event *event,
				  const struct perf_event_header *header)
{
	const uint64_t *p = (uint64_t *)(header + 1);
	uint64_t type = event->attr.sample_type;
	struct sample s = { .header = header };

	ASSERT_EQ(0, header->size % 8);
	if (type & PERF_SAMPLE_IP)
		s.ip = *p++;
	if (type & PERF_SAMPLE_TID) {
		s.pid = *p;
		s.tid = *p++ >> 32;
	}
	/* Of a group, each with its ID. */
	if (type & PERF_SAMPLE_READ)
		p += 1 + 2 * *p;
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

/* Copy and take apart the next PERF_RECORD_SAMPLE, and skip what is before it. */
static inline bool next_sample(struct __test_metadata *_metadata, struct event *event,
			       struct perf_event_header *record, struct sample *s)
{
	while (next_record(event, record)) {
		if (record->type != PERF_RECORD_SAMPLE)
			continue;
		*s = parse(_metadata, event, record);
		return true;
	}
	return false;
}

static inline void event_on(struct event *event)
{
	ioctl(event->fd, PERF_EVENT_IOC_ENABLE, 0);
}

static inline void event_off(struct event *event)
{
	ioctl(event->fd, PERF_EVENT_IOC_DISABLE, 0);
}

/*
 * Workloads, of which not each test has all
 */

static uint64_t sink;

/* What the compiler must not drop. */
static inline void use(uint64_t value)
{
	sink += value;
	asm volatile("" : : "m" (sink));
}

static inline uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ull + ts.tv_nsec / 1000000;
}

/* Spend time in user mode, and some in the kernel. */
static __attribute_noinline__ __attribute_used__ void burn(int ms)
{
	uint64_t end = now_ms() + ms;

	do {
		for (int i = 0; i < 20000; i++)
			use(i);
		syscall(SYS_getppid);
	} while (now_ms() < end);
}

static __attribute_noinline__ __attribute_used__ int deep(int frames, int ms)
{
	int depth = 0;

	if (frames)
		depth = deep(frames - 1, ms);
	else
		burn(ms);
	use(depth);		/* no tail call */
	return depth + 1;
}

static __attribute_noinline__ __attribute_used__ int target(int i)
{
	asm volatile("");
	return i + 1;
}

/* A breakpoint on target(): a sample with an address that is known. */
static inline struct perf_event_attr target_attr(uint64_t sample_type)
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

/* Does @e say that the address is resolved in the record of a cookie? */
static inline bool is_deferred(const struct entry *e)
{
	const uint64_t *p = (const uint64_t *)e;

	return p[0] == 0 && p[1] == (uint64_t)PERF_CONTEXT_USER_DEFERRED;
}

/* Does this kernel leave callchains to when the task returns to user space? */
static inline bool callchains_are_deferred(struct __test_metadata *_metadata,
					   struct perf_event_header *record)
{
	struct perf_event_attr attr = clock_attr(PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN);
	struct event event;
	bool found = false;
	struct sample s;

	attr.exclude_kernel = 1;
	attr.exclude_callchain_kernel = 1;
	attr.defer_callchain = 1;
	ASSERT_EQ(0, open_event(&event, attr, 0, -1));
	/* A machine that has much to do may not let this run for long. */
	for (int i = 0; i < 100 && !found; i++) {
		event_on(&event);
		burn(50);
		event_off(&event);
		if (!next_sample(_metadata, &event, record, &s))
			continue;
		do {
			for (uint64_t j = 0; j < s.nr_words; j++)
				found |= s.words[j] == (uint64_t)PERF_CONTEXT_USER_DEFERRED;
		} while (next_sample(_metadata, &event, record, &s));
		break;
	}
	close_event(&event);
	return found;
}

/* Why these tests cannot run here, or NULL. */
static inline const char *cannot_run(void)
{
	struct perf_event_attr attr = clock_attr(PERF_SAMPLE_IP);
	uint8_t build_id[20];
	int fd;

	page_size = sysconf(_SC_PAGESIZE);
	attr.exclude_kernel = 1;
	fd = open_attr(&attr, 0, -1);
	if (fd < 0)
		return "events are not allowed";
	close(fd);
	attr.sample_type |= PERF_SAMPLE_BUILD_ID_OFFSET;
	fd = open_attr(&attr, 0, -1);
	if (fd < 0)
		return "the kernel does not write build ID and offset";
	close(fd);
	if (!file_build_id("/proc/self/exe", build_id))
		return "this program has no build ID";
	return NULL;
}

/* Skip the test, or have a buffer for a record, to be freed. */
static inline struct perf_event_header *new_record(struct __test_metadata *_metadata)
{
	const char *reason = cannot_run();
	struct perf_event_header *record;

	if (reason)
		SKIP(return NULL, "%s", reason);
	record = malloc(MAX_RECORD);
	ASSERT_NE(NULL, record);
	return record;
}

#ifndef OWN_FIXTURE
/* What most tests have. */
FIXTURE(build_id)
{
	struct perf_event_header *record;
};

FIXTURE_SETUP(build_id)
{
	self->record = new_record(_metadata);
}

FIXTURE_TEARDOWN(build_id)
{
	free(self->record);
}
#endif

#endif /* BUILD_ID_RECORDS_H */
