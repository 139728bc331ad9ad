// SPDX-License-Identifier: GPL-2.0
#include "corpus/corpus.h"
#include "perfdata/file.h"

#include <gtest/gtest.h>

using namespace perfdata;
using hostile::specimen;

TEST(File, ReadsHeaderAttrsAndFeatures)
{
	for (const char *name : {"group-le", "group-be"}) {
		File f = File::parse(specimen(name));

		ASSERT_EQ(f.attrs().size(), 2U);
		EXPECT_FALSE(f.pipe());
		EXPECT_EQ(f.attrs()[1].ids, (std::vector<uint64_t>{101, 201}));
		EXPECT_EQ(f.events().of(201), &f.attrs()[1]);
		EXPECT_EQ(f.events().of(100), &f.attrs()[0]);
		EXPECT_TRUE(f.attrs()[0].flag(ATTR_FLAG_SAMPLE_ID_ALL));
		EXPECT_FALSE(f.attrs()[0].flag(ATTR_FLAG_DEFER_CALLCHAIN));
		EXPECT_TRUE(f.features().contains(FEATURE_BUILD_ID));
	}
}

TEST(File, ReadsAStream)
{
	for (const char *name : {"pipe-le", "pipe-be"}) {
		File f = File::parse(specimen(name));

		EXPECT_TRUE(f.pipe());
		ASSERT_EQ(f.attrs().size(), 2U);
		EXPECT_EQ(f.attrs()[0].ids, (std::vector<uint64_t>{100, 200}));
	}
}

TEST(File, RefusesEveryTruncation)
{
	Buffer whole = specimen("converted-le");

	// Steps of a prime, so that cuts fall everywhere in a record.
	for (size_t size = 0; size < whole.size(); size += 37)
		EXPECT_THROW(File::parse(Buffer(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size))),
			     FormatError)
			<< size;
}

TEST(File, RefusesBrokenRecordSizes)
{
	Buffer b = specimen("converted-le");
	uint64_t at = File::parse(b).data().offset;

	for (uint64_t size : {0, 7, 0xffff}) {
		Buffer broken = b;

		put(broken, at + 6, 2, size, std::endian::little);
		File f = File::parse(broken);
		EXPECT_THROW(f.records(), FormatError) << size;
	}
}

TEST(File, SaysWhatIsNoPerfData)
{
	try {
		File::parse(Buffer(200, 'x'));
		FAIL();
	} catch (const FormatError &e) {
		EXPECT_STREQ(e.what(), "offset 0x0: no perf.data magic");
	}
}
