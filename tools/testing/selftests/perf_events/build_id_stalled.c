// SPDX-License-Identifier: GPL-2.0
/* Samples with build ID and file offset of code in a file whose server does not answer. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#define OWN_FIXTURE
#include "build_id_records.h"
#include "stalled_file.h"

#define ROUNDS 10

FIXTURE(stalled)
{
	struct perf_event_header *record;
	struct stalled_file file;
	uint64_t code, size;		/* the mapping of the file */
};

/* Code of the file. It must run at any address. */
static __attribute_noinline__ __attribute_used__
void spin(volatile bool *stop, volatile uint64_t *count)
{
	while (!*stop)
		++*count;
}

static __attribute_noinline__ __attribute_used__ void call(void (*function)(void))
{
	function();
	asm volatile("");		/* no tail call */
}

FIXTURE_SETUP(stalled)
{
	const char *reason;

	self->record = new_record(_metadata);
	if (!self->record)
		return;
	if (!callchains_are_deferred(_metadata, self->record))
		SKIP(return, "callchains are not deferred here");
	reason = stalled_file_begin(&self->file);
	if (reason)
		SKIP(return, "%s", reason);
}

FIXTURE_TEARDOWN(stalled)
{
	stalled_file_end(&self->file);
	free(self->record);
}

static void *map_code(struct __test_metadata *_metadata, FIXTURE_DATA(stalled) *self, void *code)
{
	struct map map;
	void *copy;

	ASSERT_TRUE(find_map((uintptr_t)code, &map));
	map.pgoff += (uintptr_t)code - map.start;
	ASSERT_GE(map.pgoff, page_size);
	self->size = page_size;
	copy = stalled_file_map(&self->file, code, map.pgoff, self->size);
	ASSERT_NE(NULL, copy);
	self->code = (uintptr_t)copy;
	return copy;
}

/* Nothing in a record of entries may be anything but what belongs there. */
static bool check_record(struct __test_metadata *_metadata, FIXTURE_DATA(stalled) *self,
			 const struct deferred_entries *d)
{
	const struct entry *e = d->ips;
	bool found = false;
	struct map map;

	/* No event here has PERF_SAMPLE_BUILD_ID_OFFSET and checks its records. */
	ASSERT_EQ(0, d->ip.size);
	ASSERT_EQ(0, d->ip.offset);
	for (uint64_t i = 0; i < d->nr; i++) {
		check_form(_metadata, &e[i]);
		if (e[i].size) {
			ASSERT_TRUE(find_build_id(e[i].build_id, e[i].size, &map));
			ASSERT_LT(e[i].offset, 1ull << 32);
			continue;
		}
		ASSERT_NE(0, e[i].offset);
		ASSERT_EQ(0, e[i].offset >> 63);
		found |= e[i].offset - self->code < self->size;
	}
	return found;
}

/* The deferred records of @tid, checked. Returns how many have the code of the file in them. */
static int check_records(struct __test_metadata *_metadata, FIXTURE_DATA(stalled) *self,
			 struct event *event, pid_t tid)
{
	struct deferred_entries *d = (struct deferred_entries *)self->record;
	int nr = 0;

	while (next_record(event, self->record)) {
		const uint32_t *id = (uint32_t *)((char *)d + d->header.size - sizeof(uint64_t));

		if (d->header.type != PERF_RECORD_CALLCHAIN_DEFERRED || id[1] != tid)
			continue;
		ASSERT_TRUE(d->header.misc & PERF_RECORD_MISC_CALLCHAIN_BUILD_ID);
		nr += check_record(_metadata, self, d);
	}
	return nr;
}

/* A samples what is in the file, B is one that wants more of it, but too late. */
struct pair {
	struct stalled_file *file;
	struct event a, b;
	pid_t tid;			/* that is sampled */
	bool moves;			/* else B is enabled */
	volatile bool stop, failed;
};

static void open_pair(struct __test_metadata *_metadata, struct pair *p, bool system)
{
	struct perf_event_attr attr = clock_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TID |
						 PERF_SAMPLE_BUILD_ID_OFFSET);

	attr.exclude_kernel = 1;
	attr.exclude_callchain_kernel = 1;
	attr.defer_callchain = 1;
	attr.defer_output = 1;
	attr.sample_id_all = 1;
	attr.sample_period = 5000000;
	if (system)
		attr.config = PERF_COUNT_SW_CPU_CLOCK;
	ASSERT_EQ(0, open_event_pages(&p->a, attr, system ? -1 : 0, system ? 0 : -1, 32));

	attr.config = PERF_COUNT_SW_DUMMY;
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET;
	ASSERT_EQ(0, open_event_pages(&p->b, attr, system ? -1 : 0, system ? 1 : -1, 32));
}

static void set_cpu(pid_t tid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(tid, sizeof(set), &set);
}

/* While the sampled thread waits for the file, have B get its record. */
static void *disturb(void *arg)
{
	struct pair *p = arg;

	for (int i = 0; i < ROUNDS && !p->failed; i++) {
		uint64_t head;

		p->file->shared->stall = true;
		p->failed = !stalled_file_wait(p->file, true);
		head = __atomic_load_n(&p->b.ring->data_head, __ATOMIC_ACQUIRE);
		if (p->moves)
			set_cpu(p->tid, 1);
		else
			event_on(&p->b);
		p->file->shared->stall = false;
		for (int ms = 0; ms < 1000; ms++) {
			if (__atomic_load_n(&p->b.ring->data_head, __ATOMIC_ACQUIRE) != head)
				break;
			usleep(1000);
		}
		if (p->moves)
			set_cpu(p->tid, 0);
		else
			event_off(&p->b);
	}
	p->stop = true;
	return NULL;
}

static void run_pair(struct __test_metadata *_metadata, FIXTURE_DATA(stalled) *self,
		     struct pair *p)
{
	void (*code)(volatile bool *stop, volatile uint64_t *count);
	volatile uint64_t count = 0;
	pthread_t thread;

	code = map_code(_metadata, self, spin);
	p->file = &self->file;
	p->tid = syscall(SYS_gettid);
	ASSERT_EQ(0, pthread_create(&thread, NULL, disturb, p));
	event_on(&p->a);
	code(&p->stop, &count);
	event_off(&p->a);
	pthread_join(thread, NULL);
	ASSERT_FALSE(p->failed);
}

/* An ordinary user enables B while what A asks for is being read. */
TEST_F(stalled, enabled_late)
{
	struct pair p = {};
	int nr;

	ASSERT_EQ(0, seteuid(65534));
	open_pair(_metadata, &p, false);
	run_pair(_metadata, self, &p);
	nr = check_records(_metadata, self, &p.b, p.tid);
	ASSERT_EQ(0, seteuid(0));
	TH_LOG("%d records", nr);
	ASSERT_GE(nr, ROUNDS / 2);
	close_event(&p.a);
	close_event(&p.b);
}

/* The thread goes to the CPU of B while what A asks for on its CPU is being read. */
TEST_F(stalled, moved)
{
	struct pair p = { .moves = true };
	int nr;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "a single CPU");
	open_pair(_metadata, &p, true);
	event_on(&p.b);
	set_cpu(0, 0);
	run_pair(_metadata, self, &p);
	event_off(&p.b);
	nr = check_records(_metadata, self, &p.b, p.tid);
	TH_LOG("%d records", nr);
	ASSERT_GE(nr, ROUNDS / 2);
	close_event(&p.a);
	close_event(&p.b);
}

FIXTURE(ending)
{
	FIXTURE_DATA(stalled) s;
};

FIXTURE_VARIANT(ending)
{
	const char *tracepoint;
	void (*end)(void);
	bool traced;			/* stops at PTRACE_EVENT_EXIT */
	bool no_frames;			/* the stack has no code of the file */
};

/* The first page of the file, which is never in the page cache. */
static void *stalled_page;

static void end_exit(void)
{
	_exit(0);
}

static void end_abort(void)
{
	raise(SIGABRT);
}

/* Exit with a frame pointer to that page. Unwinders go up only, so move the stack down. */
static void end_bad_frame(void)
{
#ifdef __x86_64__
	char *stack = mmap((void *)0x10000000, page_size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (stack == MAP_FAILED)
		_exit(1);
	asm volatile("mov %0, %%rsp\n\t"
		     "mov %1, %%rbp\n\t"
		     "xor %%edi, %%edi\n\t"
		     "syscall"
		     : : "r"(stack + page_size), "r"(stalled_page), "a"(SYS_exit_group) : "memory");
#endif
}

FIXTURE_VARIANT_ADD(ending, exit)
{
	.tracepoint = "syscalls/sys_enter_exit_group",
	.end = end_exit,
};

FIXTURE_VARIANT_ADD(ending, signal)
{
	.tracepoint = "signal/signal_deliver",
	.end = end_abort,
};

FIXTURE_VARIANT_ADD(ending, traced)
{
	.tracepoint = "syscalls/sys_enter_exit_group",
	.end = end_exit,
	.traced = true,
};

FIXTURE_VARIANT_ADD(ending, bad_frame)
{
	.tracepoint = "syscalls/sys_enter_exit_group",
	.end = end_bad_frame,
	.no_frames = true,
};

FIXTURE_SETUP(ending)
{
	stalled_setup(_metadata, &self->s, NULL);
}

FIXTURE_TEARDOWN(ending)
{
	stalled_teardown(_metadata, &self->s, NULL);
}

/* Whether @pid ends within 5 seconds. If it is traced, let it go on from its last stop. */
static bool ends(pid_t pid, bool traced)
{
	struct pollfd poll_fd = { .events = POLLIN };
	bool ended = false;

	poll_fd.fd = syscall(SYS_pidfd_open, pid, 0);
	for (int ms = 0; poll_fd.fd >= 0 && !ended && ms < 5000; ms += 10) {
		siginfo_t stop = {};

		if (traced && !waitid(P_PID, pid, &stop, WSTOPPED | WNOHANG) && stop.si_pid)
			ptrace(PTRACE_CONT, pid, NULL, NULL);
		ended = poll(&poll_fd, 1, 10) == 1;
	}
	close(poll_fd.fd);
	return ended;
}

/* A task whose end is sampled does not wait for the file. */
TEST_F(ending, at_once)
{
	struct rlimit no_core = {};
	struct perf_event_attr attr;
	struct event *events;
	int id = tracepoint_id(variant->tracepoint), nr_cpus, nr = 0, fds[2];
	void (*code)(void (*function)(void));
	bool ended;
	pid_t pid;

	if (id < 0)
		SKIP(return, "no tracepoint %s", variant->tracepoint);
	/* Those of the task may be gone when its last callchain is unwound. */
	nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	events = calloc(nr_cpus, sizeof(*events));
	ASSERT_NE(NULL, events);
	attr = tracepoint_attr(id, PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET);
	attr.defer_callchain = 1;
	attr.defer_output = 1;
	attr.sample_id_all = 1;
	for (int cpu = 0; cpu < nr_cpus; cpu++)
		ASSERT_EQ(0, open_event_pages(&events[cpu], attr, -1, cpu, 32));

	code = map_code(_metadata, &self->s, call);
	stalled_page = stalled_file_map(&self->s.file, NULL, 0, page_size);
	ASSERT_NE(NULL, stalled_page);
	ASSERT_EQ(0, pipe(fds));
	self->s.file.shared->stall = true;
	pid = fork();
	if (!pid) {
		char byte;

		setrlimit(RLIMIT_CORE, &no_core);
		if (read(fds[0], &byte, 1) != 1)
			_exit(1);
		/* Else the page would be read in the system call, which can wait. */
		for (int cpu = 0; cpu < nr_cpus; cpu++)
			event_on(&events[cpu]);
		code(variant->end);
		_exit(1);
	}
	ASSERT_GT(pid, 0);
	if (variant->traced)
		ASSERT_EQ(0, ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACEEXIT));
	ASSERT_EQ(1, write(fds[1], "", 1));
	ended = ends(pid, variant->traced);
	self->s.file.shared->stall = false;
	if (!ended && variant->traced)
		ends(pid, true);
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));

	for (int cpu = 0; cpu < nr_cpus; cpu++) {
		event_off(&events[cpu]);
		nr += check_records(_metadata, &self->s, &events[cpu], pid);
		close_event(&events[cpu]);
	}
	free(events);
	TH_LOG("%d records", nr);
	ASSERT_TRUE(ended);
	if (!variant->no_frames)
		ASSERT_GE(nr, 1);
}

TEST_HARNESS_MAIN
