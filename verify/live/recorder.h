// SPDX-License-Identifier: GPL-2.0
// Events on all CPUs that give each address twice, plainly and as entry, and events that tell what is mapped.
#pragma once

#include "live/ring.h"

#include <functional>
#include <vector>

namespace live {

struct Options {
	uint64_t frequency = 1000;	// samples a second and CPU, in time that the CPU spends
	uint64_t tracepoint = 0;	// a sample at each hit of this one, too; 0: none
	bool deferred = false;
};

class Recorder {
public:
	// Throws std::system_error, with EINVAL when the kernel does not know build ID and offset.
	explicit Recorder(const Options &options);

	void enable();
	void disable();
	// Gives take() the records that have come so far in the order of their time, but for the latest: others that
	// are before these may be yet to come. With all set, also these.
	void drain(const std::function<void(const Record &)> &take, bool all);

private:
	struct Source {
		size_t event;
		Ring ring;
	};

	std::vector<Source> sources_;
	std::vector<Record> records_;
};

} // namespace live
