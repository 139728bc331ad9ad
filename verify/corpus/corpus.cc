// SPDX-License-Identifier: GPL-2.0
#include "corpus/corpus.h"

#include "corpus/compose.h"
#include "mutate/rng.h"

namespace hostile {

using namespace perfdata;

namespace {

struct Library {
	const char *name;
	uint8_t id_byte;
	uint8_t id_size; // 0: the file has none
	uint64_t addr;
	uint64_t pgoff;
	uint64_t len;
};

// The libraries of specimen/, which are built with these build IDs. The first is mapped in two parts, whose distance
// in memory is not that in the file.
constexpr Library libraries[] = {
	{"/specimen/libalpha.so", 0xa1, 20, 0x7f0000000000, 0, 0x1000},
	{"/specimen/libalpha.so", 0xa1, 20, 0x7f0000010000, 0x1000, 0x3000},
	{"/specimen/libbeta.so", 0xb2, 8, 0x7f0000020000, 0, 0x4000},
	{"/specimen/libgamma.so", 0xc3, 16, 0x7f0000030000, 0, 0x4000},
	{"/specimen/libdelta.so", 0, 0, 0x7f0000040000, 0, 0x4000},
	{"//anon", 0, 0, 0x7f0000050000, 0, 0x4000},
};
constexpr uint64_t text_at = 0x1000; // of the specimen libraries, in the file
constexpr uint64_t text_len = 0x400;
constexpr uint64_t kernel_at = 0xffffffff81000000;

BuildId id_of(const Library &l)
{
	BuildId id;

	id.size = l.id_size;
	for (unsigned int i = 0; i < id.size; i++)
		id.bytes[i] = static_cast<uint8_t>(l.id_byte + i);
	return id;
}

struct Recipe {
	std::string name;
	uint64_t location; // which of the four bits that say where
	uint64_t more = 0;
	bool defer = false;
	bool pipe = false;
	unsigned int events = 1;
	bool posted = false; // the deferred callchain is as first posted
};

constexpr uint64_t addresses = SAMPLE_IP | SAMPLE_CALLCHAIN;
constexpr uint64_t entries = SAMPLE_BUILD_ID_OFFSET | SAMPLE_CALLCHAIN_BUILD_ID_OFFSET;

// The same places in the same order for all that differ only in how they are told: what perf shows for them can be
// compared.
class Author {
public:
	Author(const Recipe &recipe, std::endian order, unsigned int samples)
		: recipe_(recipe), samples_(samples), rng_(mixed_seed(recipe.more, recipe.events)),
		  out_(order, recipe.pipe, events(recipe))
	{
	}

	Buffer write()
	{
		std::vector<BuildIdRow> table = {{UINT32_MAX, MISC_KERNEL, kernel_id(), "[kernel.kallsyms]"}};

		out_.mmap_kernel(stamp(0), kernel_at, 0x1000000);
		process(1000);
		for (const Library &l : libraries)
			if (l.id_size && l.pgoff == 0)
				table.push_back({UINT32_MAX, MISC_USER, id_of(l), l.name});
		for (unsigned int i = 0; i < samples_; i++)
			sample(i % 2 ? 1000 : 1001);
		out_.finished_round();
		out_.fork(stamp(1002), 1000);
		for (unsigned int i = 0; i < samples_; i++)
			sample(1000 + i % 3);
		out_.exit(stamp(1002));
		out_.finished_round();
		return out_.finish(table);
	}

private:
	static std::vector<EventSpec> events(const Recipe &recipe)
	{
		std::vector<EventSpec> list;

		for (unsigned int i = 0; i < recipe.events; i++) {
			EventSpec e;

			e.sample_type = SAMPLE_TID | SAMPLE_TIME | SAMPLE_CPU | SAMPLE_PERIOD | SAMPLE_IDENTIFIER |
					recipe.location | recipe.more;
			e.read_format = recipe.more & SAMPLE_READ ? FORMAT_ID | FORMAT_GROUP : FORMAT_ID;
			e.flags = {ATTR_FLAG_SAMPLE_ID_ALL, ATTR_FLAG_MMAP, ATTR_FLAG_MMAP2, ATTR_FLAG_COMM,
				   ATTR_FLAG_COMM_EXEC, ATTR_FLAG_TASK, ATTR_FLAG_BUILD_ID};
			if (recipe.defer)
				e.flags.insert(e.flags.end(), {ATTR_FLAG_DEFER_CALLCHAIN, ATTR_FLAG_DEFER_OUTPUT});
			if (recipe.more & SAMPLE_BRANCH_STACK)
				e.branch_sample_type = BRANCH_HW_INDEX | 1 << 11;
			if (recipe.more & SAMPLE_REGS_USER)
				e.regs_user = 0xff0fff;
			if (recipe.more & SAMPLE_STACK_USER)
				e.stack_user = 256;
			if (recipe.more & SAMPLE_REGS_INTR)
				e.regs_intr = 0x1ff;
			e.config = i;
			e.name = i ? "task-clock" : "cpu-clock";
			e.ids = {100 + i, 200 + i};
			list.push_back(std::move(e));
		}
		return list;
	}

	static BuildId kernel_id()
	{
		BuildId id;

		id.size = 20;
		id.bytes.fill(0x4e);
		return id;
	}

	Stamp stamp(uint32_t pid)
	{
		time_ += 1000 + rng_.below(1000);
		return {pid, pid, time_, static_cast<uint32_t>(rng_.below(2)), 100};
	}

	void process(uint32_t pid)
	{
		out_.comm(stamp(pid), "specimen");
		for (const Library &l : libraries)
			out_.mmap2(stamp(pid), l.addr, l.len, l.pgoff, id_of(l), l.name);
		out_.fork(stamp(pid + 1), pid);
		out_.comm(stamp(pid + 1), "child");
	}

	// Some code of some library, both ways.
	std::pair<uint64_t, Entry> user_place()
	{
		const Library &l = rng_.pick(libraries);
		uint64_t offset = (l.pgoff + l.len > text_at ? text_at : l.pgoff) + rng_.below(text_len);
		uint64_t addr = l.addr + offset - l.pgoff;

		return {addr, l.id_size ? Entry{id_of(l), offset} : Entry{{}, addr}};
	}

	void push(SampleSpec &s, uint64_t word)
	{
		s.chain.push_back(word);
		s.chain_entries.push_back({{}, word});
	}

	void sample(uint32_t pid)
	{
		size_t event = rng_.below(out_.events().size());
		Stamp at = stamp(pid);
		SampleSpec s;
		bool in_kernel = rng_.chance(25);

		at.id = 100 + event + 100 * at.cpu;
		if (in_kernel) {
			s.misc = MISC_KERNEL;
			s.ip = kernel_at + rng_.below(0x10000);
			s.ip_entry = {{}, s.ip};
			push(s, CONTEXT_KERNEL);
			push(s, s.ip);
		} else {
			std::tie(s.ip, s.ip_entry) = user_place();
		}
		user_chain(s);

		if (!recipe_.defer)
			return out_.sample(at, out_.events()[event], s);

		uint64_t cookie = (uint64_t{1} << 48) + ++cookies_;
		SampleSpec request = s;

		if (!in_kernel) {
			request.chain.clear();
			request.chain_entries.clear();
			request.deferred_cookie = cookie;
		} else {
			request.chain.resize(2);
			request.chain_entries.resize(2);
		}
		push(request, CONTEXT_USER_DEFERRED);
		push(request, cookie);
		out_.sample(at, out_.events()[event], request);
		answer(at, cookie, s, in_kernel ? 3 : 1);
	}

	void user_chain(SampleSpec &s)
	{
		push(s, CONTEXT_USER);
		if (s.misc == MISC_USER) {
			s.chain.push_back(s.ip);
			s.chain_entries.push_back(s.ip_entry);
		}
		for (uint64_t n = 1 + rng_.below(8); n; n--) {
			auto [addr, entry] = user_place();

			s.chain.push_back(addr);
			s.chain_entries.push_back(entry);
		}
	}

	void answer(Stamp at, uint64_t cookie, const SampleSpec &s, ptrdiff_t skip)
	{
		std::vector<Entry> chain(s.chain_entries.begin() + skip, s.chain_entries.end());

		at.time++;
		if (recipe_.posted)
			out_.deferred(at, cookie, chain);
		else if (recipe_.location & entries)
			answer_in_place(at, cookie, s, chain);
		else
			out_.deferred(at, cookie, std::vector<uint64_t>(s.chain.begin() + skip, s.chain.end()));
	}

	void answer_in_place(Stamp at, uint64_t cookie, const SampleSpec &s, const std::vector<Entry> &chain)
	{
		bool ip = recipe_.location & SAMPLE_BUILD_ID_OFFSET && s.misc == MISC_USER;
		bool frames = recipe_.location & SAMPLE_CALLCHAIN_BUILD_ID_OFFSET;

		if (ip || frames)
			out_.deferred(at, cookie, ip ? s.ip_entry : Entry{}, frames ? chain : std::vector<Entry>());
	}

	const Recipe &recipe_;
	unsigned int samples_;
	Rng rng_;
	Composer out_;
	uint64_t time_ = 1000000;
	uint64_t cookies_ = 0;
};

} // namespace

std::vector<Specimen> corpus(unsigned int samples)
{
	static constexpr uint64_t everything = SAMPLE_ADDR | SAMPLE_WEIGHT | SAMPLE_DATA_SRC | SAMPLE_TRANSACTION |
					       SAMPLE_PHYS_ADDR | SAMPLE_CGROUP | SAMPLE_DATA_PAGE_SIZE |
					       SAMPLE_CODE_PAGE_SIZE | SAMPLE_AUX | SAMPLE_REGS_INTR;
	static const Recipe recipes[] = {
		{"plain", addresses},
		{"converted", entries},
		{"both", addresses | entries},
		{"single", SAMPLE_BUILD_ID_OFFSET},
		{"chain", SAMPLE_CALLCHAIN_BUILD_ID_OFFSET},
		{"mixed", SAMPLE_IP | SAMPLE_CALLCHAIN_BUILD_ID_OFFSET},
		{"deferred-plain", addresses, 0, true},
		{"deferred", entries, 0, true},
		{"deferred-single", SAMPLE_BUILD_ID_OFFSET, 0, true},
		{"deferred-both", addresses | entries, 0, true},
		{"deferred-posted", entries, 0, true, false, 1, true},
		{"deferred-single-posted", SAMPLE_BUILD_ID_OFFSET, 0, true, false, 1, true},
		{"group", entries, SAMPLE_READ, false, false, 2},
		{"group-plain", addresses, SAMPLE_READ, false, false, 2},
		{"dwarf", entries | SAMPLE_CALLCHAIN, SAMPLE_REGS_USER | SAMPLE_STACK_USER},
		{"dwarf-plain", addresses, SAMPLE_REGS_USER | SAMPLE_STACK_USER},
		{"branches", entries, SAMPLE_BRANCH_STACK},
		{"everything", entries, everything},
		{"pipe", entries, 0, false, true, 2},
		{"pipe-plain", addresses, 0, false, true, 2},
		{"pipe-deferred", entries, 0, true, true},
	};
	std::vector<Specimen> all;

	for (const Recipe &r : recipes) {
		all.push_back({r.name + "-le", Author(r, std::endian::little, samples).write()});
		all.push_back({r.name + "-be", Author(r, std::endian::big, samples).write()});
	}
	return all;
}

Buffer specimen(const std::string &name)
{
	for (Specimen &s : corpus())
		if (s.name == name)
			return std::move(s.content);
	throw std::invalid_argument("no specimen " + name);
}

} // namespace hostile
