// SPDX-License-Identifier: GPL-2.0
#include "bid/model.h"

#include <cstring>

namespace bid {

using namespace perfdata;

namespace {

constexpr uint64_t any_inode = UINT64_MAX;	// MMAP does not tell it

// What the kernel names like a file, and is none.
bool no_file(const std::string &path)
{
	for (const char *name : {"//", "/dev/zero", "/anon_hugepage", "/SYSV", "/memfd:", "/[", "/dev/shm/"})
		if (path.starts_with(name))
			return true;
	return !path.starts_with('/');
}

} // namespace

Model::Model(const Reader &reader) : reader_(reader)
{
	ids_.mind_inodes();
}

void Model::expect_data()
{
	bool told = !reader_.events().empty();

	for (const Attr &attr : reader_.events().attrs())
		told = told && (attr.flag(ATTR_FLAG_MMAP_DATA) || !attr.flag(ATTR_FLAG_MMAP));
	if (!told)
		judge_.only_code_is_known();
}

// In a stream the table comes bit by bit.
void Model::learn_build_ids()
{
	const std::vector<BuildIdRow> &rows = reader_.build_ids();

	for (; learned_ < rows.size(); learned_++)
		if ((rows[learned_].misc & MISC_CPUMODE_MASK) == MISC_USER)
			ids_.tell(rows[learned_].name, rows[learned_].id);
}

void Model::map(const Record &record, const std::vector<Field> &fields)
{
	audit::Mapping m;
	uint32_t pid = 0;
	bool has_pid = false;

	if ((record.misc() & MISC_CPUMODE_MASK) != MISC_USER)
		return;
	m.inode = record.type() == RECORD_MMAP ? any_inode : 0;
	for (const Field &f : fields) {
		switch (f.name) {
		case Name::Pid:
			if (!has_pid)	// the sample id has one, too
				pid = record.bytes.u32(f.at);
			has_pid = true;
			break;
		case Name::Start:
			m.start = record.bytes.u64(f.at);
			break;
		case Name::Length:
			m.end = m.start + record.bytes.u64(f.at);
			break;
		case Name::FileOffset:
			m.offset = record.bytes.u64(f.at);
			break;
		case Name::Inode:
			m.inode = record.bytes.u64(f.at);
			break;
		case Name::BuildId:
			if (!m.id)
				m.id.emplace();
			if (f.kind == Kind::MapBuildIdSize)
				m.id->size = record.bytes.u8(f.at);
			else
				std::memcpy(m.id->bytes.data(), record.bytes.span().data() + f.at, f.width);
			break;
		case Name::Text:
			m.path = text_in(record.bytes.slice(f.at, f.width));
			break;
		default:
			break;
		}
	}
	if (m.id && m.id->size > BUILD_ID_MAX)
		throw FormatError(record.offset(), fmt::format("a build ID of {} bytes", m.id->size));
	if (m.id && !m.id->size)
		m.id.reset();
	if (!m.id && no_file(m.path))
		m.inode = 0;
	mappings_++;
	spaces_.map(pid, std::move(m));
}

// The rest of its end is sampled, too.
void Model::exit(uint32_t pid)
{
	static constexpr size_t kept = 10000;

	dead_.push_back(pid);
	if (dead_.size() > kept) {
		spaces_.exit(dead_.front());
		dead_.pop_front();
	}
}

void Model::take(const Record &record, const std::vector<Field> &fields)
{
	const Bytes &bytes = record.bytes;

	learn_build_ids();
	switch (record.type()) {
	case RECORD_MMAP:
	case RECORD_MMAP2:
		map(record, fields);
		break;
	case RECORD_COMM:
		if (record.misc() & MISC_COMM_EXEC)
			spaces_.exec_keeping(bytes.u32(RECORD_HEADER_SIZE));
		break;
	case RECORD_FORK: {
		uint32_t pid = bytes.u32(RECORD_HEADER_SIZE), parent = bytes.u32(RECORD_HEADER_SIZE + 4);

		// A new process may have the number of one that has ended.
		std::erase(dead_, pid);
		if (!(record.misc() & MISC_FORK_EXEC))
			spaces_.fork(pid, parent);
		break;
	}
	case RECORD_EXIT:
		// Of the process, not of one of its threads.
		if (bytes.u32(RECORD_HEADER_SIZE) == bytes.u32(RECORD_HEADER_SIZE + 8))
			exit(bytes.u32(RECORD_HEADER_SIZE));
		break;
	}
}

} // namespace bid
