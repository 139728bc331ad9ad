// SPDX-License-Identifier: GPL-2.0
// What a sample or a deferred callchain says of places in code.
#pragma once

#include "perfdata/layout.h"

namespace perfdata {

// Elements of a record: how many, and where in it.
struct Elements {
	bool there = false;
	uint64_t nr = 0;
	uint64_t at = 0;

	uint64_t word(const Bytes &bytes, uint64_t i) const { return bytes.u64(at + i * 8); }
	uint64_t entry(uint64_t i) const { return at + i * ENTRY_SIZE; }
};

struct Sample {
	uint32_t pid = 0, tid = 0;
	std::optional<uint64_t> ip;
	std::optional<uint64_t> ip_entry;	// where it is in the record
	std::optional<uint64_t> cookie;		// of a deferred callchain
	Elements words, entries;
};

// fields: of the layout of the record. Throws FormatError if the record is not as long as what is in it.
Sample parse_sample(const Record &record, const std::vector<Field> &fields);

enum class Where : uint8_t { User, Elsewhere };

// In which context the record was taken.
inline Where where_of(const Record &record)
{
	return (record.misc() & MISC_CPUMODE_MASK) == MISC_USER ? Where::User : Where::Elsewhere;
}

// Goes along a callchain, word by word.
class Walker {
public:
	explicit Walker(Where where) : where_(where) {}

	enum class What : uint8_t { User, Elsewhere, Marker, Cookie };

	// resolved: the word is of an entry that has a build ID, and so no marker
	What step(uint64_t word, bool resolved = false)
	{
		if (cookie_) {
			cookie_ = false;
			return What::Cookie;
		}
		if (resolved || !is_marker(word))
			return where_ == Where::User ? What::User : What::Elsewhere;
		where_ = word == CONTEXT_USER ? Where::User : Where::Elsewhere;
		cookie_ = word == CONTEXT_USER_DEFERRED;
		return What::Marker;
	}

private:
	Where where_;
	bool cookie_ = false;
};

// The cookie of the record in which the entry at this place is resolved, if that is left to one.
inline std::optional<uint64_t> cookie_of(const Bytes &record, uint64_t entry)
{
	if (record.u64(entry) || record.u64(entry + 8) != CONTEXT_USER_DEFERRED)
		return std::nullopt;
	return record.u64(entry + 16);
}

// Which of the entries of a deferred callchain is that of the sampled address: the first that is no marker.
inline std::optional<uint64_t> sampled_entry(const Bytes &record, const Elements &entries)
{
	for (uint64_t i = 0; i < entries.nr; i++)
		if (record.u8(entries.entry(i)) || !is_marker(record.u64(entries.entry(i) + 24)))
			return i;
	return std::nullopt;
}

} // namespace perfdata
