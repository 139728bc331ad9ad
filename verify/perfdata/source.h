// SPDX-License-Identifier: GPL-2.0
#pragma once

#include "perfdata/bytes.h"

#include <filesystem>

namespace perfdata {

// The bytes of a file or pipe, one window after the other. Throws std::system_error that names the path.
class Source {
public:
	static constexpr size_t window = 512 * 1024;

	// "-" is standard input.
	explicit Source(const std::filesystem::path &path);
	~Source();

	Source(const Source &) = delete;
	Source &operator=(const Source &) = delete;

	// Of a file; of anything else, as large as can be.
	uint64_t size() const { return size_; }
	bool seekable() const { return seekable_; }
	uint64_t at() const { return at_; }

	// The next n bytes, at most a window of them; fewer at the end. They stay until the next call.
	std::span<const uint8_t> peek(size_t n);
	void skip(uint64_t n);
	// Only where it is seekable.
	void seek(uint64_t at);
	// A part of the file, which is checked to be in it. The position stays.
	Buffer read_at(uint64_t at, uint64_t size) const;

private:
	void fill(size_t n);

	std::string name_;
	int fd_;
	bool seekable_ = false;
	uint64_t size_ = UINT64_MAX;
	uint64_t at_ = 0;	// of the first byte that has not been skipped
	Buffer buffer_;
	size_t begin_ = 0, end_ = 0;	// what of the buffer is filled and not skipped
};

} // namespace perfdata
