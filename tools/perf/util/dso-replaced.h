/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_DSO_REPLACED_H
#define __PERF_DSO_REPLACED_H

#include <stdbool.h>

struct dso;

bool dso__file_replaced(struct dso *dso);

#endif /* __PERF_DSO_REPLACED_H */
