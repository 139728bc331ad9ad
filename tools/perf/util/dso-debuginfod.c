// SPDX-License-Identifier: GPL-2.0
/*
 * The files of DSOs by build ID, from the cache of elfutils' debuginfod client
 * and from the servers that it knows. There is one client for the process. What
 * it fetches goes to the cache, which perf shares with gdb, systemd and others.
 */
#include "dso-debuginfod.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/stat.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/zalloc.h>

#include "build-id.h"
#include "debug.h"
#include "dso.h"
#include "hashmap.h"
#include "mutex.h"
#include "session.h"
#include "symbol.h"
#include "symbol_conf.h"
#include "util.h"
#include "../ui/ui.h"

/* As the manual page of debuginfod_find_debuginfo() says. */
static int cache_dir(char *dir, size_t size)
{
	const char *path = getenv("DEBUGINFOD_CACHE_PATH"), *home = getenv("HOME");
	const char *xdg = getenv("XDG_CACHE_HOME");
	struct stat st;

	if (path && *path)
		return snprintf(dir, size, "%s", path);

	/* The place that it had before there was a common one. */
	if (home && snprintf(dir, size, "%s/.debuginfod_client_cache", home) < (int)size &&
	    !stat(dir, &st))
		return strlen(dir);
	if (xdg && *xdg)
		return snprintf(dir, size, "%s/debuginfod_client", xdg);
	return snprintf(dir, size, "%s/.cache/debuginfod_client", home ?: "");
}

/**
 * debuginfod_cache__find - find a file in the cache of elfutils' client
 * @bid: A defined build ID.
 * @debuginfo: Its debug info, or else the file that was run.
 * @filename: Set to the name of the file, whether it is there or not.
 * @size: Of @filename, bytes.
 *
 * Return: 0, -ENOENT if there is no file that has the build ID, or -ENAMETOOLONG.
 */
int debuginfod_cache__find(const struct build_id *bid, bool debuginfo, char *filename, size_t size)
{
	char sbuild_id[SBUILD_ID_SIZE], dir[PATH_MAX];
	struct stat st;

	if (cache_dir(dir, sizeof(dir)) >= (int)sizeof(dir))
		return -ENAMETOOLONG;

	build_id__snprintf(bid, sbuild_id, sizeof(sbuild_id));
	if (snprintf(filename, size, "%s/%s/%s", dir, sbuild_id,
		     debuginfo ? "debuginfo" : "executable") >= (int)size)
		return -ENAMETOOLONG;

	/* An empty file says that no server had it. */
	if (stat(filename, &st) || !S_ISREG(st.st_mode) || !st.st_size)
		return -ENOENT;
	/* Who wrote it may have taken another file for it. */
	return filename__has_build_id(filename, bid) ? 0 : -ENOENT;
}

/**
 * dso__debuginfod_cached - find the file of a DSO in the cache of elfutils' client
 * @dso: The DSO.
 * @debuginfo: Its debug info, or else the file that was run.
 * @filename: Set to the name of the file.
 * @size: Of @filename, bytes.
 *
 * No server is asked.
 *
 * Return: 0 or -ENOENT.
 */
int dso__debuginfod_cached(const struct dso *dso, bool debuginfo, char *filename, size_t size)
{
	if (!dso__has_build_id(dso) ||
	    debuginfod_cache__find(dso__bid(dso), debuginfo, filename, size))
		return -ENOENT;
	return 0;
}

#ifdef HAVE_DEBUGINFOD_SUPPORT
#include <elfutils/debuginfod.h>

/* Without a byte for so many seconds a server counts as one that does not answer. */
#define STALL_LIMIT 10
/* So many failures in a row that are not about the file, and no server is asked any more. */
#define FAILURE_LIMIT 3

static struct {
	/* @lock: Protects all of it, and is held while something is fetched. */
	struct mutex lock;
	bool enabled;
	/* @announced: The user knows which servers are asked. */
	bool announced;
	bool missing_warned;
	int failures;
	/* @missing: What could not be fetched, struct missing. */
	struct hashmap *missing;
	debuginfod_client *client;
} client;

struct missing {
	struct build_id bid;
	enum debuginfod_file file;
};

static size_t missing__hash(long key, void *ctx __maybe_unused)
{
	const struct missing *missing = (const struct missing *)key;

	return build_id__hash(&missing->bid) + missing->file;
}

static bool missing__equal(long a, long b, void *ctx __maybe_unused)
{
	const struct missing *left = (const struct missing *)a, *right = (const struct missing *)b;

	return left->file == right->file && build_id__equal(&left->bid, &right->bid);
}

static bool client__is_missing(const struct build_id *bid, enum debuginfod_file file)
{
	const struct missing missing = { .bid = *bid, .file = file, };

	return client.missing && hashmap__find(client.missing, (long)&missing, (long *)NULL);
}

/* Not to be asked for again. Source files have names of their own and are few. */
static void client__set_missing(const struct build_id *bid, enum debuginfod_file file)
{
	struct missing *missing;

	if (file == DEBUGINFOD_SOURCE)
		return;
	if (!client.missing) {
		client.missing = hashmap__new(missing__hash, missing__equal, /*ctx=*/NULL);
		if (IS_ERR(client.missing)) {
			client.missing = NULL;
			return;
		}
	}
	missing = malloc(sizeof(*missing));
	if (!missing)
		return;
	*missing = (struct missing){ .bid = *bid, .file = file, };
	if (hashmap__add(client.missing, missing, 0))
		free(missing);
}

/* The fetch that goes on. */
struct fetch {
	const struct build_id *bid;
	enum debuginfod_file file;
	const char *name;
	time_t start;
	/* @last: When the last byte came. */
	time_t last;
	long bytes;
	bool stalled;
	bool progress_shown;
};

/* Distributions say in files which servers they have; their shells read these, daemons do not. */
static char *read_urls(void)
{
	char *urls = NULL, line[1024];
	glob_t files;

	if (glob("/etc/debuginfod/*.urls", 0, NULL, &files))
		return NULL;

	for (size_t i = 0; i < files.gl_pathc; i++) {
		FILE *file = fopen(files.gl_pathv[i], "r");

		while (file && fgets(line, sizeof(line), file)) {
			const char *url = strim(line);
			char *more;

			if (!*url)
				continue;
			if (asprintf(&more, "%s%s%s", urls ?: "", urls ? " " : "", url) < 0)
				break;
			free(urls);
			urls = more;
		}
		if (file)
			fclose(file);
	}
	globfree(&files);
	return urls;
}

/**
 * dso_debuginfod__init - decide whether servers are asked in this session
 *
 * To be called when the options are known and before any thread starts, since
 * it changes the environment, which libdw's own client looks at, too: off is off
 * for all.
 */
void dso_debuginfod__init(void)
{
	char *urls;

	mutex_init(&client.lock);
	client.enabled = symbol_conf.debuginfod && strcmp(buildid_dir, "/dev/null");
	if (!client.enabled) {
		setenv("DEBUGINFOD_URLS", "", 1);
		return;
	}
	if (!getenv("DEBUGINFOD_URLS")) {
		urls = read_urls();
		setenv("DEBUGINFOD_URLS", urls ?: "", 1);
		free(urls);
	}
	client.enabled = *getenv("DEBUGINFOD_URLS");
	/* Who is asked for thousands of files must not be asked for each again. */
	setenv("DEBUGINFOD_RETRY_LIMIT", "0", /*overwrite=*/0);
}

static const char *const file_names[] = {
	[DEBUGINFOD_EXECUTABLE] = "executable",
	[DEBUGINFOD_DEBUGINFO] = "debug info",
	[DEBUGINFOD_SOURCE] = "source file",
};

static bool is_interactive(void)
{
	return use_browser <= 0 && isatty(STDERR_FILENO);
}

/* Returns whether to give up. libdebuginfod calls it about twice a second while it waits. */
static int fetch_progress(debuginfod_client *c, long bytes, long total)
{
	struct fetch *fetch = debuginfod_get_user_data(c);
	time_t now = time(NULL);

	if (session_done())
		return 1;
	/* Before it knows the size it counts how often it calls. */
	if (total > 0 && bytes != fetch->bytes) {
		fetch->bytes = bytes;
		fetch->last = now;
	} else if (now - fetch->last >= STALL_LIMIT) {
		fetch->stalled = true;
		return 1;
	}
	if (total > 0 && now - fetch->start >= 2 && is_interactive()) {
		fetch->progress_shown = true;
		fprintf(stderr, "\rFetching %s of %s: %ld of %ld kB ", file_names[fetch->file],
			fetch->name, bytes / 1024, total / 1024);
	}
	return 0;
}

static bool client__start(void)
{
	if (client.client)
		return true;

	client.client = debuginfod_begin();
	if (!client.client) {
		pr_warning("debuginfod: the client does not start, no files are fetched\n");
		client.enabled = false;
		return false;
	}
	debuginfod_set_progressfn(client.client, fetch_progress);
	return true;
}

static void client__announce(void)
{
	if (client.announced)
		return;
	client.announced = true;
	pr_info("debuginfod: asking %s for files by build ID; core.debuginfod=false turns this off\n",
		getenv("DEBUGINFOD_URLS"));
}

/* Say once for each file what is wrong, and end it all when no server answers. */
static void client__failed(const struct fetch *fetch, int err)
{
	char sbuild_id[SBUILD_ID_SIZE], buf[128];

	build_id__snprintf(fetch->bid, sbuild_id, sizeof(sbuild_id));
	if (session_done()) {
		client.enabled = false;
		return;
	}
	if (err == -ENOENT && !fetch->stalled) {
		/* To be expected of what is not of the distribution. */
		pr_debug("debuginfod: no %s of %s (build ID %s)\n", file_names[fetch->file],
			 fetch->name, sbuild_id);
		if (!client.missing_warned) {
			pr_warning("debuginfod: some files are not there, -v says which\n");
			client.missing_warned = true;
		}
		client.failures = 0;
		return;
	}
	pr_warning("debuginfod: cannot fetch the %s of %s (build ID %s): %s\n",
		   file_names[fetch->file], fetch->name, sbuild_id,
		   fetch->stalled ? "no answer" : str_error_r(-err, buf, sizeof(buf)));
	if (++client.failures < FAILURE_LIMIT)
		return;
	pr_warning("debuginfod: failed %d times in a row, nothing more is asked for\n",
		   client.failures);
	client.enabled = false;
}

/* Returns a file descriptor, or a negative error. Sets *path, to be freed. */
static int client__find(struct fetch *fetch, char **path)
{
	const struct build_id *bid = fetch->bid;
	int fd;

	fetch->start = time(NULL);
	fetch->last = fetch->start;
	debuginfod_set_user_data(client.client, fetch);
	switch (fetch->file) {
	case DEBUGINFOD_DEBUGINFO:
		fd = debuginfod_find_debuginfo(client.client, bid->data, bid->size, path);
		break;
	case DEBUGINFOD_SOURCE:
		fd = debuginfod_find_source(client.client, bid->data, bid->size, fetch->name, path);
		break;
	case DEBUGINFOD_EXECUTABLE:
	default:
		fd = debuginfod_find_executable(client.client, bid->data, bid->size, path);
		break;
	}
	if (fetch->progress_shown)
		fprintf(stderr, "\r\033[K");
	return fd;
}

/**
 * debuginfod__fetch - ask servers for a file by build ID, unless it is in the cache
 * @bid: A defined build ID.
 * @file: Which of its files.
 * @name: What the user knows it by. That of a source file is what is asked for.
 *
 * What cannot be fetched is not asked for again in the session.
 *
 * Context: in the mount namespace of perf itself. Takes as long as servers take,
 * but for no longer than they send something, or until the session is ended.
 *
 * Return: the name of the file in the cache, to be freed, or NULL; the user has been told.
 */
char *debuginfod__fetch(const struct build_id *bid, enum debuginfod_file file, const char *name)
{
	struct fetch fetch = { .bid = bid, .file = file, .name = name, };
	char *path = NULL;
	int fd;

	if (!client.enabled)
		return NULL;

	mutex_lock(&client.lock);
	if (!client.enabled || client__is_missing(bid, file) || !client__start()) {
		mutex_unlock(&client.lock);
		return NULL;
	}
	client__announce();
	fd = client__find(&fetch, &path);
	if (fd >= 0) {
		close(fd);
		client.failures = 0;
		/* A server may have taken another file for it. */
		if (file != DEBUGINFOD_SOURCE && !filename__has_build_id(path, bid))
			fd = -EBADMSG;
	}
	if (fd < 0) {
		client__failed(&fetch, fd);
		client__set_missing(bid, file);
		zfree(&path);
	}
	mutex_unlock(&client.lock);
	return path;
}
#else
void dso_debuginfod__init(void)
{
}

char *debuginfod__fetch(const struct build_id *bid __maybe_unused,
			enum debuginfod_file file __maybe_unused, const char *name __maybe_unused)
{
	return NULL;
}
#endif

/**
 * dso__debuginfod_fetch - ask servers for the file of a DSO, unless it is in the cache
 * @dso: The DSO.
 * @debuginfo: Its debug info, or else the file that was run.
 * @filename: Set to the name of the file.
 * @size: Of @filename, bytes.
 *
 * Context: as debuginfod__fetch().
 *
 * Return: 0 or -ENOENT; the user has been told.
 */
int dso__debuginfod_fetch(const struct dso *dso, bool debuginfo, char *filename, size_t size)
{
	char *path;
	int err = 0;

	if (!dso__debuginfod_cached(dso, debuginfo, filename, size))
		return 0;
	if (!dso__has_build_id(dso))
		return -ENOENT;

	path = debuginfod__fetch(dso__bid(dso),
				 debuginfo ? DEBUGINFOD_DEBUGINFO : DEBUGINFOD_EXECUTABLE,
				 dso__long_name(dso));
	if (!path || strlcpy(filename, path, size) >= size)
		err = -ENOENT;
	free(path);
	return err;
}
