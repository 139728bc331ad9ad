// SPDX-License-Identifier: GPL-2.0
#include "perfdata/layout.h"
#include "tests/sanitized/files.h"

#include <gtest/gtest.h>

using namespace perfdata;

namespace {

class CompareTest : public ::testing::Test {
protected:
	Said compare(const Buffer &a, const Buffer &b)
	{
		bid::Options options;

		return said([&](std::FILE *out) {
			return bid::run_compare(scratch.write("a", a), scratch.write("b", b), options, out);
		});
	}

	// One sample with a stack of so many bytes.
	static Buffer stack(uint64_t type, uint32_t bytes)
	{
		hostile::EventSpec event{.sample_type = type | SAMPLE_TID | SAMPLE_TIME | SAMPLE_STACK_USER,
					 .stack_user = bytes, .ids = {1}};
		hostile::Composer composer(std::endian::little, false, {event});
		hostile::SampleSpec sample{.ip = 0x1000, .ip_entry = {.offset = 0x1000}};

		composer.sample({.pid = 1, .tid = 1, .time = 1000, .id = 1}, event, sample);
		return composer.finish({});
	}

	// The number of a sample, and of a field of it, whose kind is that.
	static std::pair<size_t, Field> find(const File &f, Kind kind)
	{
		size_t number = 0;

		for (const Record &r : f.records()) {
			for (const Field &field : layout(r, f.events()))
				if (r.type() == RECORD_SAMPLE && field.kind == kind)
					return {number, field};
			number++;
		}
		ADD_FAILURE() << "there is no such field";
		return {};
	}

	Scratch scratch;
};

} // namespace

TEST_F(CompareTest, SameSamplesToldBothWays)
{
	for (const char *order : {"-le", "-be"})
		for (auto [plain, told] : {std::pair("plain", "converted"), {"group-plain", "group"},
					   {"pipe-plain", "pipe"}, {"deferred-plain", "deferred"}}) {
			Said got = compare(specimen(plain + std::string(order)), specimen(told + std::string(order)));

			EXPECT_EQ(got.status, 0) << told << order << "\n" << got.text;
			EXPECT_NE(got.text.find("48 samples in both"), std::string::npos) << told << order << got.text;
		}
}

TEST_F(CompareTest, MissingAndAdded)
{
	Buffer a = specimen("plain-le"), b = specimen("converted-le");
	size_t number = find(File::parse(b), Kind::Time).first;
	Said got = compare(a, without(b, number));

	EXPECT_EQ(got.status, 1);
	EXPECT_NE(got.text.find("is missing: SAMPLE"), std::string::npos) << got.text;
	EXPECT_NE(got.text.find("1 records missing, 0 added"), std::string::npos) << got.text;
	got = compare(without(a, number), b);
	EXPECT_EQ(got.status, 1);
	EXPECT_NE(got.text.find("is added: SAMPLE"), std::string::npos) << got.text;
	EXPECT_NE(got.text.find("0 records missing, 1 added"), std::string::npos) << got.text;
}

// perf record writes it at its end without a time, perf inject where it has read it.
TEST_F(CompareTest, RecordWithoutATime)
{
	hostile::EventSpec event{.sample_type = SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME, .flags = {ATTR_FLAG_SAMPLE_ID_ALL}};
	auto file = [&event](uint32_t before, uint32_t between, uint32_t after) {
		hostile::Composer c(std::endian::little, false, {event});
		hostile::SampleSpec sample{.ip = 0x1000};
		auto lost = [&c](uint32_t number) {
			if (number)
				c.record(RECORD_LOST_SAMPLES, 0, c.body().u64(number), {});
		};

		lost(before);
		c.sample({.pid = 1, .tid = 1, .time = 1000}, event, sample);
		lost(between);
		c.sample({.pid = 1, .tid = 1, .time = 2000}, event, sample);
		lost(after);
		return c.finish({});
	};
	Said got = compare(file(0, 3, 4), file(4, 3, 0));

	EXPECT_EQ(got.status, 0) << got.text;
	EXPECT_NE(got.text.find("0 records missing, 0 added"), std::string::npos) << got.text;
	got = compare(file(0, 3, 4), file(4, 0, 0));
	EXPECT_EQ(got.status, 1) << got.text;
	EXPECT_NE(got.text.find("is missing: LOST_SAMPLES"), std::string::npos) << got.text;
	got = compare(file(0, 3, 4), file(5, 0, 3));
	EXPECT_EQ(got.status, 1) << got.text;
	EXPECT_NE(got.text.find("1 records missing, 1 added"), std::string::npos) << got.text;
}

TEST_F(CompareTest, PassesOverARecordThatIsUnsound)
{
	Buffer a = specimen("plain-le"), b = specimen("converted-le");
	File f = File::parse(b);
	auto [number, field] = find(f, Kind::Count);

	put(b, f.records()[number].offset() + field.at, 8, UINT64_MAX, std::endian::little);

	Said got = compare(a, b);

	EXPECT_EQ(got.status, 1);
	EXPECT_NE(got.text.find("\nunsound: "), std::string::npos) << got.text;
	EXPECT_NE(got.text.find("47 samples in both"), std::string::npos) << got.text;
}

TEST_F(CompareTest, OtherFieldsAndEntries)
{
	Buffer a = specimen("plain-le");

	for (Kind kind : {Kind::Cpu, Kind::EntryReserved, Kind::EntryOffset}) {
		Buffer b = specimen("converted-le");
		File f = File::parse(b);
		auto [number, field] = find(f, kind);

		b[f.records()[number].offset() + field.at] ^= 4;

		Said got = compare(a, b);

		EXPECT_EQ(got.status, 1) << name_of(kind);
		EXPECT_NE(got.text.find("wrong: 0x"), std::string::npos) << name_of(kind) << got.text;
	}
}

// An entry is larger than an address: a stack that fills a record has to give way.
TEST_F(CompareTest, StackIsCutOnlyWhereThereIsNoRoom)
{
	constexpr uint32_t most = 0xffb0;
	Buffer full = stack(SAMPLE_IP, most);
	Said got = compare(full, stack(SAMPLE_BUILD_ID_OFFSET, most - 24));

	EXPECT_EQ(got.status, 0) << got.text;
	EXPECT_NE(got.text.find("1 cut"), std::string::npos) << got.text;

	Buffer other = stack(SAMPLE_BUILD_ID_OFFSET, most - 24);
	auto [number, field] = find(File::parse(other), Kind::Opaque);

	other[File::parse(other).records()[number].offset() + field.at + 8] ^= 1;
	EXPECT_EQ(compare(full, other).status, 1);
	EXPECT_EQ(compare(stack(SAMPLE_IP, 4096), stack(SAMPLE_BUILD_ID_OFFSET, 4096 - 24)).status, 1);
}

TEST_F(CompareTest, NamesTheFileThatCannotBeRead)
{
	try {
		compare(specimen("plain-le"), Buffer(200, 'x'));
		FAIL();
	} catch (const std::runtime_error &e) {
		EXPECT_NE(std::string(e.what()).find("/b: offset 0x0"), std::string::npos) << e.what();
	}
}
