// SPDX-License-Identifier: GPL-2.0
/*
 * A bound for what perf keeps of the files of user code: symbols, source lines
 * and inlined functions, debug info, pages of code. All of it can be read again
 * as long as the file is there. When all DSOs together hold more than
 * core.dso-memory-limit, those that were not used for the longest time lose it.
 *
 * What results refer to stays: see symbol__keep().
 */
#include "dso-memory.h"

#include <stdlib.h>
#include <inttypes.h>
#include <linux/kernel.h>
#include <linux/list.h>

#include "build-id.h"
#include "debug.h"
#include "dso.h"
#include "dsos.h"
#include "libdw.h"
#include "mutex.h"
#include "namespaces.h"
#include "symbol.h"
#include "symbol_conf.h"

static struct {
	/* @lock: Protects @dsos. */
	struct mutex lock;
	struct list_head dsos;
	/* @total: Bytes, by kind. */
	size_t total[DSO_MEMORY__NR];
	/* @trim_at: No use to look again before there is so much. */
	size_t trim_at[DSO_MEMORY__NR];
	/* @now: Counts calls to dso_memory__trim(). */
	u64 now;
} memory = {
	.dsos = LIST_HEAD_INIT(memory.dsos),
};

static void memory__init(void)
{
	mutex_init(&memory.lock);
}

static void memory__lock(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, memory__init);
	mutex_lock(&memory.lock);
}

/** dso_memory__register - have the members of @dsos lose what they hold when it is too much */
void dso_memory__register(struct dsos *dsos)
{
	memory__lock();
	list_add(&dsos->memory_entry, &memory.dsos);
	mutex_unlock(&memory.lock);
}

/** dso_memory__unregister - to be called before @dsos go */
void dso_memory__unregister(struct dsos *dsos)
{
	memory__lock();
	list_del(&dsos->memory_entry);
	mutex_unlock(&memory.lock);
}

/**
 * dso__add_memory - count what a DSO holds
 * @dso: The DSO. That of the kernel and others whose data cannot be read again are not counted.
 * @what: The kind.
 * @bytes: How much more of it.
 */
void dso__add_memory(struct dso *dso, enum dso_memory what, size_t bytes)
{
	if (dso__kernel(dso) != DSO_SPACE__USER || !dso__has_build_id(dso))
		return;
	__atomic_fetch_add(&dso__memory(dso)->bytes[what], bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&memory.total[what], bytes, __ATOMIC_RELAXED);
}

/** dso__clear_memory - what was counted of this kind has been freed, or is to stay */
void dso__clear_memory(struct dso *dso, enum dso_memory what)
{
	size_t bytes = __atomic_exchange_n(&dso__memory(dso)->bytes[what], 0, __ATOMIC_RELAXED);

	__atomic_fetch_sub(&memory.total[what], bytes, __ATOMIC_RELAXED);
}

/** dso__touch_memory - the DSO is used now */
void dso__touch_memory(struct dso *dso)
{
	__atomic_store_n(&dso__memory(dso)->last_use,
			 __atomic_load_n(&memory.now, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

static size_t memory__total(void)
{
	return __atomic_load_n(&memory.total[DSO_MEMORY__SYMBOLS], __ATOMIC_RELAXED) +
	       __atomic_load_n(&memory.total[DSO_MEMORY__DEBUGINFO], __ATOMIC_RELAXED);
}

/* Programs are replaced while perf top runs, and those of containers go with them. */
static bool dso__can_be_read_again(const struct dso *dso)
{
	const char *filename = dso__symsrc_filename(dso);

	if (dso__nsinfo_const(dso) && nsinfo__need_setns(dso__nsinfo_const(dso)))
		return false;
	return filename && filename__has_build_id(filename, dso__bid(dso));
}

static void dso__drop(struct dso *dso, enum dso_memory what)
{
	dso__free_a2l(dso);
	dso__free_libdw(dso);
	dso__clear_memory(dso, DSO_MEMORY__DEBUGINFO);
	if (what != DSO_MEMORY__SYMBOLS)
		return;

	if (dso__can_be_read_again(dso)) {
		dso__unload(dso);
		dso__free_data_cache(dso);
	}
	/* If not, it is not worth to try again. */
	dso__clear_memory(dso, DSO_MEMORY__SYMBOLS);
}

struct candidates {
	struct candidate {
		struct dso *dso;
		u64 last_use;
	} *array;
	size_t nr, allocated;
	enum dso_memory what;
};

static int candidates__add(struct dso *dso, void *data)
{
	struct candidates *candidates = data;
	const struct dso_memory_use *use = dso__memory(dso);

	if (!use->bytes[DSO_MEMORY__DEBUGINFO] &&
	    (candidates->what != DSO_MEMORY__SYMBOLS || !use->bytes[DSO_MEMORY__SYMBOLS]))
		return 0;

	if (candidates->nr == candidates->allocated) {
		size_t allocated = candidates->allocated * 2 + 64;
		void *array = reallocarray(candidates->array, allocated,
					   sizeof(*candidates->array));

		if (!array)
			return -1;
		candidates->array = array;
		candidates->allocated = allocated;
	}
	candidates->array[candidates->nr++] = (struct candidate){
		.dso = dso__get(dso),
		.last_use = __atomic_load_n(&use->last_use, __ATOMIC_RELAXED),
	};
	return 0;
}

static int candidate__cmp(const void *a, const void *b)
{
	const struct candidate *left = a, *right = b;

	return left->last_use < right->last_use ? -1 : left->last_use > right->last_use;
}

/*
 * Below the limit by a quarter of it, so that to look through all DSOs costs
 * little for each that is dropped. The DSO that was used last stays, or
 * one that is larger than the limit would be read again for each sample.
 */
static void memory__trim(enum dso_memory what, struct dso *used)
{
	struct candidates candidates = { .what = what, };
	size_t limit = symbol_conf.dso_memory_limit, before = memory__total(), dropped = 0;
	struct dsos *dsos;

	if (!limit || before <= max(limit, memory.trim_at[what]))
		return;

	memory__lock();
	list_for_each_entry(dsos, &memory.dsos, memory_entry)
		dsos__for_each_dso(dsos, candidates__add, &candidates);
	mutex_unlock(&memory.lock);

	if (candidates.nr)
		qsort(candidates.array, candidates.nr, sizeof(*candidates.array), candidate__cmp);
	for (size_t i = 0; i < candidates.nr; i++) {
		struct dso *dso = candidates.array[i].dso;
		bool last = used ? RC_CHK_EQUAL(dso, used) : i + 1 == candidates.nr;

		/* Skip DSOs that are being loaded. */
		if (!last && memory__total() > limit / 4 * 3 && mutex_trylock(dso__lock(dso))) {
			dso__drop(dso, what);
			mutex_unlock(dso__lock(dso));
			dropped++;
		}
		dso__put(dso);
	}
	free(candidates.array);
	memory.trim_at[what] = memory__total() + limit / 16;
	pr_debug2("dropped the data of %zu DSOs: %zu kB of %zu kB are left\n", dropped,
		  memory__total() / 1024, before / 1024);
}

/**
 * dso_memory__trim - drop what was not used for longest if it is too much
 *
 * Context: between two samples, where nobody has a symbol, a source line or an
 * inlined function in hand that was not given to symbol__keep().
 */
void dso_memory__trim(void)
{
	__atomic_fetch_add(&memory.now, 1, __ATOMIC_RELAXED);
	memory__trim(DSO_MEMORY__SYMBOLS, /*used=*/NULL);
}

/**
 * dso_memory__trim_debuginfo - drop debug info alone
 * @used: The DSO whose debug info is needed now.
 *
 * Context: where nobody uses the debug info of another DSO.
 */
void dso_memory__trim_debuginfo(struct dso *used)
{
	memory__trim(DSO_MEMORY__DEBUGINFO, used);
}
