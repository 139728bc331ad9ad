// SPDX-License-Identifier: GPL-2.0
// The build IDs of files, as the files themselves say.
#pragma once

#include "perfdata/build_id.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace audit {

using perfdata::BuildId;
using perfdata::to_string;

inline constexpr uint64_t any_inode = UINT64_MAX;	// of a file whose inode number is not known

// Of an ELF file; none for what is not one. Throws std::system_error when it cannot be opened.
BuildId read_build_id(const std::filesystem::path &path);

// Of the vdso that the running kernel gives to this process, or none.
BuildId read_vdso_build_id();

// The parts of an ELF file that are loaded, in whole pages: where each begins and ends. None of what is not one. Throws
// as above.
std::vector<std::pair<uint64_t, uint64_t>> read_loaded(const std::filesystem::path &path);

// Remembers what it has read: no file may change in place.
class BuildIds {
public:
	// Files below dir come and go under other names; those that are there now are known by inode number.
	void know(const std::filesystem::path &dir);

	// Of the file of that name, whatever is there now.
	void tell(const std::string &path, const BuildId &id) { told_.insert_or_assign(path, id); }
	bool is_told(const std::string &path) const { return told_.contains(path); }
	// What was told of that name is not true if these bytes begin with it.
	void forget_if_it_begins(const std::string &path, std::span<const uint8_t> bytes);
	// A file of another inode number is another file.
	void mind_inodes() { mind_inodes_ = true; }
	// Files are where they were when it was told of them: of a file that is another one now it may have been told since.
	void is_this_machine() { this_machine_ = true; }

	// Of the file that is or was mapped by that name; nothing when it cannot be told any more.
	std::optional<BuildId> of(const std::string &path, uint64_t inode);
	// Whether a byte of the file is in a part that is loaded. Nothing if the file is not there, or has another build ID.
	std::optional<bool> is_loaded(const std::string &path, const BuildId &id, uint64_t offset);

private:
	bool is_other_file(const std::string &path, uint64_t inode);
	std::optional<BuildId> read_once(const std::string &path);

	std::string dir_;
	std::map<uint64_t, BuildId> by_inode_;
	std::map<std::string, std::optional<BuildId>> by_path_;
	std::map<std::string, BuildId> told_;
	std::map<std::pair<std::string, BuildId>, std::vector<std::pair<uint64_t, uint64_t>>> loaded_;
	std::map<std::pair<std::string, uint64_t>, bool> other_file_;
	bool mind_inodes_ = false;
	bool this_machine_ = false;
};

} // namespace audit
