// SPDX-License-Identifier: GPL-2.0
/*
 * How debuginfod servers answered. elfutils' client returns -ENOENT for whatever
 * it has no better error for, a server that is out of order included, but its log
 * has the HTTP status and libcurl's message. A log that does not look as expected
 * leaves it at what the client returned.
 */
#include "debuginfod-answer.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/zalloc.h>

/**
 * debuginfod_answer__log - have an empty log for the next query
 * @log: That of the query before, or NULL.
 *
 * Return: the log, a file without a name, or NULL if there cannot be one.
 */
FILE *debuginfod_answer__log(FILE *log)
{
	if (!log)
		return tmpfile();
	rewind(log);
	if (ftruncate(fileno(log), 0)) {
		fclose(log);
		return NULL;
	}
	return log;
}

/* Is it about the server, not the file? */
static bool status_is_failure(int status)
{
	switch (status) {
	case 401: /* Unauthorized */
	case 407: /* Proxy Authentication Required */
	case 408: /* Request Timeout */
	case 429: /* Too Many Requests */
		return true;
	default:
		return status >= 500;
	}
}

/* There is one line of each server with its URL in the beginning, and one when it has failed. */
static void read_url(struct debuginfod_answer *answer, int i, const char *rest)
{
	if (i < 0 || i >= DEBUGINFOD_ANSWER_SERVERS)
		return;
	if (!answer->servers[i].url) {
		answer->servers[i].url = strdup(rest);
		return;
	}
	answer->servers[i].ended = true;
	answer->servers[i].timeout = answer->timeout;
}

static void read_line(struct debuginfod_answer *answer, const char *line)
{
	static const char response[] = "server response ";
	int status, i, at;

	if (sscanf(line, "url %d %n", &i, &at) == 1) {
		read_url(answer, i, line + at);
		return;
	}
	if (sscanf(line, "committed to url %d", &i) == 1) {
		answer->committed = i;
		return;
	}
	if (sscanf(line, "header HTTP/%*s %d", &status) == 1) {
		if (status_is_failure(status))
			scnprintf(answer->failure, sizeof(answer->failure), "HTTP status %d",
				  status);
		return;
	}
	if (!strstarts(line, response))
		return;
	line += strlen(response);
	answer->timeout = !strcmp(line, "Timeout was reached");
	/* The second goes with a status. */
	if (strcmp(line, "No error") && strcmp(line, "HTTP response code said error"))
		scnprintf(answer->failure, sizeof(answer->failure), "%s", line);
}

/**
 * debuginfod_answer__silent - find the servers that did not answer
 * @answer: As read.
 * @i: The number of the server, less than DEBUGINFOD_ANSWER_SERVERS.
 * @stalled: The query was broken off as nothing came any more.
 *
 * Return: the URL that server @i was asked for and did not give an answer to, or NULL.
 */
const char *debuginfod_answer__silent(const struct debuginfod_answer *answer, int i, bool stalled)
{
	bool silent = answer->servers[i].timeout;

	/* When one has the file, the client does not wait for the others. */
	if (stalled && answer->committed >= 0)
		silent |= answer->committed == i;
	else if (stalled)
		silent |= !answer->servers[i].ended;
	return silent ? answer->servers[i].url : NULL;
}

void debuginfod_answer__exit(struct debuginfod_answer *answer)
{
	for (int i = 0; i < DEBUGINFOD_ANSWER_SERVERS; i++)
		zfree(&answer->servers[i].url);
}

/**
 * debuginfod_answer__read - read what the client has logged of a query
 * @answer: Set; to be released by debuginfod_answer__exit().
 * @log: The log, or NULL for none.
 */
void debuginfod_answer__read(struct debuginfod_answer *answer, FILE *log)
{
	/* Where the log would go then. */
	bool verbose = getenv("DEBUGINFOD_VERBOSE");
	char *line = NULL;
	size_t size = 0;

	*answer = (struct debuginfod_answer){ .committed = -1, };
	if (!log)
		return;
	rewind(log);
	while (getline(&line, &size, log) > 0) {
		if (verbose)
			fputs(line, stderr);
		read_line(answer, strim(line));
	}
	free(line);
}
