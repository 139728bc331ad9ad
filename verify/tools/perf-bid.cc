// SPDX-License-Identifier: GPL-2.0
#include "bid/commands.h"
#include "perfdata/error.h"
#include "tools/tool.h"

#include <CLI/CLI.hpp>

int main(int argc, char **argv)
{
	CLI::App app{"Says what samples of build ID and file offset a perf.data file has, and whether they are true. It\n"
		     "shares no code with perf or the kernel, and believes nothing that either says of itself.\n"
		     "\n"
		     "FILE is a perf.data file, a directory that perf record --threads has written, or - for a stream from\n"
		     "perf record -o - on standard input; of either byte order, compressed or not, of any size."};
	bid::Options options;
	std::string file, other;
	int status = 0;

	app.require_subcommand(1);
	app.footer("Exit status: 0 all is true; 1 something is not, or is found; 2 FILE cannot be read, and why is said.\n"
		   "A place in FILE is printed as its offset; that of a compressed record as the offset of the record it is\n"
		   "in, a plus sign, and its own in all that was compressed; in a directory the name of the file goes first.\n"
		   "\n"
		   "  perf record -g -o plain.data -- program\n"
		   "  perf inject --buildid-offset -i plain.data -o converted.data\n"
		   "  perf-bid compare plain.data converted.data\n"
		   "  perf-bid audit converted.data");
	app.set_help_flag("-h,--help", "print this and exit; perf-bid COMMAND --help has more on each");

	auto command = [&](const char *name, const char *what, const char *more, auto run) {
		CLI::App *sub = app.add_subcommand(name, what);

		sub->footer(more);
		sub->callback([&, run] {
			status = run_tool("perf-bid", [&] {
				try {
					return run();
				} catch (const perfdata::FormatError &e) {
					throw std::runtime_error(fmt::format("{}: {}", file, e.what()));
				}
			});
		});
		return sub;
	};

	auto *info = command("info", "events, records, entries and build IDs, counted",
			     "\"resolved\", of an event, is how many samples say of which file their instruction is. A build ID's\n"
			     "samples are those whose instruction is of its file.",
			     [&] { return bid::run_info(file, options, stdout); });
	auto *audit = command("audit", "check every entry against what is mapped and what the files say",
			      "The mmap events of FILE say what is mapped where; the build ID is that of the event, else that of\n"
			      "FILE's table, else the one that the ELF file itself has, if it is the same inode still. What the table\n"
			      "says of a path where another file with that build ID is now, on the machine that FILE was recorded\n"
			      "on, is not known; device and inode that are flagged as a build ID are taken for what they are. Where the\n"
			      "sample has the address, the entry must be that address; where it has not, the entry must name a part\n"
			      "of a file that is mapped. Records of deferred callchains are joined by cookie.\n"
			      "\n"
			      "  true     as it should be\n"
			      "  wrong    printed: place in FILE, task, address, what is expected and what is found; exit status 1\n"
			      "  missed   not resolved, although it could have been\n"
			      "  nothing  not resolved, and nothing to resolve: no file is mapped there, or one without a build ID\n"
			      "  unsound  a record that is not what it claims to be: printed, passed over; exit status 1\n"
			      "  unknown  FILE does not say enough to tell; the reasons are printed, with their number",
			      [&] { return bid::run_audit(file, options, stdout); });
	auto *compare = command("compare", "is CONVERTED what ORIGINAL says, sample for sample?",
				"Both are read in the order of time. Every sample must be in both; its other fields must be the same; an\n"
				"entry must be the build ID of what is mapped at the address in ORIGINAL, and the offset in it. The same\n"
				"goes for deferred callchains; other records of the kernel must be the same but for mmap events, of\n"
				"which only the number is told.",
				[&] { return bid::run_compare(file, other, options, stdout); });
	auto *leaks = command("leaks", "which user addresses are in the file?",
			      "By record type and field. Stacks, raw data and traces are memory as it was: what is in them cannot be\n"
			      "told, so their bytes are counted. Exit status 0 only if there is none of either.",
			      [&] { return bid::run_leaks(file, options, stdout); });
	auto *dump = command("dump", "one line a record, in the order of the file",
			     "The same record gives the same line, whatever else is in the file and whatever its byte order, so that\n"
			     "diff can tell what differs. Fields have the names of perf_event_open(2); long content is its size and\n"
			     "a hash.",
			     [&] { return bid::run_dump(file, options, stdout); });

	for (CLI::App *sub : {info, audit, leaks, dump})
		sub->add_option("FILE", file, "what to read")->required();
	compare->add_option("ORIGINAL", file, "with addresses and mmap events")->required();
	compare->add_option("CONVERTED", other, "what perf inject --buildid-offset made of it")->required();
	for (CLI::App *sub : {info, leaks})
		sub->add_flag("--json", options.json, "JSON in place of a table");
	for (CLI::App *sub : {audit, compare}) {
		sub->add_flag("--strict", options.strict, "exit status 1 for what is missed or unknown, too");
		sub->add_option("--limit", options.limit, "print so many wrong ones at most; all are counted");
	}
	dump->add_flag("--offsets", options.offsets, "begin each line with the place in the file");

	try {
		app.parse(argc, argv);
	} catch (const CLI::ParseError &e) {
		return app.exit(e) ? 2 : 0;
	}
	return status;
}
