// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace perfdata {

// A file that is not what it claims to be, and where.
class FormatError : public std::runtime_error {
public:
	FormatError(uint64_t where, const std::string &what)
		: std::runtime_error(fmt::format("offset {:#x}: {}", where, what)), where_(where)
	{
	}

	uint64_t where() const { return where_; }

private:
	uint64_t where_;
};

} // namespace perfdata
