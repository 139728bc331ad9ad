// SPDX-License-Identifier: GPL-2.0
#include "perfdata/stream.h"

#include <algorithm>

namespace perfdata {

void Stream::feed(const Bytes &record)
{
	uint64_t at = RECORD_HEADER_SIZE;
	uint64_t size = record.size() - at;

	if (record.u32(0) == RECORD_COMPRESSED2) {
		size = record.u64(at);
		at += 8;
	}
	if (!decompressor_)
		decompressor_ = std::make_unique<Decompressor>();
	decompressor_->feed(record.slice(at, size).span(), record.base());
}

// The next of those that are in the COMPRESSED record. False when there is no whole one left: what is left begins one
// that goes on in the next COMPRESSED record.
bool Stream::next_compressed(Record &record)
{
	std::span<const uint8_t> head = decompressor_->peek(RECORD_HEADER_SIZE);

	if (head.size() < RECORD_HEADER_SIZE)
		return false;

	Bytes bytes(head, order_, decompressor_->offset());
	uint64_t size = record_size(bytes, UINT64_MAX);
	std::span<const uint8_t> whole = decompressor_->peek(size);

	if (whole.size() < size)
		return false;
	inner_ = decompressor_->inner();
	offset_ = decompressor_->offset();
	record.bytes = Bytes(whole.first(size), order_, decompressor_->offset());
	record.trailing = {};
	decompressor_->skip(size);
	if (record.type() == RECORD_COMPRESSED || record.type() == RECORD_COMPRESSED2)
		throw FormatError(record.offset(), "a compressed record in a compressed record");
	trailing_size(record.bytes, 0);
	return true;
}

bool Stream::next(Record &record)
{
	for (;;) {
		if (inside_) {
			if (next_compressed(record))
				return true;
			inside_ = false;
		}
		source_.skip(consume_);
		consume_ = 0;
		inner_.reset();
		skipped_ = 0;

		uint64_t at = offset_ = source_.at();
		uint64_t left = end_ - at;
		std::span<const uint8_t> head = source_.peek(std::min<uint64_t>(RECORD_HEADER_SIZE, left));

		if (head.empty())
			break;
		if (end_ == UINT64_MAX && head.size() < RECORD_HEADER_SIZE)
			left = head.size();

		uint64_t size = record_size(Bytes(head, order_, at), left);
		std::span<const uint8_t> whole = source_.peek(size);

		if (whole.size() < size)
			throw FormatError(at, fmt::format("record size {}, {} bytes left", size, whole.size()));
		record.bytes = Bytes(whole, order_, at);
		record.trailing = {};
		skipped_ = trailing_size(record.bytes, left - size);
		consume_ = size + skipped_;
		if (record.type() != RECORD_COMPRESSED && record.type() != RECORD_COMPRESSED2)
			return true;
		feed(record.bytes);
		inside_ = true;
	}
	if (decompressor_ && !decompressor_->peek(1).empty())
		throw FormatError(decompressor_->offset(), "the last record in compressed ones is cut");
	return false;
}

} // namespace perfdata
