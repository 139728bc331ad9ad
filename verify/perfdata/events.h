// SPDX-License-Identifier: GPL-2.0
// The events of a file, and which of them a record belongs to.
#pragma once

#include "perfdata/bytes.h"
#include "perfdata/format.h"

#include <deque>
#include <unordered_map>

namespace perfdata {

struct Section {
	uint64_t offset = 0;
	uint64_t size = 0;
};

// One event of the file: its perf_event_attr and the sample ids that belong to it.
struct Attr {
	Bytes bytes;
	std::vector<uint64_t> ids;
	Section ids_at;

	uint32_t type() const { return bytes.u32(ATTR_TYPE); }
	uint32_t size() const { return bytes.u32(ATTR_SIZE_FIELD); }
	uint64_t config() const { return bytes.u64(ATTR_CONFIG); }
	uint64_t sample_type() const { return bytes.u64(ATTR_SAMPLE_TYPE); }
	uint64_t read_format() const { return bytes.u64(ATTR_READ_FORMAT); }
	bool flag(AttrFlag bit) const;
	// A field that attrs of an earlier version do not have yet reads as 0.
	uint64_t later(uint64_t at) const { return bytes.holds(at, 8) ? bytes.u64(at) : 0; }
};

class Events {
public:
	// The bytes of the attr must live as long as this does.
	void add(Attr attr);

	bool empty() const { return attrs_.empty(); }
	size_t size() const { return attrs_.size(); }
	const std::deque<Attr> &attrs() const { return attrs_; }
	const Attr &first() const { return attrs_.front(); }

	// Whether any event asks for the build IDs of what is mapped.
	bool record_build_ids() const { return record_build_ids_; }

	// The event that a sample of this id belongs to; the first one for an id that nobody has.
	const Attr *of(uint64_t id) const;

private:
	std::deque<Attr> attrs_;
	std::unordered_map<uint64_t, size_t> by_id_;
	bool record_build_ids_ = false;
};

} // namespace perfdata
