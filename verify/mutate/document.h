// SPDX-License-Identifier: GPL-2.0
// A perf.data file taken apart so that it can be changed and put together again.
#pragma once

#include "perfdata/file.h"
#include "perfdata/layout.h"

namespace hostile {

struct Piece {
	perfdata::Buffer bytes;
	std::vector<perfdata::Field> fields;
	uint64_t record_size = 0; // without what stands behind the record

	uint32_t type(std::endian order) const { return perfdata::Bytes(bytes, order).u32(0); }
};

struct Place {
	size_t piece;
	size_t field;
};

class Document {
public:
	explicit Document(const perfdata::File &file);

	// Sound again where lengths changed: the data section's size, and the offsets of what stands behind it.
	perfdata::Buffer assemble() const;

	std::endian order;
	bool pipe;
	perfdata::Buffer head; // up to the first record
	std::vector<Piece> pieces;
	perfdata::Buffer tail; // features

	std::vector<perfdata::Section> attrs;	 // within head; in a stream none
	std::vector<perfdata::Section> features; // where the table's entries are, within tail
	std::vector<perfdata::Section> build_ids; // records of the build-ID table, within tail

	std::vector<Place> places_of(perfdata::Kind kind) const;

private:
	uint64_t data_size_;
};

} // namespace hostile
