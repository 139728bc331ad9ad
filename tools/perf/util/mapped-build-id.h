/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_MAPPED_BUILD_ID_H
#define __PERF_MAPPED_BUILD_ID_H

struct build_id;

int filename__read_mapped_build_id(const char *filename, struct build_id *bid);

#endif /* __PERF_MAPPED_BUILD_ID_H */
