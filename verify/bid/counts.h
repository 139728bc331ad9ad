// SPDX-License-Identifier: GPL-2.0
#pragma once

#include "audit/judge.h"
#include "perfdata/error.h"

#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace bid {

using audit::Counts;

// Records that are not what they claim to be. They are passed over, and named in the end.
class Unsound {
public:
	void add(const std::string &where, const perfdata::FormatError &error)
	{
		if (nr_++ < shown)
			first_.push_back(fmt::format("{}: {}", where, error.what()));
	}

	uint64_t nr() const { return nr_; }
	void print(std::FILE *out) const;

private:
	static constexpr uint64_t shown = 10;

	uint64_t nr_ = 0;
	std::vector<std::string> first_;
};

// Verdicts as they come, and what to say of them in the end.
class Tally {
public:
	Tally(const audit::Judge &judge, std::FILE *out, uint64_t limit) : judge_(judge), out_(out), limit_(limit) {}

	void count(Counts &counts, audit::Verdict verdict, const std::string &where, uint32_t pid, uint32_t tid,
		   uint64_t address);
	// Something wrong that is not one entry.
	void wrong(const std::string &where, const std::string &what);

	bool any_wrong() const { return wrong_; }
	// A line for each of the first reasons why something cannot be told.
	void print_unknown() const;
	static void print_heading(std::FILE *out);
	static void print(std::FILE *out, const char *what, const Counts &counts);

private:
	const audit::Judge &judge_;
	std::FILE *out_;
	uint64_t limit_;
	uint64_t wrong_ = 0;
	std::map<std::string, uint64_t> unknown_;
};

} // namespace bid
