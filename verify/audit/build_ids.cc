// SPDX-License-Identifier: GPL-2.0
#include "audit/build_ids.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace audit {

namespace {

// The segments of an ELF file; none of what is not one.
class Segments {
public:
	// Throws std::system_error when the file cannot be opened.
	explicit Segments(const std::filesystem::path &path)
		// A file may name anything, and a FIFO must not stop us.
		: fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK))
	{
		struct stat st;

		if (fd_ < 0 || fstat(fd_, &st)) {
			int error = errno;

			close(fd_);
			throw std::system_error(error, std::generic_category(), path.string());
		}
		if (!S_ISREG(st.st_mode))
			return;
		elf_version(EV_CURRENT);
		begin(elf_begin(fd_, ELF_C_READ, nullptr));
	}
	// Of an ELF file in memory.
	Segments(char *image, size_t size)
	{
		elf_version(EV_CURRENT);
		begin(elf_memory(image, size));
	}
	~Segments()
	{
		elf_end(elf_);
		if (fd_ >= 0)
			close(fd_);
	}
	Segments(const Segments &) = delete;
	Segments &operator=(const Segments &) = delete;

	Elf *elf() const { return elf_; }
	// The next one of this type. False at the end.
	bool next(uint32_t type, GElf_Phdr &segment)
	{
		while (at_ < nr_)
			if (gelf_getphdr(elf_, static_cast<int>(at_++), &segment) && segment.p_type == type)
				return true;
		return false;
	}

private:
	void begin(Elf *elf)
	{
		elf_ = elf;
		if (elf_ && (elf_kind(elf_) != ELF_K_ELF || elf_getphdrnum(elf_, &nr_)))
			nr_ = 0;
	}

	int fd_ = -1;
	Elf *elf_ = nullptr;
	size_t nr_ = 0, at_ = 0;
};

// In the notes of one segment.
BuildId find_in(Elf_Data *data)
{
	GElf_Nhdr note;
	size_t name, desc, at = 0;
	BuildId id;

	while ((at = gelf_getnote(data, at, &note, &name, &desc))) {
		const char *bytes = static_cast<const char *>(data->d_buf);

		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof("GNU") ||
		    std::memcmp(bytes + name, "GNU", sizeof("GNU")) || !note.n_descsz ||
		    note.n_descsz > id.bytes.size())
			continue;
		id.size = static_cast<uint8_t>(note.n_descsz);
		std::copy_n(bytes + desc, id.size, id.bytes.begin());
		break;
	}
	return id;
}

BuildId read_build_id(Segments &segments)
{
	GElf_Phdr segment;
	BuildId id;

	while (!id.size && segments.next(PT_NOTE, segment)) {
		Elf_Type type = segment.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR;
		Elf_Data *data = elf_getdata_rawchunk(segments.elf(), static_cast<int64_t>(segment.p_offset),
						      segment.p_filesz, type);

		if (data)
			id = find_in(data);
	}
	return id;
}

} // namespace

BuildId read_build_id(const std::filesystem::path &path)
{
	Segments segments(path);

	return read_build_id(segments);
}

BuildId read_vdso_build_id()
{
	auto *image = reinterpret_cast<char *>(getauxval(AT_SYSINFO_EHDR));
	ElfW(Ehdr) header;

	if (!image)
		return {};
	// The section headers are the last of it.
	std::memcpy(&header, image, sizeof(header));
	Segments segments(image, header.e_shoff + size_t{header.e_shnum} * header.e_shentsize);
	return read_build_id(segments);
}

std::vector<std::pair<uint64_t, uint64_t>> read_loaded(const std::filesystem::path &path)
{
	static constexpr uint64_t page = 65536;		// the largest there is
	std::vector<std::pair<uint64_t, uint64_t>> parts;
	Segments segments(path);
	GElf_Phdr segment;

	while (segments.next(PT_LOAD, segment))
		parts.emplace_back(segment.p_offset / page * page,
				   ((segment.p_offset + segment.p_filesz) / page + 1) * page);
	return parts;
}

std::optional<bool> BuildIds::is_loaded(const std::string &path, const BuildId &id, uint64_t offset)
{
	auto [found, is_new] = loaded_.try_emplace({path, id});

	if (is_new) {
		try {
			if (read_build_id(path) == id)
				found->second = read_loaded(path);
		} catch (const std::system_error &) {
			// It is gone.
		}
	}
	if (found->second.empty())
		return std::nullopt;
	return std::any_of(found->second.begin(), found->second.end(),
			   [offset](const auto &part) { return offset >= part.first && offset < part.second; });
}

void BuildIds::know(const std::filesystem::path &dir)
{
	dir_ = std::filesystem::canonical(dir).string() + "/";
	for (const auto &file : std::filesystem::recursive_directory_iterator(dir)) {
		struct stat st;

		if (file.is_regular_file() && !stat(file.path().c_str(), &st))
			by_inode_.insert_or_assign(st.st_ino, read_build_id(file.path()));
	}
}

std::optional<BuildId> BuildIds::of(const std::string &path, uint64_t inode)
{
	if (!dir_.empty() && path.starts_with(dir_)) {
		auto known = by_inode_.find(inode);

		return known == by_inode_.end() ? std::nullopt : std::optional(known->second);
	}

	if (auto told = told_.find(path); told != told_.end()) {
		// The table was written after the file was replaced, and has the ID of the new one.
		if (this_machine_ && is_other_file(path, inode) && read_once(path) == told->second)
			return std::nullopt;
		return told->second;
	}
	if (mind_inodes_) {
		struct stat st;

		if (stat(path.c_str(), &st) || st.st_ino != inode)
			return std::nullopt;
	}
	return read_once(path);
}

void BuildIds::forget_if_it_begins(const std::string &path, std::span<const uint8_t> bytes)
{
	auto told = told_.find(path);

	if (told != told_.end() && told->second.size <= bytes.size() &&
	    std::equal(bytes.begin(), bytes.begin() + told->second.size, told->second.bytes.begin()))
		told_.erase(told);
}

// Whether there is a file of that name, of another inode number.
bool BuildIds::is_other_file(const std::string &path, uint64_t inode)
{
	auto [found, is_new] = other_file_.try_emplace({path, inode});
	struct stat st;

	if (is_new)
		found->second = inode && inode != any_inode && !stat(path.c_str(), &st) && st.st_ino != inode;
	return found->second;
}

std::optional<BuildId> BuildIds::read_once(const std::string &path)
{
	auto [found, is_new] = by_path_.try_emplace(path);

	if (is_new) {
		try {
			found->second = read_build_id(path);
		} catch (const std::system_error &) {
			// It is gone.
		}
	}
	return found->second;
}

} // namespace audit
