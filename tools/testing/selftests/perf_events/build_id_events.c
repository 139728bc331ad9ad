// SPDX-License-Identifier: GPL-2.0
/* Build ID and file offset in samples of all kinds of events, tasks and CPUs. */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/wait.h>
#include "build_id_records.h"

/* Parse all samples and check them. Returns their number. */
static int check_samples(struct __test_metadata *_metadata, struct event *event,
			 struct perf_event_header *record, int *resolved)
{
	int samples = 0;
	struct sample s;

	*resolved = 0;
	while (next_sample(_metadata, event, record, &s)) {
		if (s.ip_entry)
			*resolved += check_entry(_metadata, s.ip_entry, s.ip, is_user_sample(&s));
		if (s.entries)
			*resolved += check_chain(_metadata, &s);
		samples++;
	}
	return samples;
}

/* The sampled address is in the kernel, what called it is not. */
TEST_F(build_id, tracepoint)
{
	int id = tracepoint_id("syscalls/sys_enter_getppid"), resolved;
	struct event event;

	if (id < 0)
		SKIP(return, "no tracepoint of a system call");
	ASSERT_EQ(0, open_event(&event, tracepoint_attr(id, PERF_SAMPLE_IP | PERF_SAMPLE_RAW |
						       PERF_SAMPLE_CALLCHAIN | BOTH), 0, -1));
	event_on(&event);
	for (int i = 0; i < 10; i++)
		syscall(SYS_getppid);
	event_off(&event);
	ASSERT_EQ(10, check_samples(_metadata, &event, self->record, &resolved));
	ASSERT_GE(resolved, 10);
	close_event(&event);
}

/* An event of this task's child, taken by this task. Its addresses are not the child's. */
TEST_F(build_id, other_task)
{
	int id = tracepoint_id("sched/sched_waking"), go[2], samples, resolved;
	struct event event;
	pid_t pid;

	if (id < 0)
		SKIP(return, "no tracepoint of the scheduler");
	ASSERT_EQ(0, pipe(go));
	pid = fork();
	if (!pid) {
		char c;

		while (read(go[0], &c, 1) == 1 && c)
			;
		_exit(0);
	}
	ASSERT_EQ(0, open_event(&event, tracepoint_attr(id, PERF_SAMPLE_IP | PERF_SAMPLE_TID |
						       PERF_SAMPLE_RAW | PERF_SAMPLE_CALLCHAIN |
						       BOTH), pid, -1));
	event_on(&event);
	for (int i = 0; i < 10; i++) {
		ASSERT_EQ(1, write(go[1], "1", 1));
		usleep(10000);
	}
	event_off(&event);
	ASSERT_EQ(1, write(go[1], "", 1));
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	samples = check_samples(_metadata, &event, self->record, &resolved);
	TH_LOG("%d samples, %d resolved", samples, resolved);
	close(go[0]);
	close(go[1]);
	close_event(&event);
}

/* What counters of the group say stands before the entries. */
TEST_F(build_id, group)
{
	struct perf_event_attr attr = clock_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TID |
						 PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | BOTH);
	int member, resolved;
	struct event leader;

	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	ASSERT_EQ(0, open_event(&leader, attr, 0, -1));
	attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	attr.sample_period = 0;
	attr.disabled = 0;
	member = syscall(SYS_perf_event_open, &attr, 0, -1, leader.fd, PERF_FLAG_FD_CLOEXEC);
	ASSERT_GE(member, 0);
	event_on(&leader);
	deep(10, 100);
	event_off(&leader);
	ASSERT_GT(check_samples(_metadata, &leader, self->record, &resolved), 0);
	ASSERT_GT(resolved, 0);
	close(member);
	close_event(&leader);
}

/* Events of a task go on in those that it starts. */
TEST_F(build_id, inherit)
{
	struct perf_event_attr attr = clock_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TID |
						 PERF_SAMPLE_CALLCHAIN | BOTH);
	int nr_cpus = sysconf(_SC_NPROCESSORS_ONLN), child_samples = 0;
	struct event event[64];
	struct sample s;
	pid_t pid;

	if (nr_cpus > 64)
		nr_cpus = 64;
	attr.inherit = 1;
	for (int i = 0; i < nr_cpus; i++) {
		ASSERT_EQ(0, open_event(&event[i], attr, 0, i));
		event_on(&event[i]);
	}
	pid = fork();
	if (!pid) {
		deep(5, 100);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	for (int i = 0; i < nr_cpus; i++) {
		event_off(&event[i]);
		while (next_sample(_metadata, &event[i], self->record, &s)) {
			/* It has the mappings of this one. */
			check_entry(_metadata, s.ip_entry, s.ip, is_user_sample(&s));
			child_samples += check_chain(_metadata, &s) && s.pid == (uint32_t)pid;
		}
		close_event(&event[i]);
	}
	ASSERT_GT(child_samples, 0);
}

/* What is excluded from a callchain of words is from one of entries. */
TEST_F(build_id, exclude)
{
	for (int how = 0; how < 4; how++) {
		struct perf_event_attr attr = clock_attr(PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN |
							 BOTH);
		struct event event;
		struct sample s;

		attr.exclude_user = how == 0;
		attr.exclude_kernel = how == 1;
		attr.exclude_callchain_user = how == 2;
		attr.exclude_callchain_kernel = how == 3;
		ASSERT_EQ(0, open_event(&event, attr, 0, -1));
		event_on(&event);
		burn(100);
		event_off(&event);
		while (next_sample(_metadata, &event, self->record, &s)) {
			check_entry(_metadata, s.ip_entry, s.ip, is_user_sample(&s));
			check_chain(_metadata, &s);
			for (uint64_t i = 0; i < s.nr_entries; i++) {
				if (how == 2)
					ASSERT_EQ(0, s.entries[i].size);
				if (how == 3 && is_marker(s.entries[i].offset))
					ASSERT_NE((uint64_t)PERF_CONTEXT_KERNEL,
						  s.entries[i].offset);
			}
			if (how == 0)
				ASSERT_FALSE(is_user_sample(&s));
			if (how == 1)
				ASSERT_TRUE(is_user_sample(&s));
		}
		close_event(&event);
	}
}

/* Events that overflow together, each of them with its own types. */
TEST_F(build_id, together)
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
		int samples, resolved;

		event_off(&event[i]);
		samples = check_samples(_metadata, &event[i], self->record, &resolved);
		ASSERT_GE(samples, 64);
		close_event(&event[i]);
	}
}

/* A counter of the processor. Where it overflows, the sample is taken in an NMI. */
TEST_F(build_id, hardware)
{
	struct perf_event_attr attr = clock_attr(PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN | BOTH);
	int samples, resolved, err;
	struct event event;

	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	attr.sample_period = 200000;
	err = open_event(&event, attr, 0, -1);
	if (err)
		SKIP(return, "no counter: %s", strerror(-err));
	event_on(&event);
	deep(20, 500);
	event_off(&event);
	samples = check_samples(_metadata, &event, self->record, &resolved);
	TH_LOG("%d samples, %d resolved", samples, resolved);
	ASSERT_GT(samples, 0);
	ASSERT_GT(resolved, 0);
	close_event(&event);
}

/* Whole CPUs: kernel threads, idle, tasks that come, map, run and end. */
TEST_F(build_id, system)
{
	int nr_cpus = sysconf(_SC_NPROCESSORS_ONLN), samples = 0, resolved = 0;
	struct event event[2 * 64];
	struct sample s;

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
		while (next_sample(_metadata, &event[i], self->record, &s)) {
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

TEST_HARNESS_MAIN
