/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_PERF_DEFERRED_TYPES_H
#define _LINUX_PERF_DEFERRED_TYPES_H

#include <linux/types.h>

/* No address of user space. */
#define PERF_DEFERRED_IP_NONE	(~0ULL)

/*
 * The sampled user address that is resolved in the deferred callchain which is
 * identified by @cookie. Only the task itself, and what interrupts it, use it.
 * It is stale if execve() has replaced the program since it was sampled.
 */
struct perf_deferred_ip {
	u64	cookie;
	u64	ip;
	bool	busy;
	bool	stale;
};

#endif /* _LINUX_PERF_DEFERRED_TYPES_H */
