// SPDX-License-Identifier: GPL-2.0
#include "perfdata/header.h"

namespace perfdata {

Section parse_section(const Bytes &bytes, uint64_t at, uint64_t file_size, std::string_view what)
{
	Section s{bytes.u64(at), bytes.u64(at + 8)};

	if (s.offset > file_size || s.size > file_size - s.offset)
		throw FormatError(bytes.base() + at, fmt::format("{}: offset {:#x}, size {:#x} in a file of {:#x} bytes",
								 what, s.offset, s.size, file_size));
	return s;
}

Header parse_header(std::span<const uint8_t> head, uint64_t size)
{
	Bytes bytes(head, std::endian::little);
	Header h;
	uint64_t magic = bytes.u64(0);

	if (magic == swapped(MAGIC2))
		bytes = Bytes(head, std::endian::big);
	else if (magic != MAGIC2)
		throw FormatError(0, "no perf.data magic");
	h.order = bytes.order();

	uint64_t header_size = bytes.u64(FH_SIZE);

	h.pipe = header_size == PIPE_HEADER_SIZE;
	if (h.pipe)
		return h;
	if (header_size != FILE_HEADER_SIZE)
		throw FormatError(FH_SIZE, fmt::format("header size {}, not {}", header_size, FILE_HEADER_SIZE));

	h.attr_entry_size = bytes.u64(FH_ATTR_SIZE);
	if (h.attr_entry_size < ATTR_SIZE_VER0 + SECTION_SIZE)
		throw FormatError(FH_ATTR_SIZE, fmt::format("attr size {} is too small", h.attr_entry_size));
	h.attrs = parse_section(bytes, FH_ATTRS, size, "attrs");
	h.data = parse_section(bytes, FH_DATA, size, "data");
	for (unsigned int bit = 0; bit < FEATURE_BITS; bit++)
		if (bytes.u64(FH_FEATURES + bit / 64 * 8) >> bit % 64 & 1)
			h.features.push_back(bit);
	return h;
}

Attr parse_attr_record(const Bytes &record)
{
	Attr attr;
	uint64_t len = record.u32(RECORD_HEADER_SIZE + ATTR_SIZE_FIELD);

	attr.bytes = record.slice(RECORD_HEADER_SIZE, len);

	Bytes ids = record.slice(RECORD_HEADER_SIZE + len, record.size() - RECORD_HEADER_SIZE - len);

	attr.ids_at = {ids.base(), ids.size()};
	for (uint64_t i = 0; i + 8 <= ids.size(); i += 8)
		attr.ids.push_back(ids.u64(i));
	return attr;
}

} // namespace perfdata
