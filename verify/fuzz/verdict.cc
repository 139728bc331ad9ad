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

bool is_machinery(const std::string &function)
{
	static const std::regex machinery(
		"__interceptor_.*|.*pthread_kill.*|.*abort.*|(__GI_)?raise|.*assert_fail.*|__libc_message|malloc_printerr|"
		"dump_stack|sighandler.*|__restore_rt|<signal|refcount_.*");

	return std::regex_match(function, machinery);
}

// The first frames of the stack that gdb, perf's own handler or a sanitizer prints: those that say where. The line,
// where it is known, tells apart what goes wrong in one long function.
std::string frames(const std::string &err)
{
	static const std::regex frame(R"(^ *#[0-9]+ +(?:0x[0-9a-f]+ in )?([^ ]+)(?: (.*))?)");
	static const std::regex place(R"(([^ /]+/[^ /]+:[0-9]+)$)");
	std::istringstream in(err);
	std::string line, names;
	int n = 0;

	while (n < 3 && std::getline(in, line)) {
		std::smatch m;

		// The stack ends where the numbers start again.
		if (n && line.find("#0 ") != std::string::npos)
			break;
		if (!std::regex_search(line, m, frame) || is_machinery(m[1]))
			continue;
		names += (n ? " < " : "") + m[1].str();

		std::string rest = normal(m[2]);

		if (!n++ && std::regex_search(rest, m, place))
			names += " " + m[1].str();
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

std::optional<Verdict> verdict_of(const Outcome &o)
{
	if (o.hung)
		return Verdict{Trouble::Hang, "hang"};

	// "==PID==ERROR: AddressSanitizer: KIND on address ..."
	static constexpr std::string_view asan = "ERROR: AddressSanitizer: ";
	size_t at = o.err.find(asan);

	if (at != std::string::npos) {
		std::string kind = o.err.substr(at + asan.size(), 64);

		return Verdict{Trouble::Report, fmt::format("ASan {} {}", kind.substr(0, kind.find_first_of(": \n")),
							    frames(o.err.substr(at)))};
	}

	std::string line = line_with(o.err, ": runtime error: ");
	if (!line.empty())
		return Verdict{Trouble::Report, place_of_ub(line)};

	if (WIFSIGNALED(o.status))
		return Verdict{Trouble::Crash,
			       fmt::format("SIG{} {}", sigabbrev_np(WTERMSIG(o.status)), frames(o.err))};
	return std::nullopt;
}

} // namespace fuzz
