// SPDX-License-Identifier: GPL-2.0
#pragma once

#include "perfdata/reader.h"

namespace bid {

// "MMAP2"; "type 99" for what has no name.
std::string record_name(uint32_t type);
// "IP|TID|TIME"
std::string sample_type_names(uint64_t sample_type);
// Of the event of that number: as the file names it, or by type and config.
std::string event_name(const perfdata::Reader &reader, size_t number);

} // namespace bid
