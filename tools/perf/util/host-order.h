/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_HOST_ORDER_H
#define __PERF_HOST_ORDER_H

#include <stdbool.h>
#include <stddef.h>

struct evsel;
struct perf_sample;
union perf_event;

void perf_event__to_host_order(union perf_event *event, const struct evsel *evsel,
			       const struct perf_sample *sample);
bool header_feature__to_host_order(int feat, void *section, size_t size);

#endif /* __PERF_HOST_ORDER_H */
