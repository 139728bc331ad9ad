// SPDX-License-Identifier: GPL-2.0
// The build IDs of files, as the files themselves say.
#pragma once

#include "perfdata/build_id.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace audit {

using perfdata::BuildId;
using perfdata::to_string;

// Of an ELF file; none for what is not one. Throws std::system_error when it cannot be opened.
BuildId read_build_id(const std::filesystem::path &path);

// Remembers what it has read: no file may change in place.
class BuildIds {
public:
	// Files below dir come and go under other names; those that are there now are known by inode number.
	void know(const std::filesystem::path &dir);

	// Of the file of that name, whatever is there now.
	void tell(const std::string &path, const BuildId &id) { told_.insert_or_assign(path, id); }
	// A file of another inode number is another file.
	void mind_inodes() { mind_inodes_ = true; }

	// Of the file that is or was mapped by that name; nothing when it cannot be told any more.
	std::optional<BuildId> of(const std::string &path, uint64_t inode);

private:
	std::string dir_;
	std::map<uint64_t, BuildId> by_inode_;
	std::map<std::string, std::optional<BuildId>> by_path_;
	std::map<std::string, BuildId> told_;
	bool mind_inodes_ = false;
};

} // namespace audit
