// SPDX-License-Identifier: GPL-2.0
#include "mutate/wild.h"

#include <array>

namespace hostile {

using perfdata::Kind;

uint64_t wild_number(Rng &rng, uint64_t width, uint64_t old)
{
	// The powers of two where a product with 8 (a word), 16, 24 or 32 (an entry) wraps, and their neighbours.
	static constexpr std::array<unsigned int, 16> edges = {4,  5,  7,  8,  15, 16, 29, 31,
							       32, 47, 58, 59, 60, 61, 62, 63};
	uint64_t bits = width * 8;

	switch (rng.below(6)) {
	case 0:
		return rng.below(9);
	case 1:
		return old ^ uint64_t{1} << rng.below(bits);
	case 2:
		return old + rng.below(65) - 32;
	case 3:
		return ~uint64_t{0} - rng.below(3);
	case 4:
		return (uint64_t{1} << rng.pick(edges) % bits) + rng.below(3) - 1;
	default:
		return rng.word();
	}
}

namespace {

// One more than fits, just what fits, and the counts whose product with the element's size wraps to a small number.
uint64_t wild_count(Rng &rng, uint64_t unit, uint64_t old, uint64_t room)
{
	uint64_t fits = unit ? room / unit : room;

	switch (rng.below(8)) {
	case 0:
		return fits + 1;
	case 1:
		return fits;
	case 2:
		return old + 1;
	case 3:
		return old ? old - 1 : 0;
	case 4:
		return unit ? ~uint64_t{0} / unit + 1 + rng.below(fits + 2) : rng.word();
	case 5:
		return room / 8 + rng.below(3);
	default:
		return wild_number(rng, 8, old);
	}
}

uint64_t wild_id_size(Rng &rng)
{
	static constexpr std::array<uint64_t, 12> sizes = {0, 1, 7, 8, 16, 19, 20, 21, 24, 127, 128, 255};

	return rng.pick(sizes);
}

uint64_t wild_chain_word(Rng &rng, uint64_t old)
{
	static constexpr std::array<int64_t, 8> markers = {-32, -128, -512, -640, -2048, -2176, -2560, -4095};

	return rng.chance(50) ? static_cast<uint64_t>(rng.pick(markers)) : wild_number(rng, 8, old);
}

} // namespace

uint64_t wild_value(Rng &rng, const perfdata::Field &field, uint64_t old, uint64_t room)
{
	switch (field.kind) {
	case Kind::Count:
	case Kind::Length:
		return wild_count(rng, field.unit, old, room);
	case Kind::EntrySize:
	case Kind::MapBuildIdSize:
		return wild_id_size(rng);
	case Kind::Chain:
	case Kind::EntryOffset:
		return wild_chain_word(rng, old);
	case Kind::RecordType:
		return rng.chance(80) ? rng.below(100) : wild_number(rng, 4, old);
	default:
		return wild_number(rng, field.width, old);
	}
}

} // namespace hostile
