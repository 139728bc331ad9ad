// SPDX-License-Identifier: GPL-2.0
// An event on a CPU, and the ring buffer that its records come through.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace live {

struct Record {
	uint64_t time = 0;		// in ns of CLOCK_MONOTONIC
	size_t event = 0;		// which of several
	std::vector<uint64_t> words;	// the record

	const perf_event_header &header() const
	{
		return *reinterpret_cast<const perf_event_header *>(words.data());
	}
};

class Ring {
public:
	// For all tasks on the CPU. Throws std::system_error. pages is a power of two.
	Ring(perf_event_attr attr, int cpu, size_t pages);
	~Ring();
	Ring(Ring &&other) noexcept;
	Ring(const Ring &) = delete;
	Ring &operator=(const Ring &) = delete;

	void enable();
	void disable();
	// The records that are there now, appended to what is in records.
	void drain(size_t event, std::vector<Record> &records);

private:
	uint64_t time_of(const Record &record) const;
	size_t data_size() const;

	uint64_t sample_type_;
	size_t pages_;
	int fd_;
	perf_event_mmap_page *page_ = nullptr;
};

} // namespace live
