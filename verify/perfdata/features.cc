// SPDX-License-Identifier: GPL-2.0
#include "perfdata/features.h"

#include <algorithm>
#include <cstring>

namespace perfdata {

namespace {

// u32 size and so many bytes; moves at behind them.
std::string string_at(const Bytes &bytes, uint64_t &at)
{
	uint64_t size = bytes.u32(at);
	std::string text = text_in(bytes.slice(at + 4, size));

	at += 4 + size;
	return text;
}

// Who did not know the size of a build ID wrote all 20 bytes.
uint8_t likely_size(const BuildId &id)
{
	for (uint8_t size : {8, 16})
		if (std::all_of(id.bytes.begin() + size, id.bytes.end(), [](uint8_t b) { return !b; }))
			return size;
	return BUILD_ID_MAX;
}

} // namespace

BuildIdRow parse_build_id_row(const Bytes &record)
{
	static constexpr uint64_t id_at = RECORD_HEADER_SIZE + 4;
	static constexpr uint64_t name_at = id_at + 24;
	BuildIdRow row;
	auto id = record.slice(id_at, BUILD_ID_MAX).span();

	row.misc = record.u16(4);
	row.pid = record.u32(RECORD_HEADER_SIZE);
	std::copy(id.begin(), id.end(), row.id.bytes.begin());
	row.id.size = row.misc & MISC_BUILD_ID_SIZE ? record.u8(id_at + BUILD_ID_MAX) : likely_size(row.id);
	if (row.id.size > BUILD_ID_MAX)
		row.id = {};
	row.name = text_in(record.slice(name_at, record.size() - std::min<uint64_t>(record.size(), name_at)));
	return row;
}

std::vector<BuildIdRow> parse_build_ids(const Bytes &feature)
{
	std::vector<BuildIdRow> rows;

	for (uint64_t at = 0; at < feature.size();) {
		uint64_t size = feature.u16(at + 6);

		if (size < RECORD_HEADER_SIZE)
			throw FormatError(feature.base() + at, fmt::format("a build ID of {} bytes", size));
		rows.push_back(parse_build_id_row(feature.slice(at, size)));
		at += size;
	}
	return rows;
}

std::string parse_host_name(const Bytes &feature)
{
	uint64_t at = 0;

	return string_at(feature, at);
}

std::vector<std::string> parse_event_names(const Bytes &feature)
{
	std::vector<std::string> names;
	uint64_t attr_size = feature.u32(4);
	uint64_t at = 8;

	for (uint32_t n = feature.u32(0); n; n--) {
		at += attr_size;

		uint64_t nr_ids = feature.u32(at);

		at += 4;
		names.push_back(string_at(feature, at));
		at += nr_ids * 8;
	}
	return names;
}

} // namespace perfdata
