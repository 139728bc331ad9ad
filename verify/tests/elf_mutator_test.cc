// SPDX-License-Identifier: GPL-2.0
#include "mutate/elf.h"
#include "mutate/rng.h"
#include "perfdata/io.h"

#include <gtest/gtest.h>

#include <set>

using namespace hostile;

TEST(ElfMutator, SameSeedSameMutantAndSeedsDiffer)
{
	perfdata::Buffer file = perfdata::read_file(ELF_SPECIMEN);
	std::set<perfdata::Buffer> all;

	for (uint64_t seed = 0; seed < 200; seed++) {
		Mutant m = mutate_elf(file, mixed_seed(1, seed));

		EXPECT_EQ(m.content, mutate_elf(file, mixed_seed(1, seed)).content);
		EXPECT_LE(m.content.size(), file.size());
		all.insert(m.content);
	}
	EXPECT_GT(all.size(), 180U);
}

TEST(ElfMutator, LeavesOtherFilesAlone)
{
	perfdata::Buffer text = {'n', 'o', ' ', 'E', 'L', 'F'};

	EXPECT_EQ(mutate_elf(text, 1).content, text);

	perfdata::Buffer cut = perfdata::read_file(ELF_SPECIMEN);

	cut.resize(100);
	EXPECT_EQ(mutate_elf(cut, 1).content, cut);
}
