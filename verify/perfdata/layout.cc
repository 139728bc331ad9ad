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

namespace {

class Walk {
public:
	Walk(const Record &record, const File &file) : r_(record.bytes), file_(file), record_(record) {}

	std::vector<Field> run()
	{
		field(Kind::RecordType, 4);
		field(Kind::RecordMisc, 2);
		field(Kind::RecordSize, 2);
		body();
		return std::move(fields_);
	}

private:
	// False when the record ends first: nothing more is noted then.
	bool field(Kind kind, uint64_t width, uint64_t unit = 0)
	{
		if (cut_ || !r_.holds(at_, width)) {
			cut_ = true;
			return false;
		}
		if (width)
			fields_.push_back({kind, at_, width, unit});
		at_ += width;
		return true;
	}

	void fields(std::initializer_list<std::pair<Kind, uint64_t>> list)
	{
		for (auto [kind, width] : list)
			field(kind, width);
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
		field(Kind::Text, std::min(left(), (n + 8) / 8 * 8));
	}

	void entry()
	{
		field(Kind::EntrySize, 1);
		field(Kind::EntryReserved, 3);
		field(Kind::EntryBuildId, BUILD_ID_MAX);
		field(Kind::EntryOffset, 8);
	}

	// u64 nr and nr elements of width bytes
	template <typename F> void counted(uint64_t width, F element)
	{
		if (!field(Kind::Count, 8, width))
			return;
		for (uint64_t n = last(); n && !cut_; n--)
			element();
	}

	void chain(bool entries)
	{
		if (entries)
			counted(ENTRY_SIZE, [this] { entry(); });
		else
			counted(8, [this] { field(Kind::Chain, 8); });
	}

	void read_values(uint64_t format)
	{
		bool group = format & FORMAT_GROUP;
		uint64_t width = 8 + (format & FORMAT_ID ? 8 : 0) + (format & FORMAT_LOST ? 8 : 0);

		if (!field(group ? Kind::Count : Kind::Opaque, 8, group ? width : 0))
			return;

		uint64_t nr = last();

		if (format & FORMAT_TOTAL_TIME_ENABLED)
			field(Kind::Opaque, 8);
		if (format & FORMAT_TOTAL_TIME_RUNNING)
			field(Kind::Opaque, 8);
		if (!group) {
			if (format & FORMAT_ID)
				field(Kind::Id, 8);
			if (format & FORMAT_LOST)
				field(Kind::Opaque, 8);
			return;
		}
		for (; nr && !cut_; nr--) {
			field(Kind::Opaque, 8);
			if (format & FORMAT_ID)
				field(Kind::Id, 8);
			if (format & FORMAT_LOST)
				field(Kind::Opaque, 8);
		}
	}

	void registers(uint64_t mask)
	{
		if (field(Kind::Opaque, 8) && last())
			for (int n = std::popcount(mask); n && !cut_; n--)
				field(Kind::Opaque, 8);
	}

	void user_stack()
	{
		if (!field(Kind::Length, 8) || !last())
			return;

		field(Kind::Opaque, last());
		field(Kind::Length, 8);
	}

	const Attr *attr_of_sample() const
	{
		if (file_.attrs().empty())
			return nullptr;

		const Attr *first = &file_.attrs().front();

		if (first->sample_type() & SAMPLE_IDENTIFIER)
			return r_.holds(at_, 8) ? file_.attr_of(r_.u64(at_)) : first;
		if (!(first->sample_type() & SAMPLE_ID))
			return first;

		uint64_t at = at_;

		for (uint64_t before : {SAMPLE_IP, SAMPLE_TID, SAMPLE_TIME, SAMPLE_ADDR})
			if (first->sample_type() & before)
				at += 8;
		return r_.holds(at, 8) ? file_.attr_of(r_.u64(at)) : first;
	}

	void sample()
	{
		const Attr *attr = attr_of_sample();

		if (!attr)
			return;

		uint64_t type = attr->sample_type();
		auto word = [this, type](uint64_t bit, Kind kind) {
			if (type & bit)
				field(kind, 8);
		};

		word(SAMPLE_IDENTIFIER, Kind::Id);
		word(SAMPLE_IP, Kind::Address);
		if (type & SAMPLE_TID)
			fields({{Kind::Task, 4}, {Kind::Task, 4}});
		word(SAMPLE_TIME, Kind::Time);
		word(SAMPLE_ADDR, Kind::Address);
		word(SAMPLE_ID, Kind::Id);
		word(SAMPLE_STREAM_ID, Kind::Id);
		if (type & SAMPLE_CPU)
			fields({{Kind::Cpu, 4}, {Kind::Opaque, 4}});
		word(SAMPLE_PERIOD, Kind::Opaque);
		if (type & SAMPLE_READ)
			read_values(attr->read_format());
		if (type & SAMPLE_CALLCHAIN)
			chain(false);
		if (type & SAMPLE_RAW && field(Kind::Length, 4))
			field(Kind::Opaque, last());
		if (type & SAMPLE_BRANCH_STACK)
			branches(attr->later(ATTR_BRANCH_SAMPLE_TYPE));
		if (type & SAMPLE_REGS_USER)
			registers(attr->later(ATTR_REGS_USER));
		if (type & SAMPLE_STACK_USER)
			user_stack();
		word(SAMPLE_WEIGHT | SAMPLE_WEIGHT_STRUCT, Kind::Opaque);
		word(SAMPLE_DATA_SRC, Kind::Opaque);
		word(SAMPLE_TRANSACTION, Kind::Opaque);
		if (type & SAMPLE_REGS_INTR)
			registers(attr->later(ATTR_REGS_INTR));
		word(SAMPLE_PHYS_ADDR, Kind::Address);
		word(SAMPLE_CGROUP, Kind::Id);
		word(SAMPLE_DATA_PAGE_SIZE, Kind::Opaque);
		word(SAMPLE_CODE_PAGE_SIZE, Kind::Opaque);
		if (type & SAMPLE_AUX && field(Kind::Length, 8))
			field(Kind::Opaque, last());
		if (type & SAMPLE_BUILD_ID_OFFSET)
			entry();
		if (type & SAMPLE_CALLCHAIN_BUILD_ID_OFFSET)
			chain(true);
	}

	void branches(uint64_t branch_type)
	{
		if (!field(Kind::Count, 8, 24))
			return;

		uint64_t nr = last();

		if (branch_type & BRANCH_HW_INDEX)
			field(Kind::Opaque, 8);
		for (uint64_t i = 0; i < nr && !cut_; i++)
			fields({{Kind::Address, 8}, {Kind::Address, 8}, {Kind::Opaque, 8}});
		if (branch_type & BRANCH_COUNTERS)
			for (uint64_t i = 0; i < nr && !cut_; i++)
				field(Kind::Opaque, 8);
	}

	// What follows the record's own fields, the same for all types but samples.
	void sample_id()
	{
		if (file_.attrs().empty() || !file_.attrs().front().flag(ATTR_FLAG_SAMPLE_ID_ALL))
			return;

		uint64_t type = file_.attrs().front().sample_type();

		if (type & SAMPLE_TID)
			fields({{Kind::Task, 4}, {Kind::Task, 4}});
		if (type & SAMPLE_TIME)
			field(Kind::Time, 8);
		if (type & SAMPLE_ID)
			field(Kind::Id, 8);
		if (type & SAMPLE_STREAM_ID)
			field(Kind::Id, 8);
		if (type & SAMPLE_CPU)
			fields({{Kind::Cpu, 4}, {Kind::Opaque, 4}});
		if (type & SAMPLE_IDENTIFIER)
			field(Kind::Id, 8);
	}

	void mmap2()
	{
		fields({{Kind::Task, 4}, {Kind::Task, 4}, {Kind::Address, 8}, {Kind::Opaque, 8},
			{Kind::FileOffset, 8}});
		if (record_.misc() & MISC_MMAP_BUILD_ID)
			fields({{Kind::MapBuildIdSize, 1}, {Kind::Opaque, 3}, {Kind::MapBuildId, BUILD_ID_MAX}});
		else
			fields({{Kind::Opaque, 4}, {Kind::Opaque, 4}, {Kind::Opaque, 8}, {Kind::Opaque, 8}});
		fields({{Kind::Opaque, 4}, {Kind::Opaque, 4}});
		text();
	}

	void body()
	{
		switch (record_.type()) {
		case RECORD_SAMPLE:
			return sample();
		case RECORD_MMAP:
			fields({{Kind::Task, 4}, {Kind::Task, 4}, {Kind::Address, 8}, {Kind::Opaque, 8},
				{Kind::FileOffset, 8}});
			text();
			break;
		case RECORD_MMAP2:
			mmap2();
			break;
		case RECORD_COMM:
			fields({{Kind::Task, 4}, {Kind::Task, 4}});
			text();
			break;
		case RECORD_FORK:
		case RECORD_EXIT:
			fields({{Kind::Task, 4}, {Kind::Task, 4}, {Kind::Task, 4}, {Kind::Task, 4}, {Kind::Time, 8}});
			break;
		case RECORD_LOST:
			fields({{Kind::Id, 8}, {Kind::Opaque, 8}});
			break;
		case RECORD_LOST_SAMPLES:
			field(Kind::Opaque, 8);
			break;
		case RECORD_THROTTLE:
		case RECORD_UNTHROTTLE:
			fields({{Kind::Time, 8}, {Kind::Id, 8}, {Kind::Id, 8}});
			break;
		case RECORD_CGROUP:
			field(Kind::Id, 8);
			text();
			break;
		case RECORD_CALLCHAIN_DEFERRED:
			field(Kind::Cookie, 8);
			chain(record_.misc() & MISC_MMAP_BUILD_ID);
			break;
		case RECORD_ID_INDEX:
			counted(32, [this] {
				fields({{Kind::Id, 8}, {Kind::Opaque, 8}, {Kind::Cpu, 8}, {Kind::Task, 8}});
			});
			return;
		case RECORD_HEADER_BUILD_ID:
			fields({{Kind::Task, 4}, {Kind::MapBuildId, BUILD_ID_MAX}, {Kind::MapBuildIdSize, 1},
				{Kind::Opaque, 3}});
			field(Kind::Text, left()); // padded as its writer likes
			return;
		default:
			while (left() >= 8 && !cut_)
				field(Kind::Opaque, 8);
			field(Kind::Opaque, left());
			return;
		}
		sample_id();
	}

	Bytes r_;
	const File &file_;
	const Record &record_;
	std::vector<Field> fields_;
	uint64_t at_ = 0;
	bool cut_ = false;
};

} // namespace

std::vector<Field> layout(const Record &record, const File &file)
{
	return Walk(record, file).run();
}

} // namespace perfdata
