// SPDX-License-Identifier: GPL-2.0
#pragma once

#include "perfdata/format.h"

#include <array>
#include <compare>
#include <string>

namespace perfdata {

struct BuildId {
	uint8_t size = 0;	// in bytes; 0: there is none
	std::array<uint8_t, BUILD_ID_MAX> bytes{};

	bool operator==(const BuildId &) const = default;
	auto operator<=>(const BuildId &) const = default;
};

// In hexadecimal; "none" if there is none.
inline std::string to_string(const BuildId &id)
{
	static constexpr char digits[] = "0123456789abcdef";
	std::string text;

	for (uint8_t i = 0; i < id.size; i++) {
		text += digits[id.bytes[i] >> 4];
		text += digits[id.bytes[i] & 15];
	}
	return id.size ? text : "none";
}

} // namespace perfdata
