// SPDX-License-Identifier: GPL-2.0
#pragma once

#include "audit/judge.h"
#include "perfdata/reader.h"

#include <deque>
#include <map>
#include <set>

namespace bid {

// What is mapped where, from the records of a file in the order of time.
class Model {
public:
	explicit Model(const perfdata::Reader &reader);

	// Of records that tell nothing of it, it takes no notice.
	void take(const perfdata::Record &record, const std::vector<perfdata::Field> &fields);

	// There may be entries of places that the file does not tell of.
	void expect_data();

	// A sample of user space: the process runs what it has executed.
	void runs(uint32_t pid) { spaces_.runs(pid); }

	audit::Judge &judge() { return judge_; }
	uint64_t mappings() const { return mappings_; }	// of user space, that the file tells of

private:
	// Of a process: those that it has made and that have not ended. The first one is not among them.
	struct Threads {
		std::set<uint32_t> running;
		bool first_has_ended = false;
	};

	void map(const perfdata::Record &record, const std::vector<perfdata::Field> &fields);
	void learn_build_ids();
	void fork(const perfdata::Record &record);
	bool ends(uint32_t pid, uint32_t tid);
	void exit(uint32_t pid, uint32_t tid);

	const perfdata::Reader &reader_;
	audit::AddressSpaces spaces_;
	audit::BuildIds ids_;
	audit::Judge judge_{spaces_, ids_};
	bool host_is_known_ = false;
	size_t learned_ = 0;	// rows of the build-ID table
	uint64_t mappings_ = 0;
	std::map<uint32_t, Threads> threads_;
	std::deque<uint32_t> dead_;
};

} // namespace bid
