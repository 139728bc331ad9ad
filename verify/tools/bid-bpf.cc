// SPDX-License-Identifier: GPL-2.0
// What BPF programs get from a stack map with build IDs, in a task, in an interrupt and, if the module nmi_sample is
// loaded, in NMIs: is it true, and is what has a build ID resolved? Each stack is taken twice, with and without build IDs.
// Status 0: yes; 1: something is wrong, or more than a twentieth missed; 2: cannot tell.
#include "audit/address_space.h"
#include "audit/build_ids.h"

#include <bpf/bpf.h>
#include <fmt/format.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace {

constexpr uint32_t depth = 64;
constexpr uint32_t buckets = 4096;

using Chain = uint64_t[depth];
using IdChain = bpf_stack_build_id[depth];

int checked(int result, const char *what)
{
	if (result < 0)
		throw std::system_error(errno, std::generic_category(), what);
	return result;
}

// The number that tracefs gives it, if it is there.
std::optional<uint64_t> tracepoint(const char *name)
{
	std::ifstream file(fmt::format("/sys/kernel/tracing/events/{}/id", name));
	uint64_t id;

	return file >> id ? std::optional(id) : std::nullopt;
}

// Puts the user's part of the stack in both maps, at each hit of an event of this task.
class Stacks {
public:
	Stacks(bpf_prog_type type, perf_event_attr attr)
	{
		LIBBPF_OPTS(bpf_map_create_opts, with_id, .map_flags = BPF_F_STACK_BUILD_ID);

		ids_ = checked(bpf_map_create(BPF_MAP_TYPE_STACK_TRACE, "ids", 4, sizeof(IdChain), buckets, &with_id), "map");
		ips_ = checked(bpf_map_create(BPF_MAP_TYPE_STACK_TRACE, "ips", 4, sizeof(Chain), buckets, nullptr), "map");

		constexpr uint8_t load_map = BPF_LD | BPF_DW | BPF_IMM, move = BPF_ALU64 | BPF_MOV | BPF_X,
				  set = BPF_ALU64 | BPF_MOV | BPF_K, call = BPF_JMP | BPF_CALL, exit = BPF_JMP | BPF_EXIT;
		const bpf_insn program[] = {
			{move, 6, 1, 0, 0},
			{load_map, 2, BPF_PSEUDO_MAP_FD, 0, ids_}, {},
			{set, 3, 0, 0, BPF_F_USER_STACK},
			{call, 0, 0, 0, BPF_FUNC_get_stackid},
			{move, 1, 6, 0, 0},
			{load_map, 2, BPF_PSEUDO_MAP_FD, 0, ips_}, {},
			{set, 3, 0, 0, BPF_F_USER_STACK},
			{call, 0, 0, 0, BPF_FUNC_get_stackid},
			{set, 0, 0, 0, 0},
			{exit, 0, 0, 0, 0},
		};

		prog_ = checked(bpf_prog_load(type, "stacks", "GPL", program, std::size(program), nullptr), "program");
		attr.size = sizeof(attr);
		attr.disabled = 1;
		event_ = checked(static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)),
				 "perf_event_open");
		checked(ioctl(event_, PERF_EVENT_IOC_SET_BPF, prog_), "to attach a program");
	}

	~Stacks()
	{
		for (int fd : {event_, prog_, ids_, ips_})
			close(fd);
	}

	Stacks(const Stacks &) = delete;
	Stacks &operator=(const Stacks &) = delete;

	void enable(bool on) { ioctl(event_, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0); }

	// Calls what(ip, with build ID) for each word of each stack.
	template <typename What> void each(What what)
	{
		for (uint32_t key = 0; key < buckets; key++) {
			IdChain ids = {};
			Chain ips = {};

			if (bpf_map_lookup_elem(ips_, &key, ips) || bpf_map_lookup_elem(ids_, &key, ids))
				continue;
			for (uint32_t i = 0; i < depth && ips[i]; i++)
				what(ips[i], ids[i]);
		}
	}

private:
	int ids_, ips_, prog_, event_;
};

volatile uint64_t sink;

[[gnu::noinline]] void work(int frames, std::chrono::steady_clock::time_point end)
{
	if (frames) {
		work(frames - 1, end);
	} else {
		do {
			for (int i = 0; i < 10000; i++)
				sink = sink + 1;
			syscall(SYS_getppid);
		} while (std::chrono::steady_clock::now() < end);
	}
	sink = sink + 1;	// no tail call
}

// Prints what there is in a context; returns whether it is all true.
bool judge(const char *context, Stacks &stacks, audit::BuildIds &files)
{
	uint64_t right = 0, missed = 0, nothing = 0, wrong = 0;
	audit::AddressSpaces spaces;
	auto pid = static_cast<uint32_t>(getpid());

	spaces.read_proc(pid);
	stacks.each([&](uint64_t ip, const bpf_stack_build_id &entry) {
		const audit::Mapping *mapping = spaces.of(pid)->find(ip);
		std::optional<audit::BuildId> id;

		if (mapping && mapping->inode)
			id = files.of(mapping->path, mapping->inode);
		if (entry.status == BPF_STACK_BUILD_ID_IP && entry.ip == ip)
			(id && id->size ? missed : nothing)++;
		else if (entry.status == BPF_STACK_BUILD_ID_VALID && id && id->size &&
			 std::equal(id->bytes.begin(), id->bytes.end(), entry.build_id) &&
			 entry.offset == mapping->offset_of(ip))
			right++;
		else if (++wrong < 5)
			fmt::print("wrong: address {:#x}: status {}, offset {:#x}\n", ip, entry.status, entry.offset);
	});
	fmt::print("{:<10} {:>8} {:>8} {:>8} {:>8}\n", context, right, missed, nothing, wrong);
	return !wrong && right && missed <= right / 20;
}

perf_event_attr clock_attr()
{
	perf_event_attr attr = {};

	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	attr.sample_period = 1000000;
	return attr;
}

perf_event_attr tracepoint_attr(uint64_t id)
{
	perf_event_attr attr = {};

	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = id;
	attr.sample_period = 1;
	return attr;
}

int run()
{
	std::optional<uint64_t> getppid = tracepoint("syscalls/sys_enter_getppid"), nmi = tracepoint("nmi_sample/nmi_sample");
	audit::BuildIds files;
	bool good = true;
	cpu_set_t cpu;

	if (!getppid)
		throw std::runtime_error("there is no tracepoint of system calls: is tracefs mounted?");
	// Both stacks of a hit are then of one place in the maps.
	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	checked(sched_setaffinity(0, sizeof(cpu), &cpu), "sched_setaffinity");

	fmt::print("{:<10} {:>8} {:>8} {:>8} {:>8}\n", "context", "resolved", "missed", "nothing", "wrong");

	auto in_context = [&](const char *name, bpf_prog_type type, const perf_event_attr &attr) {
		Stacks stacks(type, attr);

		stacks.enable(true);
		work(8, std::chrono::steady_clock::now() + std::chrono::seconds(2));
		stacks.enable(false);
		good &= judge(name, stacks, files);
	};

	in_context("task", BPF_PROG_TYPE_TRACEPOINT, tracepoint_attr(*getppid));
	in_context("interrupt", BPF_PROG_TYPE_PERF_EVENT, clock_attr());
	if (nmi)
		in_context("NMI", BPF_PROG_TYPE_TRACEPOINT, tracepoint_attr(*nmi));
	return !good;
}

} // namespace

int main()
{
	try {
		return run();
	} catch (const std::exception &error) {
		fmt::print("{}\n", error.what());
		return 2;
	}
}
