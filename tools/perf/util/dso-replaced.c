// SPDX-License-Identifier: GPL-2.0
#include "dso-replaced.h"

#include <fcntl.h>
#include <unistd.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "dso.h"
#include "namespaces.h"

/**
 * dso__file_replaced - is the file at the path of a DSO another than was recorded?
 * @dso: The DSO. Its mmap event has the inode, or else nothing is known.
 */
bool dso__file_replaced(struct dso *dso)
{
	const struct dso_id *id = dso__id_const(dso);
	struct nscookie nsc;
	bool replaced = false;
	unsigned int generation;
	struct stat st;
	int fd;

	if (!id->mmap2_valid)
		return false;

	nsinfo__mountns_enter(dso__nsinfo(dso), &nsc);
	fd = open(dso__long_name(dso), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	nsinfo__mountns_exit(&nsc);
	if (fd < 0)
		return false;

	if (!fstat(fd, &st) && st.st_ino != id->ino)
		replaced = true;
	/* The number of a removed file is given to a new one, with another generation. */
	else if (id->mmap2_ino_generation_valid && !ioctl(fd, FS_IOC_GETVERSION, &generation) &&
		 generation != (unsigned int)id->ino_generation)
		replaced = true;
	close(fd);
	return replaced;
}
