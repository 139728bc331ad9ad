// SPDX-License-Identifier: GPL-2.0
// What the tasks of the storm do, each act in a process of its own. What an act runs is not unmapped by another thread
// meanwhile: then nobody could say what an address was at the time of a sample.
#pragma once

#include "storm/files.h"

namespace storm {

// Forks, and has the child do one of the acts; waits for its end, and sometimes does not wait but kills it. Throws
// std::runtime_error when an act fails of its own.
void act(const Files &files, Random &random);

} // namespace storm
