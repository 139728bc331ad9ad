// SPDX-License-Identifier: GPL-2.0
/*
 * Samples of execve(): addresses of the old program are not those of the new
 * one, which has the same code at the same addresses here, but another build ID.
 */
#define _GNU_SOURCE
#define OWN_FIXTURE
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "build_id_records.h"

#define START	"start"		/* argument of the old program, */
#define END	"end"		/* and of the new one */

#define CODE_SIZE 128		/* of do_execve(), at most */

/* execve(), at an address in this file. Returns only if that fails. */
static __attribute_noinline__ void do_execve(const char *path, char **argv, char **envp)
{
#if defined(__x86_64__)
	long ret = SYS_execve;

	asm volatile("syscall" : "+a" (ret) : "D" (path), "S" (argv), "d" (envp)
		     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long nr asm("x8") = SYS_execve;
	register long x0 asm("x0") = (long)path;
	register long x1 asm("x1") = (long)argv;
	register long x2 asm("x2") = (long)envp;

	asm volatile("svc #0" : "+r" (x0) : "r" (nr), "r" (x1), "r" (x2) : "memory");
#endif
}

/* A copy of this program at @path with @build_id changed. */
static bool write_copy(const char *path, const uint8_t *build_id, int size)
{
	int from = open("/proc/self/exe", O_RDONLY), to = open(path, O_WRONLY | O_CREAT, 0755);
	struct stat st;
	bool ok = false;
	char *data, *id;

	if (from >= 0 && to >= 0 && !fstat(from, &st)) {
		data = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, from, 0);
		id = data == MAP_FAILED ? NULL : memmem(data, st.st_size, build_id, size);
		if (id) {
			id[0] ^= 0xff;
			ok = write(to, data, st.st_size) == st.st_size && !fchmod(to, 0755);
		}
	}
	close(from);
	close(to);
	return ok;
}

static void __attribute__((constructor)) program(int argc, char **argv, char **envp)
{
	char *args[3] = {};
	char c;

	if (argc >= 2 && !strcmp(argv[1], END))
		_exit(0);
	if (argc < 3 || strcmp(argv[1], START))
		return;
	/* Samples begin now. */
	if (write(1, "", 1) != 1 || read(0, &c, 1) != 1)
		_exit(1);
	args[0] = argv[0];
	args[1] = END;
	do_execve(argv[2], args, envp);
	_exit(1);
}

struct run {
	char copy[40];
	uint8_t old_id[20];
	int size;
	struct event event;
};

static int run(struct __test_metadata *_metadata, struct run *r, struct perf_event_attr attr)
{
	int to[2], from[2], status, err;
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe(to));
	ASSERT_EQ(0, pipe(from));
	pid = fork();
	if (!pid) {
		personality(ADDR_NO_RANDOMIZE);
		dup2(to[0], 0);
		dup2(from[1], 1);
		close(to[1]);
		execl("/proc/self/exe", "build_id_exec", START, r->copy, NULL);
		_exit(1);
	}
	close(to[0]);
	close(from[1]);
	ASSERT_EQ(1, read(from[0], &c, 1));
	err = open_event(&r->event, attr, pid, -1);
	if (!err)
		event_on(&r->event);
	ASSERT_EQ(1, write(to[1], "", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	close(to[1]);
	close(from[0]);
	return err;
}

FIXTURE(exec)
{
	struct perf_event_header *record;
	struct run run;
};

FIXTURE_SETUP(exec)
{
#if !defined(__x86_64__) && !defined(__aarch64__)
	SKIP(return, "no code for this architecture");
#endif
	self->record = new_record(_metadata);
	if (!self->record)
		return;
	strcpy(self->run.copy, "/tmp/build_id_exec.XXXXXX");
	close(mkstemp(self->run.copy));
	self->run.size = file_build_id("/proc/self/exe", self->run.old_id);
	ASSERT_GT(self->run.size, 0);
	ASSERT_TRUE(write_copy(self->run.copy, self->run.old_id, self->run.size));
}

FIXTURE_TEARDOWN(exec)
{
	unlink(self->run.copy);
	free(self->record);
}

static bool in_new(const struct run *r, const struct entry *e)
{
	uint8_t id[20];

	memcpy(id, r->old_id, sizeof(id));
	id[0] ^= 0xff;
	return e->size == r->size && !memcmp(e->build_id, id, e->size);
}

/* The sample is of the old program, its record is written when the new one is there. */
TEST_F(exec, deferred)
{
	int id = tracepoint_id("syscalls/sys_enter_execve"), nr = 0, nr_samples = 0;
	struct perf_event_attr attr;
	uint64_t cookie = 0, ip = 0;

	if (id < 0)
		SKIP(return, "no tracepoints");
	if (!callchains_are_deferred(_metadata, self->record))
		SKIP(return, "callchains are not deferred here");
	attr = tracepoint_attr(id, PERF_SAMPLE_IP | BOTH);
	attr.defer_callchain = 1;
	attr.defer_output = 1;
	ASSERT_EQ(0, run(_metadata, &self->run, attr));
	while (next_record(&self->run.event, self->record)) {
		const struct deferred_entries *d = (struct deferred_entries *)self->record;

		if (self->record->type == PERF_RECORD_SAMPLE) {
			struct sample s = parse(_metadata, &self->run.event, self->record);

			ASSERT_TRUE(is_deferred(s.ip_entry));
			cookie = ((const uint64_t *)s.ip_entry)[2];
			ip = s.ip;
			nr_samples++;
			continue;
		}
		if (self->record->type != PERF_RECORD_CALLCHAIN_DEFERRED)
			continue;
		ASSERT_EQ(cookie, d->cookie);
		/* The address is still there, but there is no callchain any more. */
		check_form(_metadata, &d->ip);
		ASSERT_EQ(0, d->ip.size);
		ASSERT_EQ(ip, d->ip.offset);
		ASSERT_EQ(0, d->nr);
		nr++;
	}
	close_event(&self->run.event);
	ASSERT_EQ(1, nr_samples);
	ASSERT_EQ(1, nr);
}

/*
 * Page faults of execve() itself, after it has changed the address space: its
 * caller is in the old program.
 */
TEST_F(exec, in_place)
{
	struct perf_event_attr attr = clock_attr(PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN | BOTH);
	int samples = 0, unresolved = 0;
	struct sample s;
	struct map map;
	uint64_t offset;

	ASSERT_TRUE(find_map((uintptr_t)do_execve, &map));
	offset = (uintptr_t)do_execve - map.start + map.pgoff;
	attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	attr.sample_period = 1;
	ASSERT_EQ(0, run(_metadata, &self->run, attr));
	while (next_sample(_metadata, &self->run.event, self->record, &s)) {
		samples++;
		ASSERT_EQ(s.nr_words, s.nr_entries);
		for (uint64_t i = 0; i < s.nr_words; i++) {
			const struct entry *e = &s.entries[i];

			ASSERT_FALSE(in_new(&self->run, e) && e->offset - offset < CODE_SIZE);
			unresolved += !e->size && !is_marker(e->offset) &&
				      ((e->offset - offset) & (page_size - 1)) < CODE_SIZE;
		}
	}
	close_event(&self->run.event);
	TH_LOG("%d samples, the caller of execve() is unresolved in %d", samples, unresolved);
	ASSERT_GT(samples, 0);
}

TEST_HARNESS_MAIN
