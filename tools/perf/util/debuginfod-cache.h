/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DEBUGINFOD_CACHE_H
#define __PERF_DEBUGINFOD_CACHE_H

#include <stdbool.h>

struct build_id;
struct nsinfo;

int debuginfod_cache__add(const struct build_id *bid, bool debuginfo, const char *filename,
			  struct nsinfo *nsi);
int debuginfod_cache__remove(const struct build_id *bid);

#endif /* __PERF_DEBUGINFOD_CACHE_H */
