// SPDX-License-Identifier: GPL-2.0
// Joins samples that leave their address to a record to come with that record: both have the thread and a cookie.
#pragma once

#include "audit/judge.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace audit {

// A record with entries. That with the words of the same cookie follows it.
struct Answer {
	std::optional<Entry> sampled;
	std::vector<Entry> chain;
};

template <typename Thread, typename Sample, typename Answer = audit::Answer>
class Cookies {
public:
	// When there are more threads, or more that waits, all that is known of it is forgotten.
	explicit Cookies(size_t most_threads = SIZE_MAX, size_t most_waiting = SIZE_MAX)
		: most_threads_(most_threads), most_waiting_(most_waiting)
	{
	}

	// The last record of the thread, if it has that cookie: samples that its own writing provokes have the same one.
	const Answer *last(const Thread &thread, uint64_t cookie) const
	{
		auto found = last_.find(thread);

		return found != last_.end() && found->second.first == cookie ? &found->second.second : nullptr;
	}

	// The sample waits for its record.
	void wait(const Thread &thread, uint64_t cookie, Sample sample)
	{
		if (waiting_.size() >= most_waiting_)
			waiting_.clear();
		waiting_[{thread, cookie}].push_back(std::move(sample));
	}

	// The record, and the samples that have waited for it.
	std::vector<Sample> answer(const Thread &thread, uint64_t cookie, Answer answer)
	{
		std::vector<Sample> samples;

		if (last_.size() >= most_threads_)
			last_.clear();
		last_.insert_or_assign(thread, std::pair(cookie, std::move(answer)));
		if (auto found = waiting_.find({thread, cookie}); found != waiting_.end()) {
			samples = std::move(found->second);
			waiting_.erase(found);
		}
		return samples;
	}

	// Of the threads from the first to the last there will be no sample any more.
	void forget(const Thread &first, const Thread &last)
	{
		last_.erase(last_.lower_bound(first), last_.upper_bound(last));
	}

	uint64_t waiting() const
	{
		uint64_t nr = 0;

		for (const auto &[key, samples] : waiting_)
			nr += samples.size();
		return nr;
	}

private:
	size_t most_threads_, most_waiting_;
	std::map<std::pair<Thread, uint64_t>, std::vector<Sample>> waiting_;
	std::map<Thread, std::pair<uint64_t, Answer>> last_;
};

} // namespace audit
