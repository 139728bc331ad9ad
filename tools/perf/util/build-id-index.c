// SPDX-License-Identifier: GPL-2.0
#include "build-id-index.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <linux/string.h>
#include <perf/event.h>

#include "build-id.h"
#include "dso.h"
#include "map.h"

/* The part of a file that one map shows. */
struct file_range {
	/** @key: The first bytes of the build ID, which distinguish most files. */
	u64		key;
	struct build_id	build_id;
	u64		start;
	u64		end;
	struct map	*map;
	/** @unique: No other range shows a part of it. */
	bool		unique;
	/** @same: List of others with the same place, whose maps are not better. */
	struct file_range *same;
};

/* A callchain goes through a few files, again and again. */
#define NR_RECENT 16

struct build_id_index {
	/** @generation: dso__build_id_generation() when the index was made. */
	unsigned long	 generation;
	/** @recent: Unique ranges found last, in slots by key, or NULL. */
	const struct file_range *recent[NR_RECENT];
	unsigned int	 nr;
	/** @allocated: Number of ranges that there is room for. */
	unsigned int	 allocated;
	/** @ranges: Sorted by build ID, then by start. */
	struct file_range **ranges;
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

/* Equal ranges show the same place, but the sizes of their build IDs may differ. */
static int file_range__cmp_place(const struct file_range *a, const struct file_range *b)
{
	int ret = build_id_cmp(a, b->key, b->build_id.data);

	if (ret)
		return ret;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	return 0;
}

static int file_range__cmp(const void *va, const void *vb)
{
	const struct file_range *a = *(const struct file_range * const *)va;
	const struct file_range *b = *(const struct file_range * const *)vb;

	return file_range__cmp_place(a, b) ?: (map__better(a->map, b->map) ? -1 : 1);
}

static bool file_range__same(const struct file_range *a, const struct file_range *b)
{
	return a->build_id.size == b->build_id.size && !file_range__cmp_place(a, b);
}

/* Of ranges that are the same, the best, which comes first, gets the others. */
static void build_id_index__merge_same(struct build_id_index *index)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < index->nr; i++) {
		struct file_range *range = index->ranges[i];

		if (nr && file_range__same(index->ranges[nr - 1], range)) {
			range->same = index->ranges[nr - 1]->same;
			index->ranges[nr - 1]->same = range;
			continue;
		}
		index->ranges[nr++] = range;
	}
	index->nr = nr;
}

static void build_id_index__find_overlaps(struct build_id_index *index)
{
	struct file_range *widest = NULL;

	for (unsigned int i = 0; i < index->nr; i++) {
		struct file_range *range = index->ranges[i];

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

/* The same for one range that is new. What comes before a unique range ends before it, too. */
static void build_id_index__find_new_overlaps(struct build_id_index *index, unsigned int at)
{
	struct file_range *range = index->ranges[at];
	bool stop = false;

	range->unique = true;
	for (unsigned int i = at; i-- > 0 && !stop;) {
		struct file_range *prev = index->ranges[i];

		if (build_id_cmp(prev, range->key, range->build_id.data))
			break;
		stop = prev->unique;
		if (prev->end > range->start) {
			prev->unique = false;
			range->unique = false;
		}
	}
	for (unsigned int i = at + 1; i < index->nr; i++) {
		struct file_range *next = index->ranges[i];

		if (build_id_cmp(next, range->key, range->build_id.data) ||
		    next->start >= range->end)
			break;
		next->unique = false;
		range->unique = false;
	}
}

static void build_id_index__forget_recent(struct build_id_index *index)
{
	memset(index->recent, 0, sizeof(index->recent));
}

/* False if entries cannot express the offsets of @map. */
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

	memset(range, 0, sizeof(*range));
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
	if (!index->ranges)
		goto out_delete;

	index->generation = dso__build_id_generation();
	for (unsigned int i = 0; i < nr; i++) {
		struct file_range range;

		if (!file_range__init(&range, maps[i]))
			continue;
		index->ranges[index->nr] = memdup(&range, sizeof(range));
		if (!index->ranges[index->nr])
			goto out_delete;
		index->nr++;
	}
	qsort(index->ranges, index->nr, sizeof(index->ranges[0]), file_range__cmp);
	build_id_index__merge_same(index);
	build_id_index__find_overlaps(index);
	return index;

out_delete:
	build_id_index__delete(index);
	return NULL;
}

/* Index of the first range that is not before the place of @range. */
static unsigned int build_id_index__lower_bound(const struct build_id_index *index,
						const struct file_range *range)
{
	unsigned int low = 0, high = index->nr;

	while (low < high) {
		unsigned int mid = low + (high - low) / 2;

		if (file_range__cmp_place(index->ranges[mid], range) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* @range is at the same place as @to. The best of their maps is to be that of @to. */
static bool file_range__add_same(struct file_range *to, const struct file_range *range)
{
	struct file_range *new = memdup(range, sizeof(*range));

	if (!new)
		return false;
	if (map__better(new->map, to->map)) {
		new->map = to->map;
		to->map = range->map;
	}
	new->same = to->same;
	to->same = new;
	return true;
}

/* Which of the ranges at the same place has the best map? */
static struct file_range **file_range__best_same(struct file_range *range)
{
	struct file_range **best = &range->same;

	for (struct file_range **pos = best; *pos; pos = &(*pos)->same) {
		if (map__better((*pos)->map, (*best)->map))
			best = pos;
	}
	return best;
}

/* Take @map from @range or from those at the same place. False if it was the only one. */
static bool file_range__remove_map(struct file_range *range, const struct map *map)
{
	struct file_range **pos, *unused;

	if (range->map == map) {
		pos = file_range__best_same(range);
		if (!*pos)
			return false;
		range->map = (*pos)->map;
	} else {
		for (pos = &range->same; *pos && (*pos)->map != map; pos = &(*pos)->same)
			;
		if (!*pos)
			return true;
	}
	unused = *pos;
	*pos = unused->same;
	free(unused);
	return true;
}

static bool build_id_index__insert(struct build_id_index *index, unsigned int at,
				   const struct file_range *range)
{
	struct file_range *new;

	if (index->nr == index->allocated) {
		unsigned int allocated = 2 * index->allocated;
		struct file_range **ranges = realloc(index->ranges, allocated * sizeof(*ranges));

		if (!ranges)
			return false;
		index->ranges = ranges;
		index->allocated = allocated;
	}
	new = memdup(range, sizeof(*range));
	if (!new)
		return false;
	memmove(&index->ranges[at + 1], &index->ranges[at],
		(index->nr - at) * sizeof(index->ranges[0]));
	index->ranges[at] = new;
	index->nr++;
	build_id_index__find_new_overlaps(index, at);
	return true;
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
	struct file_range range;
	unsigned int at;

	if (!file_range__init(&range, map))
		return true;

	at = build_id_index__lower_bound(index, &range);
	for (unsigned int i = at; i < index->nr; i++) {
		struct file_range *other = index->ranges[i];

		if (file_range__cmp_place(other, &range))
			break;
		if (other->build_id.size != range.build_id.size)
			continue;
		return file_range__add_same(other, &range);
	}
	return build_id_index__insert(index, at, &range);
}

/**
 * build_id_index__remove - forget a map that goes
 * @index: The index, up to date.
 * @map: The map.
 */
void build_id_index__remove(struct build_id_index *index, struct map *map)
{
	struct file_range range;

	if (!file_range__init(&range, map))
		return;

	for (unsigned int i = build_id_index__lower_bound(index, &range); i < index->nr; i++) {
		struct file_range *other = index->ranges[i];

		if (file_range__cmp_place(other, &range))
			break;
		if (other->build_id.size != range.build_id.size ||
		    file_range__remove_map(other, map))
			continue;
		index->nr--;
		memmove(&index->ranges[i], &index->ranges[i + 1],
			(index->nr - i) * sizeof(index->ranges[0]));
		free(other);
		build_id_index__forget_recent(index);
		break;
	}
}

void build_id_index__delete(struct build_id_index *index)
{
	if (!index)
		return;

	for (unsigned int i = 0; i < index->nr; i++) {
		for (struct file_range *range = index->ranges[i], *next; range; range = next) {
			next = range->same;
			free(range);
		}
	}
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
	const struct file_range **recent, *found = NULL;
	u64 key = build_id_key(entry->build_id.data);
	unsigned int low = 0, high = index->nr;

	recent = &index->recent[key % NR_RECENT];
	if (*recent && (*recent)->unique && file_range__contains(*recent, key, entry))
		return (*recent)->map;

	/* Find the end of the ranges that start at or below the offset. */
	while (low < high) {
		unsigned int mid = low + (high - low) / 2;
		const struct file_range *range = index->ranges[mid];
		int cmp = build_id_cmp(range, key, entry->build_id.data);

		if (cmp < 0 || (cmp == 0 && range->start <= entry->offset))
			low = mid + 1;
		else
			high = mid;
	}

	while (low-- > 0 && index->ranges[low]->key == key) {
		const struct file_range *range = index->ranges[low];

		if (!file_range__contains(range, key, entry))
			continue;
		if (!found || map__better(range->map, found->map))
			found = range;
		if (range->unique)
			break;
	}
	if (!found)
		return NULL;

	if (found->unique)
		*recent = found;
	return found->map;
}
