// SPDX-License-Identifier: GPL-2.0
/* The DSO of a file, by name, inode and build ID, some of which may be unknown. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <internal/rc_check.h>
#include <linux/kernel.h>

#include "build-id.h"
#include "build-id-lookup.h"
#include "build-id-offset.h"
#include "debug.h"
#include "dso.h"
#include "dsos.h"
#include "event.h"
#include "machine.h"
#include "map.h"
#include "tests.h"
#include "thread.h"

#define BUILD_ID(_first) { .size = 20, .data = { (_first), 0xab } }

/* The ID of a file in mmap events. */
#define BY_INODE(_ino) {						\
	{ .maj = 8, .min = 1, .ino = (_ino), .ino_generation = 7 },	\
	.mmap2_valid = true, .mmap2_ino_generation_valid = true }
#define BY_BUILD_ID(_first) { .build_id = BUILD_ID(_first) }

static const struct build_id bid_1 = BUILD_ID(1), bid_2 = BUILD_ID(2);
static const struct dso_id ino_1 = BY_INODE(1), ino_2 = BY_INODE(2);
static const struct dso_id id_1 = BY_BUILD_ID(1), id_2 = BY_BUILD_ID(2);

#define NAME "/t/file"

/* The number of the DSO of an mmap event, from 1 in the order in which they are met. */
static int nr_of(struct dsos *dsos, const struct dso_id *id)
{
	static const void *met[8];
	const void *object;
	struct dso *dso;
	int nr;

	if (!dsos) {
		memset(met, 0, sizeof(met));
		return 0;
	}
	dso = dsos__findnew_id(dsos, NAME, id);
	object = dso ? RC_CHK_ACCESS(dso) : NULL;
	dso__put(dso);
	for (nr = 0; nr < 7 && met[nr] && met[nr] != object; nr++)
		;
	met[nr] = object;
	return nr + 1;
}

static bool has_build_id(struct dsos *dsos, const struct dso_id *id, const struct build_id *bid)
{
	struct dso *dso = dsos__findnew_id(dsos, NAME, id);
	bool ret = dso && (bid ? dso__has_build_id(dso) && dso__build_id_equal(dso, bid) :
				 !dso__has_build_id(dso));

	dso__put(dso);
	return ret;
}

static int add_row(struct dsos *dsos, const struct build_id *bid)
{
	struct dso *dso = dsos__findnew_header_build_id(dsos, NAME, bid);

	dso__put(dso);
	return dso ? 0 : -ENOMEM;
}

static int test__events(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	static const struct {
		const char *what;
		const struct dso_id *ids[6];
		int nrs[6];
	} cases[] = {
		{ "inodes", { &ino_1, &ino_2, &ino_1, &ino_2 }, { 1, 2, 1, 2 } },
		{ "build IDs", { &id_1, &id_2, &id_1, &id_2 }, { 1, 2, 1, 2 } },
		{ "inode after build ID", { &id_1, &ino_1, &id_1, &ino_1 }, { 1, 2, 1, 2 } },
		{ "build ID after inode", { &ino_1, &id_1, &ino_1, &id_1 }, { 1, 2, 1, 2 } },
		{ "four files", { &id_1, &ino_1, &id_2, &ino_2, &id_1, &ino_1 },
		  { 1, 2, 3, 4, 1, 2 } },
		{ "name alone", { &dso_id_empty, &ino_1, &ino_2, &ino_1 }, { 1, 1, 2, 1 } },
		{ "any of the name", { &ino_1, &dso_id_empty, &id_1 }, { 1, 1, 2 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct dsos dsos;

		dsos__init(&dsos);
		nr_of(NULL, NULL);
		for (size_t j = 0; j < ARRAY_SIZE(cases[i].ids) && cases[i].ids[j]; j++) {
			int nr = nr_of(&dsos, cases[i].ids[j]);

			pr_debug("%s, event %zu: DSO %d\n", cases[i].what, j, nr);
			TEST_ASSERT_EQUAL(cases[i].what, nr, cases[i].nrs[j]);
		}
		dsos__exit(&dsos);
	}
	return TEST_OK;
}

/* An inode that has got a build ID since is found by it. */
static int test__late_build_id(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	struct dso *dso;
	struct dsos dsos;

	dsos__init(&dsos);
	nr_of(NULL, NULL);
	TEST_ASSERT_EQUAL("inode", nr_of(&dsos, &ino_1), 1);
	dso = dsos__findnew_id(&dsos, NAME, &ino_1);
	dso__set_build_id(dso, &bid_1);
	dso__put(dso);
	TEST_ASSERT_EQUAL("its build ID", nr_of(&dsos, &id_1), 1);
	TEST_ASSERT_EQUAL("another", nr_of(&dsos, &id_2), 2);
	TEST_ASSERT_EQUAL("inode again", nr_of(&dsos, &ino_1), 1);
	dsos__exit(&dsos);
	return TEST_OK;
}

/* Rows of a table have a name and a build ID. */
static int test__tables(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	struct build_id bid;
	struct dsos dsos;
	struct dso *dso;

	/* One file has the name: events without a build ID are of it. */
	dsos__init(&dsos);
	TEST_ASSERT_EQUAL("row", add_row(&dsos, &bid_1), 0);
	TEST_ASSERT_EQUAL("same row", add_row(&dsos, &bid_1), 0);
	TEST_ASSERT_VAL("inode", has_build_id(&dsos, &ino_1, &bid_1));
	TEST_ASSERT_VAL("found", dsos__find_header_build_id(&dsos, NAME, &bid));
	TEST_ASSERT_VAL("right", build_id__equal(&bid, &bid_1));
	TEST_ASSERT_VAL("other name", !dsos__find_header_build_id(&dsos, "/t/other", &bid));
	dsos__exit(&dsos);

	/* Several have: both keep their build IDs, and the inode does not identify one. */
	dsos__init(&dsos);
	TEST_ASSERT_EQUAL("row", add_row(&dsos, &bid_1), 0);
	TEST_ASSERT_EQUAL("row", add_row(&dsos, &bid_2), 0);
	dso = dsos__find_build_id(&dsos, &bid_1);
	TEST_ASSERT_VAL("first", dso && !strcmp(dso__long_name(dso), NAME));
	dso__put(dso);
	dso = dsos__find_build_id(&dsos, &bid_2);
	TEST_ASSERT_VAL("second", dso && !strcmp(dso__long_name(dso), NAME));
	dso__put(dso);
	TEST_ASSERT_VAL("inode", has_build_id(&dsos, &ino_1, NULL));
	TEST_ASSERT_VAL("both", !dsos__find_header_build_id(&dsos, NAME, &bid));
	TEST_ASSERT_VAL("build ID", has_build_id(&dsos, &id_1, &bid_1));
	TEST_ASSERT_VAL("ambiguous", !dsos__find_header_build_id(&dsos, NAME, &bid));
	dsos__exit(&dsos);

	/* Where mmap events have build IDs, those without are of files without. */
	dsos__init(&dsos);
	TEST_ASSERT_VAL("build ID", has_build_id(&dsos, &id_1, &bid_1));
	TEST_ASSERT_EQUAL("row", add_row(&dsos, &bid_1), 0);
	TEST_ASSERT_VAL("inode", has_build_id(&dsos, &ino_1, NULL));
	TEST_ASSERT_VAL("not for it", !dsos__find_header_build_id(&dsos, NAME, &bid));
	dsos__exit(&dsos);

	/* In a stream the row may come after the event. */
	dsos__init(&dsos);
	TEST_ASSERT_VAL("inode", has_build_id(&dsos, &ino_1, NULL));
	TEST_ASSERT_EQUAL("row", add_row(&dsos, &bid_1), 0);
	TEST_ASSERT_VAL("late", has_build_id(&dsos, &ino_1, &bid_1));
	dsos__exit(&dsos);
	return TEST_OK;
}

/* The map of an entry of a sample that no thread maps the file of. */
static struct map *map_of(struct machine *machine, const struct build_id *bid)
{
	struct perf_build_id_offset entry = { .offset = 0x10 };

	build_id__to_event(bid, &entry.build_id);
	return machine__find_build_id_map(machine, &entry);
}

/* It has a name, or with NULL none but its build ID. */
static bool map_has_name(struct map *map, const char *name)
{
	const struct dso *dso = map ? map__dso(map) : NULL;

	return dso && (name ? !strcmp(dso__long_name(dso), name) : dso__is_build_id_only(dso));
}

static int test__build_id_only(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	struct map *first, *again;
	struct machine machine;
	struct dso *dso;

	TEST_ASSERT_EQUAL("machine", machine__init(&machine, "", HOST_KERNEL_ID), 0);

	/* Named by a table, then another file with the build ID comes. */
	first = map_of(&machine, &bid_1);
	TEST_ASSERT_VAL("no name", map_has_name(first, NULL));
	TEST_ASSERT_EQUAL("row", add_row(&machine.dsos, &bid_1), 0);
	TEST_ASSERT_VAL("name in place", map_has_name(first, NAME));
	TEST_ASSERT_VAL("short name", !strcmp(dso__short_name(map__dso(first)), "file"));
	dso = dsos__findnew_header_build_id(&machine.dsos, "/t/copy", &bid_1);
	TEST_ASSERT_VAL("copy", dso && !strcmp(dso__long_name(dso), "/t/copy"));
	dso__put(dso);
	again = map_of(&machine, &bid_1);
	TEST_ASSERT_VAL("the same", RC_CHK_EQUAL(first, again));
	TEST_ASSERT_VAL("keeps its name", map_has_name(again, NAME));
	map__put(again);
	map__put(first);

	/* Named by an mmap event. */
	first = map_of(&machine, &bid_2);
	TEST_ASSERT_VAL("no name", map_has_name(first, NULL));
	dso = machine__findnew_dso_id(&machine, "/t/mapped", &id_2);
	TEST_ASSERT_VAL("one DSO", dso && RC_CHK_EQUAL(dso, map__dso(first)));
	TEST_ASSERT_VAL("name in place", map_has_name(first, "/t/mapped"));
	dso__put(dso);
	map__put(first);

	machine__exit(&machine);
	return TEST_OK;
}

static int test__sizes(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	u8 data[32];
	struct perf_build_id event = { .size = 20 };
	struct build_id bid;

	memset(data, 0x5a, sizeof(data));
	memset(event.data, 0x5a, sizeof(event.data));
	for (size_t size = 1; size <= BUILD_ID_SIZE; size++) {
		build_id__init(&bid, data, size);
		TEST_ASSERT_VAL("defined", build_id__is_defined(&bid) && bid.size == size);
	}
	build_id__init(&bid, data, BUILD_ID_SIZE + 1);
	TEST_ASSERT_VAL("21 bytes", !build_id__is_defined(&bid));
	build_id__init(&bid, data, sizeof(data));
	TEST_ASSERT_VAL("32 bytes", !build_id__is_defined(&bid));

	build_id__from_event(&bid, &event);
	TEST_ASSERT_VAL("event", build_id__is_defined(&bid));
	event.size = 21;
	build_id__from_event(&bid, &event);
	TEST_ASSERT_VAL("event of 21 bytes", !build_id__is_defined(&bid));
	return TEST_OK;
}

static struct test_case tests__dso_identity[] = {
	TEST_CASE("Files of one name in mmap events", events),
	TEST_CASE("A build ID that comes after the inode", late_build_id),
	TEST_CASE("Files of one name in tables of build IDs", tables),
	TEST_CASE("DSOs that are known by build ID alone", build_id_only),
	TEST_CASE("Sizes of build IDs", sizes),
	{ .name = NULL, }
};

struct test_suite suite__dso_identity = {
	.desc = "DSO identity",
	.test_cases = tests__dso_identity,
};
