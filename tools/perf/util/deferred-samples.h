/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DEFERRED_SAMPLES_H
#define __PERF_DEFERRED_SAMPLES_H

#include <stdbool.h>
#include <sys/types.h>
#include <linux/types.h>

struct deferred_samples;
struct evlist;
struct machine;
struct perf_sample;
struct perf_tool;
union perf_event;

bool perf_sample__is_deferred(const struct perf_sample *sample);

int evlist__defer_sample(struct evlist *evlist, const struct perf_tool *tool,
			 const union perf_event *event, const struct perf_sample *sample,
			 struct machine *machine);
int evlist__deliver_deferred_callchain(struct evlist *evlist, const struct perf_tool *tool,
				       union perf_event *event, struct perf_sample *sample,
				       struct machine *machine);
int evlist__flush_deferred_samples(struct evlist *evlist, const struct perf_tool *tool);
int evlist__flush_deferred_thread(struct evlist *evlist, const struct perf_tool *tool, pid_t tid);

int evlist__read_deferred_ahead(struct evlist *evlist, bool ahead);
int evlist__add_deferred_ahead(struct evlist *evlist, union perf_event *event,
			       const struct perf_sample *sample, bool copy);
void evlist__add_exit_ahead(struct evlist *evlist, pid_t tid, u64 time);
bool evlist__awaits_deferred(struct evlist *evlist, const struct perf_sample *sample,
			     u64 read_until);

void deferred_samples__delete(struct deferred_samples *deferred);

#endif /* __PERF_DEFERRED_SAMPLES_H */
