// SPDX-License-Identifier: GPL-2.0
#include "perfdata/reader.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace perfdata {

Reader::Reader(const std::filesystem::path &path)
{
	std::error_code ignored;
	bool directory = path != "-" && std::filesystem::is_directory(path, ignored);

	parts_.push_back({"", std::make_unique<Source>(directory ? path / "data" : path), nullptr});

	Source &source = *parts_[0].source;
	std::span<const uint8_t> head = source.peek(FILE_HEADER_SIZE);

	header_ = parse_header(head, source.size());
	if (pipe()) {
		source.skip(PIPE_HEADER_SIZE);
		parts_[0].stream = std::make_unique<Stream>(source, order(), source.size());
	} else {
		open_file(source);
	}
	if (directory)
		open_directory(path);
}

Bytes Reader::keep(Buffer content, uint64_t offset)
{
	kept_.push_back(std::move(content));
	return {kept_.back(), order(), offset};
}

void Reader::open_file(Source &source)
{
	// What stands behind the data is found by seeking.
	if (!source.seekable())
		throw FormatError(FH_SIZE, "a file, not a stream: it cannot be read from a pipe");
	if (!header_.data.size)
		throw FormatError(FH_DATA + 8, "the size of the data is 0: the recording has not come to its end");

	uint64_t len = header_.attr_entry_size - SECTION_SIZE;
	Bytes attrs = keep(source.read_at(header_.attrs.offset, header_.attrs.size), header_.attrs.offset);

	for (uint64_t i = 0; i < header_.nr_attrs(); i++) {
		uint64_t at = i * header_.attr_entry_size;
		Attr attr;

		attr.bytes = attrs.slice(at, len);
		attr.ids_at = parse_section(attrs, at + len, source.size(), "ids");

		Buffer content = source.read_at(attr.ids_at.offset, attr.ids_at.size);
		Bytes ids(content, order());

		for (uint64_t id = 0; id + 8 <= ids.size(); id += 8)
			attr.ids.push_back(ids.u64(id));
		events_.add(std::move(attr));
	}

	uint64_t at = header_.data.offset + header_.data.size;
	Buffer content = source.read_at(at, header_.features.size() * SECTION_SIZE);
	Bytes table(content, order(), at);

	for (size_t i = 0; i < header_.features.size(); i++) {
		unsigned int number = header_.features[i];
		Section s = parse_section(table, i * SECTION_SIZE, source.size(), fmt::format("feature {}", number));

		if (number == FEATURE_EVENT_DESC || number == FEATURE_BUILD_ID || number == FEATURE_HOSTNAME) {
			Buffer feature = source.read_at(s.offset, s.size);

			take_feature(number, Bytes(feature, order(), s.offset));
		}
	}
	source.seek(header_.data.offset);
	parts_[0].stream = std::make_unique<Stream>(source, order(), header_.data.offset + header_.data.size);
}

// data has the header and what perf itself wrote; data.0, data.1 and so on have the records of one buffer each.
void Reader::open_directory(const std::filesystem::path &path)
{
	std::map<unsigned int, std::filesystem::path> files;

	for (const auto &entry : std::filesystem::directory_iterator(path)) {
		std::string name = entry.path().filename();
		unsigned int number;

		if (!name.starts_with("data."))
			continue;

		auto [end, error] = std::from_chars(name.data() + 5, name.data() + name.size(), number);

		if (error == std::errc() && end == name.data() + name.size())
			files[number] = entry.path();
	}
	parts_[0].name = "data";
	for (const auto &[number, file] : files) {
		Part part{file.filename(), std::make_unique<Source>(file), nullptr};

		part.stream = std::make_unique<Stream>(*part.source, order(), part.source->size());
		parts_.push_back(std::move(part));
	}
}

void Reader::take_feature(uint64_t number, const Bytes &bytes)
{
	if (number == FEATURE_EVENT_DESC)
		event_names_ = parse_event_names(bytes);
	else if (number == FEATURE_BUILD_ID)
		build_ids_ = parse_build_ids(bytes);
	else if (number == FEATURE_HOSTNAME)
		host_name_ = parse_host_name(bytes);
}

// What the header of a file says, records of a stream say.
void Reader::watch(const Record &record)
{
	static constexpr size_t kept_at_most = 100000;

	if (kept_.size() >= kept_at_most)
		return;
	switch (record.type()) {
	case RECORD_HEADER_ATTR: {
		auto bytes = record.bytes.span();

		events_.add(parse_attr_record(keep({bytes.begin(), bytes.end()}, record.offset())));
		break;
	}
	case RECORD_HEADER_FEATURE: {
		static constexpr uint64_t head = RECORD_HEADER_SIZE + 8;
		uint64_t number = record.bytes.u64(RECORD_HEADER_SIZE);

		take_feature(number, record.bytes.slice(head, record.bytes.size() - head));
		break;
	}
	case RECORD_HEADER_BUILD_ID:
		if (build_ids_.size() < kept_at_most)
			build_ids_.push_back(parse_build_id_row(record.bytes));
		break;
	}
}

bool Reader::next(size_t part, Record &record)
{
	part_ = part;
	if (!parts_[part].stream->next(record))
		return false;
	if (pipe() || record.type() == RECORD_HEADER_BUILD_ID)
		watch(record);
	return true;
}

bool Reader::next(Record &record)
{
	while (!next(part_, record)) {
		if (part_ + 1 == parts_.size())
			return false;
		part_++;
	}
	return true;
}

bool Reader::compressed() const
{
	return std::any_of(parts_.begin(), parts_.end(), [](const Part &p) { return p.stream->has_compressed(); });
}

uint64_t Reader::size() const
{
	uint64_t sum = 0;

	for (const Part &part : parts_)
		sum += part.source->seekable() ? part.source->size() : part.source->at();
	return sum;
}

Place Reader::place() const
{
	Place place = parts_[part_].stream->place();

	place.part = part_;
	return place;
}

std::string Reader::where(const Place &place) const
{
	const std::string &name = parts_[place.part].name;

	return fmt::format("{}{}{:#x}{}", name, name.empty() ? "" : ":", place.offset,
			   place.inner ? fmt::format("+{:#x}", *place.inner) : "");
}

} // namespace perfdata
