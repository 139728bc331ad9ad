// SPDX-License-Identifier: GPL-2.0
#include "mutate/elf.h"

#include "mutate/rng.h"
#include "mutate/wild.h"

#include <elf.h>

#include <array>
#include <cstddef>
#include <cstring>

namespace hostile {

using perfdata::Buffer;

namespace {

struct ElfField {
	const char *name;
	size_t at;
	size_t width;
};

#define FIELD(type, name) ElfField{#name, offsetof(type, name), sizeof(type::name)}

constexpr std::array file_fields = {
	FIELD(Elf64_Ehdr, e_type),   FIELD(Elf64_Ehdr, e_machine),   FIELD(Elf64_Ehdr, e_version),
	FIELD(Elf64_Ehdr, e_phoff),  FIELD(Elf64_Ehdr, e_shoff),     FIELD(Elf64_Ehdr, e_ehsize),
	FIELD(Elf64_Ehdr, e_phnum),  FIELD(Elf64_Ehdr, e_phentsize), FIELD(Elf64_Ehdr, e_shentsize),
	FIELD(Elf64_Ehdr, e_shnum),  FIELD(Elf64_Ehdr, e_shstrndx),
};

constexpr std::array segment_fields = {
	FIELD(Elf64_Phdr, p_type),   FIELD(Elf64_Phdr, p_flags),  FIELD(Elf64_Phdr, p_offset), FIELD(Elf64_Phdr, p_vaddr),
	FIELD(Elf64_Phdr, p_filesz), FIELD(Elf64_Phdr, p_memsz),  FIELD(Elf64_Phdr, p_align),
};

constexpr std::array section_fields = {
	FIELD(Elf64_Shdr, sh_name),   FIELD(Elf64_Shdr, sh_type), FIELD(Elf64_Shdr, sh_flags),
	FIELD(Elf64_Shdr, sh_addr),   FIELD(Elf64_Shdr, sh_size), FIELD(Elf64_Shdr, sh_offset),
	FIELD(Elf64_Shdr, sh_link),   FIELD(Elf64_Shdr, sh_info), FIELD(Elf64_Shdr, sh_addralign),
	FIELD(Elf64_Shdr, sh_entsize),
};

constexpr std::array symbol_fields = {
	FIELD(Elf64_Sym, st_name),  FIELD(Elf64_Sym, st_info),  FIELD(Elf64_Sym, st_other),
	FIELD(Elf64_Sym, st_shndx), FIELD(Elf64_Sym, st_value), FIELD(Elf64_Sym, st_size),
};

constexpr std::array relocation_fields = {
	FIELD(Elf64_Rela, r_offset),
	FIELD(Elf64_Rela, r_info),
	FIELD(Elf64_Rela, r_addend),
};

#undef FIELD

class ElfMutator {
public:
	ElfMutator(std::span<const uint8_t> file, uint64_t seed) : rng_(seed), content_(file.begin(), file.end())
	{
		if (content_.size() < sizeof(header_))
			return;
		std::memcpy(&header_, content_.data(), sizeof(header_));
		if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) || header_.e_ident[EI_CLASS] != ELFCLASS64 ||
		    !fits(header_.e_shoff, header_.e_shnum * sizeof(Elf64_Shdr)) ||
		    !fits(header_.e_phoff, header_.e_phnum * sizeof(Elf64_Phdr)))
			return;
		sections_.resize(header_.e_shnum);
		std::memcpy(sections_.data(), content_.data() + header_.e_shoff, sections_.size() * sizeof(Elf64_Shdr));
	}

	Mutant run()
	{
		if (!sections_.empty()) {
			for (uint64_t n = 1 + rng_.below(4); n; n--)
				one();
		}
		return {std::move(content_), std::move(changes_)};
	}

private:
	bool fits(uint64_t at, uint64_t size) const
	{
		return at <= content_.size() && size <= content_.size() - at;
	}

	void one()
	{
		uint64_t what = rng_.below(100);

		if (what < 35)
			section_header();
		else if (what < 60)
			table({SHT_SYMTAB, SHT_DYNSYM}, symbol_fields, sizeof(Elf64_Sym));
		else if (what < 70)
			table({SHT_RELA}, relocation_fields, sizeof(Elf64_Rela));
		else if (what < 80)
			segment_header();
		else if (what < 85)
			number("header", rng_.pick(file_fields), 0);
		else if (what < 98)
			bytes();
		else
			cut();
	}

	void change(const std::string &what, size_t at, size_t width, uint64_t v)
	{
		if (!fits(at, width))
			return;
		perfdata::put(content_, at, static_cast<unsigned int>(width), v, std::endian::native);
		changes_.push_back(fmt::format("{:#x}: {} = {:#x}", at, what, v));
	}

	uint64_t old(size_t at, size_t width) const
	{
		uint64_t v = 0;

		if (fits(at, width))
			std::memcpy(&v, content_.data() + at, width);
		return v;
	}

	void number(const std::string &of, const ElfField &field, size_t start)
	{
		size_t at = start + field.at;

		change(of + "." + field.name, at, field.width, wild_number(rng_, field.width, old(at, field.width)));
	}

	void section_header()
	{
		size_t i = rng_.below(sections_.size());

		// What has no bytes but a size is what readers trip over.
		if (rng_.chance(10))
			change(fmt::format("section {}.sh_type", i),
			       header_.e_shoff + i * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_type), 4, SHT_NOBITS);
		else
			number(fmt::format("section {}", i), rng_.pick(section_fields),
			       header_.e_shoff + i * sizeof(Elf64_Shdr));
	}

	void segment_header()
	{
		size_t i = rng_.below(header_.e_phnum);

		number(fmt::format("segment {}", i), rng_.pick(segment_fields), header_.e_phoff + i * sizeof(Elf64_Phdr));
	}

	// A field of one element of a table, or of all.
	template <typename Fields>
	void table(std::initializer_list<uint32_t> types, const Fields &fields, size_t size)
	{
		const Elf64_Shdr *s = section_of(types);

		if (!s || s->sh_size < size)
			return;

		const ElfField &field = rng_.pick(fields);
		uint64_t count = s->sh_size / size;
		uint64_t first = rng_.below(count);

		if (rng_.chance(50)) {
			number(fmt::format("element {}", first), field, s->sh_offset + first * size);
			return;
		}

		uint64_t v = wild_number(rng_, field.width, old(s->sh_offset + first * size + field.at, field.width));

		for (uint64_t i = 1; i < count; i++)
			perfdata::put(content_, s->sh_offset + i * size + field.at,
				      static_cast<unsigned int>(field.width), v, std::endian::native);
		changes_.push_back(fmt::format("{:#x}: all {} = {:#x}", s->sh_offset, field.name, v));
	}

	const Elf64_Shdr *section_of(std::initializer_list<uint32_t> types)
	{
		std::vector<const Elf64_Shdr *> fit;

		for (const Elf64_Shdr &s : sections_)
			for (uint32_t type : types)
				if (s.sh_type == type && fits(s.sh_offset, s.sh_size))
					fit.push_back(&s);
		return fit.empty() ? nullptr : rng_.pick(fit);
	}

	std::string_view name(const Elf64_Shdr &s) const
	{
		if (header_.e_shstrndx >= sections_.size())
			return "";

		uint64_t at = sections_[header_.e_shstrndx].sh_offset + s.sh_name;

		if (at >= content_.size())
			return "";

		const char *text = reinterpret_cast<const char *>(content_.data() + at);

		return {text, strnlen(text, content_.size() - at)};
	}

	// Of a section whose content perf reads itself. DWARF is libdw's business, and the build ID is what gets a file
	// read at all.
	void bytes()
	{
		std::vector<const Elf64_Shdr *> fit;

		for (const Elf64_Shdr &s : sections_)
			if (s.sh_size && s.sh_type != SHT_NOBITS && fits(s.sh_offset, s.sh_size) &&
			    !name(s).starts_with(".debug_") && !name(s).starts_with(".eh_frame") &&
			    name(s) != ".note.gnu.build-id")
				fit.push_back(&s);
		if (fit.empty())
			return;

		const Elf64_Shdr &s = *rng_.pick(fit);

		// A string that does not end
		if (s.sh_type == SHT_STRTAB && rng_.chance(30)) {
			change(std::string(name(s)) + "'s end", s.sh_offset + s.sh_size - 1, 1, 'x');
			return;
		}
		for (uint64_t n = 1 + rng_.below(8); n; n--) {
			size_t width = size_t{1} << rng_.below(4);
			size_t at = s.sh_offset + rng_.below(s.sh_size);

			change(std::string(name(s)), at, width, wild_number(rng_, width, old(at, width)));
		}
	}

	void cut()
	{
		content_.resize(rng_.below(content_.size()));
		changes_.push_back(fmt::format("cut to {} bytes", content_.size()));
	}

	Rng rng_;
	Buffer content_;
	Elf64_Ehdr header_ = {};
	std::vector<Elf64_Shdr> sections_;
	std::vector<std::string> changes_;
};

} // namespace

Mutant mutate_elf(std::span<const uint8_t> file, uint64_t seed)
{
	return ElfMutator(file, seed).run();
}

} // namespace hostile
