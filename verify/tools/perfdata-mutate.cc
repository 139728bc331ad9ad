// SPDX-License-Identifier: GPL-2.0
#include "mutate/mutator.h"
#include "perfdata/io.h"
#include "tools/tool.h"

#include <CLI/CLI.hpp>

int main(int argc, char **argv)
{
	CLI::App app{"Write a damaged copy of a perf.data file; the same seed damages it the same way."};
	std::string in, out;
	uint64_t seed = 0;
	bool verbose = false;

	app.add_option("IN", in, "a sound perf.data file")->required();
	app.add_option("OUT", out, "the copy")->required();
	app.add_option("--seed", seed, "which damage")->required();
	app.add_flag("-v,--verbose", verbose, "say what was changed");
	CLI11_PARSE(app, argc, argv);

	return run_tool("perfdata-mutate", [&] {
		perfdata::Buffer content = perfdata::read_file(in);
		hostile::Mutant mutant;

		try {
			mutant = hostile::mutate(perfdata::File::parse(std::move(content)), seed);
		} catch (const perfdata::FormatError &e) {
			throw std::runtime_error(fmt::format("{}: {}; give a sound file", in, e.what()));
		}
		perfdata::write_file(out, mutant.content);
		if (verbose)
			for (const std::string &change : mutant.changes)
				fmt::print("{}\n", change);
		return 0;
	});
}
