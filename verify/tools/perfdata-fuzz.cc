// SPDX-License-Identifier: GPL-2.0
#include "fuzz/campaign.h"
#include "tools/tool.h"

#include <CLI/CLI.hpp>

int main(int argc, char **argv)
{
	CLI::App app{"Run perf script, perf report and perf inject on damaged copies of perf.data files."};
	fuzz::Settings s;

	app.add_option("--perf", s.perf, "the perf to try")->required()->check(CLI::ExistingFile);
	app.add_option("--corpus", s.corpus, "sound files to damage")->required()->check(CLI::ExistingFile);
	app.add_option("--symfs", s.symfs, "where the mapped files are")->required()->check(CLI::ExistingDirectory);
	app.add_flag("--elf", s.elf, "damage the files below --symfs, not the corpus");
	app.add_option("--preload", s.preload, "preload.so: link perf once, not for each run")
		->check(CLI::ExistingFile);
	app.add_option("--scratch", s.scratch, "directory for files in use")->required()->check(CLI::ExistingDirectory);
	app.add_option("--keep", s.keep, "directory for inputs that fail")->required();
	app.add_option("--seed", s.seed, "which damage")->required();
	app.add_option("--count", s.count, "how many files")->required();
	app.add_option("--first", s.first, "start with this file of the seed's");
	app.add_option("--jobs", s.jobs, "how many at a time")->check(CLI::Range(1, 256));
	app.add_option("--timeout", s.timeout_s, "seconds that a run may take")->check(CLI::Range(1, 3600));
	app.add_option("--keep-each", s.keep_each, "inputs kept of one cause");
	CLI11_PARSE(app, argc, argv);

	return run_tool("perfdata-fuzz", [&] {
		fuzz::Tally t = fuzz::run_campaign(s);

		for (auto &[signature, cause] : t.causes)
			fmt::print("{:7} x {}  (first: {})\n", cause.count, signature, cause.first_input);
		fmt::print("seed {}: {} files, {} runs ({} accepted) in {:.0f} s\n", s.seed, t.files, t.runs, t.accepted,
			   t.seconds);
		fmt::print("crashes {}, sanitizer reports {}, hangs {}, leftovers {}\n",
			   t.count(fuzz::Trouble::Crash), t.count(fuzz::Trouble::Report),
			   t.count(fuzz::Trouble::Hang), t.count(fuzz::Trouble::Leftover));
		return t.causes.empty() ? 0 : 1;
	});
}
