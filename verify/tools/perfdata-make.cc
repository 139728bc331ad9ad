// SPDX-License-Identifier: GPL-2.0
#include "corpus/corpus.h"
#include "perfdata/io.h"
#include "tools/tool.h"

#include <CLI/CLI.hpp>

int main(int argc, char **argv)
{
	CLI::App app{"Write a corpus of small sound perf.data files, converted and not, of both byte orders."};
	std::filesystem::path dir;
	unsigned int samples = 24;

	app.add_option("DIR", dir, "where; made when it is not there")->required();
	app.add_option("--samples", samples, "before and after a fork")->capture_default_str();
	CLI11_PARSE(app, argc, argv);

	return run_tool("perfdata-make", [&] {
		std::filesystem::create_directories(dir);
		for (const hostile::Specimen &s : hostile::corpus(samples))
			perfdata::write_file(dir / (s.name + ".data"), s.content);
		return 0;
	});
}
