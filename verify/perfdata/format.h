// SPDX-License-Identifier: GPL-2.0
// The constants of the file format, as its documentation and the UAPI header name them.
#pragma once

#include <cstdint>

namespace perfdata {

inline constexpr uint64_t MAGIC2 = 0x32454c4946524550; // "PERFILE2"

inline constexpr uint64_t FILE_HEADER_SIZE = 104;
inline constexpr uint64_t PIPE_HEADER_SIZE = 16;
inline constexpr uint64_t SECTION_SIZE = 16;
inline constexpr uint64_t RECORD_HEADER_SIZE = 8;
inline constexpr uint64_t ATTR_SIZE_VER0 = 64;
inline constexpr uint64_t ATTR_SIZE = 144;
inline constexpr unsigned int FEATURE_BITS = 256;

inline constexpr uint64_t ENTRY_SIZE = 32;
inline constexpr unsigned int BUILD_ID_MAX = 20;

enum FileHeader : uint64_t {
	FH_SIZE = 8,
	FH_ATTR_SIZE = 16,
	FH_ATTRS = 24,
	FH_DATA = 40,
	FH_EVENT_TYPES = 56,
	FH_FEATURES = 72,
};

enum AttrField : uint64_t {
	ATTR_TYPE = 0,
	ATTR_SIZE_FIELD = 4,
	ATTR_CONFIG = 8,
	ATTR_SAMPLE_PERIOD = 16,
	ATTR_SAMPLE_TYPE = 24,
	ATTR_READ_FORMAT = 32,
	ATTR_FLAGS = 40,
	ATTR_BRANCH_SAMPLE_TYPE = 72,
	ATTR_REGS_USER = 80,
	ATTR_STACK_USER = 88,
	ATTR_REGS_INTR = 96,
};

enum SampleType : uint64_t {
	SAMPLE_IP = 1U << 0,
	SAMPLE_TID = 1U << 1,
	SAMPLE_TIME = 1U << 2,
	SAMPLE_ADDR = 1U << 3,
	SAMPLE_READ = 1U << 4,
	SAMPLE_CALLCHAIN = 1U << 5,
	SAMPLE_ID = 1U << 6,
	SAMPLE_CPU = 1U << 7,
	SAMPLE_PERIOD = 1U << 8,
	SAMPLE_STREAM_ID = 1U << 9,
	SAMPLE_RAW = 1U << 10,
	SAMPLE_BRANCH_STACK = 1U << 11,
	SAMPLE_REGS_USER = 1U << 12,
	SAMPLE_STACK_USER = 1U << 13,
	SAMPLE_WEIGHT = 1U << 14,
	SAMPLE_DATA_SRC = 1U << 15,
	SAMPLE_IDENTIFIER = 1U << 16,
	SAMPLE_TRANSACTION = 1U << 17,
	SAMPLE_REGS_INTR = 1U << 18,
	SAMPLE_PHYS_ADDR = 1U << 19,
	SAMPLE_AUX = 1U << 20,
	SAMPLE_CGROUP = 1U << 21,
	SAMPLE_DATA_PAGE_SIZE = 1U << 22,
	SAMPLE_CODE_PAGE_SIZE = 1U << 23,
	SAMPLE_WEIGHT_STRUCT = 1U << 24,
	SAMPLE_BUILD_ID_OFFSET = 1U << 25,
	SAMPLE_CALLCHAIN_BUILD_ID_OFFSET = 1U << 26,
};

enum ReadFormat : uint64_t {
	FORMAT_TOTAL_TIME_ENABLED = 1U << 0,
	FORMAT_TOTAL_TIME_RUNNING = 1U << 1,
	FORMAT_ID = 1U << 2,
	FORMAT_GROUP = 1U << 3,
	FORMAT_LOST = 1U << 4,
};

enum BranchSampleType : uint64_t {
	BRANCH_HW_INDEX = 1U << 17,
	BRANCH_COUNTERS = 1U << 19,
};

// Bit numbers of the flag word of an attr. A file of the other byte order numbers them within each byte from
// the other end.
enum AttrFlag : unsigned int {
	ATTR_FLAG_MMAP = 8,
	ATTR_FLAG_COMM = 9,
	ATTR_FLAG_TASK = 13,
	ATTR_FLAG_MMAP_DATA = 17,
	ATTR_FLAG_SAMPLE_ID_ALL = 18,
	ATTR_FLAG_MMAP2 = 23,
	ATTR_FLAG_COMM_EXEC = 24,
	ATTR_FLAG_BUILD_ID = 34,
	ATTR_FLAG_DEFER_CALLCHAIN = 38,
	ATTR_FLAG_DEFER_OUTPUT = 39,
};

enum RecordType : uint32_t {
	RECORD_MMAP = 1,
	RECORD_LOST = 2,
	RECORD_COMM = 3,
	RECORD_EXIT = 4,
	RECORD_THROTTLE = 5,
	RECORD_UNTHROTTLE = 6,
	RECORD_FORK = 7,
	RECORD_READ = 8,
	RECORD_SAMPLE = 9,
	RECORD_MMAP2 = 10,
	RECORD_AUX = 11,
	RECORD_ITRACE_START = 12,
	RECORD_LOST_SAMPLES = 13,
	RECORD_SWITCH = 14,
	RECORD_SWITCH_CPU_WIDE = 15,
	RECORD_NAMESPACES = 16,
	RECORD_KSYMBOL = 17,
	RECORD_BPF_EVENT = 18,
	RECORD_CGROUP = 19,
	RECORD_TEXT_POKE = 20,
	RECORD_AUX_OUTPUT_HW_ID = 21,
	RECORD_CALLCHAIN_DEFERRED = 22,
	RECORD_USER_START = 64,
	RECORD_HEADER_ATTR = 64,
	RECORD_HEADER_TRACING_DATA = 66,
	RECORD_HEADER_BUILD_ID = 67,
	RECORD_FINISHED_ROUND = 68,
	RECORD_ID_INDEX = 69,
	RECORD_AUXTRACE = 71,
	RECORD_EVENT_UPDATE = 78,
	RECORD_HEADER_FEATURE = 80,
	RECORD_COMPRESSED = 81,
	RECORD_FINISHED_INIT = 82,
	RECORD_COMPRESSED2 = 83,
};

enum RecordMisc : uint16_t {
	MISC_CPUMODE_MASK = 7,
	MISC_KERNEL = 1,
	MISC_USER = 2,
	MISC_HYPERVISOR = 3,
	MISC_GUEST_KERNEL = 4,
	MISC_GUEST_USER = 5,
	MISC_COMM_EXEC = 1U << 13,
	MISC_FORK_EXEC = 1U << 13, // of a process that was there before; perf writes it
	MISC_CALLCHAIN_BUILD_ID = 1U << 13, // of a deferred callchain: entries, after that of the sampled address
	MISC_MMAP_BUILD_ID = 1U << 14,	    // of a deferred callchain: entries only, as first posted
	MISC_BUILD_ID_SIZE = 1U << 15,
};

enum Feature : unsigned int {
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_VERSION = 5,
	FEATURE_ARCH = 6,
	FEATURE_NRCPUS = 7,
	FEATURE_EVENT_DESC = 12,
	FEATURE_GROUP_DESC = 17,
	FEATURE_SAMPLE_TIME = 21,
};

// The highest words are no addresses: what follows in the callchain is of another context.
inline constexpr uint64_t CONTEXT_MAX = static_cast<uint64_t>(-4095);

constexpr bool is_marker(uint64_t word)
{
	return word >= CONTEXT_MAX;
}

enum Context : uint64_t {
	CONTEXT_HYPERVISOR = static_cast<uint64_t>(-32),
	CONTEXT_KERNEL = static_cast<uint64_t>(-128),
	CONTEXT_USER = static_cast<uint64_t>(-512),
	CONTEXT_USER_DEFERRED = static_cast<uint64_t>(-640),
	CONTEXT_GUEST = static_cast<uint64_t>(-2048),
	CONTEXT_GUEST_KERNEL = static_cast<uint64_t>(-2176),
	CONTEXT_GUEST_USER = static_cast<uint64_t>(-2560),
};

} // namespace perfdata
