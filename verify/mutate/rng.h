// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstdint>
#include <iterator>
#include <random>

namespace hostile {

// The standard fixes the engine's numbers but not those of its distributions: these are the same everywhere, so a
// seed means the same file on every machine.
class Rng {
public:
	explicit Rng(uint64_t seed) : engine_(seed) {}

	uint64_t word() { return engine_(); }
	// 0 to n - 1. The bias of the remainder does not matter here.
	uint64_t below(uint64_t n) { return n ? engine_() % n : 0; }
	bool chance(unsigned int percent) { return below(100) < percent; }

	template <typename T> auto &pick(T &from) { return from[below(std::size(from))]; }

private:
	std::mt19937_64 engine_;
};

// Seeds of neighbouring runs must not give neighbouring states.
constexpr uint64_t mixed_seed(uint64_t seed, uint64_t index)
{
	uint64_t z = seed * 0x9e3779b97f4a7c15 + index + 1;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

} // namespace hostile
