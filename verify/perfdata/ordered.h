// SPDX-License-Identifier: GPL-2.0
#pragma once

#include "perfdata/reader.h"

namespace perfdata {

// The records of a file in the order of time. perf record writes what it finds in one buffer after the other, in
// rounds: what stands behind the second next end of a round is later than what stands before. A file without rounds is
// taken to be in order but for a part of limited size, and so is each part of a directory.
class Ordered {
public:
	explicit Ordered(Reader &reader);

	// False at the end. The record stays until the next call. One without a time comes as soon as it is read.
	bool next(Record &record);

	// Of the last record.
	uint64_t time() const { return current_.time; }
	std::string where() const { return reader_.where(current_.place); }
	// Records that came later than one of a later time: the limit was too small.
	uint64_t late() const { return late_; }

private:
	struct Item {
		uint64_t time = 0;
		uint64_t number = 0;
		Place place;
		Buffer bytes;

		// The heap has the greatest on top.
		bool operator<(const Item &other) const
		{
			return std::tie(time, number) > std::tie(other.time, other.number);
		}
	};

	bool read();
	bool pop(Record &record);
	size_t pick() const;

	Reader &reader_;
	std::vector<Item> heap_;
	std::vector<Buffer> spare_;
	std::vector<uint64_t> seen_;	// the latest time of each part; all ones at its end
	Item current_;
	uint64_t number_ = 0;
	uint64_t bytes_ = 0;		// in the heap
	uint64_t latest_ = 0;		// time that has been read
	uint64_t round_ = 0;		// the same, at the end of the last round
	uint64_t limit_ = 0;		// nothing before this will come any more
	uint64_t given_ = 0;
	uint64_t late_ = 0;
	bool untimed_ = false;		// the last item read goes first
	bool ended_ = false;
};

} // namespace perfdata
