// SPDX-License-Identifier: GPL-2.0
#include "corpus/compose.h"
#include "perfdata/file.h"
#include "perfdata/layout.h"

#include <gtest/gtest.h>

using namespace perfdata;
using namespace hostile;

namespace {

// A file with one sample that has two entries in its callchain.
Buffer with_entries(std::endian order)
{
	EventSpec e;

	e.sample_type = SAMPLE_IDENTIFIER | SAMPLE_BUILD_ID_OFFSET | SAMPLE_CALLCHAIN_BUILD_ID_OFFSET;
	e.ids = {7};

	Composer c(order, false, {e});
	SampleSpec s;

	s.ip_entry = {{3, {1, 2, 3}}, 0x1234};
	s.chain_entries = {{{}, CONTEXT_USER}, s.ip_entry};
	c.sample({0, 0, 0, 0, 7}, e, s);
	return c.finish({});
}

} // namespace

TEST(Layout, FindsEntries)
{
	for (std::endian order : {std::endian::little, std::endian::big}) {
		File f = File::parse(with_entries(order));
		Record r = f.records().front();
		std::vector<uint64_t> sizes, offsets;

		for (const Field &field : layout(r, f.events())) {
			if (field.kind == Kind::EntrySize)
				sizes.push_back(r.bytes.u8(field.at));
			if (field.kind == Kind::EntryOffset)
				offsets.push_back(r.bytes.u64(field.at));
			if (field.kind == Kind::Count) {
				EXPECT_EQ(r.bytes.u64(field.at), 2U);
				EXPECT_EQ(field.unit, ENTRY_SIZE);
			}
		}
		EXPECT_EQ(sizes, (std::vector<uint64_t>{3, 0, 3}));
		EXPECT_EQ(offsets, (std::vector<uint64_t>{0x1234, CONTEXT_USER, 0x1234}));
	}
}

TEST(Layout, StopsWhereTheRecordEnds)
{
	Buffer b = with_entries(std::endian::little);
	uint64_t at = File::parse(b).data().offset;
	uint64_t size = Bytes(b, std::endian::little).u16(at + 6);
	File whole = File::parse(b);
	Record r = whole.records().front();

	for (uint64_t n = RECORD_HEADER_SIZE; n < size; n++) {
		Record cut{r.bytes.slice(0, n), {}};

		for (const Field &field : layout(cut, whole.events()))
			EXPECT_LE(field.at + field.width, n);
	}
}

TEST(Layout, SurvivesAWildCount)
{
	Buffer b = with_entries(std::endian::little);
	File sound = File::parse(b);
	Record r = sound.records().front();

	for (const Field &field : layout(r, sound.events()))
		if (field.kind == Kind::Count)
			put(b, r.offset() + field.at, 8, UINT64_MAX, std::endian::little);

	File wild = File::parse(b);

	EXPECT_GE(layout(wild.records().front(), wild.events()).size(), layout(r, sound.events()).size());
}
