// SPDX-License-Identifier: GPL-2.0
#include "perfdata/layout.h"

#include <algorithm>

namespace perfdata {

const char *name_of(Kind kind)
{
	switch (kind) {
	case Kind::RecordType: return "record type";
	case Kind::RecordMisc: return "record misc";
	case Kind::RecordSize: return "record size";
	case Kind::Task: return "task";
	case Kind::Time: return "time";
	case Kind::Cpu: return "cpu";
	case Kind::Id: return "id";
	case Kind::Address: return "address";
	case Kind::FileOffset: return "file offset";
	case Kind::Length: return "length";
	case Kind::Count: return "count";
	case Kind::Chain: return "chain word";
	case Kind::Cookie: return "cookie";
	case Kind::EntrySize: return "entry size";
	case Kind::EntryReserved: return "entry reserved";
	case Kind::EntryBuildId: return "entry build ID";
	case Kind::EntryOffset: return "entry offset";
	case Kind::MapBuildIdSize: return "map build ID size";
	case Kind::MapBuildId: return "map build ID";
	case Kind::Text: return "text";
	case Kind::Opaque: return "opaque";
	}
	return "unknown";
}

const char *name_of(Name name)
{
	switch (name) {
	case Name::Type: return "type";
	case Name::Misc: return "misc";
	case Name::Size: return "size";
	case Name::Identifier: return "identifier";
	case Name::Ip: return "ip";
	case Name::Pid: return "pid";
	case Name::Tid: return "tid";
	case Name::ParentPid: return "parent_pid";
	case Name::ParentTid: return "parent_tid";
	case Name::Time: return "time";
	case Name::Addr: return "addr";
	case Name::Id: return "id";
	case Name::StreamId: return "stream_id";
	case Name::Cpu: return "cpu";
	case Name::Reserved: return "reserved";
	case Name::Period: return "period";
	case Name::Read: return "read";
	case Name::Callchain: return "callchain";
	case Name::Raw: return "raw";
	case Name::Branches: return "branches";
	case Name::RegsUser: return "regs_user";
	case Name::StackUser: return "stack_user";
	case Name::Weight: return "weight";
	case Name::DataSrc: return "data_src";
	case Name::Transaction: return "transaction";
	case Name::RegsIntr: return "regs_intr";
	case Name::PhysAddr: return "phys_addr";
	case Name::Cgroup: return "cgroup";
	case Name::DataPageSize: return "data_page_size";
	case Name::CodePageSize: return "code_page_size";
	case Name::Aux: return "aux";
	case Name::IpEntry: return "entry";
	case Name::ChainEntries: return "callchain_entries";
	case Name::Cookie: return "cookie";
	case Name::Start: return "start";
	case Name::Length: return "length";
	case Name::FileOffset: return "pgoff";
	case Name::Device: return "device";
	case Name::Inode: return "inode";
	case Name::Generation: return "generation";
	case Name::BuildId: return "build_id";
	case Name::Protection: return "prot";
	case Name::Flags: return "flags";
	case Name::Text: return "text";
	case Name::Lost: return "lost";
	case Name::Index: return "index";
	case Name::Content: return "content";
	}
	return "unknown";
}

namespace {

constexpr uint64_t sample_id_bits = SAMPLE_TID | SAMPLE_TIME | SAMPLE_ID | SAMPLE_STREAM_ID | SAMPLE_CPU |
				    SAMPLE_IDENTIFIER;

// The sample id that stands at the end of all records of the kernel but samples: its size, 0 if there is none.
struct SampleId {
	uint64_t type = 0;
	uint64_t size = 0;
};

SampleId sample_id_of(const Record &record, const Events &events)
{
	if (events.empty() || record.type() >= RECORD_USER_START)
		return {};

	const Attr *attr = &events.first();

	// Events may differ in it; which one it is, its last word says.
	if (events.size() > 1 && attr->sample_type() & SAMPLE_IDENTIFIER &&
	    record.bytes.size() >= RECORD_HEADER_SIZE + 8)
		attr = events.of(record.bytes.u64(record.bytes.size() - 8));
	if (!attr->flag(ATTR_FLAG_SAMPLE_ID_ALL))
		return {};

	uint64_t type = attr->sample_type() & sample_id_bits;

	return {type, 8 * static_cast<uint64_t>(std::popcount(type))};
}

class Walk {
public:
	Walk(const Record &record, const Events &events, std::vector<Field> &fields)
		: r_(record.bytes), events_(events), record_(record), fields_(fields)
	{
		fields_.clear();
	}

	void run()
	{
		field(Kind::RecordType, Name::Type, 4);
		field(Kind::RecordMisc, Name::Misc, 2);
		field(Kind::RecordSize, Name::Size, 2);
		body();
	}

private:
	// False when the record ends first: nothing more is noted then.
	bool field(Kind kind, Name name, uint64_t width, uint16_t unit = 0)
	{
		if (cut_ || !r_.holds(at_, width)) {
			cut_ = true;
			return false;
		}
		if (width)
			fields_.push_back({kind, name, unit, static_cast<uint32_t>(at_),
					   static_cast<uint32_t>(width)});
		at_ += width;
		return true;
	}

	bool word(Kind kind, Name name) { return field(kind, name, 8); }
	bool opaque(Name name) { return field(Kind::Opaque, name, 8); }

	void task()
	{
		field(Kind::Task, Name::Pid, 4);
		field(Kind::Task, Name::Tid, 4);
	}

	void cpu()
	{
		field(Kind::Cpu, Name::Cpu, 4);
		field(Kind::Opaque, Name::Reserved, 4);
	}

	uint64_t last() const
	{
		const Field &f = fields_.back();

		return f.width == 8 ? r_.u64(f.at) : r_.u32(f.at);
	}

	uint64_t left() const { return r_.size() - at_; }

	void text()
	{
		uint64_t n = 0;

		while (n < left() && r_.u8(at_ + n))
			n++;
		// Padded with zeroes to eight bytes.
		field(Kind::Text, Name::Text, std::min(left(), (n + 8) / 8 * 8));
	}

	void entry(Name name)
	{
		field(Kind::EntrySize, name, 1);
		field(Kind::EntryReserved, name, 3);
		field(Kind::EntryBuildId, name, BUILD_ID_MAX);
		field(Kind::EntryOffset, name, 8);
	}

	// u64 nr and nr elements of width bytes
	template <typename F> void counted(Name name, uint16_t width, F element)
	{
		if (!field(Kind::Count, name, 8, width))
			return;
		for (uint64_t n = last(); n && !cut_; n--)
			element();
	}

	void chain(bool entries)
	{
		if (entries)
			counted(Name::ChainEntries, ENTRY_SIZE, [this] { entry(Name::ChainEntries); });
		else
			counted(Name::Callchain, 8, [this] { word(Kind::Chain, Name::Callchain); });
	}

	void read_values(uint64_t format)
	{
		bool group = format & FORMAT_GROUP;
		uint16_t width = 8 + (format & FORMAT_ID ? 8 : 0) + (format & FORMAT_LOST ? 8 : 0);

		if (!field(group ? Kind::Count : Kind::Opaque, Name::Read, 8, group ? width : 0))
			return;

		uint64_t nr = group ? last() : 1;

		if (format & FORMAT_TOTAL_TIME_ENABLED)
			opaque(Name::Read);
		if (format & FORMAT_TOTAL_TIME_RUNNING)
			opaque(Name::Read);
		for (; nr && !cut_; nr--) {
			if (group)
				opaque(Name::Read);
			if (format & FORMAT_ID)
				word(Kind::Id, Name::Read);
			if (format & FORMAT_LOST)
				opaque(Name::Read);
		}
	}

	void registers(Name name, uint64_t mask)
	{
		if (opaque(name) && last())
			for (int n = std::popcount(mask); n && !cut_; n--)
				opaque(name);
	}

	void user_stack()
	{
		if (!field(Kind::Length, Name::StackUser, 8) || !last())
			return;

		field(Kind::Opaque, Name::StackUser, last());
		field(Kind::Length, Name::StackUser, 8);
	}

	void sample()
	{
		const Attr *attr = event_of(record_, events_);

		if (!attr)
			return;

		uint64_t type = attr->sample_type();
		auto one = [this, type](uint64_t bit, Kind kind, Name name) {
			if (type & bit)
				word(kind, name);
		};

		one(SAMPLE_IDENTIFIER, Kind::Id, Name::Identifier);
		one(SAMPLE_IP, Kind::Address, Name::Ip);
		if (type & SAMPLE_TID)
			task();
		one(SAMPLE_TIME, Kind::Time, Name::Time);
		one(SAMPLE_ADDR, Kind::Address, Name::Addr);
		one(SAMPLE_ID, Kind::Id, Name::Id);
		one(SAMPLE_STREAM_ID, Kind::Id, Name::StreamId);
		if (type & SAMPLE_CPU)
			cpu();
		one(SAMPLE_PERIOD, Kind::Opaque, Name::Period);
		if (type & SAMPLE_READ)
			read_values(attr->read_format());
		if (type & SAMPLE_CALLCHAIN)
			chain(false);
		if (type & SAMPLE_RAW && field(Kind::Length, Name::Raw, 4))
			field(Kind::Opaque, Name::Raw, last());
		if (type & SAMPLE_BRANCH_STACK)
			branches(attr->later(ATTR_BRANCH_SAMPLE_TYPE));
		if (type & SAMPLE_REGS_USER)
			registers(Name::RegsUser, attr->later(ATTR_REGS_USER));
		if (type & SAMPLE_STACK_USER)
			user_stack();
		one(SAMPLE_WEIGHT | SAMPLE_WEIGHT_STRUCT, Kind::Opaque, Name::Weight);
		one(SAMPLE_DATA_SRC, Kind::Opaque, Name::DataSrc);
		one(SAMPLE_TRANSACTION, Kind::Opaque, Name::Transaction);
		if (type & SAMPLE_REGS_INTR)
			registers(Name::RegsIntr, attr->later(ATTR_REGS_INTR));
		one(SAMPLE_PHYS_ADDR, Kind::Address, Name::PhysAddr);
		one(SAMPLE_CGROUP, Kind::Id, Name::Cgroup);
		one(SAMPLE_DATA_PAGE_SIZE, Kind::Opaque, Name::DataPageSize);
		one(SAMPLE_CODE_PAGE_SIZE, Kind::Opaque, Name::CodePageSize);
		if (type & SAMPLE_AUX && field(Kind::Length, Name::Aux, 8))
			field(Kind::Opaque, Name::Aux, last());
		if (type & SAMPLE_BUILD_ID_OFFSET)
			entry(Name::IpEntry);
		if (type & SAMPLE_CALLCHAIN_BUILD_ID_OFFSET)
			chain(true);
	}

	void branches(uint64_t branch_type)
	{
		if (!field(Kind::Count, Name::Branches, 8, 24))
			return;

		uint64_t nr = last();

		if (branch_type & BRANCH_HW_INDEX)
			opaque(Name::Branches);
		for (uint64_t i = 0; i < nr && !cut_; i++) {
			word(Kind::Address, Name::Branches);
			word(Kind::Address, Name::Branches);
			opaque(Name::Branches);
		}
		if (branch_type & BRANCH_COUNTERS)
			for (uint64_t i = 0; i < nr && !cut_; i++)
				opaque(Name::Branches);
	}

	void sample_id()
	{
		uint64_t type = sample_id_of(record_, events_).type;

		if (type & SAMPLE_TID)
			task();
		if (type & SAMPLE_TIME)
			word(Kind::Time, Name::Time);
		if (type & SAMPLE_ID)
			word(Kind::Id, Name::Id);
		if (type & SAMPLE_STREAM_ID)
			word(Kind::Id, Name::StreamId);
		if (type & SAMPLE_CPU)
			cpu();
		if (type & SAMPLE_IDENTIFIER)
			word(Kind::Id, Name::Identifier);
	}

	void mapping()
	{
		task();
		word(Kind::Address, Name::Start);
		opaque(Name::Length);
		word(Kind::FileOffset, Name::FileOffset);
	}

	// Linux before 7.3 sets the flag for an event that asks for build IDs, and leaves it set in the records of other
	// recorders that do not: theirs have device and inode. perf inject adds build IDs where no event asks for them; the
	// last bytes of those that are not 0 are not the upper half of an inode's generation, which has 32 bits.
	bool has_build_id() const
	{
		const Bytes &bytes = record_.bytes;
		uint64_t id_at = at_ + 4;
		auto zero = [&bytes](uint64_t begin, uint64_t end) {
			auto part = bytes.slice(begin, end - begin).span();

			return std::all_of(part.begin(), part.end(), [](uint8_t b) { return !b; });
		};

		if (!(record_.misc() & MISC_MMAP_BUILD_ID) || !bytes.holds(at_, 4 + BUILD_ID_MAX))
			return false;

		uint64_t size = bytes.u8(at_);

		if (!size || size > BUILD_ID_MAX || !zero(at_ + 1, id_at) || !zero(id_at + size, id_at + BUILD_ID_MAX))
			return false;
		return events_.record_build_ids() || !zero(id_at + BUILD_ID_MAX - 4, id_at + BUILD_ID_MAX);
	}

	void mmap2()
	{
		mapping();
		if (has_build_id()) {
			field(Kind::MapBuildIdSize, Name::BuildId, 1);
			field(Kind::Opaque, Name::Reserved, 3);
			field(Kind::MapBuildId, Name::BuildId, BUILD_ID_MAX);
		} else {
			field(Kind::Opaque, Name::Device, 4);
			field(Kind::Opaque, Name::Device, 4);
			opaque(Name::Inode);
			opaque(Name::Generation);
		}
		field(Kind::Opaque, Name::Protection, 4);
		field(Kind::Opaque, Name::Flags, 4);
		text();
	}

	void body()
	{
		switch (record_.type()) {
		case RECORD_SAMPLE:
			return sample();
		case RECORD_MMAP:
			mapping();
			text();
			break;
		case RECORD_MMAP2:
			mmap2();
			break;
		case RECORD_COMM:
			task();
			text();
			break;
		case RECORD_FORK:
		case RECORD_EXIT:
			field(Kind::Task, Name::Pid, 4);
			field(Kind::Task, Name::ParentPid, 4);
			field(Kind::Task, Name::Tid, 4);
			field(Kind::Task, Name::ParentTid, 4);
			word(Kind::Time, Name::Time);
			break;
		case RECORD_LOST:
			word(Kind::Id, Name::Id);
			opaque(Name::Lost);
			break;
		case RECORD_LOST_SAMPLES:
			opaque(Name::Lost);
			break;
		case RECORD_THROTTLE:
		case RECORD_UNTHROTTLE:
			word(Kind::Time, Name::Time);
			word(Kind::Id, Name::Id);
			word(Kind::Id, Name::StreamId);
			break;
		case RECORD_CGROUP:
			word(Kind::Id, Name::Id);
			text();
			break;
		case RECORD_CALLCHAIN_DEFERRED:
			word(Kind::Cookie, Name::Cookie);
			if (record_.misc() & MISC_CALLCHAIN_BUILD_ID)
				entry(Name::IpEntry);
			chain(record_.misc() & (MISC_CALLCHAIN_BUILD_ID | MISC_MMAP_BUILD_ID));
			break;
		case RECORD_ID_INDEX:
			// Of guests, more than these may follow; they are opaque.
			counted(Name::Index, 32, [this] {
				word(Kind::Id, Name::Id);
				opaque(Name::Index);
				word(Kind::Cpu, Name::Cpu);
				word(Kind::Task, Name::Tid);
			});
			return opaque_up_to(r_.size());
		case RECORD_HEADER_BUILD_ID:
			field(Kind::Task, Name::Pid, 4);
			field(Kind::MapBuildId, Name::BuildId, BUILD_ID_MAX);
			field(Kind::MapBuildIdSize, Name::BuildId, 1);
			field(Kind::Opaque, Name::Reserved, 3);
			field(Kind::Text, Name::Text, left()); // padded as its writer likes
			return;
		default: {
			uint64_t size = sample_id_of(record_, events_).size;

			opaque_up_to(r_.size() - std::min(left(), size));
			break;
		}
		}
		sample_id();
	}

	void opaque_up_to(uint64_t end)
	{
		while (at_ + 8 <= end && !cut_)
			opaque(Name::Content);
		if (!cut_)
			field(Kind::Opaque, Name::Content, end - std::min(at_, end));
	}

	Bytes r_;
	const Events &events_;
	const Record &record_;
	std::vector<Field> &fields_;
	uint64_t at_ = 0;
	bool cut_ = false;
};

} // namespace

const Attr *event_of(const Record &sample, const Events &events)
{
	if (events.empty())
		return nullptr;

	const Attr *first = &events.first();
	uint64_t type = first->sample_type();
	uint64_t at = RECORD_HEADER_SIZE;

	if (!(type & SAMPLE_IDENTIFIER)) {
		if (!(type & SAMPLE_ID))
			return first;
		at += 8 * static_cast<uint64_t>(std::popcount(type & (SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME |
								      SAMPLE_ADDR)));
	}
	return sample.bytes.holds(at, 8) ? events.of(sample.bytes.u64(at)) : first;
}

std::optional<uint64_t> time_of(const Record &record, const Events &events)
{
	uint64_t type, at;

	if (record.type() == RECORD_SAMPLE) {
		const Attr *attr = event_of(record, events);

		type = attr ? attr->sample_type() : 0;
		at = RECORD_HEADER_SIZE +
		     8 * static_cast<uint64_t>(std::popcount(type & (SAMPLE_IDENTIFIER | SAMPLE_IP | SAMPLE_TID)));
	} else {
		SampleId id = sample_id_of(record, events);

		type = id.type;
		if (record.bytes.size() < RECORD_HEADER_SIZE + id.size)
			return std::nullopt;
		at = record.bytes.size() - id.size + (type & SAMPLE_TID ? 8 : 0);
	}
	if (!(type & SAMPLE_TIME) || !record.bytes.holds(at, 8))
		return std::nullopt;
	return record.bytes.u64(at);
}

void layout(const Record &record, const Events &events, std::vector<Field> &fields)
{
	Walk(record, events, fields).run();
}

std::vector<Field> layout(const Record &record, const Events &events)
{
	std::vector<Field> fields;

	layout(record, events, fields);
	return fields;
}

} // namespace perfdata
