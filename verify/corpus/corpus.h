// SPDX-License-Identifier: GPL-2.0
// A corpus for the fuzzer that needs no recording and is the same on every machine.
#pragma once

#include "perfdata/bytes.h"

#include <string>

namespace hostile {

struct Specimen {
	std::string name;
	perfdata::Buffer content;
};

// One file for each thing that a reader treats in its own way, of both byte orders, with so many samples before and after
// a fork.
std::vector<Specimen> corpus(unsigned int samples = 24);

// The content of the one of that name, which there must be.
perfdata::Buffer specimen(const std::string &name);

} // namespace hostile
