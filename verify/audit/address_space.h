// SPDX-License-Identifier: GPL-2.0
// What is mapped in the address space of each process, from the events that tell of it.
#pragma once

#include "perfdata/build_id.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace audit {

struct Mapping {
	uint64_t start = 0;
	uint64_t end = 0;
	uint64_t offset = 0;	// of start in the file, in bytes
	uint64_t inode = 0;	// 0: not of a file
	std::string path;
	std::optional<perfdata::BuildId> id{};	// of the file, if whoever mapped it knew; a size of 0: it has none

	// In the file, of an address that is mapped.
	uint64_t offset_of(uint64_t address) const { return address - start + offset; }
};

class AddressSpace {
public:
	// What was mapped there before is not any more.
	void map(Mapping mapping);
	const Mapping *find(uint64_t address) const;
	const std::map<uint64_t, Mapping> &all() const { return by_start_; }

private:
	std::map<uint64_t, Mapping> by_start_;
};

class AddressSpaces {
public:
	void map(uint32_t pid, Mapping mapping) { spaces_[pid].map(std::move(mapping)); }
	void fork(uint32_t pid, uint32_t parent);
	void exec(uint32_t pid) { spaces_[pid] = {}; }
	// Until the new program runs, the registers of the task are those of the old one. Keeps what was mapped.
	void exec_keeping(uint32_t pid);
	void runs(uint32_t pid) { before_.erase(pid); }
	void exit(uint32_t pid)
	{
		spaces_.erase(pid);
		before_.erase(pid);
	}

	// What /proc/PID/maps says now. A process that ends meanwhile has none.
	void read_proc(uint32_t pid);

	// Null for a process of which nothing is known.
	const AddressSpace *of(uint32_t pid) const;
	const AddressSpace *before_exec(uint32_t pid) const;

private:
	std::map<uint32_t, AddressSpace> spaces_, before_;
};

} // namespace audit
