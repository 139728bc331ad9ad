/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DSO_DEBUGINFOD_H
#define __PERF_DSO_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>

struct dso;

void dso_debuginfod__init(void);

int dso__debuginfod_cached(const struct dso *dso, bool debuginfo, char *filename, size_t size);
int dso__debuginfod_fetch(struct dso *dso, bool debuginfo, char *filename, size_t size);

#endif /* __PERF_DSO_DEBUGINFOD_H */
