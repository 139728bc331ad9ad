// SPDX-License-Identifier: GPL-2.0
/*
 * The debuginfod servers that are asked: those of DEBUGINFOD_URLS, which elfutils'
 * client reads for each query, or else of the system. One that does not answer is
 * taken out, and noted in the cache of the client for the next sessions.
 */
#include "debuginfod-servers.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/stat.h>
#include <linux/string.h>

#include "debug.h"

/* For how long a server that did not answer is not asked, seconds */
#define NO_ANSWER_TIME 300

#define VARIABLE "DEBUGINFOD_URLS="

/*
 * The environment's own string: removed parts are overwritten by spaces, since
 * other threads may look up environment variables, which must not move then.
 */
static char *variable;

/* Distributions list their servers in files, which shells read and daemons do not. */
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
 * debuginfod_servers__init - find out which servers there are
 *
 * Context: before any thread starts, since it changes the environment.
 *
 * Return: whether there is one.
 */
bool debuginfod_servers__init(void)
{
	const char *given = getenv("DEBUGINFOD_URLS");
	char *urls = given ? strdup(given) : read_urls();
	char *old = variable;

	if (asprintf(&variable, VARIABLE "%s", urls ?: "") < 0 || putenv(variable)) {
		variable = old;
		free(urls);
		return false;
	}
	free(old);
	free(urls);
	return variable[strlen(VARIABLE)];
}

/* The next URL at or after @pos, its length in *len, or NULL. */
static char *next_url(char *pos, size_t *len)
{
	pos += strspn(pos, " ");
	*len = strcspn(pos, " ");
	return *len ? pos : NULL;
}

static char *first_url(size_t *len)
{
	return variable ? next_url(variable + strlen(VARIABLE), len) : NULL;
}

/* The file whose time is that of the last query without an answer. */
static int no_answer_file(const char *url, size_t len, const char *cache, char *path, size_t size)
{
	int n = snprintf(path, size, "%s/perf-no-answer/%.*s", cache, (int)len, url);

	if (n >= (int)size)
		return -ENAMETOOLONG;
	for (char *p = path + n - len; *p; p++) {
		if (*p == '/')
			*p = '#';
	}
	return 0;
}

static void note_no_answer(const char *url, size_t len, const char *cache)
{
	char path[PATH_MAX];
	int fd;

	if (snprintf(path, sizeof(path), "%s/perf-no-answer", cache) >= (int)sizeof(path))
		return;
	mkdir(path, 0700);
	if (no_answer_file(url, len, cache, path, sizeof(path)))
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	futimens(fd, NULL);
	close(fd);
}

/* For how many seconds it has been known that the server does not answer, or -1. */
static long no_answer_since(const char *url, size_t len, const char *cache)
{
	char path[PATH_MAX];
	struct stat st;
	time_t age;

	if (no_answer_file(url, len, cache, path, sizeof(path)) || stat(path, &st))
		return -1;
	age = time(NULL) - st.st_mtime;
	if (age >= 0 && age < NO_ANSWER_TIME)
		return age;
	unlink(path);
	return -1;
}

/* Are there any left? Without one the variable is to be empty. */
static bool any_left(void)
{
	size_t len;
	bool left = next_url(variable + strlen(VARIABLE), &len);

	if (!left)
		variable[strlen(VARIABLE)] = '\0';
	return left;
}

/**
 * debuginfod_servers__announce - print which servers are queried
 * @cache: The directory of the client's cache. A server that has not answered a
 *         query of late is taken out.
 *
 * Return: whether there is a server to ask.
 */
bool debuginfod_servers__announce(const char *cache)
{
	char *url, *list = NULL;
	size_t len;

	for (url = first_url(&len); url; url = next_url(url + len, &len)) {
		long age = no_answer_since(url, len, cache);
		char *more;

		if (age >= 0) {
			pr_warning("debuginfod: not asking %.*s, which did not answer %ld seconds ago\n",
				   (int)len, url, age);
			memset(url, ' ', len);
			continue;
		}
		if (asprintf(&more, "%s %.*s", list ?: "", (int)len, url) < 0)
			break;
		free(list);
		list = more;
	}
	if (list)
		pr_info("debuginfod: asking%s for files by build ID; core.debuginfod=false turns this off\n",
			list);
	free(list);
	return any_left();
}

/**
 * debuginfod_servers__drop - ask a server no more, as it does not answer
 * @url: Of the query: that of the server and the path after it.
 * @cache: The directory of the client's cache.
 *
 * Return: whether there is another one to ask.
 */
bool debuginfod_servers__drop(const char *url, const char *cache)
{
	char *server;
	size_t len;

	for (server = first_url(&len); server; server = next_url(server + len, &len)) {
		const char *rest = url + len;

		if (strncmp(url, server, len))
			continue;
		if (*rest == '/')
			rest++;
		if (!strstarts(rest, "buildid/"))
			continue;
		pr_warning("debuginfod: %.*s does not answer, it is not asked for the next %d minutes\n",
			   (int)len, server, NO_ANSWER_TIME / 60);
		note_no_answer(server, len, cache);
		memset(server, ' ', len);
	}
	return any_left();
}
