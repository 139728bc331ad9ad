// SPDX-License-Identifier: GPL-2.0
#include "live/record.h"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

namespace live {

namespace {

class Reader {
public:
	explicit Reader(const Record &record) : words_(record.words) { take(1); }

	std::span<const uint64_t> take(size_t nr)
	{
		if (nr > words_.size() - at_)
			throw std::runtime_error(fmt::format("a record of {} bytes ends early", words_.size_bytes()));
		at_ += nr;
		return words_.subspan(at_ - nr, nr);
	}

	uint64_t word() { return take(1)[0]; }

	std::pair<uint32_t, uint32_t> halves()
	{
		uint64_t both = word();

		return {static_cast<uint32_t>(both), static_cast<uint32_t>(both >> 32)};
	}

	std::span<const audit::Entry> entries(uint64_t nr)
	{
		constexpr size_t words_of_one = sizeof(audit::Entry) / sizeof(uint64_t);

		if (nr > words_.size())
			take(words_.size());
		return {reinterpret_cast<const audit::Entry *>(take(nr * words_of_one).data()), nr};
	}

	// Nothing but the words that end each record may be left.
	void end(size_t left)
	{
		if (words_.size() - at_ != left)
			throw std::runtime_error(fmt::format("a record has {} words left, not {}",
							     words_.size() - at_, left));
	}

private:
	std::span<const uint64_t> words_;
	size_t at_ = 0;
};

constexpr size_t words_of_sample_id = 2;

} // namespace

Sample parse_sample(const Record &record)
{
	Reader reader(record);
	Sample sample;

	sample.user = (record.header().misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER;
	sample.ip = reader.word();
	std::tie(sample.pid, sample.tid) = reader.halves();
	reader.word();
	sample.words = reader.take(reader.word());
	sample.ip_entry = reader.entries(1)[0];
	sample.entries = reader.entries(reader.word());
	reader.end(0);
	return sample;
}

Deferred parse_deferred(const Record &record)
{
	Reader reader(record);
	Deferred deferred;

	deferred.has_entries = record.header().misc & PERF_RECORD_MISC_CALLCHAIN_BUILD_ID;
	deferred.cookie = reader.word();
	if (deferred.has_entries)
		deferred.ip_entry = reader.entries(1)[0];

	uint64_t nr = reader.word();

	if (deferred.has_entries)
		deferred.entries = reader.entries(nr);
	else
		deferred.words = reader.take(nr);
	std::tie(deferred.pid, deferred.tid) = reader.halves();
	reader.end(words_of_sample_id - 1);
	return deferred;
}

Task parse_task(const Record &record)
{
	Reader reader(record);
	Task task;

	std::tie(task.pid, task.parent) = reader.halves();
	std::tie(task.tid, task.parent_tid) = reader.halves();
	return task;
}

uint32_t parse_map(const Record &record, audit::Mapping &mapping)
{
	Reader reader(record);
	uint32_t pid = reader.halves().first;

	mapping.start = reader.word();
	mapping.end = mapping.start + reader.word();
	mapping.offset = reader.word();
	reader.word();				// device
	mapping.inode = reader.word();
	reader.take(2);				// generation, protection and flags

	size_t words = record.words.size() - 9 - words_of_sample_id;
	const char *path = reinterpret_cast<const char *>(reader.take(words).data());

	mapping.path.assign(path, strnlen(path, words * sizeof(uint64_t)));
	return pid;
}

Cookie cookie_of(const audit::Entry &entry)
{
	uint64_t words[4];

	std::memcpy(words, &entry, sizeof(entry));
	return {words[0] == 0 && words[1] == static_cast<uint64_t>(PERF_CONTEXT_USER_DEFERRED), words[2]};
}

} // namespace live
