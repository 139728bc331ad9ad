// SPDX-License-Identifier: GPL-2.0
/*
 * Writes to the cache of elfutils' debuginfod client, so that gdb, systemd and
 * others find by build ID what perf has kept.
 */
#include "debuginfod-cache.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "copyfile.h"
#include "dso-debuginfod.h"
#include "util.h"

/**
 * debuginfod_cache__add - keep a copy of a file
 * @bid: Its build ID.
 * @debuginfo: It is the debug info, or else the file that is run.
 * @filename: The file, in the mount namespace of @nsi.
 * @nsi: NULL for that of perf.
 *
 * Other readers of the cache do not compare the build ID: the copy is there as a
 * whole or not at all, and does not change when the file is written to.
 *
 * Return: 0, also if there is one already, or a negative error.
 */
int debuginfod_cache__add(const struct build_id *bid, bool debuginfo, const char *filename,
			  struct nsinfo *nsi)
{
	char path[PATH_MAX], *slash;
	int err = debuginfod_cache__find(bid, debuginfo, path, sizeof(path));

	if (err != -ENOENT)
		return err;

	slash = strrchr(path, '/');
	*slash = '\0';
	errno = 0;
	if (mkdir_p(path, 0755) && errno != EEXIST)
		return -(errno ?: EINVAL);
	*slash = '/';

	/* The file there means that no server had it, or has another build ID. */
	if (unlink(path) && errno != ENOENT)
		return -errno;
	errno = 0;
	if (!copyfile_ns(filename, path, nsi))
		return 0;
	err = -(errno ?: EIO);
	/* Another one may have been faster. */
	return debuginfod_cache__find(bid, debuginfo, path, sizeof(path)) ? err : 0;
}

/**
 * debuginfod_cache__remove - drop what there is of a build ID
 * @bid: The build ID.
 *
 * Return: 0 or a negative error, -ENOENT if there is nothing.
 */
int debuginfod_cache__remove(const struct build_id *bid)
{
	int result = -ENOENT;

	for (int debuginfo = 0; debuginfo < 2; debuginfo++) {
		char path[PATH_MAX];
		int err = debuginfod_cache__find(bid, debuginfo, path, sizeof(path));

		if (err == -ENOENT)
			continue;
		if (err)
			return err;
		if (unlink(path))
			return -errno;
		result = 0;
	}
	return result;
}
