// SPDX-License-Identifier: GPL-2.0
#include "perfdata/ordered.h"

#include <algorithm>

namespace perfdata {

namespace {

constexpr uint64_t most = 24 << 20;	// bytes of records that wait
constexpr uint64_t slack = 1 << 20;	// of a directory: a part is not quite in order

} // namespace

Ordered::Ordered(Reader &reader) : reader_(reader), seen_(reader.parts()) {}

// What perf itself wrote comes first, then from where the least has been read.
size_t Ordered::pick() const
{
	if (seen_.front() != UINT64_MAX)
		return 0;
	return static_cast<size_t>(std::min_element(seen_.begin(), seen_.end()) - seen_.begin());
}

// Takes one record in. False at the end of all.
bool Ordered::read()
{
	size_t part = pick();
	Record record;

	if (seen_[part] == UINT64_MAX)
		return false;
	if (!reader_.next(part, record)) {
		seen_[part] = UINT64_MAX;
		return true;
	}
	if (record.type() == RECORD_FINISHED_ROUND) {
		limit_ = std::max(limit_, round_);
		round_ = latest_;
	}

	Item item;
	std::optional<uint64_t> time = time_of(record, reader_.events());
	auto bytes = record.bytes.span();

	untimed_ = !time || !*time || *time == UINT64_MAX;
	item.time = untimed_ ? 0 : *time;
	item.number = number_++;
	item.place = reader_.place();
	if (!spare_.empty()) {
		item.bytes = std::move(spare_.back());
		spare_.pop_back();
	}
	item.bytes.assign(bytes.begin(), bytes.end());
	bytes_ += bytes.size();
	if (untimed_) {
		spare_.push_back(std::move(current_.bytes));
		current_ = std::move(item);
		return true;
	}
	latest_ = std::max(latest_, item.time);
	if (seen_.size() > 1)
		seen_[part] = std::max(seen_[part], item.time);
	heap_.push_back(std::move(item));
	std::push_heap(heap_.begin(), heap_.end());
	return true;
}

bool Ordered::pop(Record &record)
{
	std::pop_heap(heap_.begin(), heap_.end());
	spare_.push_back(std::move(current_.bytes));
	current_ = std::move(heap_.back());
	heap_.pop_back();
	late_ += current_.time && current_.time < given_;
	given_ = std::max(given_, current_.time);
	bytes_ -= current_.bytes.size();
	record = {{current_.bytes, reader_.order(), current_.place.offset}, {}};
	return true;
}

bool Ordered::next(Record &record)
{
	for (;;) {
		if (!heap_.empty()) {
			bool due = heap_.front().time <= limit_;

			if (seen_.size() > 1)
				due = bytes_ > slack && heap_.front().time <= *std::min_element(seen_.begin(), seen_.end());
			if (ended_ || due || bytes_ > most)
				return pop(record);
		}
		if (ended_)
			return false;
		if (!read()) {
			ended_ = true;
			continue;
		}
		if (untimed_) {
			untimed_ = false;
			bytes_ -= current_.bytes.size();
			record = {{current_.bytes, reader_.order(), current_.place.offset}, {}};
			return true;
		}
	}
}

} // namespace perfdata
