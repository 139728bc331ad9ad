/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DSO_MEMORY_H
#define __PERF_DSO_MEMORY_H

#include <stddef.h>

struct dso;
struct dsos;

/** enum dso_memory - what of a DSO is counted, and dropped, apart */
enum dso_memory {
	/** @DSO_MEMORY__SYMBOLS: Symbols, what was found by them, and pages of the file. */
	DSO_MEMORY__SYMBOLS,
	/** @DSO_MEMORY__DEBUGINFO: Open debug info. */
	DSO_MEMORY__DEBUGINFO,
	DSO_MEMORY__NR,
};

void dso_memory__register(struct dsos *dsos);
void dso_memory__unregister(struct dsos *dsos);

void dso__add_memory(struct dso *dso, enum dso_memory what, size_t bytes);
void dso__clear_memory(struct dso *dso, enum dso_memory what);
void dso__touch_memory(struct dso *dso);

void dso_memory__trim(void);
void dso_memory__trim_debuginfo(struct dso *used);

#endif /* __PERF_DSO_MEMORY_H */
