// SPDX-License-Identifier: GPL-2.0
#include "perfdata/bytes.h"

#include <gtest/gtest.h>

using namespace perfdata;

TEST(Bytes, ReadsBothOrders)
{
	Buffer b = {1, 2, 3, 4, 5, 6, 7, 8};

	EXPECT_EQ(Bytes(b, std::endian::little).u64(0), 0x0807060504030201U);
	EXPECT_EQ(Bytes(b, std::endian::big).u64(0), 0x0102030405060708U);
	EXPECT_EQ(Bytes(b, std::endian::big).u16(2), 0x0304U);
	EXPECT_EQ(Bytes(b, std::endian::little).u32(4), 0x08070605U);
}

TEST(Bytes, PutIsTheInverseOfGet)
{
	for (std::endian order : {std::endian::little, std::endian::big}) {
		Buffer b(8);

		put(b, 2, 4, 0xdeadbeef, order);
		EXPECT_EQ(Bytes(b, order).u32(2), 0xdeadbeefU);
		EXPECT_EQ(b[0] + b[1] + b[6] + b[7], 0);
	}
}

TEST(Bytes, RefusesWhatDoesNotFit)
{
	Buffer b(8);
	Bytes bytes(b, std::endian::little, 0x100);

	EXPECT_THROW(bytes.u64(1), FormatError);
	EXPECT_THROW(bytes.u8(8), FormatError);
	EXPECT_THROW(bytes.slice(4, 5), FormatError);
	EXPECT_THROW(bytes.slice(UINT64_MAX, 2), FormatError); // the sum wraps
	EXPECT_THROW(bytes.slice(2, UINT64_MAX), FormatError);
	EXPECT_EQ(bytes.slice(8, 0).size(), 0U);
}

TEST(Bytes, ErrorsNameTheFileOffset)
{
	Buffer b(8);

	try {
		Bytes(b, std::endian::little, 0x100).slice(2, 4).u32(2);
		FAIL();
	} catch (const FormatError &e) {
		EXPECT_EQ(e.where(), 0x104U);
		EXPECT_STREQ(e.what(), "offset 0x104: 4 bytes wanted, 2 left");
	}
}
