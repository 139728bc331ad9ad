// SPDX-License-Identifier: GPL-2.0
// Writes what a large fleet gives a reader: programs of many build IDs, in a build-ID cache, and a profile of samples
// with build ID and offset in them, without any mmap event.
#include "corpus/compose.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace perfdata;

constexpr std::endian ORDER = std::endian::native;
constexpr uint64_t TEXT_OFFSET = 0x1000;
constexpr uint64_t TEXT_ADDRESS = 0x402000; // not the offset, as in most programs
constexpr uint64_t FUNCTION_SIZE = 16;
constexpr uint32_t NOTE_GNU_BUILD_ID = 3;

using hostile::Body;
using hostile::BuildId;

// A hash in the place of a hash.
BuildId build_id(uint32_t number)
{
	std::seed_seq seed{number};
	std::array<uint32_t, BUILD_ID_MAX / 4> words;
	BuildId id{.size = BUILD_ID_MAX};

	seed.generate(words.begin(), words.end());
	memcpy(id.bytes.data(), words.data(), id.bytes.size());
	return id;
}

void check(bool good, const std::string &what)
{
	if (!good)
		throw std::runtime_error(fmt::format("{}: {}", what, elf_errmsg(-1)));
}

// The strings of a section of them.
class Strings {
public:
	uint32_t add(const std::string &s)
	{
		uint32_t at = static_cast<uint32_t>(bytes_.size());

		bytes_.insert(bytes_.end(), s.c_str(), s.c_str() + s.size() + 1);
		return at;
	}
	std::vector<char> &bytes() { return bytes_; }

private:
	std::vector<char> bytes_{'\0'};
};

struct Section {
	uint32_t name;
	uint32_t type;
	uint64_t flags;
	uint64_t address;
	uint64_t offset;
	Elf_Type data_type;
	void *data;
	uint64_t size;
	uint32_t link = 0;
	uint64_t entry_size = 0;
};

// A program with a symbol for each of its functions.
void write_program(const std::string &path, uint32_t number, unsigned int functions)
{
	struct {
		uint32_t name_size = 4, size = BUILD_ID_MAX, type = NOTE_GNU_BUILD_ID;
		char name[4] = {'G', 'N', 'U', '\0'};
		decltype(BuildId::bytes) id;
	} note;
	std::vector<uint8_t> text(functions * FUNCTION_SIZE, 0x90);
	std::vector<Elf64_Sym> symbols(1);
	Strings names, section_names;

	note.id = build_id(number).bytes;
	for (unsigned int i = 0; i < functions; i++)
		symbols.push_back({.st_name = names.add(fmt::format("function_{}_{}", number, i)),
				   .st_info = GELF_ST_INFO(STB_GLOBAL, STT_FUNC),
				   .st_other = 0,
				   .st_shndx = 2,
				   .st_value = TEXT_ADDRESS + i * FUNCTION_SIZE,
				   .st_size = FUNCTION_SIZE});

	uint64_t after_text = TEXT_OFFSET + text.size();
	uint64_t strings_at = after_text + symbols.size() * sizeof(Elf64_Sym);
	uint32_t name_at[5], *name = name_at;

	for (const char *s : {".note.gnu.build-id", ".text", ".symtab", ".strtab", ".shstrtab"})
		*name++ = section_names.add(s);

	const Section sections[] = {
		{name_at[0], SHT_NOTE, SHF_ALLOC, TEXT_ADDRESS - TEXT_OFFSET + 0x200, 0x200, ELF_T_BYTE, &note, sizeof(note)},
		{name_at[1], SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT_ADDRESS, TEXT_OFFSET, ELF_T_BYTE, text.data(),
		 text.size()},
		{name_at[2], SHT_SYMTAB, 0, 0, after_text, ELF_T_SYM, symbols.data(), symbols.size() * sizeof(Elf64_Sym), 4,
		 sizeof(Elf64_Sym)},
		{name_at[3], SHT_STRTAB, 0, 0, strings_at, ELF_T_BYTE, names.bytes().data(), names.bytes().size()},
		{name_at[4], SHT_STRTAB, 0, 0, strings_at + names.bytes().size(), ELF_T_BYTE, section_names.bytes().data(),
		 section_names.bytes().size()},
	};

	int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		throw std::system_error(errno, std::generic_category(), path);

	std::unique_ptr<Elf, int (*)(Elf *)> elf(elf_begin(fd, ELF_C_WRITE, nullptr), elf_end);

	check(elf != nullptr, path);
	elf_flagelf(elf.get(), ELF_C_SET, ELF_F_LAYOUT);

	Elf64_Ehdr *header = elf64_newehdr(elf.get());
	Elf64_Phdr *segments = elf64_newphdr(elf.get(), 2);

	check(header && segments, path);
	header->e_ident[EI_DATA] = ORDER == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
	header->e_machine = EM_X86_64;
	header->e_type = ET_EXEC;
	header->e_version = EV_CURRENT;
	header->e_shstrndx = std::size(sections);
	header->e_phoff = sizeof(Elf64_Ehdr);
	header->e_shoff = (strings_at + names.bytes().size() + section_names.bytes().size() + 7) / 8 * 8;
	segments[0] = {.p_type = PT_LOAD,
		       .p_flags = PF_R | PF_X,
		       .p_offset = TEXT_OFFSET,
		       .p_vaddr = TEXT_ADDRESS,
		       .p_paddr = TEXT_ADDRESS,
		       .p_filesz = text.size(),
		       .p_memsz = text.size(),
		       .p_align = 0x1000};
	segments[1] = {.p_type = PT_NOTE,
		       .p_flags = PF_R,
		       .p_offset = sections[0].offset,
		       .p_vaddr = sections[0].address,
		       .p_paddr = sections[0].address,
		       .p_filesz = sections[0].size,
		       .p_memsz = sections[0].size,
		       .p_align = 4};
	for (size_t i = 0; i < std::size(sections); i++) {
		const Section &s = sections[i];
		Elf_Scn *scn = elf_newscn(elf.get());
		Elf64_Shdr *shdr = scn ? elf64_getshdr(scn) : nullptr;
		Elf_Data *data = scn ? elf_newdata(scn) : nullptr;

		check(shdr && data, path);
		*shdr = {.sh_name = s.name,
			 .sh_type = s.type,
			 .sh_flags = s.flags,
			 .sh_addr = s.address,
			 .sh_offset = s.offset,
			 .sh_size = s.size,
			 .sh_link = s.link,
			 .sh_info = s.type == SHT_SYMTAB ? 1U : 0U,
			 .sh_addralign = 1,
			 .sh_entsize = s.entry_size};
		data->d_buf = s.data;
		data->d_size = s.size;
		data->d_type = s.data_type;
		data->d_version = EV_CURRENT;
		data->d_align = 1;
	}
	check(elf_update(elf.get(), ELF_C_WRITE) >= 0, path);
	elf.reset();
	close(fd);
}

// As perf's cache has it: .build-id/01/23.../elf.
void write_programs(const std::filesystem::path &cache, uint32_t files, unsigned int functions)
{
	for (uint32_t i = 0; i < files; i++) {
		std::string hex = fmt::format("{:02x}", fmt::join(build_id(i).bytes, ""));
		std::filesystem::path dir = cache / ".build-id" / hex.substr(0, 2) / hex.substr(2);

		std::filesystem::create_directories(dir);
		write_program(dir / "elf", i, functions);
	}
}

class Profile {
public:
	explicit Profile(const std::string &path) : file_(fopen(path.c_str(), "wb"), fclose)
	{
		if (!file_)
			throw std::system_error(errno, std::generic_category(), path);
	}

	// One event, and the header of a file whose data have a size that is known.
	void begin(uint64_t samples)
	{
		uint64_t size = samples * SAMPLE_SIZE + samples / SAMPLES_A_ROUND * RECORD_HEADER_SIZE;

		static constexpr uint64_t attrs = FILE_HEADER_SIZE, entry = ATTR_SIZE + SECTION_SIZE;
		Body header(ORDER), attr(ORDER), no_ids(ORDER);

		header.u64(MAGIC2).u64(FILE_HEADER_SIZE).u64(entry);
		header.u64(attrs).u64(entry);
		header.u64(attrs + entry).u64(size).align(FILE_HEADER_SIZE);
		attr.u32(1).u32(ATTR_SIZE).u64(0);	// software, cpu-clock
		attr.u64(1000000).u64(SAMPLE_TID | SAMPLE_TIME | SAMPLE_BUILD_ID_OFFSET).u64(0);
		attr.u64(1ULL << ATTR_FLAG_SAMPLE_ID_ALL).align(ATTR_SIZE);
		no_ids.u64(0).u64(0);
		for (const Body *b : {&header, &attr, &no_ids})
			write(b->bytes());
	}

	void sample(uint64_t time, const BuildId &id, uint64_t offset)
	{
		Body record(ORDER);

		record.u32(RECORD_SAMPLE).u16(MISC_USER).u16(SAMPLE_SIZE);
		record.u32(1).u32(1).u64(time).entry({id, offset});
		// As perf record does each time that it has looked at all CPUs: until then a reader keeps what it has read.
		if (++samples_ % SAMPLES_A_ROUND == 0)
			record.u32(RECORD_FINISHED_ROUND).u16(0).u16(RECORD_HEADER_SIZE);
		write(record.bytes());
	}

	void end()
	{
		if (fclose(file_.release()))
			throw std::system_error(errno, std::generic_category(), "cannot write the profile");
	}

private:
	static constexpr uint64_t SAMPLE_SIZE = RECORD_HEADER_SIZE + 8 + 8 + ENTRY_SIZE;
	static constexpr uint64_t SAMPLES_A_ROUND = 10000;

	void write(const Buffer &b)
	{
		if (fwrite(b.data(), 1, b.size(), file_.get()) != b.size())
			throw std::system_error(errno, std::generic_category(), "cannot write the profile");
	}

	std::unique_ptr<FILE, int (*)(FILE *)> file_;
	uint64_t samples_ = 0;
};

// At each time a machine runs a few programs of all that there are. With random, any at any time.
void write_profile(const std::string &path, uint32_t files, unsigned int functions, uint64_t samples, bool random)
{
	static constexpr uint32_t AT_A_TIME = 16;
	std::vector<BuildId> ids;
	std::mt19937 rng;
	Profile profile(path);

	for (uint32_t i = 0; i < files; i++)
		ids.push_back(build_id(i));
	profile.begin(samples);
	for (uint64_t n = 0; n < samples; n++) {
		uint64_t file = random ? rng() : n * files / samples + rng() % AT_A_TIME;

		profile.sample(1000 * (n + 1), ids[file % files],
			       TEXT_OFFSET + rng() % (functions * FUNCTION_SIZE));
	}
	profile.end();
}

} // namespace

int main(int argc, char **argv)
{
	CLI::App app{"Write programs of many build IDs, and a profile of them without a name in it."};
	uint32_t files = 1000;
	unsigned int functions = 200;
	uint64_t samples = 1000000;
	bool random = false;
	std::string cache, profile;

	app.add_option("--files", files, "how many programs")->check(CLI::PositiveNumber);
	app.add_option("--functions", functions, "how many functions each has")->check(CLI::Range(1, 1000000));
	app.add_option("--samples", samples, "how many samples")->check(CLI::PositiveNumber);
	app.add_flag("--random", random, "any program at any time, not a few at a time");
	app.add_option("--cache", cache, "the directory for the programs, for perf's --buildid-dir");
	app.add_option("PROFILE", profile, "the profile")->required();
	CLI11_PARSE(app, argc, argv);

	try {
		if (elf_version(EV_CURRENT) == EV_NONE)
			throw std::runtime_error("libelf is too old");
		if (!cache.empty())
			write_programs(cache, files, functions);
		write_profile(profile, files, functions, samples, random);
	} catch (const std::exception &e) {
		fmt::print(stderr, "many-files: {}\n", e.what());
		return 1;
	}
	return 0;
}
