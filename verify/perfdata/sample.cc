// SPDX-License-Identifier: GPL-2.0
#include "perfdata/sample.h"

namespace perfdata {

Sample parse_sample(const Record &record, const std::vector<Field> &fields)
{
	const Bytes &bytes = record.bytes;
	Sample s;

	if (fields.back().end() != bytes.size())
		throw FormatError(record.offset(), fmt::format("record of {} bytes, {} of them are what it should have",
							       bytes.size(), fields.back().end()));
	for (const Field &f : fields) {
		switch (f.name) {
		case Name::Pid:
			s.pid = bytes.u32(f.at);
			break;
		case Name::Tid:
			s.tid = bytes.u32(f.at);
			break;
		case Name::Ip:
			s.ip = bytes.u64(f.at);
			break;
		case Name::Cookie:
			s.cookie = bytes.u64(f.at);
			break;
		case Name::Callchain:
			if (f.kind == Kind::Count)
				s.words = {true, bytes.u64(f.at), f.end()};
			break;
		case Name::ChainEntries:
			if (f.kind == Kind::Count)
				s.entries = {true, bytes.u64(f.at), f.end()};
			break;
		case Name::IpEntry:
			if (f.kind == Kind::EntrySize)
				s.ip_entry = f.at;
			break;
		default:
			break;
		}
	}
	for (auto [list, width] : {std::pair<const Elements &, uint64_t>{s.words, 8}, {s.entries, ENTRY_SIZE}})
		if (list.there && list.nr > (bytes.size() - list.at) / width)
			throw FormatError(record.offset(), fmt::format("a callchain of {} in a record of {} bytes", list.nr,
								       bytes.size()));
	return s;
}

} // namespace perfdata
