// SPDX-License-Identifier: GPL-2.0
// Writes sound perf.data files, record by record.
#pragma once

#include "perfdata/bytes.h"
#include "perfdata/format.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace hostile {

using perfdata::Buffer;

struct BuildId {
	uint8_t size = 0;
	std::array<uint8_t, perfdata::BUILD_ID_MAX> bytes{};
};

struct Entry {
	BuildId id; // size 0: not resolved, offset is an address or a context
	uint64_t offset = 0;
};

struct EventSpec {
	uint64_t sample_type = 0;
	uint64_t read_format = 0;
	std::vector<perfdata::AttrFlag> flags;
	uint64_t branch_sample_type = 0;
	uint64_t regs_user = 0;
	uint32_t stack_user = 0;
	uint64_t regs_intr = 0;
	uint64_t config = 0;
	std::string name = "cpu-clock";
	std::vector<uint64_t> ids;
};

// The body of a record.
class Body {
public:
	explicit Body(std::endian order) : order_(order) {}

	Body &u8(uint64_t v) { return number(1, v); }
	Body &u16(uint64_t v) { return number(2, v); }
	Body &u32(uint64_t v) { return number(4, v); }
	Body &u64(uint64_t v) { return number(8, v); }
	Body &text(std::string_view s, size_t multiple); // zero-terminated, zero-padded
	Body &align(size_t multiple, size_t before = 0);
	Body &id(const BuildId &id);			 // the 24 bytes that entries and MMAP2 share
	Body &entry(const Entry &e);
	Body &raw(const Buffer &b);

	const Buffer &bytes() const { return bytes_; }

private:
	Body &number(unsigned int width, uint64_t v)
	{
		perfdata::append(bytes_, width, v, order_);
		return *this;
	}

	std::endian order_;
	Buffer bytes_;
};

struct Stamp {
	uint32_t pid = 0;
	uint32_t tid = 0;
	uint64_t time = 0;
	uint32_t cpu = 0;
	uint64_t id = 0;
};

struct SampleSpec {
	uint16_t misc = perfdata::MISC_USER;
	uint64_t ip = 0;
	std::vector<uint64_t> chain;
	Entry ip_entry;
	std::optional<uint64_t> deferred_cookie; // the single entry is then the request, ip_entry.offset the address
	std::vector<Entry> chain_entries;
};

struct BuildIdRow {
	uint32_t pid;
	uint16_t misc;
	BuildId id;
	std::string name;
};

class Composer {
public:
	Composer(std::endian order, bool pipe, std::vector<EventSpec> events);

	Body body() const { return Body(order_); }
	// The sample id is put behind everything but samples and what perf itself adds.
	void record(uint32_t type, uint16_t misc, const Body &body, const Stamp &stamp);
	void record(uint32_t type, uint16_t misc, const Body &body);

	void set_host_name(std::string name) { host_name_ = std::move(name); }
	void comm(const Stamp &s, std::string_view name);
	void fork(const Stamp &s, uint32_t parent);
	void exit(const Stamp &s);
	void mmap_kernel(const Stamp &s, uint64_t addr, uint64_t len);
	void mmap2(const Stamp &s, uint64_t addr, uint64_t len, uint64_t pgoff, const BuildId &id,
		   std::string_view name);
	void sample(const Stamp &s, const EventSpec &event, const SampleSpec &spec);
	void deferred(const Stamp &s, uint64_t cookie, const std::vector<uint64_t> &words);
	// In the form of the kernel, with that of the sampled address or zeros
	void deferred(const Stamp &s, uint64_t cookie, const Entry &ip, const std::vector<Entry> &entries);
	// As first posted
	void deferred(const Stamp &s, uint64_t cookie, const std::vector<Entry> &entries);
	void finished_round();

	const std::vector<EventSpec> &events() const { return events_; }
	Buffer finish(const std::vector<BuildIdRow> &table);

private:
	Body attr(const EventSpec &e) const;
	Body build_id_row(const BuildIdRow &row) const;
	std::vector<std::pair<unsigned int, Body>> features(const std::vector<BuildIdRow> &table) const;
	void sample_tail(Body &b, const EventSpec &event);
	Buffer finish_pipe(const std::vector<BuildIdRow> &table);

	std::endian order_;
	bool pipe_;
	std::vector<EventSpec> events_;
	std::string host_name_ = "specimen";
	Buffer data_;
};

} // namespace hostile
