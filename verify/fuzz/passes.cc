// SPDX-License-Identifier: GPL-2.0
#include "fuzz/passes.h"

#include <array>

namespace fuzz {

namespace {

using Args = std::vector<std::string>;

const std::array<Args, 7> scripts = {{
	{"-F", "comm,tid,time,event,ip,sym,symoff,dso", "BUILDID"},
	{},
	{"-G", "-F", "comm,tid,time,event,ip,sym,symoff,dso", "BUILDID"},
	{"-D"},
	{"-F", "+srcline", "BUILDID"},
	{"--no-inline", "-F", "+symoff,+dsoff", "BUILDID"},
	{"--no-merge-callchains"},
}};

const std::array<Args, 8> reports = {{
	{"-g", "none"},
	{},
	{"--no-children", "-g", "caller"},
	{"--sort", "comm,dso,sym", "-g", "none"},
	{"-D"},
	{"--sort", "sym,srcline", "--no-inline"},
	{"--children", "-g", "callee,address"},
	{"--header", "-I", "-v"},
}};

const std::array<Args, 3> converters = {{
	{"--buildid-offset"},
	{"--buildid-offset", "-b"},
	{"--buildid-offset", "--buildid-all"},
}};

const std::array<Args, 4> elf_scripts = {{
	{"-F", "ip,sym,symoff,dso,srcline"},
	{"-F", "ip,sym,insn,insnlen", "--show-mmap-events"},
	{"--no-inline", "-F", "+symoff,+dsoff"},
	{"-F", "ip,sym,disasm"},
}};

const std::array<Args, 4> elf_reports = {{
	{"-g", "none"},
	{"--sort", "sym,srcline", "-g", "none"},
	{"--children", "-g", "callee,address"},
	{"--sort", "dso,sym,symbol_size", "-g", "none", "-v"},
}};

} // namespace

std::vector<Pass> passes(uint64_t index, const std::string &perf, const Abilities &abilities,
			 const std::filesystem::path &symfs, const std::string &in, const std::string &out)
{
	// The machine's own kernel symbols take longer than all the rest.
	Args common = {"--symfs", symfs.string(), "--kallsyms", "/dev/null", "-i", in};
	std::vector<Pass> list;

	Args script = {perf, "script"};

	for (const std::string &arg : scripts[index % scripts.size()]) {
		if (arg != "BUILDID")
			script.push_back(arg);
		else if (abilities.buildid_field)
			script.back() += script.back()[0] == '+' ? ",+buildid" : ",buildid";
	}
	script.insert(script.end(), common.begin(), common.end());
	list.push_back({script, false});

	Args report = {perf, "report", "--stdio"};
	const Args &variant = reports[index % reports.size()];

	report.insert(report.end(), variant.begin(), variant.end());
	report.insert(report.end(), common.begin(), common.end());
	list.push_back({report, false});

	if (abilities.converter && index % 2 == 0) {
		Args inject = {perf, "inject"};
		const Args &how = converters[index / 2 % converters.size()];

		inject.insert(inject.end(), how.begin(), how.end());
		inject.insert(inject.end(), {"-i", in, "-o", out});
		list.push_back({inject, true});
	}
	return list;
}

std::vector<Pass> elf_passes(uint64_t index, const std::string &perf, const std::filesystem::path &symfs,
			     const std::string &in)
{
	Args common = {"--symfs", symfs.string(), "--kallsyms", "/dev/null", "-i", in};
	std::vector<Pass> list;
	auto add = [&](Args argv, const Args &variant) {
		argv.insert(argv.end(), variant.begin(), variant.end());
		argv.insert(argv.end(), common.begin(), common.end());
		list.push_back({argv, false});
	};

	add({perf, "report", "--stdio"}, elf_reports[index % elf_reports.size()]);
	add({perf, "script"}, elf_scripts[index % elf_scripts.size()]);
	// objdump takes its time.
	if (index % 8 == 0)
		add({perf, "annotate", "--stdio"}, {});
	return list;
}

} // namespace fuzz
