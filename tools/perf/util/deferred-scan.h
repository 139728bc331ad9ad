/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DEFERRED_SCAN_H
#define __PERF_DEFERRED_SCAN_H

#include <stddef.h>

struct perf_session;

struct deferred_scan {
	struct {
		void	*addr;
		size_t	len;
	}	*maps;
	int	nr_maps;
};

int deferred_scan__init(struct deferred_scan *scan, struct perf_session *session);
void deferred_scan__exit(struct deferred_scan *scan, struct perf_session *session);

#endif /* __PERF_DEFERRED_SCAN_H */
