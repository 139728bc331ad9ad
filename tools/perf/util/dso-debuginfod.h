/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DSO_DEBUGINFOD_H
#define __PERF_DSO_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>

struct build_id;
struct dso;

enum debuginfod_file {
	DEBUGINFOD_EXECUTABLE,
	DEBUGINFOD_DEBUGINFO,
	DEBUGINFOD_SOURCE,
};

void dso_debuginfod__init(void);
void dso_debuginfod__count_unnamed(const struct dso *dso);
void dso_debuginfod__summarize(void);

char *debuginfod__fetch(const struct build_id *bid, enum debuginfod_file file, const char *name);

int debuginfod_cache__find(const struct build_id *bid, bool debuginfo, char *filename, size_t size);

int dso__debuginfod_cached(const struct dso *dso, bool debuginfo, char *filename, size_t size);
int dso__debuginfod_fetch(const struct dso *dso, bool debuginfo, char *filename, size_t size);

#endif /* __PERF_DSO_DEBUGINFOD_H */
