// SPDX-License-Identifier: GPL-2.0
// The build IDs of files, as the files themselves say.
#pragma once

#include "perfdata/format.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace audit {

struct BuildId {
	uint8_t size = 0;	// in bytes; 0: the file has none
	std::array<uint8_t, perfdata::BUILD_ID_MAX> bytes{};

	bool operator==(const BuildId &) const = default;
};

// In hexadecimal; "none" if there is none.
std::string to_string(const BuildId &id);

// Of an ELF file; none for what is not one. Throws std::system_error when it cannot be opened.
BuildId read_build_id(const std::filesystem::path &path);

// Remembers what it has read: no file may change in place.
class BuildIds {
public:
	// Files below dir come and go under other names; those that are there now are known by inode number.
	void know(const std::filesystem::path &dir);

	// Of the file that is or was mapped by that name; nothing when it cannot be told any more.
	std::optional<BuildId> of(const std::string &path, uint64_t inode);

private:
	std::string dir_;
	std::map<uint64_t, BuildId> by_inode_;
	std::map<std::string, std::optional<BuildId>> by_path_;
};

} // namespace audit
