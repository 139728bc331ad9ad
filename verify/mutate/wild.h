// SPDX-License-Identifier: GPL-2.0
// Values that break arithmetic.
#pragma once

#include "mutate/rng.h"
#include "perfdata/layout.h"

namespace hostile {

// A new value for a number of this width. room: bytes from behind the field to the record's end.
uint64_t wild_value(Rng &rng, const perfdata::Field &field, uint64_t old, uint64_t room);

uint64_t wild_number(Rng &rng, uint64_t width, uint64_t old);

} // namespace hostile
