// SPDX-License-Identifier: GPL-2.0
#pragma once

#include "perfdata/decompress.h"
#include "perfdata/record.h"
#include "perfdata/source.h"

#include <optional>

namespace perfdata {

// Where a record is: its offset in the file; if it was compressed, that of the record it was in, and its own in all
// that was compressed.
struct Place {
	uint64_t offset = 0;
	std::optional<uint64_t> inner;
	size_t part = 0;	// of a directory
};

// The records between here and the end of a source, those in compressed ones too.
class Stream {
public:
	// end: in the source; as large as can be where that is not known
	Stream(Source &source, std::endian order, uint64_t end) : source_(source), order_(order), end_(end) {}

	// False at the end. The record stays until the next call. What stands behind it is left out, see skipped().
	bool next(Record &record);

	// Of the last record: how many bytes stand behind it.
	uint64_t skipped() const { return skipped_; }
	Place place() const { return {offset_, inner_}; }
	bool has_compressed() const { return decompressor_ != nullptr; }

private:
	bool next_compressed(Record &record);
	void feed(const Bytes &record);

	Source &source_;
	std::endian order_;
	uint64_t end_;
	uint64_t consume_ = 0;	// of the source, at the next call
	uint64_t skipped_ = 0;
	uint64_t offset_ = 0;	// of the last record
	bool inside_ = false;
	std::unique_ptr<Decompressor> decompressor_;
	std::optional<uint64_t> inner_;
};

} // namespace perfdata
