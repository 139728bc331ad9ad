// SPDX-License-Identifier: GPL-2.0
#include "audit/address_space.h"

#include <gtest/gtest.h>

#include <unistd.h>

using audit::AddressSpace;
using audit::AddressSpaces;
using audit::Mapping;

namespace {

Mapping mapping(uint64_t start, uint64_t end, uint64_t offset, const char *path)
{
	return {start, end, offset, 1, path};
}

// "path+offset" of an address, as far as it is mapped.
std::string at(const AddressSpace &space, uint64_t address)
{
	const Mapping *m = space.find(address);

	return m ? m->path + "+" + std::to_string(m->offset_of(address)) : "nothing";
}

TEST(AddressSpace, EndsAreNotMapped)
{
	AddressSpace space;

	space.map(mapping(1000, 2000, 0, "a"));
	EXPECT_EQ(at(space, 999), "nothing");
	EXPECT_EQ(at(space, 1000), "a+0");
	EXPECT_EQ(at(space, 1999), "a+999");
	EXPECT_EQ(at(space, 2000), "nothing");
	space.map(mapping(5000, 5000, 0, "empty"));
	EXPECT_EQ(at(space, 5000), "nothing");
}

TEST(AddressSpace, NewMappingSplitsOld)
{
	AddressSpace space;

	space.map(mapping(1000, 5000, 100, "a"));
	space.map(mapping(2000, 3000, 0, "b"));
	EXPECT_EQ(at(space, 1999), "a+1099");
	EXPECT_EQ(at(space, 2000), "b+0");
	EXPECT_EQ(at(space, 3000), "a+2100");
	EXPECT_EQ(at(space, 4999), "a+4099");
}

TEST(AddressSpace, NewMappingCoversOld)
{
	AddressSpace space;

	space.map(mapping(1000, 2000, 0, "a"));
	space.map(mapping(2000, 3000, 0, "b"));
	space.map(mapping(3000, 4000, 0, "c"));
	space.map(mapping(1500, 3500, 0, "d"));
	EXPECT_EQ(at(space, 1499), "a+499");
	EXPECT_EQ(at(space, 1500), "d+0");
	EXPECT_EQ(at(space, 2500), "d+1000");
	EXPECT_EQ(at(space, 3500), "c+500");
	space.map(mapping(1000, 4000, 7, "e"));
	EXPECT_EQ(at(space, 1000), "e+7");
	EXPECT_EQ(at(space, 3999), "e+3006");
}

TEST(AddressSpaces, ForkCopiesAndExecClears)
{
	AddressSpaces spaces;

	spaces.map(1, mapping(1000, 2000, 0, "a"));
	spaces.fork(2, 1);
	spaces.map(2, mapping(1000, 2000, 0, "b"));
	EXPECT_EQ(at(*spaces.of(1), 1000), "a+0");
	EXPECT_EQ(at(*spaces.of(2), 1000), "b+0");
	spaces.fork(2, 2);	// a thread
	EXPECT_EQ(at(*spaces.of(2), 1000), "b+0");
	spaces.exec(2);
	EXPECT_EQ(at(*spaces.of(2), 1000), "nothing");
	spaces.exit(2);
	EXPECT_EQ(spaces.of(2), nullptr);
	spaces.fork(3, 2);	// of a parent that nothing is known of
	EXPECT_EQ(spaces.of(3), nullptr);
}

TEST(AddressSpaces, ReadsItsOwn)
{
	AddressSpaces spaces;
	auto pid = static_cast<uint32_t>(getpid());

	spaces.read_proc(pid);

	const Mapping *m = spaces.of(pid)->find(reinterpret_cast<uintptr_t>(&mapping));

	ASSERT_NE(m, nullptr);
	EXPECT_NE(m->inode, 0U);
	EXPECT_EQ(m->path.substr(m->path.rfind('/') + 1), "verify-tests");
}

} // namespace
