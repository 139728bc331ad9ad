// SPDX-License-Identifier: GPL-2.0
#include "perfdata/file.h"
#include "perfdata/io.h"

namespace perfdata {

File::File(Buffer content)
	: content_(std::move(content)), header_(parse_header(content_, content_.size())), all_(content_, header_.order)
{
}

File File::parse(Buffer content)
{
	File f(std::move(content));

	if (f.pipe())
		f.parse_pipe();
	else
		f.parse_file();
	return f;
}

File File::open(const std::filesystem::path &path)
{
	return parse(read_file(path));
}

void File::parse_file()
{
	for (uint64_t i = 0; i < header_.nr_attrs(); i++)
		parse_attr(header_.attrs.offset + i * header_.attr_entry_size);

	uint64_t at = header_.data.offset + header_.data.size;

	for (unsigned int bit : header_.features) {
		features_[bit] = parse_section(all_, at, all_.size(), fmt::format("feature {}", bit));
		at += SECTION_SIZE;
	}
}

void File::parse_attr(uint64_t at)
{
	Attr attr;
	uint64_t len = header_.attr_entry_size - SECTION_SIZE;

	attr.bytes = all_.slice(at, len);
	attr.ids_at = parse_section(all_, at + len, all_.size(), "ids");
	for (uint64_t i = 0; i + 8 <= attr.ids_at.size; i += 8)
		attr.ids.push_back(all_.u64(attr.ids_at.offset + i));
	events_.add(std::move(attr));
}

// In a stream the attrs are records.
void File::parse_pipe()
{
	header_.data = {PIPE_HEADER_SIZE, all_.size() - PIPE_HEADER_SIZE};

	uint64_t at = header_.data.offset;

	while (auto r = record_at(at)) {
		at += r->extent();
		if (r->type() == RECORD_HEADER_ATTR)
			events_.add(parse_attr_record(r->bytes));
	}
}

std::optional<Record> File::record_at(uint64_t offset) const
{
	uint64_t end = data().offset + data().size;
	Record r;

	if (offset >= end)
		return std::nullopt;

	uint64_t len = record_size(all_.slice(offset, end - offset), end - offset);

	r.bytes = all_.slice(offset, len);
	r.trailing = all_.slice(offset + len, trailing_size(r.bytes, end - offset - len));
	return r;
}

std::vector<Record> File::records() const
{
	std::vector<Record> all;
	uint64_t at = data().offset;

	while (auto r = record_at(at)) {
		at += r->extent();
		all.push_back(*r);
	}
	return all;
}

} // namespace perfdata
