// SPDX-License-Identifier: GPL-2.0
// What a sample in user mode costs: sample-cost DIR, with the libraries DIR/hop0.so ... DIR/hop15.so. A line for each
// case: "case<TAB>instructions<TAB>instructions where the sample is taken<TAB>bytes", the rest of the instructions being
// the task work's; "-" for each where the kernel refuses the case.
//
// For a guest whose time stamp counter counts instructions (scripts/vm --icount). A watchpoint is hit again and again,
// once with a sample at every hit and once with none; the difference is the sample. The least of many short rounds is
// one that no timer interrupted. A second event whose samples are resolved by the task work of the first adds just what
// is done where the sample is taken.
#include <dlfcn.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "crafted.h"
#include "hop.h"

namespace {

constexpr int hits = 50;
constexpr int rounds = 40;
constexpr size_t buffer_pages = 256;
constexpr uint64_t never = 1ULL << 40;	// a period

volatile int watched;
uint64_t spent;

struct Mode {
	const char *name;
	uint64_t ip_type;
	uint64_t chain_type;
	bool deferred;
};

constexpr Mode modes[] = {
	{"plain", PERF_SAMPLE_IP, PERF_SAMPLE_CALLCHAIN, false},
	{"plain deferred", PERF_SAMPLE_IP, PERF_SAMPLE_CALLCHAIN, true},
	{"entries", PERF_SAMPLE_BUILD_ID_OFFSET, PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET, false},
	{"entries deferred", PERF_SAMPLE_BUILD_ID_OFFSET, PERF_SAMPLE_CALLCHAIN_BUILD_ID_OFFSET, true},
};

struct Stack {
	unsigned int frames;	// 0: no callchain is asked for
	unsigned int files;
	bool crafted = false;	// frames that are only in memory, in files made to cost as much as possible
};

constexpr Stack stacks[] = {
	{0, 1}, {8, 1}, {8, 4}, {8, 16}, {32, 1}, {32, 4}, {32, 16}, {127, 1}, {127, 4}, {127, 16},
	{127, 1, true}, {127, 17, true},
};

class Event {
public:
	// Writes a sample at every period-th hit, in the buffer of another event if there is one.
	Event(const Mode &mode, const Stack &stack, uint64_t period, const Event *other = nullptr)
	{
		perf_event_attr attr = {};

		attr.size = sizeof(attr);
		attr.type = PERF_TYPE_BREAKPOINT;
		attr.bp_type = HW_BREAKPOINT_W;
		attr.bp_addr = reinterpret_cast<uintptr_t>(&watched);
		attr.bp_len = HW_BREAKPOINT_LEN_4;
		attr.sample_period = period;
		attr.sample_type = mode.ip_type | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
		if (stack.frames)
			attr.sample_type |= mode.chain_type;
		attr.exclude_kernel = attr.exclude_hv = attr.exclude_callchain_kernel = 1;
		attr.defer_callchain = mode.deferred;
		attr.defer_output = mode.deferred && !other;
		attr.disabled = 1;

		fd = static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
		if (fd < 0)
			throw std::system_error(errno, std::generic_category(), "perf_event_open");
		if (other) {
			if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, other->fd))
				throw std::system_error(errno, std::generic_category(), "set output");
			return;
		}

		void *map = mmap(nullptr, (buffer_pages + 1) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (map == MAP_FAILED)
			throw std::system_error(errno, std::generic_category(), "mmap");
		page = static_cast<perf_event_mmap_page *>(map);
	}

	~Event()
	{
		if (page)
			munmap(page, (buffer_pages + 1) * 4096);
		close(fd);
	}

	Event(const Event &) = delete;
	Event &operator=(const Event &) = delete;

	void enable() { ioctl(fd, PERF_EVENT_IOC_ENABLE, 0); }
	void disable() { ioctl(fd, PERF_EVENT_IOC_DISABLE, 0); }

	// Empties the buffer; returns how many bytes were in it.
	uint64_t drain()
	{
		uint64_t head = page->data_head;
		uint64_t bytes = head - page->data_tail;

		std::atomic_thread_fence(std::memory_order_seq_cst);
		page->data_tail = head;
		return bytes;
	}

private:
	int fd;
	perf_event_mmap_page *page = nullptr;
};

void hit(walk *)
{
	uint64_t start = __rdtsc();

	for (int i = 0; i < hits; i++)
		watched = i;
	spent = __rdtsc() - start;
}

// One hit, as it may take long, with a frame pointer to a stack that nobody has called. rbx keeps the real one: what is
// sampled is the instruction after the write.
void hit_with(const void *frame)
{
	uint64_t start = __rdtsc();

	asm volatile("mov %%rbp, %%rbx\n\tmov %1, %%rbp\n\tmovl $1, %0\n\tmov %%rbx, %%rbp"
		     : "=m"(watched) : "r"(frame) : "rbx", "memory");
	spent = __rdtsc() - start;
}

struct Cost {
	uint64_t instructions;	// of one hit
	uint64_t bytes;
};

Cost measure(const Mode &mode, const Stack &stack, uint64_t period, bool twice, std::vector<void (*)(walk *)> &hops)
{
	Event event(mode, stack, period);
	std::unique_ptr<Event> second;
	std::unique_ptr<CraftedStack> crafted;
	const int count = stack.crafted ? 1 : hits;
	Cost least = {UINT64_MAX, 0};

	if (stack.crafted)
		crafted = std::make_unique<CraftedStack>(stack.frames, stack.files);

	if (twice)
		second = std::make_unique<Event>(mode, stack, period, &event);

	for (int i = 0; i < (stack.crafted ? 4 : rounds); i++) {
		walk walk = {stack.frames, stack.files, hops.data(), hit};

		event.drain();
		event.enable();
		if (second)
			second->enable();
		if (crafted)
			hit_with(crafted->frame());
		else
			hops[0](&walk);
		if (second)
			second->disable();
		event.disable();
		least.bytes = event.drain() / count;
		least.instructions = std::min(least.instructions, spent / count);
	}
	return least;
}

std::vector<void (*)(walk *)> load_hops(const std::string &dir)
{
	std::vector<void (*)(walk *)> hops;

	for (int i = 0; i < 16; i++) {
		void *library = dlopen((dir + "/hop" + std::to_string(i) + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
		void *symbol = library ? dlsym(library, "hop") : nullptr;

		if (!symbol)
			throw std::runtime_error(dlerror());
		hops.push_back(reinterpret_cast<void (*)(walk *)>(symbol));
	}
	return hops;
}

void report(const Mode &mode, const Stack &stack, std::vector<void (*)(walk *)> &hops)
{
	// In the task, the kernel does not follow a stack that is not where the task's is.
	if (mode.deferred && stack.crafted)
		return;
	if (stack.frames)
		printf("%s, %u frames, %u %sfiles", mode.name, stack.frames, stack.files,
		       stack.crafted ? "crafted " : "");
	else
		printf("%s, address", mode.name);
	try {
		Cost with = measure(mode, stack, 1, false, hops);
		Cost without = measure(mode, stack, never, false, hops);
		uint64_t all = with.instructions - without.instructions;
		uint64_t taken = all;

		if (mode.deferred) {
			taken = measure(mode, stack, 1, true, hops).instructions - with.instructions;
			taken -= measure(mode, stack, never, true, hops).instructions - without.instructions;
		}
		printf("\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", all, taken, with.bytes);
	} catch (const std::system_error &error) {
		if (error.code().value() != EINVAL && error.code().value() != EOPNOTSUPP)
			throw;
		printf("\t-\t-\t-\n");
	}
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s DIR\n", argv[0]);
		return 2;
	}
	try {
		std::vector<void (*)(walk *)> hops = load_hops(argv[1]);

		for (const Mode &mode : modes) {
			for (const Stack &stack : stacks)
				report(mode, stack, hops);
		}
	} catch (const std::exception &error) {
		fprintf(stderr, "%s: %s\n", argv[0], error.what());
		return 1;
	}
	return 0;
}
