// SPDX-License-Identifier: GPL-2.0
#pragma once

#include "fuzz/passes.h"
#include "fuzz/verdict.h"

#include <map>

namespace fuzz {

struct Settings {
	std::string perf;
	std::vector<std::filesystem::path> corpus;
	std::filesystem::path symfs;
	bool elf = false;              // damage the files below symfs, not the corpus
	std::filesystem::path preload; // preload.so; empty: start perf anew for each run
	std::filesystem::path scratch; // for files in use
	std::filesystem::path keep;    // for inputs that fail
	uint64_t seed = 1;
	uint64_t first = 0;
	uint64_t count = 0;
	unsigned int jobs = 1;
	unsigned int timeout_s = 60;
	unsigned int keep_each = 5; // inputs of one signature
};

struct Tally {
	uint64_t files = 0;
	uint64_t runs = 0;
	uint64_t accepted = 0; // runs that ended well: how deep the mutants get
	double seconds = 0;
	struct Cause {
		Trouble trouble;
		uint64_t count = 0;
		std::string first_input;
	};
	std::map<std::string, Cause> causes; // by signature

	uint64_t count(Trouble trouble) const;
};

Tally run_campaign(const Settings &settings);

} // namespace fuzz
