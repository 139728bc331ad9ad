// SPDX-License-Identifier: GPL-2.0
#pragma once

#include "perfdata/bytes.h"
#include "perfdata/format.h"

namespace perfdata {

// One record of the data section. bytes is the record; what some types have behind it, trailing.
struct Record {
	Bytes bytes;
	Bytes trailing;

	uint32_t type() const { return bytes.u32(0); }
	uint16_t misc() const { return bytes.u16(4); }
	uint64_t offset() const { return bytes.base(); }
	uint64_t extent() const { return bytes.size() + trailing.size(); }
};

// The size that the header at the start of the bytes states. left: how many bytes there are up to the end of the data.
inline uint64_t record_size(const Bytes &at, uint64_t left)
{
	if (left < RECORD_HEADER_SIZE)
		throw FormatError(at.base(), fmt::format("record header cut: {} bytes left", left));

	uint64_t size = at.u16(6);

	if (size < RECORD_HEADER_SIZE)
		throw FormatError(at.base(), fmt::format("record size {} is less than its header", size));
	if (size > left)
		throw FormatError(at.base(), fmt::format("record size {}, {} bytes left", size, left));
	return size;
}

// How many bytes stand behind the record. left: how many can.
inline uint64_t trailing_size(const Bytes &record, uint64_t left)
{
	uint64_t size = 0;

	switch (record.u32(0)) {
	case RECORD_AUXTRACE:
		size = record.u64(RECORD_HEADER_SIZE);
		break;
	case RECORD_HEADER_TRACING_DATA:
		size = (uint64_t{record.u32(RECORD_HEADER_SIZE)} + 7) / 8 * 8;
		break;
	}
	if (size > left)
		throw FormatError(record.base(), fmt::format("{} bytes stated behind the record, {} left", size, left));
	return size;
}

} // namespace perfdata
