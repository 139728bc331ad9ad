// SPDX-License-Identifier: GPL-2.0
#include "corpus/corpus.h"
#include "perfdata/file.h"
#include "perfdata/layout.h"

#include <gtest/gtest.h>

#include <set>

using namespace perfdata;

TEST(Corpus, IsTheSameEveryTime)
{
	auto a = hostile::corpus(), b = hostile::corpus();

	ASSERT_EQ(a.size(), b.size());
	for (size_t i = 0; i < a.size(); i++) {
		EXPECT_EQ(a[i].name, b[i].name);
		EXPECT_EQ(a[i].content, b[i].content);
	}
}

TEST(Corpus, NamesAreUnique)
{
	std::set<std::string> names;

	for (auto &s : hostile::corpus())
		EXPECT_TRUE(names.insert(s.name).second) << s.name;
}

// Every byte of every record is accounted for, in both byte orders: this checks the composer against the reader.
TEST(Corpus, LayoutCoversEveryRecord)
{
	for (auto &s : hostile::corpus()) {
		File f = File::parse(s.content);
		size_t samples = 0;

		EXPECT_EQ(f.order(), s.name.ends_with("-le") ? std::endian::little : std::endian::big);
		for (const Record &r : f.records()) {
			uint64_t end = 0;

			samples += r.type() == RECORD_SAMPLE;
			for (const Field &field : layout(r, f.events())) {
				EXPECT_EQ(field.at, end) << s.name << " record at " << r.offset();
				end = field.at + field.width;
			}
			EXPECT_EQ(end, r.bytes.size()) << s.name << " record at " << r.offset() << " type " << r.type();
		}
		EXPECT_EQ(samples, 48U) << s.name;
	}
}

TEST(Corpus, EntriesAreWellFormed)
{
	for (auto &s : hostile::corpus()) {
		File f = File::parse(s.content);
		size_t resolved = 0;
		bool wanted = f.attrs().front().sample_type() &
			      (SAMPLE_BUILD_ID_OFFSET | SAMPLE_CALLCHAIN_BUILD_ID_OFFSET);

		for (const Record &r : f.records())
			for (const Field &field : layout(r, f.events())) {
				if (field.kind == Kind::EntrySize) {
					EXPECT_LE(r.bytes.u8(field.at), BUILD_ID_MAX);
					resolved += r.bytes.u8(field.at) != 0;
				} else if (field.kind == Kind::EntryReserved) {
					EXPECT_EQ(r.bytes.u8(field.at), 0);
				}
			}
		EXPECT_EQ(resolved > 0, wanted) << s.name;
	}
}
