// SPDX-License-Identifier: GPL-2.0
// What stands at the start of a file.
#pragma once

#include "perfdata/events.h"

namespace perfdata {

struct Header {
	std::endian order = std::endian::native;
	bool pipe = false;
	uint64_t attr_entry_size = 0;
	Section attrs;
	Section data;
	std::vector<unsigned int> features;	// their numbers, in the order of the table behind the data

	uint64_t nr_attrs() const { return attr_entry_size ? attrs.size / attr_entry_size : 0; }
};

// head: the first FILE_HEADER_SIZE bytes, fewer if there are no more; size: of the file. Not of a stream, whose end is
// not known.
Header parse_header(std::span<const uint8_t> head, uint64_t size);

Section parse_section(const Bytes &bytes, uint64_t at, uint64_t file_size, std::string_view what);

// The attr and the ids that a HEADER_ATTR record has.
Attr parse_attr_record(const Bytes &record);

} // namespace perfdata
