// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fuzz {

struct Outcome {
	int status = 0; // as wait() gives it
	bool hung = false;
	std::string err; // the beginning of its standard error

	bool exited(int code) const;
};

// Run it with no input, its output thrown away or in a file, in a process group of its own that does not outlive the call.
Outcome run_child(const std::vector<std::string> &argv, const std::vector<std::string> &env,
		  const std::filesystem::path &err_file, unsigned int timeout_s,
		  const std::filesystem::path &out_file = "/dev/null");

std::string beginning_of(const std::filesystem::path &path);

} // namespace fuzz
