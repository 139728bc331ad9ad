// SPDX-License-Identifier: GPL-2.0
// Entries of build ID and file offset, as they stand in a record of either byte order.
#pragma once

#include "audit/judge.h"
#include "perfdata/bytes.h"

#include <algorithm>

namespace bid {

inline audit::Entry entry_at(const perfdata::Bytes &record, uint64_t at)
{
	audit::Entry entry = {};
	auto bytes = record.slice(at, perfdata::ENTRY_SIZE).span();

	entry.size = bytes[0];
	std::copy_n(bytes.begin() + 1, 3, entry.reserved);
	std::copy_n(bytes.begin() + 4, perfdata::BUILD_ID_MAX, entry.build_id);
	entry.offset = record.u64(at + 24);
	return entry;
}

// Its build ID, of the size that it can have.
inline perfdata::BuildId id_of(const audit::Entry &entry)
{
	perfdata::BuildId id = audit::id_of(entry);

	id.size = std::min<uint8_t>(id.size, perfdata::BUILD_ID_MAX);
	return id;
}

// As perf prints it.
inline std::string to_string(const audit::Entry &entry)
{
	if (!entry.size)
		return fmt::format("{:#x}", entry.offset);
	return fmt::format("{}+{:#x}", perfdata::to_string(bid::id_of(entry)), entry.offset);
}

} // namespace bid
