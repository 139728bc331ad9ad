// SPDX-License-Identifier: GPL-2.0
// Judges the entries of records that come in the order of time.
#pragma once

#include "audit/cookies.h"
#include "audit/judge.h"
#include "live/record.h"

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace live {

using audit::Counts;

class Truth {
public:
	explicit Truth(audit::BuildIds &ids) : judge_(spaces_, ids) {}

	audit::AddressSpaces &spaces() { return spaces_; }
	void take(const Record &record);

	uint64_t samples = 0;
	uint64_t user_samples = 0;
	uint64_t lost = 0;		// records that had no space in a ring buffer
	Counts addresses;		// of the samples
	Counts callchains;		// their words, user part
	std::vector<std::string> remarks;	// a line for each of the first that are wrong or not known

	// Addresses whose record has not come: of tasks that were killed.
	uint64_t waiting() const { return cookies_.waiting(); }

private:
	// A sample whose address is resolved in a record to come.
	struct Waiting {
		uint32_t pid;
		uint64_t ip;
		uint64_t time;
	};
	using Thread = std::pair<uint32_t, size_t>;	// and the event

	void sample(const Record &record);
	void deferred(const Record &record);
	void exit(const Task &task);
	void user(Counts &counts, uint32_t pid, uint64_t address, uint64_t time, const audit::Entry &entry);
	void remark(audit::Verdict verdict, const std::string &what);
	void count(Counts &counts, audit::Verdict verdict, uint32_t pid, uint64_t address, uint64_t time);

	Counts remarked_;
	audit::AddressSpaces spaces_;
	audit::Judge judge_;
	audit::Cookies<Thread, Waiting> cookies_;
	std::map<uint32_t, unsigned int> threads_;	// of the processes that began since
	std::deque<uint32_t> dead_;
};

} // namespace live
