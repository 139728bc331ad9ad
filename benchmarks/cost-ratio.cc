// SPDX-License-Identifier: GPL-2.0
// Run two commands in turn and print one line that compares them: CPU time (the median of several rounds) and peak
// memory, without pages of files, which the system can take back.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace {

using Command = std::vector<std::string>;

struct Cost {
	double cpu_s;
	double peak_mb;
};

double seconds(const timeval &t)
{
	return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
}

// Of a process, now.
double anonymous_mb(pid_t pid)
{
	std::ifstream status(fmt::format("/proc/{}/status", pid));
	std::string line;

	while (std::getline(status, line))
		if (line.starts_with("RssAnon:"))
			return std::stod(line.substr(sizeof("RssAnon:"))) / 1024;
	return 0;
}

Cost run(const Command &command)
{
	std::vector<char *> argv;
	posix_spawn_file_actions_t actions;
	rusage used;
	int status;
	pid_t pid;

	for (const std::string &arg : command)
		argv.push_back(const_cast<char *>(arg.c_str()));
	argv.push_back(nullptr);

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);

	int error = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);

	posix_spawn_file_actions_destroy(&actions);
	if (error)
		throw std::system_error(error, std::generic_category(), "cannot run " + command[0]);

	double peak_mb = 0;
	pid_t ended;

	while (!(ended = wait4(pid, &status, WNOHANG, &used))) {
		peak_mb = std::max(peak_mb, anonymous_mb(pid));
		std::this_thread::sleep_for(std::chrono::milliseconds(5));
	}
	if (ended < 0)
		throw std::system_error(errno, std::generic_category(), "wait4");
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		throw std::runtime_error(fmt::format("failed (status {:#x}): {}", status, fmt::join(command, " ")));

	return {seconds(used.ru_utime) + seconds(used.ru_stime), peak_mb};
}

double median(std::vector<double> v)
{
	std::sort(v.begin(), v.end());
	return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
}

struct Costs {
	std::vector<double> cpu_s, peak_mb;

	void add(const Cost &c)
	{
		cpu_s.push_back(c.cpu_s);
		peak_mb.push_back(c.peak_mb);
	}
};

struct Goals {
	double ratio = 0;	// of the CPU time for the same work, 0: none
	double peak_mb = 0;	// of A, 0: none
};

const char *verdict(double value, double goal)
{
	return value <= goal ? "met" : "over";
}

// work: how many times as much as B A does.
int cost_ratio(const std::string &label, const Command &a, const Command &b, unsigned int rounds, double work,
	       const Goals &goals)
{
	Costs of_a, of_b;
	std::vector<double> ratios;

	// Once each for the page cache; not counted.
	run(a);
	run(b);
	for (unsigned int i = 0; i < rounds; i++) {
		// Whatever drifts, drifts for both.
		if (i % 2) {
			of_b.add(run(b));
			of_a.add(run(a));
		} else {
			of_a.add(run(a));
			of_b.add(run(b));
		}
		ratios.push_back(of_a.cpu_s.back() / of_b.cpu_s.back() / work);
	}

	double ratio = median(ratios);

	fmt::print("{:<58} {:7.2f} {:7.2f} {:6.2f} {:>5} {:>4} {:7.1f} {:7.1f}{}\n", label, median(of_a.cpu_s),
		   median(of_b.cpu_s), ratio, goals.ratio > 0 ? fmt::format("{:.1f}", goals.ratio) : "",
		   goals.ratio > 0 ? verdict(ratio, goals.ratio) : "", median(of_a.peak_mb), median(of_b.peak_mb),
		   goals.peak_mb > 0 ? fmt::format(" {:5.0f} {}", goals.peak_mb,
						   verdict(median(of_a.peak_mb), goals.peak_mb))
				     : "");
	return 0;
}

} // namespace

int main(int argc, char **argv)
{
	CLI::App app{"Compare the cost of two commands: cost-ratio [OPTIONS] A... :: B..."};
	std::string label = "A / B";
	unsigned int rounds = 7;
	double work = 1;
	Goals goals;
	bool head = false;

	app.add_option("--label", label, "what is compared");
	app.add_option("--rounds", rounds, "how often each runs")->check(CLI::Range(1, 1000));
	app.add_option("--work", work, "A does so many times the work of B; the ratio is that of the same work")
		->check(CLI::PositiveNumber);
	app.add_option("--goal", goals.ratio, "the ratio that is wanted at most");
	app.add_option("--peak-goal", goals.peak_mb, "the peak memory of A, in MB, that is wanted at most");
	app.add_flag("--head", head, "print the heading of the lines and stop");
	app.prefix_command();
	CLI11_PARSE(app, argc, argv);

	if (head) {
		fmt::print("{:<58} {:^15} {:^17} {:^15}\n", "", "CPU time, s", "", "peak memory, MB");
		fmt::print("{:<58} {:>7} {:>7} {:>6} {:>5} {:>4} {:>7} {:>7} {:>5}\n", "A / B", "A", "B", "ratio", "goal", "",
			   "A", "B", "goal");
		return 0;
	}

	std::vector<std::string> rest = app.remaining();
	auto between = std::find(rest.begin(), rest.end(), "::");

	try {
		if (between == rest.begin() || between == rest.end() || between + 1 == rest.end())
			throw std::runtime_error("two commands wanted, with :: between them");
		return cost_ratio(label, {rest.begin(), between}, {between + 1, rest.end()}, rounds, work, goals);
	} catch (const std::exception &e) {
		fmt::print(stderr, "cost-ratio: {}\n", e.what());
		return 2;
	}
}
