// SPDX-License-Identifier: GPL-2.0
// Damages ELF files.
#pragma once

#include "mutate/mutator.h"

namespace hostile {

// As mutate(), for an ELF file of 64 bits in host byte order; anything else is returned as it is.
Mutant mutate_elf(std::span<const uint8_t> file, uint64_t seed);

} // namespace hostile
