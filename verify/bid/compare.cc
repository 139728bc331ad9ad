// SPDX-License-Identifier: GPL-2.0
// perf-bid compare: does the converted file say what the original says?
#include "bid/commands.h"
#include "bid/counts.h"
#include "bid/entry.h"
#include "bid/model.h"
#include "bid/names.h"
#include "perfdata/ordered.h"
#include "perfdata/sample.h"

#include <cstdlib>
#include <map>
#include <unordered_map>

namespace bid {

using namespace perfdata;
using ::audit::Entry;
using ::audit::Verdict;

namespace {

constexpr uint64_t location = SAMPLE_IP | SAMPLE_CALLCHAIN | SAMPLE_BUILD_ID_OFFSET | SAMPLE_CALLCHAIN_BUILD_ID_OFFSET;
// Records larger than this cannot have one more entry, and may have been cut.
constexpr uint64_t full = UINT16_MAX - ENTRY_SIZE - 8;

// What is said by the address in one file, and by the entry in the other.
bool is_location(Name name)
{
	return name == Name::Ip || name == Name::Callchain || name == Name::IpEntry || name == Name::ChainEntries;
}

// A file, and the record that it is at.
class Side {
public:
	explicit Side(const Path &file)
	try : path_(file), reader_(file), ordered_(reader_) {
	} catch (const FormatError &e) {
		throw std::runtime_error(fmt::format("{}: {}", file.string(), e.what()));
	}

	// To the next record. False at the end.
	bool next()
	{
		try {
			at_end = !ordered_.next(record);
		} catch (const FormatError &e) {
			throw std::runtime_error(fmt::format("{}: {}", path_.string(), e.what()));
		}
		return !at_end;
	}

	// What the record says. Throws FormatError when it is not what it claims to be.
	void parse()
	{
		layout(record, reader_.events(), fields);
		records[record.type()]++;
		if (model)
			model->take(record, fields);
		if (record.type() == RECORD_SAMPLE || record.type() == RECORD_CALLCHAIN_DEFERRED) {
			sample = parse_sample(record, fields);
		} else {
			sample = {};
			for (const Field &f : fields)
				if (f.name == Name::Tid)
					sample.tid = record.bytes.u32(f.at);
		}
		time = time_of(record, reader_.events());
		id = 0;
		for (const Field &f : fields)
			if (f.name == Name::Identifier || f.name == Name::Id)
				id = record.bytes.u64(f.at);
	}

	// What perf itself adds is not compared, nor are mmap events.
	bool is_compared() const
	{
		return record.type() < RECORD_USER_START && record.type() != RECORD_MMAP && record.type() != RECORD_MMAP2;
	}

	// Without a time it has no place among the others.
	bool has_no_place() const
	{
		return record.type() != RECORD_SAMPLE && record.type() != RECORD_CALLCHAIN_DEFERRED &&
		       (!time || !*time || *time == UINT64_MAX);
	}

	const Path &path() const { return path_; }
	std::string where() const { return ordered_.where(); }
	const Reader &reader() const { return reader_; }
	uint64_t late() const { return ordered_.late(); }

	bool at_end = false;
	Model *model = nullptr;		// follows the mappings
	Record record;
	std::vector<Field> fields;
	Sample sample;			// of other records, the task
	std::optional<uint64_t> time;
	uint64_t id = 0;
	std::map<uint32_t, uint64_t> records;

private:
	Path path_;
	Reader reader_;
	Ordered ordered_;
};

class Compare {
public:
	Compare(const Path &original, const Path &converted, const Options &options, std::FILE *out)
		: options_(options), out_(out), a_(original), b_(converted), model_(a_.reader()),
		  tally_(model_.judge(), out, options.limit)
	{
		a_.model = &model_;
	}

	int run()
	{
		events();
		step(a_);
		step(b_);
		while (!a_.at_end || !b_.at_end) {
			if (b_.at_end)
				missing();
			else if (a_.at_end)
				added();
			else if (same_one())
				both();
			else if (a_.time < b_.time)
				missing();
			else if (b_.time < a_.time)
				added();
			else {
				// At one time, in another order, or another one.
				missing();
				added();
			}
		}
		return report();
	}

private:
	// Records without a time, as they are in one file and not in the other.
	struct Unplaced {
		int64_t missing = 0;	// less than 0: added
		std::string where, what;
	};

	// To the next record that has its place in the order of time.
	void step(Side &side)
	{
		while (side.next()) {
			try {
				side.parse();
			} catch (const FormatError &e) {
				unsound_.add(fmt::format("{}: {}", side.path().string(), side.where()), e);
				continue;
			}
			if (!side.is_compared())
				continue;
			if (!side.has_no_place())
				return;
			unplaced(side);
		}
	}

	void unplaced(const Side &side)
	{
		auto bytes = side.record.bytes.span();
		bool same_order = a_.reader().order() == b_.reader().order();
		std::string key = fmt::format("{} {}", side.record.type(), bytes.size());

		if (same_order)
			key.assign(bytes.begin(), bytes.end());

		auto [found, is_new] = unplaced_.try_emplace(key);

		if (is_new)
			found->second = {0, side.where(), describe(side)};
		found->second.missing += &side == &a_ ? 1 : -1;
		if (!found->second.missing)
			unplaced_.erase(found);
	}

	bool same_one() const
	{
		return a_.record.type() == b_.record.type() && a_.time == b_.time && a_.sample.tid == b_.sample.tid &&
		       a_.id == b_.id;
	}

	static std::string describe(const Side &side)
	{
		uint64_t time = side.time.value_or(0);

		return fmt::format("{} of thread {} at {}.{:09}", record_name(side.record.type()), side.sample.tid,
				   time / 1000000000, time % 1000000000);
	}

	void missing()
	{
		missing_++;
		tally_.wrong(a_.where(), "is missing: " + describe(a_));
		step(a_);
	}

	void added()
	{
		added_++;
		tally_.wrong(b_.where(), "is added: " + describe(b_));
		step(b_);
	}

	// The attrs are the same but for how they tell a location.
	void events()
	{
		const auto &a = a_.reader().events().attrs(), &b = b_.reader().events().attrs();

		// Those of a stream are not there yet.
		if (a_.reader().pipe() || b_.reader().pipe())
			return;
		if (a.size() != b.size())
			return tally_.wrong("attrs:", fmt::format("{} events, not {}", b.size(), a.size()));
		for (size_t i = 0; i < a.size(); i++) {
			uint64_t x = a[i].sample_type(), y = b[i].sample_type();

			if ((x & ~location) != (y & ~location))
				tally_.wrong(event_name(a_.reader(), i) + ":",
					     fmt::format("sample type {}, was {}", sample_type_names(y),
							 sample_type_names(x)));
			if (a[i].ids != b[i].ids)
				tally_.wrong(event_name(a_.reader(), i) + ":", "has other ids");
		}
	}

	void both()
	{
		compared_[a_.record.type()]++;
		if (a_.record.type() == RECORD_CALLCHAIN_DEFERRED || a_.record.type() == RECORD_SAMPLE) {
			same_fields();
			places();
		} else if (!std::ranges::equal(a_.record.bytes.span(), b_.record.bytes.span()) &&
			   a_.reader().order() == b_.reader().order()) {
			differs("is not the same record");
		}
		step(a_);
		step(b_);
	}

	void differs(const std::string &what)
	{
		tally_.wrong(b_.where(), fmt::format("{}, {} in the original: {}", describe(b_), a_.where(), what));
	}

	// All fields but those of a location, one after the other.
	void same_fields()
	{
		auto x = a_.fields.begin(), y = b_.fields.begin();
		uint16_t build_id = MISC_MMAP_BUILD_ID;

		if (a_.record.type() == RECORD_CALLCHAIN_DEFERRED)
			build_id |= MISC_CALLCHAIN_BUILD_ID;

		uint16_t misc_a = a_.record.misc() & ~build_id, misc_b = b_.record.misc() & ~build_id;
		auto skip = [](auto &it, const std::vector<Field> &fields) {
			while (it != fields.end() && (is_location(it->name) || it->name == Name::Type ||
						      it->name == Name::Misc || it->name == Name::Size))
				++it;
		};

		if (misc_a != misc_b)
			differs(fmt::format("misc is {:#x}, was {:#x}", misc_b, misc_a));
		for (;; ++x, ++y) {
			skip(x, a_.fields);
			skip(y, b_.fields);
			if (x == a_.fields.end() || y == b_.fields.end())
				break;
			if (x->name == Name::StackUser && y->name == Name::StackUser && b_.record.bytes.size() > full - 8) {
				if (!begins(*x, *y))
					return differs("stack_user does not begin as it did");
				cut_ += x->width != y->width;
				continue;
			}
			if (x->name != y->name || x->width != y->width)
				return differs(fmt::format("has {} where {} was", name_of(y->name), name_of(x->name)));
			if (!equal(*x, *y))
				return differs(x->width > 8 ? fmt::format("{} is another", name_of(x->name)) :
							      fmt::format("{} is another: {:#x}, was {:#x}", name_of(x->name),
									  number_in(b_.record.bytes, *y), number_in(a_.record.bytes, *x)));
		}
		if (x != a_.fields.end())
			differs(fmt::format("{} is missing", name_of(x->name)));
		else if (y != b_.fields.end())
			differs(fmt::format("{} is added", name_of(y->name)));
	}

	// Of a stack, its size or what it has: cut, or as it was.
	bool begins(Field x, const Field &y) const
	{
		if (x.kind != y.kind || y.width > x.width)
			return false;
		if (x.kind == Kind::Length)
			return number_in(b_.record.bytes, y) <= number_in(a_.record.bytes, x);
		x.width = y.width;
		return equal(x, y);
	}

	bool equal(const Field &x, const Field &y) const
	{
		if (x.width == 8 || x.width == 4)
			return number_in(a_.record.bytes, x) == number_in(b_.record.bytes, y);

		Bytes was = a_.record.bytes.slice(x.at, x.width), is = b_.record.bytes.slice(y.at, y.width);

		// In a file of the other byte order perf takes a stack for words, and so it does all that it does not know.
		if (was.order() != is.order() && x.name == Name::StackUser && x.width % 8 == 0) {
			for (uint64_t at = 0; at < x.width; at += 8)
				if (was.u64(at) != is.u64(at))
					return false;
			return true;
		}
		return std::ranges::equal(was.span(), is.span());
	}

	void judge(Counts &counts, Walker::What what, uint64_t word, const Entry &e)
	{
		::audit::Judge &j = model_.judge();

		if (what == Walker::What::User)
			tally_.count(counts, j.user(a_.sample.pid, word, e), b_.where(), b_.sample.pid, b_.sample.tid, word);
		else if (j.other(word, e) == Verdict::Wrong)
			tally_.count(counts, Verdict::Wrong, b_.where(), b_.sample.pid, b_.sample.tid, word);
		else
			others_++;
	}

	void same_word(uint64_t was, uint64_t is, const char *what)
	{
		if (was != is)
			differs(fmt::format("{} is another: {:#x}, was {:#x}", what, is, was));
	}

	void places()
	{
		const Sample &x = a_.sample, &y = b_.sample;

		if (a_.record.type() == RECORD_SAMPLE && where_of(a_.record) == Where::User)
			model_.runs(x.pid);

		Where where = a_.record.type() == RECORD_SAMPLE ? where_of(a_.record) : Where::User;

		if (x.ip && y.ip_entry && cookie_of(b_.record.bytes, *y.ip_entry))
			// It is resolved in another record, which audit looks at.
			same_word(*x.ip, b_.record.bytes.u64(*y.ip_entry + 24), "ip");
		else if (x.ip && y.ip_entry)
			judge(ips_, where == Where::User ? Walker::What::User : Walker::What::Elsewhere, *x.ip,
			      entry_at(b_.record.bytes, *y.ip_entry));
		if (x.ip && y.ip)
			same_word(*x.ip, *y.ip, "ip");
		if (x.ip && !y.ip && !y.ip_entry)
			differs("the address is missing");
		if (x.ip_entry && !y.ip_entry)
			differs("the entry is missing");
		if (x.ip_entry && y.ip_entry)
			again(ips_, where == Where::User ? Walker::What::User : Walker::What::Elsewhere, *x.ip_entry,
			      *y.ip_entry);
		chain(where);
	}

	static bool absent(const Entry &e) { return !e.size && !e.offset; }

	// One that was not resolved may be now, and is judged by its address.
	void again(Counts &counts, Walker::What what, uint64_t at_a, uint64_t at_b)
	{
		Entry was = entry_at(a_.record.bytes, at_a), is = entry_at(b_.record.bytes, at_b);
		bool deferred = cookie_of(a_.record.bytes, at_a) && a_.record.type() == RECORD_SAMPLE;

		// A deferred callchain without a sampled address stays one.
		if (absent(was) && absent(is))
			return;
		if (what == Walker::What::User && !was.size && (is.size || !deferred))
			judge(counts, what, was.offset, is);
		else if (to_string(was) != to_string(is))
			differs("the entry is another");
	}

	void chain(Where where)
	{
		const Sample &x = a_.sample, &y = b_.sample;
		const Elements &was = x.words.there ? x.words : x.entries;
		const Elements &is = x.entries.there || y.entries.there ? y.entries : y.words;
		Walker walker(where);

		if (!was.there)
			return;
		if (!is.there)
			return differs("the callchain is missing");
		if (is.nr != was.nr) {
			if (is.nr > was.nr || b_.record.bytes.size() <= full)
				return differs(fmt::format("{} in the callchain, there were {}", is.nr, was.nr));
			cut_++;
		}
		for (uint64_t i = 0; i < is.nr; i++) {
			if (x.entries.there) {
				Entry e = entry_at(a_.record.bytes, x.entries.entry(i));

				again(chains_, walker.step(e.offset, e.size), x.entries.entry(i), is.entry(i));
				continue;
			}

			uint64_t word = was.word(a_.record.bytes, i);
			Walker::What what = walker.step(word);

			if (y.entries.there)
				judge(chains_, what, word, entry_at(b_.record.bytes, y.entries.entry(i)));
			else
				same_word(word, is.word(b_.record.bytes, i), "a word in the callchain");
			if (y.words.there && y.entries.there)
				same_word(word, y.words.word(b_.record.bytes, i), "a word in the callchain");
		}
	}

	// What is left of the records without a time.
	void report_unplaced()
	{
		for (const auto &[key, u] : unplaced_) {
			(u.missing > 0 ? missing_ : added_) += static_cast<uint64_t>(std::abs(u.missing));
			tally_.wrong(u.where, fmt::format("is {}: {}", u.missing > 0 ? "missing" : "added", u.what));
		}
	}

	int report()
	{
		report_unplaced();
		tally_.print_unknown();
		Tally::print_heading(out_);
		Tally::print(out_, "sampled", ips_);
		Tally::print(out_, "callchains", chains_);
		fmt::print(out_, "{} samples in both, {} entries of the kernel and markers; {} records missing, {} added, {} cut\n",
			   compared_[RECORD_SAMPLE], others_, missing_, added_, cut_);
		for (const auto &[type, nr] : a_.records)
			difference(type, nr, b_.records[type]);
		for (const auto &[type, nr] : b_.records)
			if (!a_.records.contains(type))
				difference(type, 0, nr);
		for (const Side *side : {&a_, &b_})
			if (side->late())
				fmt::print(out_, "{} records of the {} are not in the order of time\n", side->late(),
					   side == &a_ ? "original" : "converted file");
		unsound_.print(out_);
		if (tally_.any_wrong() || unsound_.nr())
			return 1;
		if (options_.strict)
			for (const Counts *counts : {&ips_, &chains_})
				if ((*counts)[Verdict::Missed] || (*counts)[Verdict::Unknown])
					return 1;
		return 0;
	}

	void difference(uint32_t type, uint64_t was, uint64_t is)
	{
		if (was != is)
			fmt::print(out_, "{}: {}, there were {}\n", record_name(type), is, was);
	}

	const Options &options_;
	std::FILE *out_;
	Side a_, b_;
	Model model_;
	Tally tally_;
	Unsound unsound_;
	Counts ips_, chains_;
	std::map<uint32_t, uint64_t> compared_;
	std::unordered_map<std::string, Unplaced> unplaced_;
	uint64_t others_ = 0, missing_ = 0, added_ = 0, cut_ = 0;
};

} // namespace

int run_compare(const Path &original, const Path &converted, const Options &options, std::FILE *out)
{
	return Compare(original, converted, options, out).run();
}

} // namespace bid
