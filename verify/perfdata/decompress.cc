// SPDX-License-Identifier: GPL-2.0
#include "perfdata/decompress.h"

#include <zstd.h>

#include <stdexcept>

namespace perfdata {

namespace {

constexpr size_t step = 128 * 1024;

} // namespace

struct Decompressor::Zstd {
	ZSTD_DStream *stream = ZSTD_createDStream();

	Zstd()
	{
		if (!stream)
			throw std::bad_alloc();
	}
	~Zstd() { ZSTD_freeDStream(stream); }
};

Decompressor::Decompressor() : zstd_(std::make_unique<Zstd>()) {}
Decompressor::~Decompressor() = default;

void Decompressor::feed(std::span<const uint8_t> content, uint64_t offset)
{
	content_ = content;
	offset_ = offset;
	more_ = !content.empty();
}

// One step of output.
void Decompressor::make()
{
	buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(begin_));
	begin_ = 0;

	size_t had = buffer_.size();

	buffer_.resize(had + step);

	ZSTD_inBuffer in{content_.data(), content_.size(), 0};
	ZSTD_outBuffer out{buffer_.data() + had, step, 0};
	size_t result = ZSTD_decompressStream(zstd_->stream, &out, &in);

	if (ZSTD_isError(result))
		throw FormatError(offset_, fmt::format("cannot decompress: {}", ZSTD_getErrorName(result)));
	content_ = content_.subspan(in.pos);
	buffer_.resize(had + out.pos);
	made_ += out.pos;
	more_ = !content_.empty() || out.pos == step;
	if (!in.pos && !out.pos)
		more_ = false;
}

std::span<const uint8_t> Decompressor::peek(size_t n)
{
	while (buffer_.size() - begin_ < n && more_)
		make();
	return std::span<const uint8_t>(buffer_).subspan(begin_);
}

} // namespace perfdata
