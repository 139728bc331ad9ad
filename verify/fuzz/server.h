// SPDX-License-Identifier: GPL-2.0
#pragma once

#include "fuzz/child.h"

#include <sys/types.h>

namespace fuzz {

// Runs a program many times and links it once: see preload.c. As run_child() otherwise.
class Server {
public:
	Server(std::string program, std::vector<std::string> env, std::filesystem::path preload);
	~Server();
	Server(const Server &) = delete;
	Server &operator=(const Server &) = delete;

	// argv[0] is the program; only what follows matters.
	Outcome run(const std::vector<std::string> &argv, const std::filesystem::path &err_file,
		    unsigned int timeout_s);

private:
	void start();
	void stop();
	bool answer(uint32_t &v, int timeout_ms);

	std::string program_;
	std::vector<std::string> env_;
	pid_t pid_ = -1;
	int request_ = -1;
	int answer_ = -1;
};

} // namespace fuzz
