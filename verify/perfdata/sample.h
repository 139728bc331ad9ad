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

// A deferred callchain, with entries.
struct Deferred {
	std::optional<uint64_t> sampled; // where the entry of the sampled address is in the record
	uint64_t first = 0;		 // frame among the entries
};

// As first posted, the sampled address is that of the first entry that is no marker; it is no frame if the marker of the
// user part follows.
inline Deferred deferred_of(const Bytes &record, const Sample &s)
{
	const Elements &entries = s.entries;

	if (s.ip_entry) {
		bool there = record.u8(*s.ip_entry) || record.u64(*s.ip_entry + 24);

		return {there ? s.ip_entry : std::nullopt, 0};
	}
	for (uint64_t i = 0; i < entries.nr; i++) {
		if (!record.u8(entries.entry(i)) && is_marker(record.u64(entries.entry(i) + 24)))
			continue;

		bool marked = i == 0 && entries.nr > 1 && !record.u8(entries.entry(1)) &&
			      record.u64(entries.entry(1) + 24) == CONTEXT_USER;

		return {entries.entry(i), marked ? 2U : 0U};
	}
	return {};
}

} // namespace perfdata
