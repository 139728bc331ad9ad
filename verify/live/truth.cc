// SPDX-License-Identifier: GPL-2.0
#include "live/truth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace live {

using audit::Entry;
using audit::Verdict;

namespace {

constexpr size_t dead_kept = 1000;
constexpr uint64_t remarks_kept = 10;	// of each kind
constexpr uint64_t context_user = static_cast<uint64_t>(PERF_CONTEXT_USER);

} // namespace

void Truth::remark(Verdict verdict, const std::string &what)
{
	if (remarked_[verdict]++ < remarks_kept)
		remarks.push_back((verdict == Verdict::Wrong ? "wrong: " : "unknown: ") + what);
}

void Truth::count(Counts &counts, Verdict verdict, uint32_t pid, uint64_t address, uint64_t time)
{
	counts[verdict]++;
	if (verdict == Verdict::Wrong || verdict == Verdict::Unknown)
		remark(verdict, fmt::format("{}.{:09} process {} address {:#x}: {}", time / 1000000000,
					    time % 1000000000, pid, address, judge_.why()));
}

void Truth::user(Counts &counts, uint32_t pid, uint64_t address, uint64_t time, const Entry &entry)
{
	count(counts, judge_.user(pid, address, entry), pid, address, time);
}

void Truth::sample(const Record &record)
{
	Sample s = parse_sample(record);
	Cookie cookie = cookie_of(s.ip_entry);

	samples++;
	user_samples += s.user;
	if (!s.user) {
		count(addresses, judge_.other(s.ip, s.ip_entry), s.pid, s.ip, record.time);
	} else if (!cookie.there) {
		user(addresses, s.pid, s.ip, record.time, s.ip_entry);
	} else {
		Thread thread(s.tid, record.event);
		const audit::Answer *last = cookies_.last(thread, cookie.value);

		if (last && last->sampled)
			user(addresses, s.pid, s.ip, record.time, *last->sampled);
		else
			cookies_.wait(thread, cookie.value, {s.pid, s.ip, record.time});
	}

	if (s.words.size() != s.entries.size()) {
		remark(Verdict::Wrong, fmt::format("process {}: {} words and {} entries in a callchain", s.pid,
						   s.words.size(), s.entries.size()));
		callchains[Verdict::Wrong]++;
		return;
	}

	bool in_user = false;

	for (size_t i = 0; i < s.words.size(); i++) {
		bool marker = is_marker(s.words[i]);

		if (marker)
			in_user = s.words[i] == context_user;
		if (in_user && !marker) {
			user(callchains, s.pid, s.words[i], record.time, s.entries[i]);
		} else if (judge_.other(s.words[i], s.entries[i]) == Verdict::Wrong) {
			count(callchains, Verdict::Wrong, s.pid, s.words[i], record.time);
		}
	}
}

void Truth::deferred(const Record &record)
{
	Deferred d = parse_deferred(record);
	Thread thread(d.tid, record.event);

	if (d.has_entries) {
		audit::Answer answer{d.ip_entry, {d.entries.begin(), d.entries.end()}};

		for (const Waiting &w : cookies_.answer(thread, d.cookie, answer))
			user(addresses, w.pid, w.ip, w.time, answer.sampled.value_or(Entry{}));
		return;
	}

	// There is no record with entries where there was no space for it; that is among the lost.
	const audit::Answer *last = cookies_.last(thread, d.cookie);

	for (size_t i = 0; last && i < std::min(d.words.size(), last->chain.size()); i++)
		user(callchains, d.pid, d.words[i], record.time, last->chain[i]);
}

void Truth::exit(const Task &task)
{
	cookies_.forget({task.tid, 0}, {task.tid, SIZE_MAX});

	auto threads = threads_.find(task.pid);

	if (threads == threads_.end() || --threads->second)
		return;
	threads_.erase(threads);

	// The rest of its end is sampled, too. A new process may have got the number since.
	dead_.push_back(task.pid);
	if (dead_.size() <= dead_kept)
		return;
	if (!threads_.contains(dead_.front()))
		spaces_.exit(dead_.front());
	dead_.pop_front();
}

void Truth::take(const Record &record)
{
	switch (record.header().type) {
	case PERF_RECORD_SAMPLE:
		sample(record);
		break;
	case PERF_RECORD_CALLCHAIN_DEFERRED:
		deferred(record);
		break;
	case PERF_RECORD_MMAP2: {
		audit::Mapping mapping;
		uint32_t pid = parse_map(record, mapping);

		spaces_.map(pid, std::move(mapping));
		break;
	}
	case PERF_RECORD_COMM:
		if (record.header().misc & PERF_RECORD_MISC_COMM_EXEC)
			spaces_.exec(static_cast<uint32_t>(record.words[1]));
		break;
	case PERF_RECORD_FORK: {
		Task task = parse_task(record);

		threads_[task.pid]++;
		spaces_.fork(task.pid, task.parent);
		break;
	}
	case PERF_RECORD_EXIT:
		exit(parse_task(record));
		break;
	case PERF_RECORD_LOST:
		lost += record.words[2];
		break;
	case PERF_RECORD_LOST_SAMPLES:
		lost += record.words[1];
		break;
	}
}

} // namespace live
