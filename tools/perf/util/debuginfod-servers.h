/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DEBUGINFOD_SERVERS_H
#define __PERF_DEBUGINFOD_SERVERS_H

#include <stdbool.h>

bool debuginfod_servers__init(void);
bool debuginfod_servers__announce(const char *cache);
bool debuginfod_servers__drop(const char *url, const char *cache);

#endif /* __PERF_DEBUGINFOD_SERVERS_H */
