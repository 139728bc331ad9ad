// SPDX-License-Identifier: GPL-2.0
#include "bid/counts.h"

#include <fmt/format.h>

#include <algorithm>

namespace bid {

using audit::Verdict;

void Unsound::print(std::FILE *out) const
{
	for (const std::string &line : first_)
		fmt::print(out, "unsound: {}\n", line);
	if (nr_)
		fmt::print(out, "{} records are unsound and were passed over\n", nr_);
}

void Tally::wrong(const std::string &where, const std::string &what)
{
	if (!wrong_++ || !limit_ || wrong_ <= limit_)
		fmt::print(out_, "wrong: {} {}\n", where, what);
}

void Tally::count(Counts &counts, Verdict verdict, const std::string &where, uint32_t pid, uint32_t tid,
		  uint64_t address)
{
	static constexpr size_t most = 10000;

	counts[verdict]++;
	if (verdict == Verdict::Wrong)
		wrong(where, fmt::format("process {} thread {} address {:#x}: {}", pid, tid, address, judge_.why()));
	else if (verdict == Verdict::Unknown && (unknown_.size() < most || unknown_.contains(judge_.why())))
		unknown_[judge_.why()]++;
}

void Tally::print_unknown() const
{
	static constexpr size_t shown = 10;
	std::vector<std::pair<uint64_t, std::string>> list;

	for (const auto &[why, nr] : unknown_)
		list.emplace_back(nr, why);
	std::sort(list.rbegin(), list.rend());
	for (size_t i = 0; i < std::min(shown, list.size()); i++)
		fmt::print(out_, "unknown: {} x {}\n", list[i].first, list[i].second);
	if (list.size() > shown)
		fmt::print(out_, "unknown: {} more reasons\n", list.size() - shown);
}

void Tally::print_heading(std::FILE *out)
{
	fmt::print(out, "{:<32} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "", "true", "wrong", "missed", "nothing",
		   "unknown");
}

void Tally::print(std::FILE *out, const char *what, const Counts &counts)
{
	fmt::print(out, "{:<32} {:>10} {:>10} {:>10} {:>10} {:>10}\n", what, counts[Verdict::True],
		   counts[Verdict::Wrong], counts[Verdict::Missed], counts[Verdict::Nothing], counts[Verdict::Unknown]);
}

} // namespace bid
