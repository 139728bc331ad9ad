// SPDX-License-Identifier: GPL-2.0
/*
 * Replace the addresses of samples by build ID + file offset entries. A record
 * is not taken apart: the address and the callchain are cut out, the entries
 * are appended, and every other byte is copied.
 */
#include "build-id-convert.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <internal/rc_check.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>

#include "addr_location.h"
#include "build-id.h"
#include "build-id-offset.h"
#include "debug.h"
#include "dso.h"
#include "event.h"
#include "evsel.h"
#include "hashmap.h"
#include "machine.h"
#include "map.h"
#include "sample.h"
#include "thread.h"
#include "vdso.h"

struct build_id_converter_stats {
	u64 samples;
	u64 resolved;
	u64 kernel;
	u64 no_map;
	u64 anonymous;
	u64 no_build_id;
	/** @frames_cut: Frames that had no room in their record. */
	u64 frames_cut;
	/** @stacks_cut: User stack dumps that were shortened to make room. */
	u64 stacks_cut;
};

struct build_id_converter {
	const struct build_id_converter_ops *ops;
	void *arg;
	/** @dsos: The DSOs met so far, with a reference. */
	struct hashmap dsos;
	struct build_id_converter_stats stats;
	/** @event_copy: The record that is returned. */
	char event_copy[PERF_SAMPLE_MAX_SIZE] __aligned(8);
};

/* Records have 16 bits for their size, and it is a multiple of 8. */
#define RECORD_MAX_SIZE (PERF_SAMPLE_MAX_SIZE - sizeof(u64))

static size_t dso_hash(long key, void *ctx __maybe_unused)
{
	return key;
}

static bool dso_equal(long a, long b, void *ctx __maybe_unused)
{
	return a == b;
}

/**
 * build_id_converter__new - make a converter
 * @ops: Its callbacks.
 * @arg: The first argument of each.
 *
 * Its memory grows with the DSOs that are hit, not with the events.
 *
 * Return: the converter, to be freed with build_id_converter__delete(), or NULL.
 */
struct build_id_converter *build_id_converter__new(const struct build_id_converter_ops *ops,
						   void *arg)
{
	struct build_id_converter *conv = calloc(1, sizeof(*conv));

	if (!conv)
		return NULL;

	conv->ops = ops;
	conv->arg = arg;
	hashmap__init(&conv->dsos, dso_hash, dso_equal, /*ctx=*/NULL);
	return conv;
}

void build_id_converter__delete(struct build_id_converter *conv)
{
	struct hashmap_entry *cur;
	size_t bkt;

	if (!conv)
		return;

	hashmap__for_each_entry(&conv->dsos, cur, bkt)
		dso__put((struct dso *)cur->pvalue);
	hashmap__clear(&conv->dsos);
	free(conv);
}

/* One record on its way. */
struct conversion {
	struct build_id_converter *conv;
	struct perf_sample *sample;
	struct machine *machine;
	struct thread *thread;
	/** @map: The map found last, the next address is likely in it too. */
	struct map *map;
	/** @build_id: Of the file in @map, size 0 if there is none. */
	struct perf_build_id build_id;
	/** @map_stat: Counts the addresses in @map. */
	u64 *map_stat;
	u8 cpumode;
	int err;
};

static void conversion__start(struct conversion *c, struct build_id_converter *conv,
			      struct perf_sample *sample, struct machine *machine)
{
	*c = (struct conversion){
		.conv = conv,
		.sample = sample,
		.machine = machine,
		.thread = machine__findnew_thread(machine, sample->pid, sample->tid),
	};
}

static void conversion__finish(struct conversion *c)
{
	map__put(c->map);
	thread__put(c->thread);
}

/* What is done once for each DSO. */
static void conversion__meet_dso(struct conversion *c, struct dso *dso)
{
	struct build_id_converter *conv = c->conv;
	long key = (long)RC_CHK_ACCESS(dso);
	struct dso *ref;

	if (hashmap__find(&conv->dsos, key, NULL))
		return;

	ref = dso__get(dso);
	c->err = hashmap__add(&conv->dsos, key, ref);
	if (c->err) {
		dso__put(ref);
		return;
	}
	conv->ops->find_build_id(conv->arg, dso);
	if (dso__has_build_id(dso))
		c->err = conv->ops->dso_hit(conv->arg, dso, c->map, c->sample, c->machine);
}

static bool dso__is_file(const struct dso *dso)
{
	const char *name = dso__long_name(dso);
	int tid;

	return dso__is_vdso(dso) || (name[0] == '/' && !is_anon_memory(name) &&
				     !is_no_dso_memory(name) && !perf_pid_map_tid(name, &tid));
}

static void conversion__keep_map(struct conversion *c)
{
	struct build_id_converter *conv = c->conv;

	if (conv->ops->keep_map && !c->err)
		c->err = conv->ops->keep_map(conv->arg, c->thread, c->map, c->sample, c->machine);
}

static void conversion__set_map(struct conversion *c, struct map *map)
{
	struct build_id_converter_stats *stats = &c->conv->stats;
	struct dso *dso = map__dso(map);

	map__put(c->map);
	c->map = map__get(map);
	c->build_id.size = 0;

	if (!dso || !dso__is_file(dso) || map__mapping_type(map) != MAPPING_TYPE__DSO) {
		c->map_stat = &stats->anonymous;
		conversion__keep_map(c);
		return;
	}
	conversion__meet_dso(c, dso);
	if (!dso__has_build_id(dso)) {
		c->map_stat = &stats->no_build_id;
		conversion__keep_map(c);
		return;
	}
	build_id__to_event(dso__bid(dso), &c->build_id);
	c->map_stat = &stats->resolved;
}

static bool map__contains(const struct map *map, u64 addr)
{
	return map && addr >= map__start(map) && addr < map__end(map);
}

/* Make c->map the user map at @addr. */
static bool conversion__find_map(struct conversion *c, u64 addr)
{
	struct addr_location al;

	if (map__contains(c->map, addr))
		return true;
	if (!c->thread)
		return false;

	addr_location__init(&al);
	if (thread__find_map(c->thread, c->cpumode, addr, &al))
		conversion__set_map(c, al.map);
	addr_location__exit(&al);
	return map__contains(c->map, addr);
}

static bool is_user_mode(u8 cpumode)
{
	return cpumode == PERF_RECORD_MISC_USER || cpumode == PERF_RECORD_MISC_GUEST_USER;
}

/* Make an entry of an address in c->cpumode. */
static void conversion__address(struct conversion *c, u64 addr,
				struct perf_build_id_offset *entry)
{
	struct build_id_converter_stats *stats = &c->conv->stats;

	memset(entry, 0, sizeof(*entry));
	entry->offset = addr;

	if (!is_user_mode(c->cpumode)) {
		stats->kernel++;
		return;
	}
	if (!conversion__find_map(c, addr)) {
		stats->no_map++;
		return;
	}
	/* No file is that long, the map's offset is wrong. */
	if (map__map_ip(c->map, addr) > INT64_MAX) {
		stats->no_map++;
		return;
	}
	++*c->map_stat;
	if (c->build_id.size) {
		entry->build_id = c->build_id;
		entry->offset = map__map_ip(c->map, addr);
	}
}

/*
 * The kernel resolves what it has at hand, and an earlier conversion what was
 * found then: look again at the address in @entry, of c->cpumode.
 */
static void conversion__old_entry(struct conversion *c, struct perf_build_id_offset *entry)
{
	if (build_id_offset__resolved(entry))
		c->conv->stats.resolved++;
	else
		conversion__address(c, entry->offset, entry);
}

/* A marker keeps its place and has the mode of the addresses after it. */
static u8 context_cpumode(u64 context)
{
	switch (context) {
	case PERF_CONTEXT_USER:
	case PERF_CONTEXT_USER_DEFERRED:
		return PERF_RECORD_MISC_USER;
	case PERF_CONTEXT_KERNEL:
		return PERF_RECORD_MISC_KERNEL;
	case PERF_CONTEXT_HV:
		return PERF_RECORD_MISC_HYPERVISOR;
	default:
		/* Readers drop such a callchain, whatever is in it. */
		return PERF_RECORD_MISC_CPUMODE_UNKNOWN;
	}
}

static void *conversion__callchain(struct conversion *c, const struct ip_callchain *words,
				   void *out, const void *end)
{
	struct build_id_callchain *chain = out;
	u64 room = (end - (void *)chain->entries) / sizeof(chain->entries[0]);

	chain->nr = words->nr;
	if (chain->nr > room) {
		c->conv->stats.frames_cut += chain->nr - room;
		chain->nr = room;
	}

	/* As readers take it before the first marker. */
	c->cpumode = PERF_RECORD_MISC_USER;
	for (u64 i = 0; i < chain->nr; i++) {
		u64 word = words->ips[i];
		struct perf_build_id_offset *entry = &chain->entries[i];
		bool cookie = i > 0 && words->ips[i - 1] == PERF_CONTEXT_USER_DEFERRED;

		if (word < PERF_CONTEXT_MAX && !cookie) {
			conversion__address(c, word, entry);
			continue;
		}
		memset(entry, 0, sizeof(*entry));
		entry->offset = word;
		if (!cookie)
			c->cpumode = context_cpumode(word);
	}
	return &chain->entries[chain->nr];
}

static void conversion__old_callchain(struct conversion *c, struct build_id_callchain *chain)
{
	bool cookie = false;

	c->cpumode = PERF_RECORD_MISC_USER;
	for (u64 i = 0; i < chain->nr; i++) {
		struct perf_build_id_offset *entry = &chain->entries[i];
		u64 word = entry->offset;

		if (build_id_offset__resolved(entry) || (word < PERF_CONTEXT_MAX && !cookie)) {
			conversion__old_entry(c, entry);
			continue;
		}
		if (!cookie)
			c->cpumode = context_cpumode(word);
		cookie = !cookie && word == PERF_CONTEXT_USER_DEFERRED;
	}
}

/*
 * A deferred entry has the sampled address, too. It is resolved in a record of
 * its cookie, but the address need not stay until then.
 */
static void conversion__old_sampled(struct conversion *c, struct perf_build_id_offset *entry)
{
	struct perf_build_id_offset now = { .offset = entry->offset };

	c->cpumode = c->sample->cpumode;
	if (!c->sample->deferred_build_id_offset) {
		conversion__old_entry(c, entry);
		return;
	}
	conversion__address(c, entry->offset, &now);
	if (build_id_offset__resolved(&now))
		*entry = now;
}

static void *copy_range(void *out, const void *from, const void *to)
{
	memcpy(out, from, to - from);
	return out + (to - from);
}

static bool within(const union perf_event *event, const void *start, const void *end)
{
	return start >= (const void *)event->sample.array && start <= end &&
	       end <= (const void *)event + event->header.size;
}

/* Bytes of the entries that become of the fields in @added. */
static size_t entries_size(u64 added, u64 nr)
{
	size_t size = 0;

	if (added & PERF_SAMPLE_BUILD_ID_OFFSET)
		size += sizeof(struct perf_build_id_offset);
	if (added & PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET)
		size += build_id_callchain__size(nr);
	return size;
}

/*
 * Take about @bytes from the dump of the user stack at @data, with the outermost
 * frames on it, in a record that goes on to @end. The kernel does so too: a dump
 * gets what the other fields leave.
 *
 * Return: the new end.
 */
static void *shorten_stack(void *data, void *end, size_t bytes)
{
	__u64 *size = data - sizeof(*size);
	__u64 *dyn_size = data + *size;
	/* Without any data there is no dyn_size either. */
	size_t cut = min_t(size_t, PERF_ALIGN(bytes, sizeof(u64)), *size - sizeof(u64));

	*size -= cut;
	*dyn_size = min(*dyn_size, *size);
	memmove(data + *size, dyn_size, end - (void *)dyn_size);
	return end - cut;
}

static union perf_event *convert_sample(struct build_id_converter *conv, union perf_event *event,
					struct perf_sample *sample, struct machine *machine)
{
	const struct perf_event_attr *attr = &sample->evsel->core.attr;
	u64 type = build_id_converter__sample_type(attr);
	u64 added = type & ~attr->sample_type;
	u64 removed = attr->sample_type & ~type;
	union perf_event *copy = (union perf_event *)conv->event_copy;
	const void *end = (void *)event + event->header.size;
	const void *entries_at = end, *rest = event->sample.array;
	void *out = copy->sample.array;
	const void *out_end = conv->event_copy + RECORD_MAX_SIZE;
	u64 nr = sample->callchain ? sample->callchain->nr : 0;
	ssize_t lacking;
	struct conversion c;

	if (!removed && !sample->has_build_id_offset && !sample->build_id_callchain)
		return event;

	/* They would be where the entries belong. */
	if (sample->parsed_size != event->header.size) {
		pr_err("ERROR: at offset %#" PRIx64 ": %d bytes after the fields of a sample\n",
		       sample->file_offset, event->header.size - sample->parsed_size);
		return ERR_PTR(-EINVAL);
	}

	/* An entry goes before a callchain of entries that is there already. */
	if ((type & ~added & PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET) && sample->build_id_callchain)
		entries_at = end - build_id_callchain__size(sample->build_id_callchain->nr);

	conversion__start(&c, conv, sample, machine);
	copy->header = event->header;

	if (removed & PERF_SAMPLE_IP) {
		const __u64 *ip = event->sample.array;

		if (type & PERF_SAMPLE_IDENTIFIER)
			ip++;
		out = copy_range(out, rest, ip);
		rest = ip + 1;
	}
	if (added & PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET) {
		const struct ip_callchain *words = sample->callchain;
		const void *words_end = &words->ips[words->nr];

		if (!within(event, words, words_end) || (const void *)words < rest) {
			c.err = -EFAULT;
			goto out;
		}
		out = copy_range(out, rest, words);
		rest = words_end;
	}
	if (!within(event, rest, entries_at)) {
		c.err = -EFAULT;
		goto out;
	}
	out = copy_range(out, rest, entries_at);
	out_end -= end - entries_at;

	lacking = out - out_end + entries_size(added, nr);
	if (lacking > 0 && sample->user_stack.data) {
		void *stack = out - (entries_at - (void *)sample->user_stack.data);

		out = shorten_stack(stack, out, lacking);
		conv->stats.stacks_cut++;
	}
	if (out_end - out < (ssize_t)entries_size(added, /*nr=*/0)) {
		pr_err("ERROR: at offset %#" PRIx64 ": sample of %u bytes has no room for a build ID offset\n",
		       sample->file_offset, event->header.size);
		c.err = -E2BIG;
		goto out;
	}
	if (sample->has_build_id_offset)
		conversion__old_sampled(&c, out - sizeof(struct perf_build_id_offset));
	if (added & PERF_SAMPLE_BUILD_ID_OFFSET) {
		c.cpumode = sample->cpumode;
		conversion__address(&c, sample->ip, out);
		out += sizeof(struct perf_build_id_offset);
	}
	if (added & PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET)
		out = conversion__callchain(&c, sample->callchain, out, out_end);
	if (entries_at != end)
		conversion__old_callchain(&c, memcpy(out, entries_at, end - entries_at));
	out += end - entries_at;

	copy->header.size = out - (void *)copy;
	conv->stats.samples++;
out:
	conversion__finish(&c);
	return c.err ? ERR_PTR(c.err) : copy;
}

static union perf_event *convert_deferred_entries(struct build_id_converter *conv,
						  union perf_event *event,
						  struct perf_sample *sample,
						  struct machine *machine)
{
	union perf_event *copy = (union perf_event *)conv->event_copy;
	struct conversion c;

	memcpy(copy, event, event->header.size);
	conversion__start(&c, conv, sample, machine);
	if (event->header.misc & PERF_RECORD_MISC_CALLCHAIN_BUILD_ID) {
		struct perf_build_id_offset *ip = &copy->callchain_deferred_build_ids.ip;

		c.cpumode = PERF_RECORD_MISC_USER;
		if (build_id_offset__resolved(ip) || ip->offset)
			conversion__old_entry(&c, ip);
	}
	conversion__old_callchain(&c, callchain_deferred__entries(copy));
	conversion__finish(&c);
	return c.err ? ERR_PTR(c.err) : copy;
}

static union perf_event *convert_deferred(struct build_id_converter *conv, union perf_event *event,
					  struct perf_sample *sample, struct machine *machine)
{
	union perf_event *copy = (union perf_event *)conv->event_copy;
	const struct ip_callchain *words = sample->callchain;
	const void *end = (void *)event + event->header.size;
	const void *words_end;
	const void *out_end;
	struct conversion c;
	void *out;

	if (callchain_deferred__has_build_ids(&event->header))
		return convert_deferred_entries(conv, event, sample, machine);

	words_end = &words->ips[words->nr];
	if (!within(event, words, words_end))
		return ERR_PTR(-EFAULT);

	conversion__start(&c, conv, sample, machine);
	out_end = conv->event_copy + RECORD_MAX_SIZE - (end - words_end);
	copy->header = event->header;
	copy->header.misc |= PERF_RECORD_MISC_CALLCHAIN_BUILD_ID;
	out = copy_range(copy->sample.array, event->sample.array, words);
	/* The sampled address is never deferred in what is converted. */
	memset(out, 0, sizeof(struct perf_build_id_offset));
	out += sizeof(struct perf_build_id_offset);
	out = conversion__callchain(&c, words, out, out_end);
	out = copy_range(out, words_end, end);
	copy->header.size = out - (void *)copy;
	conversion__finish(&c);
	return c.err ? ERR_PTR(c.err) : copy;
}

/**
 * build_id_converter__event - convert a sample or a deferred callchain
 * @conv: The converter.
 * @event: A PERF_RECORD_SAMPLE or PERF_RECORD_CALLCHAIN_DEFERRED.
 * @sample: Parsed from @event.
 * @machine: The machine it was taken on, as far as events before it tell.
 *
 * Return: @event if there is nothing to convert, else a record that is valid
 * until the next call, or an ERR_PTR.
 */
union perf_event *build_id_converter__event(struct build_id_converter *conv,
					    union perf_event *event,
					    struct perf_sample *sample, struct machine *machine)
{
	if (event->header.type == PERF_RECORD_CALLCHAIN_DEFERRED)
		return convert_deferred(conv, event, sample, machine);

	return convert_sample(conv, event, sample, machine);
}

/** build_id_converter__warn_cut - report fields that were cut to fit a record */
void build_id_converter__warn_cut(const struct build_id_converter *conv)
{
	const struct build_id_converter_stats *stats = &conv->stats;

	if (stats->frames_cut) {
		pr_warning("WARNING: %" PRIu64 " frames cut from callchains, their samples had no room for them.\n",
			   stats->frames_cut);
	}
	if (stats->stacks_cut) {
		pr_warning("WARNING: %" PRIu64 " user stack dumps shortened to make room in their samples.\n",
			   stats->stacks_cut);
	}
}

/** build_id_converter__warn_addresses - report how many user addresses are left */
void build_id_converter__warn_addresses(const struct build_id_converter *conv)
{
	const struct build_id_converter_stats *stats = &conv->stats;
	u64 left = stats->no_map + stats->anonymous + stats->no_build_id;

	if (left) {
		pr_warning("WARNING: %" PRIu64 " of %" PRIu64 " entries still have a user address: ",
			   left, left + stats->resolved + stats->kernel);
		pr_warning("%" PRIu64 " no mapping, %" PRIu64 " anonymous or JIT, ",
			   stats->no_map, stats->anonymous);
		pr_warning("%" PRIu64 " no build ID.\n", stats->no_build_id);
	}
}

/** build_id_converter__fprintf - print what became of the addresses */
void build_id_converter__fprintf(const struct build_id_converter *conv, FILE *fp)
{
	const struct build_id_converter_stats *stats = &conv->stats;
	u64 unresolved = stats->kernel + stats->no_map + stats->anonymous + stats->no_build_id;

	fprintf(fp, "build-id offset: %" PRIu64 " samples, %" PRIu64 " entries, ",
		stats->samples, stats->resolved + unresolved);
	fprintf(fp, "%" PRIu64 " resolved\n", stats->resolved);
	fprintf(fp, "build-id offset: not resolved: %" PRIu64 " kernel, %" PRIu64 " no mapping, ",
		stats->kernel, stats->no_map);
	fprintf(fp, "%" PRIu64 " anonymous or JIT, %" PRIu64 " no build ID\n",
		stats->anonymous, stats->no_build_id);
}
