// SPDX-License-Identifier: GPL-2.0
/* Samples with build ID and file offset, resolved where they are taken. */
#define _GNU_SOURCE
#include <sys/wait.h>
#include "build_id_records.h"

/* Both forms of address and callchain in one sample must tell the same. */
TEST_F(build_id, in_place)
{
	struct perf_event_attr attr = clock_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TID |
						 PERF_SAMPLE_CALLCHAIN | BOTH);
	int samples = 0, users = 0, resolved = 0, chained = 0;
	struct event event;
	struct sample s;

	ASSERT_EQ(0, open_event(&event, attr, 0, -1));
	event_on(&event);
	burn(200);
	event_off(&event);

	while (next_sample(_metadata, &event, self->record, &s)) {
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
TEST_F(build_id, breakpoint)
{
	for (int chain = 0; chain < 2; chain++) {
		struct event event;
		struct sample s;
		int err, nr = 0;

		err = open_event(&event, target_attr(chain ? PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET :
						     PERF_SAMPLE_BUILD_ID_OFFSET), 0, -1);
		if (err)
			SKIP(return, "no breakpoints: %s", strerror(-err));
		event_on(&event);
		for (int i = 0; i < 10; i++)
			use(target(i));
		event_off(&event);

		while (next_sample(_metadata, &event, self->record, &s)) {
			const struct entry *e;

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

/* Whatever is asked for, a record stays within what its header can tell. */
TEST_F(build_id, sizes)
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

TEST_F(build_id, max_stack)
{
	struct perf_event_attr attr = clock_attr(PERF_SAMPLE_CALLCHAIN | BOTH);
	int old = sysctl_max_stack(0), samples = 0;
	struct event event;
	struct sample s;

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
	while (next_sample(_metadata, &event, self->record, &s)) {
		check_chain(_metadata, &s);
		ASSERT_LE(s.nr_entries, 3 + 1);
		samples++;
	}
	ASSERT_GT(samples, 0);
	close_event(&event);
}

/* A callchain that is too long for a record is cut, in both forms. */
TEST_F(build_id, long_chain)
{
	struct perf_event_attr attr = clock_attr(PERF_SAMPLE_CALLCHAIN | BOTH);
	int old = sysctl_max_stack(4000), samples = 0;
	struct event event;
	struct sample s;
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
		while (next_sample(_metadata, &event, self->record, &s)) {
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

/* What cannot work is refused, and what is not allowed. */
TEST_F(build_id, refused)
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
