// SPDX-License-Identifier: GPL-2.0
#pragma once

#include "perfdata/header.h"
#include "perfdata/record.h"

#include <filesystem>
#include <map>
#include <optional>

namespace perfdata {

// A perf.data file in memory, as a file or as the stream that perf writes to a pipe: for who changes it. Who only reads
// takes a Reader. Parsing throws FormatError for everything that does not fit; records are found as they are asked for,
// so a damaged tail spoils only itself.
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
	bool pipe() const { return header_.pipe; }
	const Section &data() const { return header_.data; }
	const Section &attrs_section() const { return header_.attrs; }
	uint64_t attr_entry_size() const { return header_.attr_entry_size; }
	const Events &events() const { return events_; }
	const std::deque<Attr> &attrs() const { return events_.attrs(); }
	const std::map<unsigned int, Section> &features() const { return features_; }

	// The record at this offset; none at the end of the data.
	std::optional<Record> record_at(uint64_t offset) const;
	std::vector<Record> records() const;

private:
	explicit File(Buffer content);
	void parse_file();
	void parse_pipe();
	void parse_attr(uint64_t at);

	Buffer content_;
	Header header_;
	Bytes all_;
	Events events_;
	std::map<unsigned int, Section> features_;
};

} // namespace perfdata
