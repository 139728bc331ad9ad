// SPDX-License-Identifier: GPL-2.0
/*
 * The build ID of a file that is mapped, as the kernel finds it: in a segment
 * of notes (PT_NOTE). Sections are not mapped. A separate debug file is, too,
 * an ELF file with such segments, but only its sections have contents, so that
 * its build ID is read with filename__read_build_id().
 */
#include "mapped-build-id.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include <linux/zalloc.h>

#include "build-id.h"
#include "dso.h"
#include "symbol.h"
#include "util.h"

#ifdef HAVE_LIBELF_SUPPORT
#include <gelf.h>

static bool notes__find_build_id(Elf_Data *notes, struct build_id *bid)
{
	size_t name, desc, next = 0;
	GElf_Nhdr nhdr;

	while ((next = gelf_getnote(notes, next, &nhdr, &name, &desc)) > 0) {
		if (nhdr.n_type != NT_GNU_BUILD_ID || nhdr.n_namesz != sizeof("GNU") ||
		    memcmp(notes->d_buf + name, "GNU", sizeof("GNU")))
			continue;
		/* As for the kernel, one that is too long is none. */
		if (!nhdr.n_descsz || nhdr.n_descsz > sizeof(bid->data))
			continue;
		memset(bid, 0, sizeof(*bid));
		build_id__init(bid, notes->d_buf + desc, nhdr.n_descsz);
		return true;
	}
	return false;
}

static bool elf__find_mapped_build_id(Elf *elf, struct build_id *bid)
{
	size_t nr;

	if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &nr))
		return false;

	for (size_t i = 0; i < nr; i++) {
		Elf_Data *notes;
		GElf_Phdr phdr;

		if (!gelf_getphdr(elf, i, &phdr) || phdr.p_type != PT_NOTE)
			continue;
		notes = elf_getdata_rawchunk(elf, phdr.p_offset, phdr.p_filesz,
					     phdr.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		if (notes && notes__find_build_id(notes, bid))
			return true;
	}
	return false;
}

static int read_mapped_build_id(const char *filename, struct build_id *bid)
{
	bool found;
	Elf *elf;
	int fd;

	fd = open(filename, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;

	elf = elf_begin(fd, ELF_C_READ, NULL);
	found = elf__find_mapped_build_id(elf, bid);
	elf_end(elf);
	close(fd);
	/* Callers take ENOENT as a hint to look elsewhere. */
	errno = 0;
	return found ? (int)bid->size : -ENODATA;
}
#else
static int read_mapped_build_id(const char *filename, struct build_id *bid)
{
	/* It reads segments, too. */
	return filename__read_build_id(filename, bid);
}
#endif

/**
 * filename__read_mapped_build_id - read the build ID of a file that was mapped
 * @filename: The file. A kernel module has segments only once it is loaded, so
 *            that of one is read from its sections.
 * @bid: Set if the file has one.
 *
 * Return: the size of the build ID, or less than 0, with errno set to ENOENT if
 * there is no such file.
 */
int filename__read_mapped_build_id(const char *filename, struct build_id *bid)
{
	struct kmod_path m = { .name = NULL, };

	if (!filename)
		return -EFAULT;
	if (!kmod_path__parse(&m, filename) && m.kmod)
		return filename__read_build_id(filename, bid);

	errno = 0;
	if (!is_regular_file(filename))
		return errno == 0 ? -EWOULDBLOCK : -errno;
	return read_mapped_build_id(filename, bid);
}
