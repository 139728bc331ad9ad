// SPDX-License-Identifier: GPL-2.0
// Whether an entry of build ID and file offset is true.
#pragma once

#include "audit/address_space.h"
#include "audit/build_ids.h"

#include <string>

namespace audit {

// As it stands in a sample.
struct Entry {
	uint8_t size;
	uint8_t reserved[3];
	uint8_t build_id[perfdata::BUILD_ID_MAX];
	uint64_t offset;	// in the file; of an entry of size 0, the address
};
static_assert(sizeof(Entry) == perfdata::ENTRY_SIZE);

enum class Verdict {
	True,
	Missed,		// not resolved, although there is a file with a build ID
	Nothing,	// not resolved, nor could it be
	Unknown,	// of a process or file that is not known
	Wrong,
};

BuildId id_of(const Entry &entry);

// How many entries came out how.
struct Counts {
	uint64_t by_verdict[5] = {};

	uint64_t &operator[](Verdict verdict) { return by_verdict[static_cast<size_t>(verdict)]; }
	uint64_t operator[](Verdict verdict) const { return by_verdict[static_cast<size_t>(verdict)]; }
};

class Judge {
public:
	Judge(const AddressSpaces &spaces, BuildIds &ids) : spaces_(spaces), ids_(ids) {}

	// of a user address, at the time that the address spaces are of
	Verdict user(uint32_t pid, uint64_t address, const Entry &entry);
	// of a user address that nobody knows: the entry alone must name a place that is mapped
	Verdict place(uint32_t pid, const Entry &entry);
	// of any other word, which is never resolved
	Verdict other(uint64_t word, const Entry &entry);

	// Only code is known to be mapped: a resolved entry of an address where nothing is known to be may be of data.
	void only_code_is_known() { only_code_ = true; }

	// Of the last entry that was wrong or unknown: what it should have been, or what is not known.
	const std::string &why() const { return why_; }

private:
	Verdict wrong(std::string why);
	Verdict unknown(std::string why);
	Verdict form(const Entry &entry);
	std::optional<BuildId> id_of(const Mapping &mapping);

	const AddressSpaces &spaces_;
	BuildIds &ids_;
	std::string why_;
	bool only_code_ = false;
};

} // namespace audit
