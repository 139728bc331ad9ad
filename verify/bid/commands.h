// SPDX-License-Identifier: GPL-2.0
// The commands of perf-bid. Each prints to out and returns the exit status.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

namespace bid {

struct Options {
	bool json = false;
	bool strict = false;	// what is missed or cannot be told is wrong, too
	bool offsets = false;
	uint64_t limit = 0;	// lines for what is wrong; 0: all
};

using Path = std::filesystem::path;

int run_info(const Path &file, const Options &options, std::FILE *out);
int run_audit(const Path &file, const Options &options, std::FILE *out);
int run_compare(const Path &original, const Path &converted, const Options &options, std::FILE *out);
int run_leaks(const Path &file, const Options &options, std::FILE *out);
int run_dump(const Path &file, const Options &options, std::FILE *out);

} // namespace bid
