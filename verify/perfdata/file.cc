// SPDX-License-Identifier: GPL-2.0
#include "perfdata/file.h"
#include "perfdata/io.h"

namespace perfdata {

bool Attr::flag(AttrFlag bit) const
{
	uint64_t word = bytes.u64(ATTR_FLAGS);

	return word >> (bytes.order() == std::endian::little ? bit : 63 - bit) & 1;
}

File::File(Buffer content) : content_(std::move(content))
{
	Bytes head(content_, std::endian::little);
	uint64_t magic = head.u64(0);

	if (magic == MAGIC2)
		all_ = head;
	else if (magic == swapped(MAGIC2))
		all_ = Bytes(content_, std::endian::big);
	else
		throw FormatError(0, "no perf.data magic");

	pipe_ = all_.u64(FH_SIZE) == PIPE_HEADER_SIZE;
}

File File::parse(Buffer content)
{
	File f(std::move(content));

	if (f.pipe_)
		f.parse_pipe();
	else
		f.parse_file();

	for (size_t i = 0; i < f.attrs_.size(); i++)
		for (uint64_t id : f.attrs_[i].ids)
			f.by_id_.emplace(id, i);
	return f;
}

File File::open(const std::filesystem::path &path)
{
	return parse(read_file(path));
}

Section File::section_at(uint64_t at, const char *what) const
{
	Section s{all_.u64(at), all_.u64(at + 8)};

	if (!all_.holds(s.offset, s.size))
		throw FormatError(at, fmt::format("{}: offset {:#x}, size {:#x} in a file of {:#x} bytes", what,
						  s.offset, s.size, all_.size()));
	return s;
}

void File::parse_file()
{
	if (all_.u64(FH_SIZE) != FILE_HEADER_SIZE)
		throw FormatError(FH_SIZE, fmt::format("header size {}, not {}", all_.u64(FH_SIZE), FILE_HEADER_SIZE));

	attr_entry_size_ = all_.u64(FH_ATTR_SIZE);
	if (attr_entry_size_ < ATTR_SIZE_VER0 + SECTION_SIZE)
		throw FormatError(FH_ATTR_SIZE, fmt::format("attr size {} is too small", attr_entry_size_));

	attrs_section_ = section_at(FH_ATTRS, "attrs");
	data_ = section_at(FH_DATA, "data");

	for (uint64_t at = 0; at + attr_entry_size_ <= attrs_section_.size; at += attr_entry_size_)
		parse_attr(attrs_section_.offset + at);

	uint64_t at = data_.offset + data_.size;

	for (unsigned int bit = 0; bit < FEATURE_BITS; bit++) {
		if (!(all_.u64(FH_FEATURES + bit / 64 * 8) >> bit % 64 & 1))
			continue;
		features_[bit] = section_at(at, fmt::format("feature {}", bit).c_str());
		at += SECTION_SIZE;
	}
}

void File::parse_attr(uint64_t at)
{
	Attr attr;
	uint64_t len = attr_entry_size_ - SECTION_SIZE;

	attr.bytes = all_.slice(at, len);
	attr.ids_at = section_at(at + len, "ids");
	for (uint64_t i = 0; i + 8 <= attr.ids_at.size; i += 8)
		attr.ids.push_back(all_.u64(attr.ids_at.offset + i));
	attrs_.push_back(std::move(attr));
}

// In a stream the attrs are records.
void File::parse_pipe()
{
	data_ = {PIPE_HEADER_SIZE, all_.size() - PIPE_HEADER_SIZE};

	uint64_t at = data_.offset;

	while (auto r = record_at(at)) {
		at += r->extent();
		if (r->type() != RECORD_HEADER_ATTR)
			continue;

		Attr attr;
		uint64_t len = r->bytes.u32(RECORD_HEADER_SIZE + ATTR_SIZE_FIELD);

		attr.bytes = r->bytes.slice(RECORD_HEADER_SIZE, len);
		attr.ids_at = {r->offset() + RECORD_HEADER_SIZE + len, r->bytes.size() - RECORD_HEADER_SIZE - len};
		for (uint64_t i = 0; i + 8 <= attr.ids_at.size; i += 8)
			attr.ids.push_back(all_.u64(attr.ids_at.offset + i));
		attrs_.push_back(std::move(attr));
	}
}

std::optional<Record> File::record_at(uint64_t offset) const
{
	uint64_t end = data_.offset + data_.size;
	Record r;

	if (offset >= end)
		return std::nullopt;
	if (end - offset < RECORD_HEADER_SIZE)
		throw FormatError(offset, fmt::format("record header cut: {} bytes left", end - offset));

	uint64_t len = all_.u16(offset + 6);

	if (len < RECORD_HEADER_SIZE)
		throw FormatError(offset, fmt::format("record size {} is less than its header", len));
	if (len > end - offset)
		throw FormatError(offset, fmt::format("record size {}, {} bytes left", len, end - offset));

	r.bytes = all_.slice(offset, len);

	uint64_t behind = 0;

	if (r.type() == RECORD_AUXTRACE)
		behind = r.bytes.u64(RECORD_HEADER_SIZE);
	else if (r.type() == RECORD_HEADER_TRACING_DATA)
		behind = (uint64_t{r.bytes.u32(RECORD_HEADER_SIZE)} + 7) / 8 * 8;
	if (behind > end - offset - len)
		throw FormatError(offset, fmt::format("{} bytes stated behind the record, {} left", behind,
						      end - offset - len));
	r.trailing = all_.slice(offset + len, behind);
	return r;
}

std::vector<Record> File::records() const
{
	std::vector<Record> all;
	uint64_t at = data_.offset;

	while (auto r = record_at(at)) {
		at += r->extent();
		all.push_back(*r);
	}
	return all;
}

const Attr *File::attr_of(uint64_t id) const
{
	if (attrs_.empty())
		return nullptr;

	auto it = by_id_.find(id);

	return &attrs_[it == by_id_.end() ? 0 : it->second];
}

} // namespace perfdata
