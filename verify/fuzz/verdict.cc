// SPDX-License-Identifier: GPL-2.0
#include "fuzz/verdict.h"

#include <fmt/format.h>

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include <regex>
#include <sstream>

namespace fuzz {

namespace {

// Numbers differ from run to run. Absolute paths differ from machine to machine.
std::string normal(const std::string &line)
{
	static const std::regex path(R"((/[^ :()]+)+/([^ :/()]+/[^ :/()]+))");
	static const std::regex hex("0x[0-9a-f]+");
	static const std::regex pid("==[0-9]+==");

	return std::regex_replace(std::regex_replace(std::regex_replace(line, path, "$2"), hex, "N"), pid, "");
}

// "FILE:LINE:COL: runtime error: ..." counts once for a place, whatever the values were.
std::string place_of_ub(const std::string &line)
{
	size_t text = line.find(": runtime error: ");
	std::string what = line.substr(text + 17);
	size_t word = what.find_first_of("0123456789-");

	return fmt::format("UBSan {}: {}", normal(line.substr(0, text)), what.substr(0, word));
}

// The frames that gdb or perf's own handler prints, without the handler's.
std::string frames(const std::string &err)
{
	std::istringstream in(err);
	std::string line, names;
	int n = 0;
	static const std::regex frame(R"(^ *#[0-9]+ +(?:0x[0-9a-f]+ in )?([^ ]+))");

	while (n < 4 && std::getline(in, line)) {
		std::smatch m;

		if (!std::regex_search(line, m, frame))
			continue;

		std::string name = m[1];

		if (name.find("dump_stack") != std::string::npos || name.find("sighandler") != std::string::npos ||
		    name == "__restore_rt" || name == "<signal" || name.find("pthread_kill") != std::string::npos ||
		    name.find("abort") != std::string::npos || name.find("raise") != std::string::npos)
			continue;
		names += (n++ ? " < " : "") + name;
	}
	return names;
}

std::string line_with(const std::string &text, const char *word)
{
	size_t at = text.find(word);

	if (at == std::string::npos)
		return {};

	size_t from = text.rfind('\n', at);

	from = from == std::string::npos ? 0 : from + 1;
	return text.substr(from, text.find('\n', at) - from);
}

} // namespace

std::optional<Verdict> judge(const Outcome &o)
{
	if (o.hung)
		return Verdict{Trouble::Hang, "hang"};

	std::string line = line_with(o.err, "SUMMARY: AddressSanitizer");

	if (line.empty())
		line = line_with(o.err, "ERROR: AddressSanitizer");
	if (!line.empty())
		return Verdict{Trouble::Report, normal(line)};

	line = line_with(o.err, ": runtime error: ");
	if (!line.empty())
		return Verdict{Trouble::Report, place_of_ub(line)};

	if (WIFSIGNALED(o.status))
		return Verdict{Trouble::Crash,
			       fmt::format("SIG{} {}", sigabbrev_np(WTERMSIG(o.status)), frames(o.err))};
	return std::nullopt;
}

} // namespace fuzz
