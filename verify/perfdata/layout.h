// SPDX-License-Identifier: GPL-2.0
// Where the fields of a record stand.
#pragma once

#include "perfdata/file.h"

namespace perfdata {

enum class Kind {
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

struct Field {
	Kind kind;
	uint64_t at;	    // from the start of the record
	uint64_t width;	    // in bytes
	uint64_t unit = 0;  // Count: the size of an element
};

// The fields of the record, as far as it goes: where it ends within one, what follows is left out.
std::vector<Field> layout(const Record &record, const File &file);

} // namespace perfdata
