// SPDX-License-Identifier: GPL-2.0
#include "bid/names.h"

#include <array>

namespace bid {

using namespace perfdata;

std::string record_name(uint32_t type)
{
	static constexpr std::array kernel = {
		"MMAP", "LOST", "COMM", "EXIT", "THROTTLE", "UNTHROTTLE", "FORK", "READ", "SAMPLE", "MMAP2", "AUX",
		"ITRACE_START", "LOST_SAMPLES", "SWITCH", "SWITCH_CPU_WIDE", "NAMESPACES", "KSYMBOL", "BPF_EVENT",
		"CGROUP", "TEXT_POKE", "AUX_OUTPUT_HW_ID", "CALLCHAIN_DEFERRED",
	};
	static constexpr std::array user = {
		"HEADER_ATTR", "HEADER_EVENT_TYPE", "HEADER_TRACING_DATA", "HEADER_BUILD_ID", "FINISHED_ROUND",
		"ID_INDEX", "AUXTRACE_INFO", "AUXTRACE", "AUXTRACE_ERROR", "THREAD_MAP", "CPU_MAP", "STAT_CONFIG",
		"STAT", "STAT_ROUND", "EVENT_UPDATE", "TIME_CONV", "HEADER_FEATURE", "COMPRESSED", "FINISHED_INIT",
		"COMPRESSED2", "BPF_METADATA",
	};

	if (type >= 1 && type <= kernel.size())
		return kernel[type - 1];
	if (type >= RECORD_USER_START && type - RECORD_USER_START < user.size())
		return user[type - RECORD_USER_START];
	return fmt::format("type {}", type);
}

std::string sample_type_names(uint64_t sample_type)
{
	static constexpr std::array names = {
		"IP", "TID", "TIME", "ADDR", "READ", "CALLCHAIN", "ID", "CPU", "PERIOD", "STREAM_ID", "RAW",
		"BRANCH_STACK", "REGS_USER", "STACK_USER", "WEIGHT", "DATA_SRC", "IDENTIFIER", "TRANSACTION",
		"REGS_INTR", "PHYS_ADDR", "AUX", "CGROUP", "DATA_PAGE_SIZE", "CODE_PAGE_SIZE", "WEIGHT_STRUCT",
		"BUILD_ID_OFFSET", "CALLCHAIN_BUILD_ID_OFFSET",
	};
	std::string text;

	for (size_t bit = 0; bit < 64; bit++)
		if (sample_type >> bit & 1)
			text += fmt::format("{}{}", text.empty() ? "" : "|",
					    bit < names.size() ? names[bit] : fmt::format("bit {}", bit));
	return text;
}

std::string event_name(const Reader &reader, size_t number)
{
	const Attr &attr = reader.events().attrs()[number];

	if (number < reader.event_names().size() && !reader.event_names()[number].empty())
		return reader.event_names()[number];
	return fmt::format("type {} config {:#x}", attr.type(), attr.config());
}

} // namespace bid
