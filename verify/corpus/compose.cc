// SPDX-License-Identifier: GPL-2.0
#include "corpus/compose.h"

#include <algorithm>

namespace hostile {

using namespace perfdata;

Body &Body::text(std::string_view s, size_t multiple)
{
	bytes_.insert(bytes_.end(), s.begin(), s.end());
	bytes_.resize(bytes_.size() + multiple - s.size() % multiple);
	return *this;
}

Body &Body::align(size_t multiple, size_t before)
{
	bytes_.resize((bytes_.size() + before + multiple - 1) / multiple * multiple - before);
	return *this;
}

Body &Body::id(const BuildId &id)
{
	u8(id.size).u8(0).u16(0);
	bytes_.insert(bytes_.end(), id.bytes.begin(), id.bytes.end());
	return *this;
}

Body &Body::entry(const Entry &e)
{
	return id(e.id).u64(e.offset);
}

Body &Body::raw(const Buffer &b)
{
	bytes_.insert(bytes_.end(), b.begin(), b.end());
	return *this;
}

Composer::Composer(std::endian order, bool pipe, std::vector<EventSpec> events)
	: order_(order), pipe_(pipe), events_(std::move(events))
{
}

void Composer::record(uint32_t type, uint16_t misc, const Body &body)
{
	append(data_, 4, type, order_);
	append(data_, 2, misc, order_);
	append(data_, 2, RECORD_HEADER_SIZE + body.bytes().size(), order_);
	data_.insert(data_.end(), body.bytes().begin(), body.bytes().end());
}

void Composer::record(uint32_t type, uint16_t misc, const Body &body, const Stamp &s)
{
	uint64_t sample_type = events_.front().sample_type;
	Body whole = body;

	if (sample_type & SAMPLE_TID)
		whole.u32(s.pid).u32(s.tid);
	if (sample_type & SAMPLE_TIME)
		whole.u64(s.time);
	if (sample_type & SAMPLE_ID)
		whole.u64(s.id);
	if (sample_type & SAMPLE_CPU)
		whole.u32(s.cpu).u32(0);
	if (sample_type & SAMPLE_IDENTIFIER)
		whole.u64(s.id);
	record(type, misc, whole);
}

void Composer::comm(const Stamp &s, std::string_view name)
{
	record(RECORD_COMM, 0, body().u32(s.pid).u32(s.tid).text(name, 8), s);
}

void Composer::fork(const Stamp &s, uint32_t parent)
{
	record(RECORD_FORK, 0, body().u32(s.pid).u32(parent).u32(s.tid).u32(parent).u64(s.time), s);
}

void Composer::exit(const Stamp &s)
{
	record(RECORD_EXIT, 0, body().u32(s.pid).u32(s.pid).u32(s.tid).u32(s.tid).u64(s.time), s);
}

void Composer::mmap_kernel(const Stamp &s, uint64_t addr, uint64_t len)
{
	record(RECORD_MMAP, MISC_KERNEL,
	       body().u32(UINT32_MAX).u32(0).u64(addr).u64(len).u64(addr).text("[kernel.kallsyms]_text", 8), s);
}

void Composer::mmap2(const Stamp &s, uint64_t addr, uint64_t len, uint64_t pgoff, const BuildId &id,
		     std::string_view name)
{
	static constexpr uint32_t prot_read_exec = 5;
	static constexpr uint32_t map_private = 2;
	Body b = body().u32(s.pid).u32(s.tid).u64(addr).u64(len).u64(pgoff);

	if (id.size)
		b.id(id);
	else
		b.u32(8).u32(1).u64(4711).u64(0); // device and inode
	b.u32(prot_read_exec).u32(map_private).text(name, 8);
	record(RECORD_MMAP2, MISC_USER | (id.size ? MISC_MMAP_BUILD_ID : 0), b, s);
}

// Everything between the plain callchain and the entries, with plausible content.
void Composer::sample_tail(Body &b, const EventSpec &e)
{
	if (e.sample_type & SAMPLE_RAW)
		b.u32(12).u64(0).u32(0);
	if (e.sample_type & SAMPLE_BRANCH_STACK) {
		b.u64(2);
		if (e.branch_sample_type & BRANCH_HW_INDEX)
			b.u64(UINT64_MAX);
		for (uint64_t from : {0x7f0000001010, 0x7f0000001080})
			b.u64(from).u64(from + 0x100).u64(1);
	}
	auto registers = [&b](uint64_t mask) {
		b.u64(2); // 64 bit
		for (int n = std::popcount(mask); n; n--)
			b.u64(0x7ffc00000000 + static_cast<uint64_t>(n) * 8);
	};
	if (e.sample_type & SAMPLE_REGS_USER)
		registers(e.regs_user);
	if (e.sample_type & SAMPLE_STACK_USER) {
		b.u64(e.stack_user);
		for (uint32_t i = 0; i < e.stack_user; i += 8)
			b.u64(0x7f0000001000 + i);
		b.u64(e.stack_user);
	}
	for (uint64_t bit : {SAMPLE_WEIGHT, SAMPLE_DATA_SRC, SAMPLE_TRANSACTION})
		if (e.sample_type & bit)
			b.u64(1);
	if (e.sample_type & SAMPLE_REGS_INTR)
		registers(e.regs_intr);
	for (uint64_t bit : {SAMPLE_PHYS_ADDR, SAMPLE_CGROUP, SAMPLE_DATA_PAGE_SIZE, SAMPLE_CODE_PAGE_SIZE})
		if (e.sample_type & bit)
			b.u64(4096);
	if (e.sample_type & SAMPLE_AUX)
		b.u64(16).u64(1).u64(2);
}

void Composer::sample(const Stamp &s, const EventSpec &e, const SampleSpec &spec)
{
	uint64_t type = e.sample_type;
	Body b = body();

	if (type & SAMPLE_IDENTIFIER)
		b.u64(s.id);
	if (type & SAMPLE_IP)
		b.u64(spec.ip);
	if (type & SAMPLE_TID)
		b.u32(s.pid).u32(s.tid);
	if (type & SAMPLE_TIME)
		b.u64(s.time);
	if (type & SAMPLE_ADDR)
		b.u64(spec.ip);
	if (type & SAMPLE_ID)
		b.u64(s.id);
	if (type & SAMPLE_CPU)
		b.u32(s.cpu).u32(0);
	if (type & SAMPLE_PERIOD)
		b.u64(250000);
	if (type & SAMPLE_READ) { // group, with ids: one value for each event
		b.u64(events_.size());
		for (const EventSpec &event : events_)
			b.u64(s.time / 7).u64(event.ids.front());
	}
	if (type & SAMPLE_CALLCHAIN) {
		b.u64(spec.chain.size());
		for (uint64_t word : spec.chain)
			b.u64(word);
	}
	sample_tail(b, e);
	if (type & SAMPLE_BUILD_ID_OFFSET) {
		if (spec.deferred_cookie)
			b.u64(0).u64(CONTEXT_USER_DEFERRED).u64(*spec.deferred_cookie).u64(spec.ip);
		else
			b.entry(spec.ip_entry);
	}
	if (type & SAMPLE_CALLCHAIN_BUILD_ID_OFFSET) {
		b.u64(spec.chain_entries.size());
		for (const Entry &entry : spec.chain_entries)
			b.entry(entry);
	}
	record(RECORD_SAMPLE, spec.misc, b);
}

void Composer::deferred(const Stamp &s, uint64_t cookie, const std::vector<uint64_t> &words)
{
	Body b = body().u64(cookie).u64(words.size());

	for (uint64_t word : words)
		b.u64(word);
	record(RECORD_CALLCHAIN_DEFERRED, MISC_USER, b, s);
}

void Composer::deferred(const Stamp &s, uint64_t cookie, const std::vector<Entry> &entries)
{
	Body b = body().u64(cookie).u64(entries.size());

	for (const Entry &e : entries)
		b.entry(e);
	record(RECORD_CALLCHAIN_DEFERRED, MISC_USER | MISC_MMAP_BUILD_ID, b, s);
}

void Composer::deferred(const Stamp &s, uint64_t cookie, const Entry &ip, const std::vector<Entry> &entries)
{
	Body b = body().u64(cookie).entry(ip).u64(entries.size());

	for (const Entry &e : entries)
		b.entry(e);
	record(RECORD_CALLCHAIN_DEFERRED, MISC_USER | MISC_CALLCHAIN_BUILD_ID, b, s);
}

void Composer::finished_round()
{
	record(RECORD_FINISHED_ROUND, 0, body());
}

Body Composer::attr(const EventSpec &e) const
{
	static constexpr uint32_t type_software = 1;
	Buffer a(ATTR_SIZE);
	uint64_t flags = 0;
	auto set = [&a, this](uint64_t at, unsigned int width, uint64_t v) { put(a, at, width, v, order_); };

	for (AttrFlag bit : e.flags)
		flags |= uint64_t{1} << (order_ == std::endian::little ? bit : 63 - bit);

	set(ATTR_TYPE, 4, type_software);
	set(ATTR_SIZE_FIELD, 4, ATTR_SIZE);
	set(ATTR_CONFIG, 8, e.config);
	set(ATTR_SAMPLE_PERIOD, 8, 250000);
	set(ATTR_SAMPLE_TYPE, 8, e.sample_type);
	set(ATTR_READ_FORMAT, 8, e.read_format);
	set(ATTR_FLAGS, 8, flags);
	set(ATTR_BRANCH_SAMPLE_TYPE, 8, e.branch_sample_type);
	set(ATTR_REGS_USER, 8, e.regs_user);
	set(ATTR_STACK_USER, 4, e.stack_user);
	set(ATTR_REGS_INTR, 8, e.regs_intr);
	return body().raw(a);
}

Body Composer::build_id_row(const BuildIdRow &row) const
{
	Body b = body().u32(row.pid);

	for (uint8_t byte : row.id.bytes)
		b.u8(byte);
	b.u8(row.id.size).u8(0).u16(0);
	// In the file's table the name is padded; in a stream the record, like all records, is.
	return pipe_ ? b.text(row.name, 8).align(8, RECORD_HEADER_SIZE) : b.text(row.name, 64);
}

std::vector<std::pair<unsigned int, Body>> Composer::features(const std::vector<BuildIdRow> &table) const
{
	static constexpr size_t padding = 64;
	std::vector<std::pair<unsigned int, Body>> list;
	auto text = [this](std::string_view s) {
		return body().u32((s.size() + padding) / padding * padding).text(s, padding);
	};

	if (!pipe_) {
		Body ids = body();

		for (const BuildIdRow &row : table) {
			Body b = build_id_row(row);

			ids.u32(0).u16(row.misc | MISC_BUILD_ID_SIZE).u16(RECORD_HEADER_SIZE + b.bytes().size());
			ids.raw(b.bytes());
		}
		list.emplace_back(FEATURE_BUILD_ID, ids);
	}
	list.emplace_back(FEATURE_HOSTNAME, text(host_name_));
	list.emplace_back(FEATURE_OSRELEASE, text("7.3.0"));
	list.emplace_back(FEATURE_VERSION, text("7.3.0"));
	list.emplace_back(FEATURE_ARCH, text(order_ == std::endian::little ? "x86_64" : "s390x"));
	list.emplace_back(FEATURE_NRCPUS, body().u32(2).u32(2));

	Body desc = body().u32(events_.size()).u32(ATTR_SIZE);

	for (const EventSpec &e : events_) {
		desc.raw(attr(e).bytes()).u32(e.ids.size()).raw(text(e.name).bytes());
		for (uint64_t id : e.ids)
			desc.u64(id);
	}
	list.emplace_back(FEATURE_EVENT_DESC, desc);
	return list;
}

Buffer Composer::finish(const std::vector<BuildIdRow> &table)
{
	if (pipe_)
		return finish_pipe(table);

	Body head = body();
	Body ids = body();
	Body attrs = body();

	for (const EventSpec &e : events_) {
		attrs.raw(attr(e).bytes()).u64(FILE_HEADER_SIZE + ids.bytes().size()).u64(e.ids.size() * 8);
		for (uint64_t id : e.ids)
			ids.u64(id);
	}

	auto list = features(table);
	uint64_t bits = 0;

	for (auto &[bit, content] : list)
		bits |= uint64_t{1} << bit;

	uint64_t attrs_at = FILE_HEADER_SIZE + ids.bytes().size();
	uint64_t data_at = attrs_at + attrs.bytes().size();
	uint64_t content_at = data_at + data_.size() + list.size() * SECTION_SIZE;

	head.u64(MAGIC2).u64(FILE_HEADER_SIZE).u64(ATTR_SIZE + SECTION_SIZE);
	head.u64(attrs_at).u64(attrs.bytes().size());
	head.u64(data_at).u64(data_.size());
	head.u64(0).u64(0);
	head.u64(bits).u64(0).u64(0).u64(0);
	head.raw(ids.bytes()).raw(attrs.bytes()).raw(data_);
	for (auto &[bit, content] : list) {
		head.u64(content_at).u64(content.bytes().size());
		content_at += content.bytes().size();
	}
	for (auto &[bit, content] : list)
		head.raw(content.bytes());
	return head.bytes();
}

Buffer Composer::finish_pipe(const std::vector<BuildIdRow> &table)
{
	Buffer records;

	data_.swap(records);
	for (const EventSpec &e : events_) {
		Body b = attr(e);

		for (uint64_t id : e.ids)
			b.u64(id);
		record(RECORD_HEADER_ATTR, 0, b);
	}
	for (auto &[bit, content] : features(table))
		record(RECORD_HEADER_FEATURE, 0, body().u64(bit).raw(content.bytes()).align(8));
	for (const BuildIdRow &row : table)
		record(RECORD_HEADER_BUILD_ID, row.misc | MISC_BUILD_ID_SIZE, build_id_row(row));

	return body().u64(MAGIC2).u64(PIPE_HEADER_SIZE).raw(data_).raw(records).bytes();
}

} // namespace hostile
