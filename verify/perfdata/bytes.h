// SPDX-License-Identifier: GPL-2.0
#pragma once

#include "perfdata/error.h"

#include <bit>
#include <concepts>
#include <cstring>
#include <span>
#include <vector>

namespace perfdata {

using Buffer = std::vector<uint8_t>;

// std::byteswap() is C++23.
template <std::unsigned_integral T> constexpr T swapped(T v)
{
	T r = 0;

	for (size_t i = 0; i < sizeof(T); i++)
		r = static_cast<T>(r | static_cast<T>((v >> (8 * i)) & 0xff) << (8 * (sizeof(T) - 1 - i)));
	return r;
}

// Bytes in a stated byte order. base is where they stand in the file: every error names a file offset.
class Bytes {
public:
	Bytes() = default;
	Bytes(std::span<const uint8_t> data, std::endian order, uint64_t base = 0)
		: data_(data), order_(order), base_(base)
	{
	}

	size_t size() const { return data_.size(); }
	uint64_t base() const { return base_; }
	std::endian order() const { return order_; }
	std::span<const uint8_t> span() const { return data_; }

	bool holds(uint64_t at, uint64_t len) const { return at <= size() && len <= size() - at; }

	Bytes slice(uint64_t at, uint64_t len) const
	{
		require(at, len);
		return {data_.subspan(at, len), order_, base_ + at};
	}

	template <std::unsigned_integral T> T get(uint64_t at) const
	{
		T v;

		require(at, sizeof(v));
		std::memcpy(&v, data_.data() + at, sizeof(v));
		return order_ == std::endian::native ? v : swapped(v);
	}

	uint8_t u8(uint64_t at) const { return get<uint8_t>(at); }
	uint16_t u16(uint64_t at) const { return get<uint16_t>(at); }
	uint32_t u32(uint64_t at) const { return get<uint32_t>(at); }
	uint64_t u64(uint64_t at) const { return get<uint64_t>(at); }

private:
	void require(uint64_t at, uint64_t len) const
	{
		if (!holds(at, len))
			throw FormatError(base_ + at, fmt::format("{} bytes wanted, {} left", len,
								  at < size() ? size() - at : 0));
	}

	std::span<const uint8_t> data_;
	std::endian order_ = std::endian::native;
	uint64_t base_ = 0;
};

// Store the low width bytes of v; the caller has checked the bounds.
inline void put(std::span<uint8_t> to, uint64_t at, unsigned int width, uint64_t v, std::endian order)
{
	for (unsigned int i = 0; i < width; i++)
		to[at + (order == std::endian::little ? i : width - 1 - i)] = static_cast<uint8_t>(v >> (8 * i));
}

inline void append(Buffer &to, unsigned int width, uint64_t v, std::endian order)
{
	to.resize(to.size() + width);
	put(to, to.size() - width, width, v, order);
}

// Text that zeroes pad.
inline std::string text_in(const Bytes &bytes)
{
	const char *text = reinterpret_cast<const char *>(bytes.span().data());

	return bytes.size() ? std::string(text, strnlen(text, bytes.size())) : std::string();
}

} // namespace perfdata
