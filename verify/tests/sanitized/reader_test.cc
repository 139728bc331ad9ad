// SPDX-License-Identifier: GPL-2.0
#include "corpus/corpus.h"
#include "perfdata/ordered.h"
#include "tests/sanitized/files.h"

#include <gtest/gtest.h>

using namespace perfdata;

namespace {

std::vector<Buffer> all_of(const bid::Path &path)
{
	Reader reader(path);
	Record r;
	std::vector<Buffer> list;

	while (reader.next(r))
		list.emplace_back(r.bytes.span().begin(), r.bytes.span().end());
	return list;
}

std::vector<Buffer> all_of(const File &f)
{
	std::vector<Buffer> list;

	for (const Record &r : f.records())
		list.emplace_back(r.bytes.span().begin(), r.bytes.span().end());
	return list;
}

// What it throws, "" if nothing.
std::string refused(const bid::Path &path)
{
	try {
		all_of(path);
	} catch (const FormatError &e) {
		return e.what();
	}
	return "";
}

} // namespace

TEST(Reader, ReadsWhatFileReads)
{
	Scratch scratch;

	for (const auto &s : hostile::corpus()) {
		File f = File::parse(s.content);
		bid::Path path = scratch.write(s.name, s.content);
		Reader reader(path);

		EXPECT_EQ(reader.order(), f.order());
		EXPECT_EQ(reader.pipe(), f.pipe());
		EXPECT_EQ(all_of(path), all_of(f)) << s.name;
	}
}

TEST(Reader, KnowsEventsAndBuildIds)
{
	Scratch scratch;

	for (const char *name : {"group-le", "group-be", "pipe-le", "pipe-be"}) {
		Reader reader(scratch.write(name, specimen(name)));
		Record r;

		while (reader.next(r))
			;
		ASSERT_EQ(reader.events().size(), 2U);
		EXPECT_EQ(reader.events().of(201), &reader.events().attrs()[1]);
		EXPECT_EQ(reader.event_names(), (std::vector<std::string>{"cpu-clock", "task-clock"}));
		ASSERT_EQ(reader.build_ids().size(), 4U);
		EXPECT_EQ(reader.build_ids()[2].name, "/specimen/libbeta.so");
		EXPECT_EQ(reader.build_ids()[2].id.size, 8);
	}
}

TEST(Reader, ReadsCompressed)
{
	Scratch scratch;

	for (const char *name : {"converted-le", "converted-be", "plain-le"}) {
		Buffer whole = specimen(name);

		for (size_t chunk : {100, 1000, 50000})
			for (bool old : {false, true})
				EXPECT_EQ(all_of(scratch.write("z", compressed(whole, chunk, old))),
					  all_of(File::parse(whole)))
					<< name << " " << chunk;
	}
}

TEST(Reader, RefusesDamagedCompression)
{
	Scratch scratch;
	Buffer file = compressed(specimen("plain-le"), 1000);
	File f = File::parse(file);
	uint64_t at = f.records()[1].offset();

	put(file, at + 16, 4, 0, std::endian::little);
	EXPECT_NE(refused(scratch.write("z", file)).find("cannot decompress"), std::string::npos);
	// More than the record has.
	put(file, at + 8, 8, 1 << 20, std::endian::little);
	EXPECT_NE(refused(scratch.write("z", file)).find("bytes wanted"), std::string::npos);
	// The last one is missing.
	file = compressed(specimen("plain-le"), 1000);
	file = without(file, File::parse(file).records().size() - 1);
	EXPECT_NE(refused(scratch.write("z", file)).find("is cut"), std::string::npos);
}

TEST(Reader, RefusesEveryTruncation)
{
	Scratch scratch;

	for (const char *name : {"converted-le", "pipe-le"}) {
		Buffer whole = specimen(name);
		std::vector<Buffer> records = all_of(File::parse(whole));

		for (size_t size = 0; size < whole.size(); size += 997) {
			bid::Path path = scratch.write("cut", Buffer(whole.begin(), whole.begin() +
										static_cast<ptrdiff_t>(size)));

			// A stream may end after any record.
			if (refused(path).empty())
				EXPECT_LT(all_of(path).size(), records.size()) << size;
			else
				EXPECT_TRUE(refused(path).starts_with("offset 0x")) << refused(path);
		}
	}
}

TEST(Reader, SaysThatARecordingHasNotEnded)
{
	Scratch scratch;
	Buffer b = specimen("plain-le");

	put(b, FH_DATA + 8, 8, 0, std::endian::little);
	EXPECT_NE(refused(scratch.write("short", b)).find("has not come to its end"), std::string::npos);
	EXPECT_THROW(Reader("/there/is/no/such/file"), std::system_error);
	EXPECT_EQ(refused(scratch.write("x", Buffer(200, 'x'))), "offset 0x0: no perf.data magic");
	EXPECT_THROW(Reader(scratch.write("empty", {})), FormatError);
}

TEST(Reader, ReadsADirectoryInOrder)
{
	for (const char *name : {"plain-le", "converted-be"}) {
		Scratch scratch;
		Buffer whole = specimen(name);

		split(scratch, whole);

		Reader reader(scratch.path());
		Ordered ordered(reader);
		Record r;
		std::vector<Buffer> list, expected;
		uint64_t time = 0;

		EXPECT_TRUE(reader.directory());
		while (ordered.next(r)) {
			EXPECT_LE(time, ordered.time());
			time = ordered.time();
			if (r.type() < RECORD_USER_START)
				list.emplace_back(r.bytes.span().begin(), r.bytes.span().end());
		}
		for (const Buffer &record : all_of(File::parse(whole)))
			if (Bytes(record, reader.order()).u32(0) < RECORD_USER_START)
				expected.push_back(record);
		EXPECT_EQ(list, expected);
		EXPECT_EQ(ordered.late(), 0U);
	}
}

TEST(Ordered, SortsWithinRounds)
{
	Scratch scratch;
	hostile::EventSpec e;

	e.sample_type = SAMPLE_TID | SAMPLE_TIME;

	hostile::Composer c(std::endian::little, false, {e});

	// Two buffers a round; the second round begins before the first one's latest.
	for (uint64_t time : {10, 30, 20, 40})
		c.sample({1, 1, time, 0, 0}, e, {});
	c.finished_round();
	for (uint64_t time : {35, 60, 50})
		c.sample({1, 1, time, 0, 0}, e, {});
	c.finished_round();
	c.sample({1, 1, 55, 0, 0}, e, {});

	Reader reader(scratch.write("rounds", c.finish({})));
	Ordered ordered(reader);
	std::vector<uint64_t> times;
	Record r;

	while (ordered.next(r))
		if (r.type() == RECORD_SAMPLE)
			times.push_back(ordered.time());
	EXPECT_EQ(times, (std::vector<uint64_t>{10, 20, 30, 35, 40, 50, 55, 60}));
	EXPECT_EQ(ordered.late(), 0U);
}
