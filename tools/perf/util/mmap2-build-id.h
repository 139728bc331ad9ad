/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_MMAP2_BUILD_ID_H
#define __PERF_MMAP2_BUILD_ID_H

#include <stdbool.h>

struct build_id;
struct dso_id;
struct evlist;
struct evsel;
union perf_event;

bool perf_event__has_false_build_id(const union perf_event *event, struct evlist *evlist);
union perf_event *perf_event__check_build_id(union perf_event *event, const struct evsel *evsel);
bool dso_id__inode_is_build_id(const struct dso_id *id, const struct build_id *bid);

#endif /* __PERF_MMAP2_BUILD_ID_H */
