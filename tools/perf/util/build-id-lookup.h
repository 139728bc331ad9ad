/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_BUILD_ID_LOOKUP_H
#define __PERF_BUILD_ID_LOOKUP_H

#include <stdbool.h>

struct machine;
struct map;
struct perf_build_id_offset;
struct perf_sample;

bool map__is_whole_file(const struct map *map);
struct map *machine__find_build_id_map(struct machine *machine,
				       const struct perf_build_id_offset *entry);
void machine__delete_build_id_maps(struct machine *machine);

void machine__fixup_sample(struct machine *machine, struct perf_sample *sample);

#endif /* __PERF_BUILD_ID_LOOKUP_H */
