// SPDX-License-Identifier: GPL-2.0
#pragma once

#include "perfdata/file.h"

namespace hostile {

struct Mutant {
	perfdata::Buffer content;
	std::vector<std::string> changes; // what was done to it, for people
};

// The same file and seed always give the same mutant. Most mutants stay readable for the most part, so that what
// reads them gets deep.
Mutant mutate(const perfdata::File &file, uint64_t seed);

} // namespace hostile
