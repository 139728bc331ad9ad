// SPDX-License-Identifier: GPL-2.0
#include "storm/files.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

namespace storm {

namespace fs = std::filesystem;

namespace {

// As storm/CMakeLists.txt gives it to the linker.
constexpr std::string_view original_id = "bid-storm: build ID.";

std::vector<char> read(const fs::path &path)
{
	std::ifstream file(path, std::ios::binary);

	if (!file)
		throw std::runtime_error(fmt::format("cannot read {}", path.string()));
	return {std::istreambuf_iterator<char>(file), {}};
}

void copy_as(const fs::path &from, const fs::path &to, uint32_t seed)
{
	std::vector<char> content = read(from);
	auto id = std::search(content.begin(), content.end(), original_id.begin(), original_id.end());
	Random random(seed);

	if (id == content.end())
		throw std::runtime_error(fmt::format("{} does not have the build ID to write over", from.string()));
	std::generate_n(id, original_id.size(), [&random] { return static_cast<char>(random()); });

	std::ofstream file(to, std::ios::binary);

	file.write(content.data(), static_cast<std::streamsize>(content.size()));
	if (!file.flush())
		throw std::runtime_error(fmt::format("cannot write {}", to.string()));
	fs::permissions(to, fs::perms::owner_all);
}

} // namespace

void Files::make(const fs::path &program, const fs::path &library) const
{
	for (const char *sub : {"pool", "bin", "lib"})
		fs::create_directories(dir_ / sub);
	for (int i = 0; i < copies; i++) {
		copy_as(program, dir_ / "pool" / fmt::format("bin{}", i), static_cast<uint32_t>(2 * i));
		copy_as(library, dir_ / "pool" / fmt::format("lib{}", i), static_cast<uint32_t>(2 * i + 1));
	}
	for (int i = 0; i < names; i++) {
		put("bin", i, i);
		put("lib", i, i);
	}
}

void Files::put(const char *kind, int name, int copy) const
{
	fs::path to = dir_ / kind / std::to_string(name);
	fs::path temporary = to;

	temporary += ".new";
	fs::remove(temporary);
	fs::create_hard_link(dir_ / "pool" / fmt::format("{}{}", kind, copy), temporary);
	fs::rename(temporary, to);
	// To rename a link over another one of the same file does nothing.
	fs::remove(temporary);
}

void Files::replace(Random &random) const
{
	const char *kind = random() % 2 ? "bin" : "lib";

	put(kind, static_cast<int>(random() % names), static_cast<int>(random() % copies));
}

fs::path Files::name(const char *kind, Random &random) const
{
	return dir_ / kind / std::to_string(random() % names);
}

} // namespace storm
