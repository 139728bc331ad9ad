// SPDX-License-Identifier: GPL-2.0
#include "build-id-index.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <perf/event.h>

#include "build-id.h"
#include "dso.h"
#include "map.h"

/* The part of a file that one map shows. */
struct file_range {
	/** @key: What the build ID starts with, enough to tell most apart. */
	u64		key;
	struct build_id	build_id;
	u64		start;
	u64		end;
	struct map	*map;
	/** @unique: No other range shows a part of it. */
	bool		unique;
};

#define NO_RANGE UINT_MAX
/* A callchain goes through a few files, again and again. */
#define NR_RECENT 16

struct build_id_index {
	/** @generation: dso__build_id_generation() when the index was made. */
	unsigned long	 generation;
	/** @recent: Unique ranges found last, in slots by key, or NO_RANGE. */
	unsigned int	 recent[NR_RECENT];
	unsigned int	 nr;
	/** @allocated: Number of ranges that there is room for. */
	unsigned int	 allocated;
	/** @ranges: Sorted by build ID, then by start. */
	struct file_range *ranges;
};

static u64 build_id_key(const u8 *data)
{
	u64 key;

	memcpy(&key, data, sizeof(key));
	return key;
}

/* Unused bytes are zero, so IDs that differ in padding alone are neighbours. */
static int build_id_cmp(const struct file_range *range, u64 key, const u8 *data)
{
	if (range->key != key)
		return range->key < key ? -1 : 1;
	return memcmp(range->build_id.data, data, sizeof(range->build_id.data));
}

/* Which of two maps of the same place is to be taken? */
static bool map__better(const struct map *a, const struct map *b)
{
	bool a_exec = map__prot(a) & PROT_EXEC, b_exec = map__prot(b) & PROT_EXEC;

	if (a_exec != b_exec)
		return a_exec;
	return map__seq(a) > map__seq(b);
}

static int file_range__cmp(const void *va, const void *vb)
{
	const struct file_range *a = va, *b = vb;
	int ret = build_id_cmp(a, b->key, b->build_id.data);

	if (ret)
		return ret;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	return map__better(a->map, b->map) ? -1 : 1;
}

static bool same_build_id(const struct file_range *a, const struct file_range *b)
{
	return a->build_id.size == b->build_id.size &&
	       !build_id_cmp(a, b->key, b->build_id.data);
}

/* Of ranges that are the same leave the best, which comes first. */
static void build_id_index__drop_duplicates(struct build_id_index *index)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < index->nr; i++) {
		const struct file_range *range = &index->ranges[i];
		const struct file_range *prev = nr ? &index->ranges[nr - 1] : NULL;

		if (prev && prev->start == range->start && prev->end == range->end &&
		    same_build_id(prev, range))
			continue;
		index->ranges[nr++] = *range;
	}
	index->nr = nr;
}

/* In the ranges from @start to before @end, which have all those of their files. */
static void build_id_index__find_overlaps(struct build_id_index *index, unsigned int start,
					  unsigned int end)
{
	struct file_range *widest = NULL;

	for (unsigned int i = start; i < end; i++) {
		struct file_range *range = &index->ranges[i];

		range->unique = true;
		if (!widest || build_id_cmp(widest, range->key, range->build_id.data)) {
			widest = range;
			continue;
		}
		if (range->start < widest->end) {
			widest->unique = false;
			range->unique = false;
		}
		if (range->end > widest->end)
			widest = range;
	}
}

static void build_id_index__forget_recent(struct build_id_index *index)
{
	for (unsigned int i = 0; i < NR_RECENT; i++)
		index->recent[i] = NO_RANGE;
}

/* False if entries cannot tell where @map shows what. */
static bool file_range__init(struct file_range *range, struct map *map)
{
	struct dso *dso = map__dso(map);

	if (!dso || dso__kernel(dso) != DSO_SPACE__USER ||
	    map__mapping_type(map) != MAPPING_TYPE__DSO)
		return false;

	/* From now on it matters when it gets another. */
	dso__set_build_id_used(dso);
	if (!dso__has_build_id(dso))
		return false;

	memset(&range->build_id, 0, sizeof(range->build_id));
	build_id__init(&range->build_id, dso__bid(dso)->data, dso__bid(dso)->size);
	range->key = build_id_key(range->build_id.data);
	range->start = map__pgoff(map);
	range->end = range->start + map__size(map);
	range->map = map;
	return true;
}

/**
 * build_id_index__new - index maps
 * @maps: The maps. Those without a build ID are left out.
 * @nr: Number of @maps.
 *
 * Return: the index, to be freed with build_id_index__delete(), or NULL.
 */
struct build_id_index *build_id_index__new(struct map **maps, unsigned int nr)
{
	struct build_id_index *index = calloc(1, sizeof(*index));

	if (!index)
		return NULL;

	index->allocated = nr ?: 1;
	index->ranges = calloc(index->allocated, sizeof(index->ranges[0]));
	if (!index->ranges) {
		free(index);
		return NULL;
	}
	index->generation = dso__build_id_generation();
	build_id_index__forget_recent(index);
	for (unsigned int i = 0; i < nr; i++)
		index->nr += file_range__init(&index->ranges[index->nr], maps[i]);
	qsort(index->ranges, index->nr, sizeof(index->ranges[0]), file_range__cmp);
	build_id_index__drop_duplicates(index);
	build_id_index__find_overlaps(index, 0, index->nr);
	return index;
}

/**
 * build_id_index__add - index one more map
 * @index: The index.
 * @map: The map.
 *
 * Return: whether that was possible. If not, the index is out of date.
 */
bool build_id_index__add(struct build_id_index *index, struct map *map)
{
	unsigned int low = 0, high = index->nr, start, end;
	struct file_range range, *ranges;

	if (!file_range__init(&range, map))
		return true;

	if (index->nr == index->allocated) {
		unsigned int allocated = 2 * index->allocated;

		ranges = realloc(index->ranges, allocated * sizeof(*ranges));
		if (!ranges)
			return false;
		index->ranges = ranges;
		index->allocated = allocated;
	}
	ranges = index->ranges;
	while (low < high) {
		unsigned int mid = low + (high - low) / 2;

		if (file_range__cmp(&ranges[mid], &range) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	memmove(&ranges[low + 1], &ranges[low], (index->nr - low) * sizeof(*ranges));
	ranges[low] = range;
	index->nr++;
	build_id_index__forget_recent(index);

	/* Those of its file, or with an ID that differs in padding alone. */
	for (start = low; start > 0; start--) {
		if (build_id_cmp(&ranges[start - 1], range.key, range.build_id.data))
			break;
	}
	for (end = low + 1; end < index->nr; end++) {
		if (build_id_cmp(&ranges[end], range.key, range.build_id.data))
			break;
	}
	build_id_index__find_overlaps(index, start, end);
	return true;
}

void build_id_index__delete(struct build_id_index *index)
{
	if (index)
		free(index->ranges);
	free(index);
}

/** build_id_index__up_to_date - has no DSO got another build ID since? */
bool build_id_index__up_to_date(const struct build_id_index *index)
{
	return index && index->generation == dso__build_id_generation();
}

/* IDs of one size with the same key differ in the other bytes, or not at all. */
static bool file_range__has_build_id(const struct file_range *range,
				     const struct perf_build_id *build_id)
{
	const size_t key_size = sizeof(range->key);

	if (range->build_id.size == build_id->size &&
	    !memcmp(&range->build_id.data[key_size], &build_id->data[key_size],
		    sizeof(build_id->data) - key_size))
		return true;
	return build_id__equal_event(&range->build_id, build_id);
}

static bool file_range__contains(const struct file_range *range, u64 key,
				 const struct perf_build_id_offset *entry)
{
	return range->key == key && entry->offset >= range->start && entry->offset < range->end &&
	       file_range__has_build_id(range, &entry->build_id);
}

/**
 * build_id_index__find - find the map of a place in a file
 * @index: The index.
 * @entry: The place, resolved.
 *
 * Where several maps show the place, one that is executable is taken, and of
 * several of those the youngest: what a task had mapped before it called exec
 * stays in its maps until something else takes the address.
 *
 * Return: the map without a reference, or NULL.
 */
struct map *build_id_index__find(struct build_id_index *index,
				 const struct perf_build_id_offset *entry)
{
	const struct file_range *ranges = index->ranges;
	unsigned int low = 0, high = index->nr, found = NO_RANGE;
	u64 key = build_id_key(entry->build_id.data);
	unsigned int *recent = &index->recent[key % NR_RECENT];

	if (*recent != NO_RANGE && file_range__contains(&ranges[*recent], key, entry))
		return ranges[*recent].map;

	/* Find the end of the ranges that start at or below the offset. */
	while (low < high) {
		unsigned int mid = low + (high - low) / 2;
		int cmp = build_id_cmp(&ranges[mid], key, entry->build_id.data);

		if (cmp < 0 || (cmp == 0 && ranges[mid].start <= entry->offset))
			low = mid + 1;
		else
			high = mid;
	}

	while (low-- > 0 && ranges[low].key == key) {
		if (!file_range__contains(&ranges[low], key, entry))
			continue;
		if (found == NO_RANGE || map__better(ranges[low].map, ranges[found].map))
			found = low;
		if (ranges[low].unique)
			break;
	}
	if (found == NO_RANGE)
		return NULL;

	if (ranges[found].unique)
		*recent = found;
	return ranges[found].map;
}
