// SPDX-License-Identifier: GPL-2.0
// Files to run and to map that are replaced again and again, below one directory:
//	pool/	all of them, each with its own build ID, for as long as the directory is there
//	bin/	programs, links to some of the pool
//	lib/	libraries, likewise
#pragma once

#include <filesystem>
#include <random>

namespace storm {

using Random = std::mt19937;

class Files {
public:
	static constexpr int names = 4;		// in bin, and in lib
	static constexpr int copies = 24;	// of each in the pool

	explicit Files(std::filesystem::path dir) : dir_(std::move(dir)) {}

	// From a program and a library which have the build ID that is written over in the copies.
	void make(const std::filesystem::path &program, const std::filesystem::path &library) const;
	// Puts another copy under one of the names, in one step.
	void replace(Random &random) const;

	std::filesystem::path a_program(Random &random) const { return name("bin", random); }
	std::filesystem::path a_library(Random &random) const { return name("lib", random); }

private:
	std::filesystem::path name(const char *kind, Random &random) const;
	void put(const char *kind, int name, int copy) const;

	std::filesystem::path dir_;
};

} // namespace storm
