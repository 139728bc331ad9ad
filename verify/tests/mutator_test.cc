// SPDX-License-Identifier: GPL-2.0
#include "corpus/corpus.h"
#include "mutate/document.h"
#include "mutate/mutator.h"
#include "mutate/rng.h"

#include <gtest/gtest.h>

#include <set>

using namespace perfdata;
using namespace hostile;

TEST(Document, TakingApartAndAssemblingChangesNothing)
{
	for (auto &s : corpus())
		EXPECT_EQ(Document(File::parse(s.content)).assemble(), s.content) << s.name;
}

TEST(Document, StaysSoundWhenARecordGoes)
{
	for (auto &s : corpus()) {
		File before = File::parse(s.content);
		Document d(before);

		d.pieces.erase(d.pieces.begin() + 5);

		File after = File::parse(d.assemble());

		EXPECT_EQ(after.records().size(), before.records().size() - 1) << s.name;
		EXPECT_EQ(after.features().size(), before.features().size()) << s.name;
	}
}

TEST(Mutator, SameSeedSameMutant)
{
	File f = File::parse(corpus()[2].content);

	for (uint64_t seed = 0; seed < 50; seed++)
		EXPECT_EQ(mutate(f, seed).content, mutate(f, seed).content);
}

TEST(Mutator, SeedsDiffer)
{
	File f = File::parse(corpus()[2].content);
	std::set<Buffer> all;

	for (uint64_t seed = 0; seed < 200; seed++)
		all.insert(mutate(f, mixed_seed(1, seed)).content);
	EXPECT_GT(all.size(), 180U);
}

// Neither the mutator nor the reader may trip over what the mutator makes.
TEST(Mutator, MostMutantsStayReadable)
{
	size_t total = 0, header = 0, records = 0;

	for (auto &s : corpus()) {
		File f = File::parse(s.content);

		for (uint64_t seed = 0; seed < 100; seed++) {
			total++;
			try {
				File mutant = File::parse(mutate(f, mixed_seed(2, seed)).content);

				header++;
				for (const Record &r : mutant.records())
					layout(r, mutant.events());
				records++;
			} catch (const FormatError &) {
			}
		}
	}
	EXPECT_GT(header, total * 8 / 10);
	EXPECT_GT(records, total * 6 / 10);
}

// The kinds of damage that the format's new parts need do occur.
TEST(Mutator, ReachesTheNewParts)
{
	std::set<std::string> missing = {"count", "entry size", "entry reserved", "entry offset", "cookie",
					 "map build ID size", "attr sample_type", "attr flags", "attr size",
					 "build-ID table", "feature table", "misc", "repeated", "swapped", "removed",
					 "resized", "size stated", "file cut", "bits flipped"};

	for (auto &s : corpus()) {
		File f = File::parse(s.content);

		for (uint64_t seed = 0; seed < 200; seed++)
			for (const std::string &change : mutate(f, mixed_seed(3, seed)).changes)
				std::erase_if(missing, [&](const std::string &part) {
					return change.find(part) != std::string::npos;
				});
	}
	EXPECT_EQ(missing, std::set<std::string>());
}
