/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_BUILD_ID_INDEX_H
#define __PERF_BUILD_ID_INDEX_H

#include <linux/types.h>

struct map;
struct perf_build_id_offset;

/**
 * struct build_id_index - the maps of an address space by build ID and offset
 *
 * It borrows the maps: the owner removes those that go and adds those that
 * come, and drops it when one of them changes. It is also out of date once a DSO
 * that it has seen has got another build ID.
 */
struct build_id_index;

struct build_id_index *build_id_index__new(struct map **maps, unsigned int nr);
bool build_id_index__add(struct build_id_index *index, struct map *map);
void build_id_index__remove(struct build_id_index *index, struct map *map);
void build_id_index__delete(struct build_id_index *index);
bool build_id_index__up_to_date(const struct build_id_index *index);
struct map *build_id_index__find(struct build_id_index *index,
				 const struct perf_build_id_offset *entry);

#endif /* __PERF_BUILD_ID_INDEX_H */
