// SPDX-License-Identifier: GPL-2.0
#pragma once

#include "perfdata/bytes.h"

#include <filesystem>

namespace perfdata {

// Both throw std::system_error that names the path.
Buffer read_file(const std::filesystem::path &path);
// Whole or not at all: written beside the path, then renamed.
void write_file(const std::filesystem::path &path, std::span<const uint8_t> content);
// Plain write, for scratch files that nobody else reads.
void overwrite_file(const std::filesystem::path &path, std::span<const uint8_t> content);

} // namespace perfdata
