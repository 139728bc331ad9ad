// SPDX-License-Identifier: GPL-2.0
#include "live/ring.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <time.h>
#include <utility>

namespace live {

namespace {

size_t page_size()
{
	static const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));

	return size;
}

} // namespace

Ring::Ring(perf_event_attr attr, int cpu, size_t pages) : sample_type_(attr.sample_type), pages_(pages)
{
	attr.size = sizeof(attr);
	attr.disabled = 1;
	attr.sample_id_all = 1;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	fd_ = static_cast<int>(syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC));
	if (fd_ < 0)
		throw std::system_error(errno, std::generic_category(), "perf_event_open");

	void *map = mmap(nullptr, (pages + 1) * page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);

	if (map == MAP_FAILED) {
		int error = errno;

		close(fd_);
		throw std::system_error(error, std::generic_category(), "mmap of a ring buffer");
	}
	page_ = static_cast<perf_event_mmap_page *>(map);
}

Ring::~Ring()
{
	if (!page_)
		return;
	munmap(page_, (pages_ + 1) * page_size());
	close(fd_);
}

Ring::Ring(Ring &&other) noexcept
	: sample_type_(other.sample_type_), pages_(other.pages_), fd_(other.fd_), page_(std::exchange(other.page_, nullptr))
{
}

void Ring::enable()
{
	ioctl(fd_, PERF_EVENT_IOC_ENABLE, 0);
}

void Ring::disable()
{
	ioctl(fd_, PERF_EVENT_IOC_DISABLE, 0);
}

size_t Ring::data_size() const
{
	return pages_ * page_size();
}

// In a sample it stands behind the words of the bits before it; of any other record it is the last word.
uint64_t Ring::time_of(const Record &record) const
{
	if (record.header().type != PERF_RECORD_SAMPLE)
		return record.words.back();

	uint64_t before = sample_type_ & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID);

	return record.words.at(static_cast<size_t>(1 + std::popcount(before)));
}

void Ring::drain(size_t event, std::vector<Record> &records)
{
	const char *data = reinterpret_cast<const char *>(page_) + page_size();
	std::atomic_ref<__u64> head_word(page_->data_head);
	uint64_t head = head_word.load(std::memory_order_acquire);
	uint64_t tail = page_->data_tail;

	while (tail != head) {
		perf_event_header header;
		Record record;

		// A header is aligned to eight bytes, so that it is never in two pieces.
		std::memcpy(&header, data + tail % data_size(), sizeof(header));
		record.event = event;
		record.words.resize(header.size / sizeof(uint64_t));
		for (size_t i = 0; i < record.words.size(); i++)
			std::memcpy(&record.words[i], data + (tail + i * sizeof(uint64_t)) % data_size(),
				    sizeof(uint64_t));
		record.time = time_of(record);
		records.push_back(std::move(record));
		tail += header.size;
	}
	std::atomic_ref<__u64>(page_->data_tail).store(tail, std::memory_order_release);
}

} // namespace live
