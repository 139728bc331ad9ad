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

class Judge {
public:
	Judge(const AddressSpaces &spaces, BuildIds &ids) : spaces_(spaces), ids_(ids) {}

	// of a user address, at the time that the address spaces are of
	Verdict user(uint32_t pid, uint64_t address, const Entry &entry);
	// of any other word, which is never resolved
	Verdict other(uint64_t word, const Entry &entry);

	// Of the last entry that was wrong or unknown: what it should have been, or what is not known.
	const std::string &why() const { return why_; }

private:
	Verdict wrong(std::string why);
	Verdict unknown(std::string why);
	Verdict form(const Entry &entry);

	const AddressSpaces &spaces_;
	BuildIds &ids_;
	std::string why_;
};

} // namespace audit
