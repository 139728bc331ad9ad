// SPDX-License-Identifier: GPL-2.0
#include "bid/model.h"

#include <unistd.h>

#include <cstring>

namespace bid {

using namespace perfdata;

namespace {

// What the kernel names like a file, and is none.
bool no_file(const std::string &path)
{
	for (const char *name : {"//", "/dev/zero", "/anon_hugepage", "/SYSV", "/memfd:", "/[", "/dev/shm/"})
		if (path.starts_with(name))
			return true;
	return !path.starts_with('/');
}

std::string own_host_name()
{
	char name[256] = "";

	gethostname(name, sizeof(name) - 1);
	return name;
}

} // namespace

Model::Model(const Reader &reader) : reader_(reader)
{
	BuildId vdso = audit::read_vdso_build_id();

	ids_.mind_inodes();
	// Unless the file tells another: who knows that it is of the running kernel may take this one.
	if (vdso.size)
		ids_.tell("[vdso]", vdso);
}

void Model::expect_data()
{
	bool told = !reader_.events().empty();

	for (const Attr &attr : reader_.events().attrs())
		told = told && (attr.flag(ATTR_FLAG_MMAP_DATA) || !attr.flag(ATTR_FLAG_MMAP));
	if (!told)
		judge_.only_code_is_known();
}

// In a stream the table comes bit by bit, and so does the name of the machine.
void Model::learn_build_ids()
{
	if (!host_is_known_ && !reader_.host_name().empty()) {
		host_is_known_ = true;
		if (reader_.host_name() == own_host_name())
			ids_.is_this_machine();
	}

	const std::vector<BuildIdRow> &rows = reader_.build_ids();

	for (; learned_ < rows.size(); learned_++)
		if ((rows[learned_].misc & MISC_CPUMODE_MASK) == MISC_USER && rows[learned_].id.size)
			ids_.tell(rows[learned_].name, rows[learned_].id);
}

void Model::map(const Record &record, const std::vector<Field> &fields)
{
	audit::Mapping m;
	uint32_t pid = 0;
	uint64_t device_at = 0;
	bool has_pid = false;

	if ((record.misc() & MISC_CPUMODE_MASK) != MISC_USER)
		return;
	m.inode = record.type() == RECORD_MMAP ? audit::any_inode : 0;	// MMAP does not tell it
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
		case Name::Device:
			device_at = device_at ? device_at : f.at;
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
	// What perf before 7.3 takes for a build ID in a record that is flagged as if it had one, and writes to the table.
	if (device_at)
		ids_.forget_if_it_begins(m.path, record.bytes.slice(device_at + 4, BUILD_ID_MAX).span());
	if (!m.id && no_file(m.path))
		m.inode = 0;
	mappings_++;
	spaces_.map(pid, std::move(m));
}

void Model::fork(const Record &record)
{
	const Bytes &bytes = record.bytes;
	uint32_t pid = bytes.u32(RECORD_HEADER_SIZE), parent = bytes.u32(RECORD_HEADER_SIZE + 4);

	if (pid == parent) {
		threads_[pid].running.insert(bytes.u32(RECORD_HEADER_SIZE + 8));
		return;
	}
	// A new process may have the number of one that has ended.
	std::erase(dead_, pid);
	threads_.erase(pid);
	if (!(record.misc() & MISC_FORK_EXEC))
		spaces_.fork(pid, parent);
}

// A process goes on when its first thread has ended, as long as it has others.
bool Model::ends(uint32_t pid, uint32_t tid)
{
	auto found = threads_.find(pid);

	if (found == threads_.end())
		return tid == pid;

	Threads &threads = found->second;

	threads.running.erase(tid);
	threads.first_has_ended = threads.first_has_ended || tid == pid;
	if (!threads.first_has_ended || !threads.running.empty())
		return false;
	threads_.erase(found);
	return true;
}

void Model::exit(uint32_t pid, uint32_t tid)
{
	static constexpr size_t kept = 10000;

	if (!ends(pid, tid))
		return;
	// The rest of its end is sampled, too.
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
	case RECORD_FORK:
		fork(record);
		break;
	case RECORD_EXIT:
		exit(bytes.u32(RECORD_HEADER_SIZE), bytes.u32(RECORD_HEADER_SIZE + 8));
		break;
	}
}

} // namespace bid
