/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DEBUGINFOD_ANSWER_H
#define __PERF_DEBUGINFOD_ANSWER_H

#include <stdbool.h>
#include <stdio.h>

#define DEBUGINFOD_ANSWER_SERVERS 16

/* How the servers answered one query of elfutils' client. */
struct debuginfod_answer {
	/* @failure: The failure of one of them, or empty. */
	char failure[96];
	/* @timeout: The last one to end took too long. */
	bool timeout;
	/* @committed: The one that had the file, or -1. */
	int committed;
	struct {
		/* @url: What it was asked for, or NULL. */
		char *url;
		/* @ended: The query ended, with or without the file. */
		bool ended;
		/* @timeout: It took longer than DEBUGINFOD_TIMEOUT allows. */
		bool timeout;
	} servers[DEBUGINFOD_ANSWER_SERVERS];
};

FILE *debuginfod_answer__log(FILE *log);
void debuginfod_answer__read(struct debuginfod_answer *answer, FILE *log);
const char *debuginfod_answer__silent(const struct debuginfod_answer *answer, int i, bool stalled);
void debuginfod_answer__exit(struct debuginfod_answer *answer);

#endif /* __PERF_DEBUGINFOD_ANSWER_H */
