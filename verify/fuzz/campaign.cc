// SPDX-License-Identifier: GPL-2.0
#include "fuzz/campaign.h"

#include "fuzz/server.h"
#include "mutate/elf.h"
#include "mutate/mutator.h"
#include "mutate/rng.h"
#include "perfdata/io.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>

namespace fuzz {

namespace fs = std::filesystem;

namespace {

bool is_sanitized(const std::string &program)
{
	static constexpr std::string_view mark = "__asan_init";
	perfdata::Buffer b = perfdata::read_file(program);

	return std::search(b.begin(), b.end(), mark.begin(), mark.end()) != b.end();
}

void limit(int what, rlim_t most)
{
	rlimit l;

	getrlimit(static_cast<__rlimit_resource>(what), &l);
	l.rlim_cur = std::min(most, l.rlim_max);
	setrlimit(static_cast<__rlimit_resource>(what), &l);
}

class Campaign {
public:
	explicit Campaign(const Settings &s) : s_(s)
	{
		for (const fs::path &path : s.corpus) {
			try {
				corpus_.push_back(perfdata::File::open(path));
			} catch (const perfdata::FormatError &e) {
				throw std::runtime_error(fmt::format("{}: {}; the corpus must be sound", path.string(),
								     e.what()));
			}
		}
		if (corpus_.empty())
			throw std::runtime_error("the corpus is empty");
		if (s.elf)
			find_libraries();
		set_limits();
		set_env();
		probe();
	}

	Tally run()
	{
		auto start = std::chrono::steady_clock::now();
		std::vector<std::jthread> workers;

		next_ = s_.first;
		for (unsigned int j = 0; j < s_.jobs; j++)
			workers.emplace_back([this, j] { work(j); });
		workers.clear();
		if (error_)
			std::rethrow_exception(error_);
		tally_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
		return std::move(tally_);
	}

private:
	struct Library {
		fs::path name; // below symfs
		perfdata::Buffer content;
	};

	// The files that one index damages: where they stand while perf runs, and their names in Settings::keep.
	struct Damaged {
		fs::path at;
		std::string name;
		hostile::Mutant mutant;
	};

	void find_libraries()
	{
		for (const fs::directory_entry &e : fs::recursive_directory_iterator(s_.symfs))
			if (e.is_regular_file())
				libraries_.push_back({fs::relative(e.path(), s_.symfs), perfdata::read_file(e.path())});
		if (libraries_.empty())
			throw std::runtime_error(s_.symfs.string() + " has no files");
		// The order in a directory is not the same everywhere.
		std::sort(libraries_.begin(), libraries_.end(),
			  [](const Library &a, const Library &b) { return a.name < b.name; });
	}

	std::vector<Damaged> damage(uint64_t index, size_t which, const fs::path &dir) const
	{
		uint64_t seed = hostile::mixed_seed(s_.seed, index);
		std::vector<Damaged> list;

		if (!s_.elf) {
			list.push_back({dir / "in.data", fmt::format("{}-{}.data", s_.seed, index),
					hostile::mutate(corpus_[which], seed)});
			return list;
		}
		for (const Library &library : libraries_)
			list.push_back({dir / "symfs" / library.name,
					fmt::format("{}-{}.symfs/{}", s_.seed, index, library.name.string()),
					hostile::mutate_elf(library.content, hostile::mixed_seed(seed, list.size()))});
		return list;
	}

	// A count gone wild must not take the machine's memory or disk. Sanitizers reserve terabytes, and have a
	// limit of their own.
	void set_limits()
	{
		limit(RLIMIT_CORE, 0);
		limit(RLIMIT_FSIZE, rlim_t{1} << 30);
		sanitized_ = is_sanitized(s_.perf);
		if (!sanitized_)
			limit(RLIMIT_AS, rlim_t{4} << 30);
	}

	void set_env()
	{
		fs::path home = s_.scratch / "home";

		fs::create_directories(home);
		// LLVM does not survive broken debug info, and has no way to be told to.
		if (s_.elf) {
			static constexpr std::string_view config = "[addr2line]\n\tstyle = libdw,addr2line\n";

			perfdata::overwrite_file(home / ".perfconfig",
						 {reinterpret_cast<const uint8_t *>(config.data()), config.size()});
		}
		env_ = {
			"HOME=" + home.string(),
			"TMPDIR=" + s_.scratch.string(),
			"LC_ALL=C",
			"PERF_PAGER=cat",
			"ASAN_OPTIONS=detect_leaks=0:handle_segv=2:handle_sigbus=2:handle_sigfpe=2:handle_sigill=2:"
			"handle_abort=2:verify_asan_link_order=0:allocator_may_return_null=1:hard_rss_limit_mb=4096",
			"UBSAN_OPTIONS=print_stacktrace=1",
		};
		if (const char *path = std::getenv("PATH"))
			env_.push_back(std::string("PATH=") + path);
	}

	// Where memory was allocated is only worth its time in a report, and what fails runs again for that.
	std::vector<std::string> quick_env() const
	{
		std::vector<std::string> env = env_;

		for (std::string &e : env) {
			if (e.starts_with("ASAN_OPTIONS="))
				e += ":malloc_context_size=1";
		}
		return env;
	}

	void probe()
	{
		fs::path err = s_.scratch / "probe.err";
		std::string in = s_.corpus.front().string();
		std::string out = (s_.scratch / "probe.data").string();
		auto says = [&](const std::vector<std::string> &argv, const char *text) {
			return run_child(argv, env_, err, s_.timeout_s).err.find(text) != std::string::npos;
		};

		abilities_.buildid_field = !says({s_.perf, "script", "-F", "+buildid", "-i", in}, "nvalid field");
		abilities_.converter =
			!says({s_.perf, "inject", "--buildid-offset", "-i", in, "-o", out}, "unknown option");
	}

	void work(unsigned int job)
	{
		try {
			fs::path dir = s_.scratch / fmt::format("job{}", job);

			fs::create_directories(dir);

			std::optional<Server> server;

			if (!s_.preload.empty())
				server.emplace(s_.perf, quick_env(), s_.preload);
			for (uint64_t i; (i = next_++) < s_.first + s_.count;)
				one_file(i, dir, server);
		} catch (...) {
			std::lock_guard lock(mutex_);

			error_ = std::current_exception();
			next_ = UINT64_MAX / 2;
		}
	}

	// Whatever fails must fail in a perf that was started in the ordinary way too; a crash is named there.
	Outcome again(const Pass &pass, const fs::path &dir)
	{
		Outcome o = run_child(pass.argv, env_, dir / "err", s_.timeout_s);

		if (o.hung || !WIFSIGNALED(o.status) || sanitized_)
			return o;

		std::vector<std::string> argv = {"/usr/bin/gdb", "-q", "-batch", "-ex", "run", "-ex", "bt 12", "--args"};

		if (!fs::exists(argv[0]))
			return o;
		argv.insert(argv.end(), pass.argv.begin(), pass.argv.end());
		// What stands before the crash may be long.
		run_child(argv, env_, dir / "gdb.err", s_.timeout_s, dir / "gdb.out");
		o.err += "\n" + stack_in(dir / "gdb.out");
		return o;
	}

	static std::string stack_in(const fs::path &gdb_output)
	{
		perfdata::Buffer b = perfdata::read_file(gdb_output);
		std::string text(b.begin(), b.end());
		size_t at = text.rfind("received signal");

		return at == std::string::npos ? "" : text.substr(text.find('\n', at) + 1);
	}

	void one_file(uint64_t index, const fs::path &dir, std::optional<Server> &server)
	{
		fs::path out = dir / "out.data";
		size_t which = hostile::mixed_seed(s_.seed, index) % corpus_.size();
		std::vector<Damaged> damaged = damage(index, which, dir);
		fs::path in = s_.elf ? s_.corpus[which] : dir / "in.data";
		fs::path symfs = s_.elf ? dir / "symfs" : s_.symfs;
		uint64_t runs = 0, accepted = 0;

		for (const Damaged &d : damaged) {
			fs::create_directories(d.at.parent_path());
			perfdata::overwrite_file(d.at, d.mutant.content);
		}
		for (const Pass &pass : s_.elf ? elf_passes(index, s_.perf, symfs, in.string())
					       : passes(index, s_.perf, abilities_, symfs, in.string(), out.string())) {
			Outcome o = server ? server->run(pass.argv, dir / "err", s_.timeout_s)
					   : run_child(pass.argv, env_, dir / "err", s_.timeout_s);
			std::optional<Verdict> v = verdict_of(o);

			runs++;
			accepted += o.exited(0);
			if (!v && pass.writes && !o.exited(0) && fs::exists(out))
				v = Verdict{Trouble::Leftover, "output left behind by a failed perf inject"};
			fs::remove(out);
			if (v && v->trouble != Trouble::Leftover) {
				o = again(pass, dir);
				std::optional<Verdict> named = verdict_of(o);

				fs::remove(out);
				if (named)
					v = named;
				else
					v->signature += " (not in a run of its own)";
			}
			if (v)
				keep(index, which, damaged, pass, *v, o);
		}

		std::lock_guard lock(mutex_);

		tally_.files++;
		tally_.runs += runs;
		tally_.accepted += accepted;
		if (s_.count >= 1000 && tally_.files % (s_.count / 10) == 0)
			fmt::print(stderr, "{} of {} files, {} causes\n", tally_.files, s_.count,
				   tally_.causes.size());
	}

	void keep(uint64_t index, size_t which, const std::vector<Damaged> &damaged, const Pass &pass, const Verdict &v,
		  const Outcome &o)
	{
		std::lock_guard lock(mutex_);
		Tally::Cause &cause = tally_.causes[v.signature];
		std::string name = fmt::format("{}-{}.{}", s_.seed, index, s_.elf ? "symfs" : "data");

		cause.trouble = v.trouble;
		if (!cause.count++)
			cause.first_input = name;
		if (cause.count > s_.keep_each)
			return;

		std::string in = (s_.keep / name).string();
		std::string text = fmt::format("{}\n\n", v.signature);

		fs::create_directories(s_.keep);
		if (sanitized_)
			text += fmt::format("{} ", *std::find_if(env_.begin(), env_.end(), [](const std::string &e) {
						    return e.starts_with("ASAN_OPTIONS=");
					    }));
		for (const std::string &arg : pass.argv)
			text += (arg.ends_with("/in.data") || arg.ends_with("/symfs") ? in
				 : arg.ends_with("/out.data")			      ? "/dev/null"
										      : arg) + " ";
		text += fmt::format("\n\nfrom {}, seed {}, file {}\n", s_.corpus[which].string(), s_.seed, index);
		for (const Damaged &d : damaged) {
			for (const std::string &change : d.mutant.changes)
				text += (s_.elf ? d.at.filename().string() + ": " : "") + change + "\n";
			fs::create_directories((s_.keep / d.name).parent_path());
			perfdata::write_file(s_.keep / d.name, d.mutant.content);
		}
		text += "\n" + o.err;

		perfdata::write_file(in + ".txt", {reinterpret_cast<const uint8_t *>(text.data()), text.size()});
	}

	const Settings &s_;
	std::vector<perfdata::File> corpus_;
	std::vector<Library> libraries_;
	std::vector<std::string> env_;
	Abilities abilities_;
	bool sanitized_ = false;
	std::atomic<uint64_t> next_ = 0;
	std::mutex mutex_;
	std::exception_ptr error_;
	Tally tally_;
};

} // namespace

uint64_t Tally::count(Trouble trouble) const
{
	uint64_t n = 0;

	for (auto &[signature, cause] : causes)
		if (cause.trouble == trouble)
			n += cause.count;
	return n;
}

Tally run_campaign(const Settings &settings)
{
	return Campaign(settings).run();
}

} // namespace fuzz
