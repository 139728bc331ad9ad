// SPDX-License-Identifier: GPL-2.0
#pragma once

#include "perfdata/bytes.h"
#include "perfdata/format.h"

#include <filesystem>
#include <map>
#include <optional>

namespace perfdata {

struct Section {
	uint64_t offset = 0;
	uint64_t size = 0;
};

// One event of the file: its perf_event_attr and the sample ids that belong to it.
struct Attr {
	Bytes bytes;
	std::vector<uint64_t> ids;
	Section ids_at;

	uint32_t type() const { return bytes.u32(ATTR_TYPE); }
	uint32_t size() const { return bytes.u32(ATTR_SIZE_FIELD); }
	uint64_t sample_type() const { return bytes.u64(ATTR_SAMPLE_TYPE); }
	uint64_t read_format() const { return bytes.u64(ATTR_READ_FORMAT); }
	bool flag(AttrFlag bit) const;
	// A field that attrs of an earlier version do not have yet reads as 0.
	uint64_t later(uint64_t at) const { return bytes.holds(at, 8) ? bytes.u64(at) : 0; }
};

// One record of the data section. bytes is the record; what some types have behind it, trailing.
struct Record {
	Bytes bytes;
	Bytes trailing;

	uint32_t type() const { return bytes.u32(0); }
	uint16_t misc() const { return bytes.u16(4); }
	uint64_t offset() const { return bytes.base(); }
	uint64_t extent() const { return bytes.size() + trailing.size(); }
};

// A perf.data file in memory, as a file or as the stream that perf writes to a pipe. Parsing throws FormatError for
// everything that does not fit; records are found as they are asked for, so a damaged tail spoils only itself.
class File {
public:
	static File parse(Buffer content);
	static File open(const std::filesystem::path &path);

	File(File &&) = default;
	File &operator=(File &&) = default;
	File(const File &) = delete;
	File &operator=(const File &) = delete;

	const Bytes &all() const { return all_; }
	std::endian order() const { return all_.order(); }
	bool pipe() const { return pipe_; }
	const Section &data() const { return data_; }
	const Section &attrs_section() const { return attrs_section_; }
	uint64_t attr_entry_size() const { return attr_entry_size_; }
	const std::vector<Attr> &attrs() const { return attrs_; }
	const std::map<unsigned int, Section> &features() const { return features_; }

	// The record at this offset; none at the end of the data.
	std::optional<Record> record_at(uint64_t offset) const;
	std::vector<Record> records() const;

	// The event that a sample of this id belongs to; the first one for an id that nobody has.
	const Attr *attr_of(uint64_t id) const;

private:
	explicit File(Buffer content);
	void parse_file();
	void parse_pipe();
	void parse_attr(uint64_t at);
	Section section_at(uint64_t at, const char *what) const;

	Buffer content_;
	Bytes all_;
	bool pipe_ = false;
	Section attrs_section_;
	Section data_;
	uint64_t attr_entry_size_ = 0;
	std::vector<Attr> attrs_;
	std::map<unsigned int, Section> features_;
	std::map<uint64_t, size_t> by_id_;
};

} // namespace perfdata
