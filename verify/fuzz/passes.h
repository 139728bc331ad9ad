// SPDX-License-Identifier: GPL-2.0
// The perf commands that each damaged file goes through.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fuzz {

struct Pass {
	std::vector<std::string> argv;
	bool writes; // its output must not be there when it fails
};

// What this perf can do; another one is fuzzed with what it has.
struct Abilities {
	bool buildid_field = false;
	bool converter = false;
};

// One script and one report, of the variants in turn, and for some files the converter. IN and OUT stand in argv
// as they are given here.
std::vector<Pass> passes(uint64_t index, const std::string &perf, const Abilities &abilities,
			 const std::filesystem::path &symfs, const std::string &in, const std::string &out);

// The same when it is the files below symfs that are damaged: what reads them.
std::vector<Pass> elf_passes(uint64_t index, const std::string &perf, const std::filesystem::path &symfs,
			     const std::string &in);

} // namespace fuzz
