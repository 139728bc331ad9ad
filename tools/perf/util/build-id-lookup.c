// SPDX-License-Identifier: GPL-2.0
/*
 * Where the build ID + file offset entries of a sample are: in the maps of its
 * thread, or else in a DSO of the machine.
 */
#include "build-id-lookup.h"

#include <stdint.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <internal/rc_check.h>

#include "build-id.h"
#include "build-id-offset.h"
#include "dso.h"
#include "dsos.h"
#include "event.h"
#include "hashmap.h"
#include "machine.h"
#include "map.h"
#include "maps.h"
#include "sample.h"
#include "thread.h"

static size_t build_id_hash(long key, void *ctx __maybe_unused)
{
	return key;
}

static bool build_id_hash_equal(long a, long b, void *ctx __maybe_unused)
{
	return a == b;
}

/*
 * No event tells the name of the file. Still, files must not be taken for each
 * other where they have code at the same offset.
 */
static struct dso *machine__findnew_nameless_dso(struct machine *machine,
						 const struct build_id *bid)
{
	char name[sizeof(DSO__BUILD_ID_ONLY_PREFIX "]") + SBUILD_ID_SIZE];
	size_t len = scnprintf(name, sizeof(name), DSO__BUILD_ID_ONLY_PREFIX);
	struct dso_id id = { .build_id = *bid };

	len += build_id__snprintf(bid, name + len, sizeof(name) - len);
	scnprintf(name + len, sizeof(name) - len, "]");
	return machine__findnew_dso_id(machine, name, &id);
}

/* A map that shows the whole file of @dso, and whose addresses are file offsets. */
static struct map *map__new_whole_file(struct dso *dso)
{
	struct map *map = map__new2(/*start=*/0, dso);

	if (map)
		map__set_end(map, INT64_MAX);
	return map;
}

/** map__is_whole_file - is this a map that machine__find_build_id_map() made? */
bool map__is_whole_file(const struct map *map)
{
	return map__start(map) == 0 && map__end(map) == INT64_MAX;
}

/* With machine->build_id_maps_lock held. */
static struct map *machine__findnew_build_id_map(struct machine *machine,
						 const struct build_id *bid)
{
	long key = build_id__hash(bid);
	struct hashmap_entry *cur;
	struct map *map = NULL;
	struct dso *dso;

	hashmap__for_each_key_entry(machine->build_id_maps, cur, key) {
		struct map *known = cur->pvalue;

		dso = map__dso(known);
		if (dso__kernel(dso) == DSO_SPACE__USER && dso__build_id_equal(dso, bid))
			return map__get(known);
	}

	dso = dsos__find_build_id(&machine->dsos, bid) ?:
	      machine__findnew_nameless_dso(machine, bid);
	if (dso)
		map = map__new_whole_file(dso);
	if (map && hashmap__append(machine->build_id_maps, key, map))
		map__zput(map);
	dso__put(dso);
	return map__get(map);
}

/**
 * machine__find_build_id_map - find a map of a file that the thread doesn't map
 * @machine: The machine, any of whose DSOs with the build ID will do.
 * @entry: The place in the file, resolved.
 *
 * The map is made when it is first asked for and kept with the machine, so
 * there is one for each build ID: others that get that build ID later, copies
 * of the file for example, don't take its place.
 *
 * Without such a DSO one is made that has the build ID for a name.
 *
 * Return: a map, to be put by the caller, whose addresses are file offsets, or
 * NULL if there is no memory for it.
 */
struct map *machine__find_build_id_map(struct machine *machine,
				       const struct perf_build_id_offset *entry)
{
	struct build_id bid;
	struct map *map;

	build_id__from_event(&bid, &entry->build_id);
	mutex_lock(&machine->build_id_maps_lock);
	if (!machine->build_id_maps) {
		machine->build_id_maps = hashmap__new(build_id_hash, build_id_hash_equal,
						      /*ctx=*/NULL);
		if (IS_ERR(machine->build_id_maps))
			machine->build_id_maps = NULL;
	}
	map = machine->build_id_maps ? machine__findnew_build_id_map(machine, &bid) : NULL;
	mutex_unlock(&machine->build_id_maps_lock);
	return map;
}

/** machine__delete_build_id_maps - put what machine__find_build_id_map() keeps */
void machine__delete_build_id_maps(struct machine *machine)
{
	struct hashmap_entry *cur;
	size_t bkt;

	if (!machine->build_id_maps)
		return;

	hashmap__for_each_entry(machine->build_id_maps, cur, bkt)
		map__put((struct map *)cur->pvalue);
	hashmap__free(machine->build_id_maps);
	machine->build_id_maps = NULL;
}

/*
 * The thread of a sample, or one that shares its maps. A thread that has ended
 * is not known any more when the last samples of it come.
 */
static struct thread *machine__find_sample_thread(struct machine *machine,
						  const struct perf_sample *sample)
{
	struct thread *thread = machine__find_thread(machine, sample->pid, sample->tid);

	return thread ?: machine__find_thread(machine, sample->pid, sample->pid);
}

/**
 * machine__fixup_sample - give a sample addresses in place of file offsets
 * @machine: The machine that the sample was taken on, NULL if it isn't known.
 * @sample: The sample.
 *
 * Readers print, compare and unwind addresses. What a sample knows by build ID
 * and offset alone gets the address that it has in the thread's maps at this
 * time. Where the thread doesn't map the file, the offset stays.
 */
void machine__fixup_sample(struct machine *machine, struct perf_sample *sample)
{
	const struct build_id_callchain *chain = sample->build_id_callchain;
	bool need_ip = sample->has_build_id_offset && !perf_sample__has_recorded_ip(sample);
	struct thread *thread;

	if (!machine || (!need_ip && !sample->callchain_copy))
		return;

	thread = machine__find_sample_thread(machine, sample);
	if (!thread)
		return;

	if (need_ip)
		maps__build_id_offset_ips(thread__maps(thread), &sample->build_id_offset, 1,
					  &sample->ip);
	if (chain && sample->callchain_copy)
		maps__build_id_offset_ips(thread__maps(thread), chain->entries, chain->nr,
					  sample->callchain_copy->ips);
	thread__put(thread);
}
