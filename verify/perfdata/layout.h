// SPDX-License-Identifier: GPL-2.0
// Where the fields of a record stand.
#pragma once

#include "perfdata/events.h"
#include "perfdata/record.h"

#include <optional>

namespace perfdata {

// What a field is like.
enum class Kind : uint8_t {
	RecordType,
	RecordMisc,
	RecordSize,
	Task,	      // pid or tid
	Time,
	Cpu,
	Id,
	Address,
	FileOffset,   // of a map
	Length,	      // bytes that follow
	Count,	      // elements that follow
	Chain,	      // a word of a callchain
	Cookie,
	EntrySize,
	EntryReserved,
	EntryBuildId,
	EntryOffset,
	MapBuildIdSize,
	MapBuildId,
	Text,
	Opaque,
};

const char *name_of(Kind kind);

// What it says.
enum class Name : uint8_t {
	Type,
	Misc,
	Size,
	Identifier,
	Ip,
	Pid,
	Tid,
	ParentPid,
	ParentTid,
	Time,
	Addr,
	Id,
	StreamId,
	Cpu,
	Reserved,
	Period,
	Read,
	Callchain,
	Raw,
	Branches,
	RegsUser,
	StackUser,
	Weight,
	DataSrc,
	Transaction,
	RegsIntr,
	PhysAddr,
	Cgroup,
	DataPageSize,
	CodePageSize,
	Aux,
	IpEntry,
	ChainEntries,
	Cookie,
	Start,
	Length,
	FileOffset,
	Device,
	Inode,
	Generation,
	BuildId,
	Protection,
	Flags,
	Text,
	Lost,
	Index,
	Content,
};

const char *name_of(Name name);

struct Field {
	Kind kind;
	Name name;
	uint16_t unit = 0;  // Count: the size of an element
	uint32_t at;	    // from the start of the record
	uint32_t width;	    // in bytes

	uint32_t end() const { return at + width; }
};

// Of a field of 1, 2, 4 or 8 bytes; of others, the first byte.
inline uint64_t number_in(const Bytes &record, const Field &field)
{
	switch (field.width) {
	case 8: return record.u64(field.at);
	case 4: return record.u32(field.at);
	case 2: return record.u16(field.at);
	default: return record.u8(field.at);
	}
}

// The fields of the record, as far as it goes: where it ends within one, what follows is left out.
std::vector<Field> layout(const Record &record, const Events &events);
void layout(const Record &record, const Events &events, std::vector<Field> &fields);

// The event of a sample; null if there is none at all.
const Attr *event_of(const Record &sample, const Events &events);
// When it was written, if it says so.
std::optional<uint64_t> time_of(const Record &record, const Events &events);

} // namespace perfdata
