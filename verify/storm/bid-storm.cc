// SPDX-License-Identifier: GPL-2.0
// Tasks that fork, exec, map, unmap, protect, replace their files and end, on all CPUs and under memory pressure, for
// bid-truth to judge what the kernel says of them.
#include "storm/acts.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

// A process that does that again and again until the time is over.
pid_t repeat(Clock::time_point end, uint32_t seed, const std::function<void(storm::Random &)> &what)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	try {
		storm::Random random(seed);
		uint64_t done = 0;

		for (; Clock::now() < end; done++)
			what(random);
		fmt::print("{}\n", done);
		_exit(0);
	} catch (const std::exception &error) {
		fmt::print(stderr, "bid-storm: {}\n", error.what());
		_exit(1);
	}
}

// Takes a good part of the memory for a moment, and has the page cache dropped where that is allowed.
void press()
{
	std::ofstream("/proc/sys/vm/drop_caches") << "1\n";

	size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
	size_t size = static_cast<size_t>(sysconf(_SC_AVPHYS_PAGES)) * page / 4 * 3;
	void *map = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		return;
	for (size_t at = 0; at < size; at += page)
		static_cast<volatile char *>(map)[at] = 1;
	munmap(map, size);
	usleep(200000);
}

int run(const std::string &dir, int seconds, uint32_t seed)
{
	storm::Files files(dir);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	auto end = Clock::now() + std::chrono::seconds(seconds);
	std::vector<pid_t> tasks;
	bool bad = false;

	for (long i = 0; i < 2 * cpus; i++)
		tasks.push_back(repeat(end, seed + static_cast<uint32_t>(i),
				       [&files](storm::Random &random) { storm::act(files, random); }));
	tasks.push_back(repeat(end, seed, [&files](storm::Random &random) {
		files.replace(random);
		usleep(1000);
	}));
	tasks.push_back(repeat(end, seed, [](storm::Random &) { press(); }));
	for (pid_t pid : tasks) {
		int status;

		waitpid(pid, &status, 0);
		bad |= !WIFEXITED(status) || WEXITSTATUS(status);
	}
	return bad;
}

} // namespace

int main(int argc, char **argv)
{
	CLI::App app("Many short-lived tasks and mappings.");
	std::string dir;
	int seconds = 10;
	uint32_t seed = 1;
	bool make = false;

	app.add_flag("--make", make, "only make the files in the directory");
	app.add_option("--seconds", seconds, "how long")->capture_default_str();
	app.add_option("--seed", seed, "what is done, and with what")->capture_default_str();
	app.add_option("dir", dir, "where the files are that it runs")->required();
	CLI11_PARSE(app, argc, argv);

	try {
		if (make) {
			storm::Files(dir).make(STORM_PROGRAM, STORM_LIBRARY);
			return 0;
		}
		return run(dir, seconds, seed);
	} catch (const std::exception &error) {
		fmt::print(stderr, "bid-storm: {}\n", error.what());
		return 1;
	}
}
