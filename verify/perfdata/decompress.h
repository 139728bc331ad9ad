// SPDX-License-Identifier: GPL-2.0
#pragma once

#include "perfdata/bytes.h"

#include <memory>

namespace perfdata {

// The records that a stream of COMPRESSED records has in it. However much they are, it makes few at a time.
class Decompressor {
public:
	Decompressor();
	~Decompressor();

	// The content of the next COMPRESSED record, which must stay until it is used up.
	void feed(std::span<const uint8_t> content, uint64_t offset);
	// What has been decompressed and not skipped: at least n bytes, fewer if the content has no more.
	std::span<const uint8_t> peek(size_t n);
	void skip(size_t n) { begin_ += n; }

	// Of the next byte: where in the file the record is that it came out of, and its place in what that one gave.
	uint64_t offset() const { return offset_; }
	uint64_t inner() const { return made_ - (buffer_.size() - begin_); }

private:
	struct Zstd;

	void make();

	std::unique_ptr<Zstd> zstd_;
	std::span<const uint8_t> content_;
	uint64_t offset_ = 0;
	uint64_t made_ = 0;	// bytes in all
	bool more_ = false;	// output may be left in zstd although all input has been taken
	Buffer buffer_;
	size_t begin_ = 0;
};

} // namespace perfdata
