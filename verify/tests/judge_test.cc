// SPDX-License-Identifier: GPL-2.0
#include "tests/entries.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

using audit::AddressSpaces;
using audit::BuildId;
using audit::BuildIds;
using audit::Entry;
using audit::Judge;
using audit::Verdict;

namespace {

// A process with the test's own file mapped at an address of choice, something that is no file, and a file that is gone.
class JudgeTest : public ::testing::Test {
protected:
	static constexpr uint32_t pid = 7;
	static constexpr uint64_t start = 0x10000;

	void SetUp() override
	{
		struct stat st;

		ASSERT_EQ(stat("/proc/self/exe", &st), 0);
		spaces.map(pid, {start, start + 0x1000, 0x3000, st.st_ino, "/proc/self/exe"});
		spaces.map(pid, {0x20000, 0x21000, 0, 0, "[heap]"});
		spaces.map(pid, {0x30000, 0x31000, 0, 5, "/there/is/no/such/file"});
		spaces.map(pid, {0x40000, 0x41000, 0, 6, __FILE__});
		id = audit::read_build_id("/proc/self/exe");
		ASSERT_EQ(id.size, 20);
	}

	Entry resolved(uint64_t offset) const { return resolved_entry(id, offset); }

	static Entry unresolved(uint64_t address) { return unresolved_entry(address); }

	AddressSpaces spaces;
	BuildIds ids;
	Judge judge{spaces, ids};
	BuildId id;
};

TEST_F(JudgeTest, Resolved)
{
	EXPECT_EQ(judge.user(pid, start + 8, resolved(0x3008)), Verdict::True);
	EXPECT_EQ(judge.user(pid, start + 8, resolved(0x8)), Verdict::Wrong);
	EXPECT_NE(judge.why().find("0x3008"), std::string::npos);
	EXPECT_EQ(judge.user(pid, 0x20000, resolved(0)), Verdict::Wrong);
	EXPECT_EQ(judge.user(pid, 0x1, resolved(0)), Verdict::Wrong);
}

// Only the table of the file says which build ID the vdso has.
TEST_F(JudgeTest, Told)
{
	spaces.map(pid, {0x50000, 0x52000, 0, 0, "[vdso]"});
	EXPECT_EQ(judge.user(pid, 0x50b26, resolved(0xb26)), Verdict::Wrong);
	EXPECT_NE(judge.place(pid, resolved(0x1b26)), Verdict::True);
	ids.tell("[vdso]", id);
	EXPECT_EQ(judge.user(pid, 0x50b26, resolved(0xb26)), Verdict::True);
	EXPECT_EQ(judge.user(pid, 0x50b26, resolved(0xb27)), Verdict::Wrong);
	EXPECT_EQ(judge.user(pid, 0x50b26, unresolved(0x50b26)), Verdict::Nothing);
	EXPECT_EQ(judge.place(pid, resolved(0x1b26)), Verdict::True);
}

TEST_F(JudgeTest, BuildIdOfAnother)
{
	Entry entry = resolved(0x3008);

	entry.build_id[19]++;
	EXPECT_EQ(judge.user(pid, start + 8, entry), Verdict::Wrong);
	entry = resolved(0x3008);
	entry.size = 19;
	entry.build_id[19] = 0;
	EXPECT_EQ(judge.user(pid, start + 8, entry), Verdict::Wrong);
	EXPECT_EQ(judge.user(pid, 0x40000, resolved(0)), Verdict::Wrong);	// of a file without any
}

TEST_F(JudgeTest, Unresolved)
{
	EXPECT_EQ(judge.user(pid, start + 8, unresolved(start + 8)), Verdict::Missed);
	EXPECT_EQ(judge.user(pid, 0x20000, unresolved(0x20000)), Verdict::Nothing);
	EXPECT_EQ(judge.user(pid, 0x40000, unresolved(0x40000)), Verdict::Nothing);
	EXPECT_EQ(judge.user(pid, start + 8, unresolved(start)), Verdict::Wrong);
}

TEST_F(JudgeTest, ZeroBuildId)
{
	BuildId zero;

	zero.size = 8;
	ids.tell("/zero", zero);
	spaces.map(pid, {0x60000, 0x61000, 0, 7, "/zero"});
	EXPECT_EQ(judge.user(pid, 0x60008, unresolved(0x60008)), Verdict::Nothing);
	EXPECT_EQ(judge.user(pid, 0x60008, resolved_entry(zero, 8)), Verdict::True);
}

// Where mappings of files that have a build ID were dropped, those of others may be there still.
TEST_F(JudgeTest, MappingsDropped)
{
	spaces.map(pid + 1, {0x20000, 0x21000, 0, 0, "//anon"});
	spaces.map(pid + 1, {0x40000, 0x41000, 0, 6, __FILE__});
	EXPECT_EQ(judge.place(pid + 1, resolved(0x3008)), Verdict::Unknown);
	spaces.map(pid + 1, {start, start + 0x1000, 0, 7, "/another"});
	ids.tell("/another", BuildId{8, {1}});
	EXPECT_EQ(judge.place(pid + 1, resolved(0x3008)), Verdict::Wrong);
}

TEST_F(JudgeTest, Unknown)
{
	EXPECT_EQ(judge.user(pid + 1, start, resolved(0)), Verdict::Unknown);
	EXPECT_EQ(judge.user(pid, 0x30000, resolved(0)), Verdict::Unknown);
}

TEST_F(JudgeTest, BytesThatAreZero)
{
	for (size_t at : {1, 2, 3}) {
		Entry entry = unresolved(start);

		reinterpret_cast<uint8_t *>(&entry)[at] = 1;
		EXPECT_EQ(judge.user(pid, start, entry), Verdict::Wrong) << at;
	}

	Entry entry = unresolved(start);

	entry.build_id[0] = 1;
	EXPECT_EQ(judge.user(pid, start, entry), Verdict::Wrong);
	entry.size = 21;
	EXPECT_EQ(judge.user(pid, start, entry), Verdict::Wrong);
}

TEST_F(JudgeTest, OtherWords)
{
	EXPECT_EQ(judge.other(~0ULL - 511, unresolved(~0ULL - 511)), Verdict::Nothing);
	EXPECT_EQ(judge.other(start + 8, resolved(0x3008)), Verdict::Wrong);
	EXPECT_EQ(judge.other(start, unresolved(start + 8)), Verdict::Wrong);
}

} // namespace
