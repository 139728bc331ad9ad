// SPDX-License-Identifier: GPL-2.0
// Runs a command while all tasks are sampled, each address both plainly and as build ID and file offset, and says whether
// the kernel's entries are true. Needs root. Status 0: all are; 1: some are not, or the command fails; 2: cannot tell;
// 77: this kernel does not write entries.
#include "live/recorder.h"
#include "live/truth.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>

using audit::Verdict;

namespace {

pid_t start(std::vector<std::string> command)
{
	std::vector<char *> argv;

	for (std::string &word : command)
		argv.push_back(word.data());
	argv.push_back(nullptr);

	pid_t pid = fork();

	if (pid < 0)
		throw std::system_error(errno, std::generic_category(), "fork");
	if (pid == 0) {
		execvp(argv[0], argv.data());
		fmt::print(stderr, "{}: {}\n", argv[0], std::strerror(errno));
		_exit(127);
	}
	return pid;
}

void print(const char *what, const live::Counts &counts)
{
	uint64_t could = counts[Verdict::True] + counts[Verdict::Missed];

	fmt::print("{:<12} {:>10} {:>10} {:>10} {:>10} {:>10} {:>9.2f} %\n", what, counts[Verdict::True],
		   counts[Verdict::Wrong], counts[Verdict::Missed], counts[Verdict::Nothing], counts[Verdict::Unknown],
		   could ? 100.0 * static_cast<double>(counts[Verdict::True]) / static_cast<double>(could) : 100.0);
}

int run(const live::Options &options, const std::string &known, const std::vector<std::string> &command, double least)
{
	audit::BuildIds ids;
	live::Truth truth(ids);
	live::Recorder recorder(options);
	auto take = [&truth](const live::Record &record) { truth.take(record); };
	int status = 0;

	if (!known.empty())
		ids.know(known);
	for (const auto &entry : std::filesystem::directory_iterator("/proc")) {
		std::string name = entry.path().filename();

		if (name.find_first_not_of("0123456789") == std::string::npos)
			truth.spaces().read_proc(static_cast<uint32_t>(std::stoul(name)));
	}
	recorder.enable();

	pid_t pid = start(command);

	while (!waitpid(pid, &status, WNOHANG)) {
		std::this_thread::sleep_for(std::chrono::milliseconds(20));
		recorder.drain(take, false);
	}
	recorder.disable();
	recorder.drain(take, true);

	fmt::print("{} samples, {} of user space; {} lost, {} whose deferred record never came\n", truth.samples,
		   truth.user_samples, truth.lost, truth.waiting());
	fmt::print("{:<12} {:>10} {:>10} {:>10} {:>10} {:>10} {:>11}\n", "", "true", "wrong", "missed", "nothing",
		   "unknown", "resolved");
	print("addresses", truth.addresses);
	print("callchains", truth.callchains);
	for (const std::string &line : truth.remarks)
		fmt::print("{}\n", line);

	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		fmt::print("{} fails\n", command[0]);
		return 1;
	}
	if (truth.addresses[Verdict::Wrong] || truth.callchains[Verdict::Wrong])
		return 1;
	if (!truth.user_samples) {
		fmt::print("there was nothing to judge\n");
		return 2;
	}
	for (const live::Counts *counts : {&truth.addresses, &truth.callchains}) {
		double right = static_cast<double>((*counts)[Verdict::True]);

		if (right < least / 100 * (right + static_cast<double>((*counts)[Verdict::Missed]))) {
			fmt::print("less than {} % are resolved\n", least);
			return 1;
		}
	}
	return 0;
}

} // namespace

int main(int argc, char **argv)
{
	CLI::App app("Are the kernel's entries of build ID and file offset true?");
	live::Options options;
	std::vector<std::string> command;
	std::string known;
	double least = 0;

	app.add_option("--frequency", options.frequency, "samples a second and CPU")->capture_default_str();
	app.add_option("--tracepoint", options.tracepoint, "a sample at each hit of this one, too: its ID in tracefs");
	app.add_flag("--deferred", options.deferred, "resolve when the task returns to user space");
	app.add_option("--known", known, "directory of all files that are mapped below it under any name")
		->check(CLI::ExistingDirectory);
	app.add_option("--least", least, "fail when less of what could be resolved is, in %");
	app.add_option("command", command, "what to run")->required();
	app.positionals_at_end();
	CLI11_PARSE(app, argc, argv);

	try {
		return run(options, known, command, least);
	} catch (const std::system_error &error) {
		fmt::print("{}\n", error.what());
		return error.code().value() == EINVAL ? 77 : 2;
	} catch (const std::exception &error) {
		fmt::print("{}\n", error.what());
		return 2;
	}
}
