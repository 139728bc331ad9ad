// SPDX-License-Identifier: GPL-2.0
// A stack that takes the kernel as long as possible to resolve: its return addresses are in files that have no build ID,
// but as many program headers and notes as the kernel looks at, in pages that alternate.
#pragma once

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <vector>

class CraftedStack {
public:
	CraftedStack(unsigned int nr_frames, unsigned int files) : frames(nr_frames)
	{
		for (unsigned int i = 0; i < files; i++)
			maps.push_back(map_file());
		for (unsigned int i = 0; i < nr_frames; i++) {
			frames[i].next = i + 1 < nr_frames ? &frames[i + 1] : nullptr;
			frames[i].address = maps[i % files] + i;
		}
	}

	~CraftedStack()
	{
		for (char *map : maps)
			munmap(map, size);
	}

	CraftedStack(const CraftedStack &) = delete;
	CraftedStack &operator=(const CraftedStack &) = delete;

	const void *frame() const { return frames.data(); }

private:
	static constexpr size_t headers = 256;	// as many as lib/buildid.c looks at
	static constexpr size_t notes_at = 5 * 4096;
	static constexpr size_t size = notes_at + (headers + 1) * 4096;

	struct Frame {
		const Frame *next;
		const char *address;
	};
	std::vector<Frame> frames;
	std::vector<char *> maps;

	// Each program header has a note of its own that is in two pages.
	static char *map_file()
	{
		Elf64_Ehdr header = {};
		int fd = memfd_create("crafted", MFD_CLOEXEC);

		if (fd < 0 || ftruncate(fd, size))
			throw std::system_error(errno, std::generic_category(), "memfd");

		char *file = static_cast<char *>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));

		close(fd);
		if (file == MAP_FAILED)
			throw std::system_error(errno, std::generic_category(), "mmap");
		memset(file, 0, size);
		memcpy(header.e_ident, ELFMAG, SELFMAG);
		header.e_ident[EI_CLASS] = ELFCLASS64;
		header.e_type = ET_DYN;
		header.e_phoff = sizeof(header);
		header.e_phnum = headers;
		memcpy(file, &header, sizeof(header));
		for (size_t i = 0; i < headers; i++) {
			Elf64_Phdr note = {};

			note.p_type = PT_NOTE;
			note.p_offset = notes_at + (i + 1) * 4096 - 8;
			note.p_filesz = sizeof(Elf64_Nhdr) + 8;
			memcpy(file + sizeof(header) + i * sizeof(note), &note, sizeof(note));
		}
		return file;
	}
};
