// SPDX-License-Identifier: GPL-2.0
/*
 * The files of DSOs by build ID, from the cache of elfutils' debuginfod client
 * and from its servers. There is one client for the process. What
 * it fetches goes to the cache, which perf shares with gdb, systemd and others.
 */
#include "dso-debuginfod.h"

#include <dirent.h>
#include <errno.h>
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
#include "debuginfod-answer.h"
#include "debuginfod-servers.h"
#include "dso.h"
#include "hashmap.h"
#include "mutex.h"
#include "session.h"
#include "symbol.h"
#include "symbol_conf.h"
#include "util.h"
#include "../ui/ui.h"

/* See the manual page of debuginfod_find_debuginfo(). */
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

/* Where the client keeps the files of a build ID. */
static int build_id_dir(const struct build_id *bid, char *dir, size_t size)
{
	char sbuild_id[SBUILD_ID_SIZE], cache[PATH_MAX];

	if (cache_dir(cache, sizeof(cache)) >= (int)sizeof(cache))
		return -ENAMETOOLONG;
	build_id__snprintf(bid, sbuild_id, sizeof(sbuild_id));
	return snprintf(dir, size, "%s/%s", cache, sbuild_id) < (int)size ? 0 : -ENAMETOOLONG;
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
	char dir[PATH_MAX];
	struct stat st;

	if (build_id_dir(bid, dir, sizeof(dir)) ||
	    snprintf(filename, size, "%s/%s", dir, debuginfo ? "debuginfo" : "executable") >=
	    (int)size)
		return -ENAMETOOLONG;

	/* An empty file means that no server had it. */
	if (stat(filename, &st) || !S_ISREG(st.st_mode) || !st.st_size)
		return -ENOENT;
	/* The writer may have stored another file. */
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

/* A server that sends no byte for this many seconds counts as silent. */
#define STALL_LIMIT 10
/* After this many consecutive failures that are not about the file, stop asking servers. */
#define FAILURE_LIMIT 3
/* The number of unavailable files that are named at the end. */
#define SUMMARY_FILES 4

static struct {
	/* @lock: Protects all of it, and is held while something is fetched. */
	struct mutex lock;
	bool enabled;
	/* @ended: Was enabled, until there was nobody to ask any more. */
	bool ended;
	bool missing_warned;
	int failures;
	/* @missing: What could not be fetched, struct missing. */
	struct hashmap *missing;
	debuginfod_client *client;
	/* @cache: Its cache directory. */
	char cache[PATH_MAX];
	/* @log: What the client logs of a query, or NULL. */
	FILE *log;
} client;

struct missing {
	struct build_id bid;
	enum debuginfod_file file;
	char *name;
	/* @samples: How many have no symbol. */
	unsigned long samples;
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

static struct missing *client__missing(const struct build_id *bid, enum debuginfod_file file)
{
	const struct missing missing = { .bid = *bid, .file = file, };
	struct missing *found;

	return client.missing && hashmap__find(client.missing, (long)&missing, &found) ?
	       found : NULL;
}

/* Not to be asked for again. Source files have names of their own and are few. */
static void client__set_missing(const struct build_id *bid, enum debuginfod_file file,
				const char *name)
{
	struct missing *missing;

	if (file == DEBUGINFOD_SOURCE || client__missing(bid, file))
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
	*missing = (struct missing){ .bid = *bid, .file = file, .name = strdup(name), };
	if (!missing->name || hashmap__add(client.missing, missing, missing)) {
		free(missing->name);
		free(missing);
	}
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
	struct debuginfod_answer answer;
};

/**
 * dso_debuginfod__init - decide whether servers are asked in this session
 *
 * To be called when the options are known and before any thread starts, since
 * it changes the environment, which libdw's own client looks at, too: off is off
 * for all.
 */
void dso_debuginfod__init(void)
{
	mutex_init(&client.lock);
	client.enabled = symbol_conf.debuginfod && strcmp(buildid_dir, "/dev/null");
	if (!client.enabled) {
		setenv("DEBUGINFOD_URLS", "", 1);
		return;
	}
	client.enabled = debuginfod_servers__init();
	/* With thousands of files, do not ask a server for one twice. */
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
	/* Before anything comes it counts how often it calls. */
	if (debuginfod_get_url(c) && bytes != fetch->bytes) {
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

static void client__end(void)
{
	client.enabled = false;
	client.ended = true;
}

/* The client creates the directory but not its parents, and returns -ENOENT for that. */
static bool make_cache_dir(void)
{
	char *dir = client.cache, *slash;

	if (cache_dir(dir, sizeof(client.cache)) >= (int)sizeof(client.cache))
		return false;
	slash = strrchr(dir, '/');
	if (slash && slash != dir) {
		*slash = '\0';
		mkdir(dir, 0700);
		*slash = '/';
	}
	mkdir(dir, 0755);
	if (!access(dir, W_OK | X_OK))
		return true;
	pr_warning("debuginfod: cannot write to the cache %s: %m; nothing is fetched, unless DEBUGINFOD_CACHE_PATH is set to another directory\n",
		   dir);
	return false;
}

static bool client__start(void)
{
	if (client.client)
		return true;

	if (!make_cache_dir() || !debuginfod_servers__announce(client.cache)) {
		client__end();
		return false;
	}
	client.client = debuginfod_begin();
	if (!client.client) {
		pr_warning("debuginfod: the client does not start, no files are fetched\n");
		client__end();
		return false;
	}
	debuginfod_set_progressfn(client.client, fetch_progress);
	return true;
}

/*
 * When a query fails the client may leave an empty file, by which no client asks
 * again for ten minutes. It means a file that no server has, but is left when a
 * query is broken off or a server is out of order, too.
 */
static void client__forget_absence(const struct fetch *fetch)
{
	char dirname[PATH_MAX], path[PATH_MAX];
	struct dirent *entry;
	struct stat st;
	DIR *dir;

	if (build_id_dir(fetch->bid, dirname, sizeof(dirname)))
		return;
	dir = opendir(dirname);
	while (dir && (entry = readdir(dir))) {
		if (snprintf(path, sizeof(path), "%s/%s", dirname, entry->d_name) <
		    (int)sizeof(path) && !lstat(path, &st) && S_ISREG(st.st_mode) && !st.st_size &&
		    st.st_ctime >= fetch->start)
			unlink(path);
	}
	if (dir)
		closedir(dir);
	rmdir(dirname);
}

/* What was wrong when a fetch failed with @err. */
static const char *fetch__reason(const struct fetch *fetch, int err, char *buf, size_t size)
{
	const char *url;

	if (fetch->stalled)
		return "no answer";
	if (fetch->answer.failure[0])
		return fetch->answer.failure;
	if (err != -EBADMSG)
		return str_error_r(-err, buf, size);
	url = debuginfod_get_url(client.client);
	scnprintf(buf, size, "%s sent something else", url ?: "a server");
	return buf;
}

/* Once is enough for a server that does not answer. Returns whether there is another one. */
static bool client__drop_silent(const struct fetch *fetch)
{
	bool left = true;

	for (int i = 0; i < DEBUGINFOD_ANSWER_SERVERS; i++) {
		const char *url = debuginfod_answer__silent(&fetch->answer, i, fetch->stalled);

		if (url)
			left = debuginfod_servers__drop(url, client.cache);
	}
	return left;
}

/* Report each file once, and stop when no server answers. */
static void client__failed(const struct fetch *fetch, int err)
{
	bool absent = err == -ENOENT && !fetch->stalled && !fetch->answer.failure[0];
	char sbuild_id[SBUILD_ID_SIZE], buf[PATH_MAX];

	build_id__snprintf(fetch->bid, sbuild_id, sizeof(sbuild_id));
	if (!absent || session_done())
		client__forget_absence(fetch);
	if (session_done()) {
		client__end();
		return;
	}
	if (absent) {
		/* Expected for files that are not from the distribution. */
		pr_debug("debuginfod: no %s of %s (build ID %s)\n", file_names[fetch->file],
			 fetch->name, sbuild_id);
		if (!client.missing_warned) {
			pr_warning("debuginfod: some files are not there, -v lists them\n");
			client.missing_warned = true;
		}
		client.failures = 0;
		return;
	}
	pr_warning("debuginfod: cannot fetch the %s of %s (build ID %s): %s\n",
		   file_names[fetch->file], fetch->name, sbuild_id,
		   fetch__reason(fetch, err, buf, sizeof(buf)));
	if (!client__drop_silent(fetch)) {
		client__end();
		return;
	}
	if (++client.failures < FAILURE_LIMIT)
		return;
	pr_warning("debuginfod: failed %d times in a row, nothing more is asked for\n",
		   client.failures);
	client__end();
}

/* Returns a file descriptor, or a negative error. Sets *path, to be freed. */
static int client__find(struct fetch *fetch, char **path)
{
	const struct build_id *bid = fetch->bid;
	int fd;

	fetch->start = time(NULL);
	fetch->last = fetch->start;
	debuginfod_set_user_data(client.client, fetch);
	client.log = debuginfod_answer__log(client.log);
	debuginfod_set_verbose_fd(client.client, client.log ? fileno(client.log) : -1);
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
	debuginfod_answer__read(&fetch->answer, client.log);
	return fd;
}

/* Is it what was asked for? A server may have taken another file for it, or send a web page. */
static bool is_refused(const struct fetch *fetch, const char *path)
{
	return fetch->file != DEBUGINFOD_SOURCE && !filename__has_build_id(path, fetch->bid);
}

/* The client does not ask for what its cache has: a rejected file must not stay there. */
static void client__drop_refused(const struct fetch *fetch)
{
	bool debuginfo = fetch->file == DEBUGINFOD_DEBUGINFO;
	char path[PATH_MAX];
	struct stat st;

	if (debuginfod_cache__find(fetch->bid, debuginfo, path, sizeof(path)) == -ENOENT &&
	    !stat(path, &st) && st.st_size && !access(path, R_OK) && is_refused(fetch, path))
		unlink(path);
}

/**
 * debuginfod__fetch - ask servers for a file by build ID, unless it is in the cache
 * @bid: A defined build ID.
 * @file: Which of its files.
 * @name: The name for messages. For a source file it is the path that is asked for.
 *
 * What cannot be fetched is not asked for again in the session.
 *
 * Context: in the mount namespace of perf itself. Takes as long as servers take,
 * but for no longer than they send something, or until the session is ended.
 *
 * Return: the name of the file in the cache, to be freed, or NULL after a message.
 */
char *debuginfod__fetch(const struct build_id *bid, enum debuginfod_file file, const char *name)
{
	struct fetch fetch = { .bid = bid, .file = file, .name = name, };
	char *path = NULL;
	int fd;

	if (!client.enabled && !client.ended)
		return NULL;

	mutex_lock(&client.lock);
	if (client__missing(bid, file) || !client.enabled || !client__start()) {
		client__set_missing(bid, file, name);
		mutex_unlock(&client.lock);
		return NULL;
	}
	client__drop_refused(&fetch);
	fd = client__find(&fetch, &path);
	if (fd >= 0) {
		close(fd);
		if (is_refused(&fetch, path)) {
			unlink(path);
			fd = -EBADMSG;
		} else {
			client.failures = 0;
		}
	}
	if (fd < 0) {
		client__failed(&fetch, fd);
		client__set_missing(bid, file, name);
		zfree(&path);
	}
	debuginfod_answer__exit(&fetch.answer);
	mutex_unlock(&client.lock);
	return path;
}

/**
 * dso_debuginfod__count_unnamed - count a sample without a symbol
 * @dso: What it is in. It matters only if a file of it could not be fetched.
 */
void dso_debuginfod__count_unnamed(const struct dso *dso)
{
	struct missing *missing;

	if (!client.missing || !dso__has_build_id(dso))
		return;
	mutex_lock(&client.lock);
	missing = client__missing(dso__bid(dso), DEBUGINFOD_EXECUTABLE) ?:
		  client__missing(dso__bid(dso), DEBUGINFOD_DEBUGINFO);
	if (missing)
		missing->samples++;
	mutex_unlock(&client.lock);
}

static int missing__cmp(const void *a, const void *b)
{
	const struct missing *left = *(const struct missing **)a;
	const struct missing *right = *(const struct missing **)b;

	if (left->samples != right->samples)
		return left->samples < right->samples ? 1 : -1;
	return strcmp(left->name, right->name);
}

/* Those that samples are without symbols for, the most samples first. To be freed. */
static struct missing **client__sort_missing(size_t *nr)
{
	struct missing **list = calloc(hashmap__size(client.missing), sizeof(*list));
	struct hashmap_entry *entry;
	size_t bkt;

	*nr = 0;
	if (!list)
		return NULL;
	hashmap__for_each_entry(client.missing, entry, bkt) {
		struct missing *missing = entry->pvalue;

		if (missing->samples)
			list[(*nr)++] = missing;
	}
	qsort(list, *nr, sizeof(*list), missing__cmp);
	return list;
}

/**
 * dso_debuginfod__summarize - print what the files that could not be fetched are for
 *
 * Once, at the end of a session.
 */
void dso_debuginfod__summarize(void)
{
	char sbuild_id[SBUILD_ID_SIZE], text[2048];
	unsigned long total = 0, rest = 0;
	struct missing **list;
	size_t nr, len = 0;

	if (!client.missing)
		return;
	list = client__sort_missing(&nr);
	for (size_t i = 0; i < nr; i++) {
		total += list[i]->samples;
		if (i >= SUMMARY_FILES) {
			rest += list[i]->samples;
			continue;
		}
		build_id__snprintf(&list[i]->bid, sbuild_id, sizeof(sbuild_id));
		len += scnprintf(text + len, sizeof(text) - len, "%s %lu in %s (build ID %s)",
				 i ? "," : "", list[i]->samples, list[i]->name, sbuild_id);
		list[i]->samples = 0;
	}
	if (rest)
		scnprintf(text + len, sizeof(text) - len, ", %lu in %zu more files", rest,
			  nr - SUMMARY_FILES);
	if (total)
		pr_warning("debuginfod: %lu samples have no symbol for lack of files:%s\n", total,
			   text);
	free(list);
}
#else
void dso_debuginfod__init(void)
{
}

void dso_debuginfod__count_unnamed(const struct dso *dso __maybe_unused)
{
}

void dso_debuginfod__summarize(void)
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
 * Return: 0, or -ENOENT after a message.
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
