// SPDX-License-Identifier: GPL-2.0
// Entries for tests.
#pragma once

#include "audit/judge.h"

#include <algorithm>

inline audit::Entry resolved_entry(const audit::BuildId &id, uint64_t offset)
{
	audit::Entry entry = {};

	entry.size = id.size;
	std::copy(id.bytes.begin(), id.bytes.end(), entry.build_id);
	entry.offset = offset;
	return entry;
}

// Of an address that is not resolved, or of another word.
inline audit::Entry unresolved_entry(uint64_t word)
{
	audit::Entry entry = {};

	entry.offset = word;
	return entry;
}
