// SPDX-License-Identifier: GPL-2.0
// Reads a perf.data file of any size, in memory that does not grow with it: file, pipe or directory, compressed or not,
// of either byte order.
//
//	perfdata::Reader reader("perf.data");
//	perfdata::Record record;
//
//	while (reader.next(record))
//		for (const perfdata::Field &field : layout(record, reader.events()))
//			...
//
// What does not fit is a FormatError, which names the offset in the file; what cannot be read, a std::system_error.
#pragma once

#include "perfdata/features.h"
#include "perfdata/header.h"
#include "perfdata/layout.h"
#include "perfdata/stream.h"

#include <deque>

namespace perfdata {

class Reader {
public:
	// A file, a directory that perf record --threads made, or "-" for standard input.
	explicit Reader(const std::filesystem::path &path);

	std::endian order() const { return header_.order; }
	bool pipe() const { return header_.pipe; }
	bool directory() const { return parts_.size() > 1; }
	bool compressed() const;
	uint64_t size() const;	// of what has been read so far, of the whole where that is known
	// In a stream both grow while records are read.
	const Events &events() const { return events_; }
	const std::vector<std::string> &event_names() const { return event_names_; }
	const std::string &host_name() const { return host_name_; }
	const std::vector<BuildIdRow> &build_ids() const { return build_ids_; }

	// False at the end. The record stays until the next call. COMPRESSED records are not given, but what is in them.
	bool next(Record &record);

	// A directory has one part for each file in it, which for who needs the order of time can be read side by side.
	size_t parts() const { return parts_.size(); }
	bool next(size_t part, Record &record);

	// Of the last record: how many bytes stand behind it.
	uint64_t skipped() const { return parts_[part_].stream->skipped(); }
	Place place() const;
	// In words.
	std::string where(const Place &place) const;
	std::string where() const { return where(place()); }

private:
	struct Part {
		std::string name;	// empty if it is the only one
		std::unique_ptr<Source> source;
		std::unique_ptr<Stream> stream;
	};

	void open_file(Source &source);
	void open_directory(const std::filesystem::path &path);
	void take_feature(uint64_t number, const Bytes &bytes);
	void watch(const Record &record);
	Bytes keep(Buffer content, uint64_t offset);

	Header header_;
	Events events_;
	std::deque<Buffer> kept_;
	std::vector<std::string> event_names_;
	std::string host_name_;
	std::vector<BuildIdRow> build_ids_;
	std::vector<Part> parts_;
	size_t part_ = 0;
};

} // namespace perfdata
