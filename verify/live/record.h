// SPDX-License-Identifier: GPL-2.0
// The records of the events that live::Recorder opens, taken apart.
#pragma once

#include "audit/address_space.h"
#include "audit/judge.h"
#include "live/ring.h"

#include <span>

namespace live {

// What a sample has: each address twice.
inline constexpr uint64_t sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN |
					PERF_SAMPLE_BUILD_ID_OFFSET | PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET;
// What the events that tell of tasks and mappings have.
inline constexpr uint64_t side_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;

// The spans are of the record that it was made from.
struct Sample {
	uint32_t pid = 0, tid = 0;
	bool user = false;		// is ip of user space?
	uint64_t ip = 0;
	std::span<const uint64_t> words;
	audit::Entry ip_entry{};
	std::span<const audit::Entry> entries;
};

// One of the two records of a cookie: with entries, or with words.
struct Deferred {
	uint32_t pid = 0, tid = 0;
	uint64_t cookie = 0;
	bool has_entries = false;
	std::span<const uint64_t> words;
	audit::Entry ip_entry{};
	std::span<const audit::Entry> entries;
};

struct Task {
	uint32_t pid, parent, tid, parent_tid;
};

// They throw std::runtime_error when a record is not as long as what is in it.
Sample parse_sample(const Record &record);
Deferred parse_deferred(const Record &record);
Task parse_task(const Record &record);
uint32_t parse_map(const Record &record, audit::Mapping &mapping);	// returns the pid

inline bool is_marker(uint64_t word)
{
	return word >= static_cast<uint64_t>(PERF_CONTEXT_MAX);
}

// The cookie of the record in which the address is resolved, if that is left to one.
struct Cookie {
	bool there = false;
	uint64_t value = 0;
};
Cookie cookie_of(const audit::Entry &entry);

} // namespace live
