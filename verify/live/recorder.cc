// SPDX-License-Identifier: GPL-2.0
#include "live/recorder.h"

#include "live/record.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>

namespace live {

namespace {

constexpr size_t ring_pages = 1024;
// A record has its time before it has its place in the buffer, and its task may have to wait in between.
constexpr uint64_t late_ns = 2'000'000'000;

uint64_t now()
{
	timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return static_cast<uint64_t>(ts.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(ts.tv_nsec);
}

perf_event_attr side_attr()
{
	perf_event_attr attr = {};

	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.sample_type = side_type;
	attr.mmap = attr.mmap2 = attr.mmap_data = 1;
	attr.comm = attr.comm_exec = attr.task = 1;
	return attr;
}

perf_event_attr sample_attr(bool deferred)
{
	perf_event_attr attr = {};

	attr.sample_type = sample_type;
	attr.exclude_hv = 1;
	attr.defer_callchain = attr.defer_output = deferred;
	return attr;
}

} // namespace

Recorder::Recorder(const Options &options)
{
	std::vector<perf_event_attr> attrs = {side_attr()};
	perf_event_attr attr = sample_attr(options.deferred);

	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	attr.freq = 1;
	attr.sample_freq = options.frequency;
	attrs.push_back(attr);
	if (options.tracepoint) {
		attr = sample_attr(options.deferred);
		attr.type = PERF_TYPE_TRACEPOINT;
		attr.config = options.tracepoint;
		attr.sample_period = 1;
		attrs.push_back(attr);
	}
	for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++)
		for (size_t i = 0; i < attrs.size(); i++)
			sources_.push_back({i, Ring(attrs[i], cpu, ring_pages)});
}

// What is mapped must be known before there are samples.
void Recorder::enable()
{
	for (Source &source : sources_)
		if (source.event == 0)
			source.ring.enable();
	for (Source &source : sources_)
		if (source.event)
			source.ring.enable();
}

void Recorder::disable()
{
	for (Source &source : sources_)
		source.ring.disable();
}

void Recorder::drain(const std::function<void(const Record &)> &take, bool all)
{
	uint64_t until = all ? UINT64_MAX : now() - late_ns;
	size_t done = 0;

	for (Source &source : sources_)
		source.ring.drain(source.event, records_);
	// Of one time, in the order of the buffers: what tells of mappings is first.
	std::stable_sort(records_.begin(), records_.end(),
			 [](const Record &a, const Record &b) { return a.time < b.time; });
	for (; done < records_.size() && records_[done].time < until; done++)
		take(records_[done]);
	records_.erase(records_.begin(), records_.begin() + static_cast<ptrdiff_t>(done));
}

} // namespace live
