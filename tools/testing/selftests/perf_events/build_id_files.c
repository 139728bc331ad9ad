// SPDX-License-Identifier: GPL-2.0
/* Build ID and file offset of code in files that are made here, and of code in none. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "build_id_records.h"

/* The entry of the sampled address, if it is in @record. */
static const struct entry *address_entry(struct __test_metadata *_metadata,
					 const struct event *event,
					 const struct perf_event_header *record)
{
	bool defer = event->attr.defer_callchain;

	if (!defer && record->type == PERF_RECORD_SAMPLE)
		return parse(_metadata, event, record).ip_entry;
	if (defer && record->type == PERF_RECORD_CALLCHAIN_DEFERRED)
		return &((const struct deferred_entries *)record)->ip;
	return NULL;
}

/* Code that is in no file. */
TEST_F(build_id, jit)
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
			const struct entry *e = address_entry(_metadata, &event, self->record);

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
TEST_F(build_id, exec)
{
	static const uint8_t id[20] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	char path[] = "/tmp/build_id_offset.XXXXXX";
	const uint64_t loop = 0x1234;
	int fd = mkstemp(path), done = 0, nr_modes = 4;

	ASSERT_GE(fd, 0);
	close(fd);
	if (!callchains_are_deferred(_metadata, self->record))
		nr_modes = 2;
	for (int mode = 0; mode < nr_modes; mode++) {
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
			const struct entry *e = address_entry(_metadata, &event, self->record);

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

TEST_HARNESS_MAIN
