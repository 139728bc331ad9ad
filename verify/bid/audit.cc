// SPDX-License-Identifier: GPL-2.0
// perf-bid audit: is every entry true?
#include "audit/cookies.h"
#include "bid/commands.h"
#include "bid/counts.h"
#include "bid/entry.h"
#include "bid/model.h"
#include "perfdata/ordered.h"
#include "perfdata/sample.h"

namespace bid {

using namespace perfdata;
using ::audit::Entry;
using ::audit::Verdict;

namespace {

class Audit {
public:
	Audit(const Path &file, const Options &options, std::FILE *out)
		: options_(options), out_(out), reader_(file), ordered_(reader_), model_(reader_),
		  tally_(model_.judge(), out, options.limit)
	{
	}

	int run()
	{
		Record record;

		// The kernel knows of all mappings, and the file of those that were recorded.
		model_.expect_data();
		while (ordered_.next(record)) {
			try {
				take(record);
			} catch (const FormatError &e) {
				unsound_.add(ordered_.where(), e);
			}
		}
		return report();
	}

private:
	void take(const Record &record)
	{
		layout(record, reader_.events(), fields_);
		record_ = record;
		if (record.type() == RECORD_SAMPLE)
			sample();
		else if (record.type() == RECORD_CALLCHAIN_DEFERRED)
			deferred();
		else if (record.type() == RECORD_LOST)
			lost_ += record.bytes.u64(RECORD_HEADER_SIZE + 8);
		else
			model_.take(record, fields_);
	}

	// A sample whose address is resolved in a record to come.
	struct Waiting {
		uint64_t address;
		uint32_t pid;
		std::string where;
	};

	Entry entry(uint64_t at) const { return entry_at(record_.bytes, at); }

	void user(bool chain, uint32_t pid, uint32_t tid, std::optional<uint64_t> address, const Entry &e,
		  const std::string &where)
	{
		::audit::Judge &judge = model_.judge();
		Verdict verdict = address ? judge.user(pid, *address, e) : judge.place(pid, e);

		tally_.count(chain ? (address ? chain_by_address_ : chain_by_map_) :
				     (address ? ip_by_address_ : ip_by_map_),
			     verdict, where, pid, tid, address.value_or(e.offset));
	}

	// Of the kernel, or a marker: it must be there as it is. Without a word to hold it against, its form must be right.
	void other(Counts &counts, const Sample &s, std::optional<uint64_t> word, const Entry &e)
	{
		if (model_.judge().other(word.value_or(e.offset), e) == Verdict::Wrong)
			tally_.count(counts, Verdict::Wrong, ordered_.where(), s.pid, s.tid, word.value_or(e.offset));
		else
			others_++;
	}

	void sample()
	{
		Sample s = parse_sample(record_, fields_);

		samples_++;
		if (where_of(record_) == Where::User)
			model_.runs(s.pid);
		if (s.ip_entry)
			sampled(s);
		if (s.entries.there)
			chain(s, where_of(record_));
	}

	void sampled(const Sample &s)
	{
		std::optional<uint64_t> cookie = cookie_of(record_.bytes, *s.ip_entry);
		Entry e = entry(*s.ip_entry);

		if (where_of(record_) != Where::User)
			return other(ip_by_address_, s, s.ip, e);
		if (!cookie)
			return user(false, s.pid, s.tid, s.ip, e, ordered_.where());
		// What is in place of the entry has the address, too, whether the sample has it or not.
		if (s.ip && e.offset != *s.ip)
			tally_.wrong(ordered_.where(), fmt::format("the address is {:#x}, and {:#x} is to be resolved",
								   *s.ip, e.offset));

		const ::audit::Answer *last = cookies_.last(s.tid, *cookie);

		if (last && last->sampled)
			user(false, s.pid, s.tid, e.offset, *last->sampled, ordered_.where());
		else
			cookies_.wait(s.tid, *cookie, {e.offset, s.pid, ordered_.where()});
	}

	void chain(const Sample &s, Where where)
	{
		Walker walker(where);

		if (s.words.there && s.words.nr != s.entries.nr) {
			tally_.wrong(ordered_.where(), fmt::format("a callchain of {} words and {} entries", s.words.nr,
								   s.entries.nr));
			return;
		}
		for (uint64_t i = 0; i < s.entries.nr; i++) {
			Entry e = entry(s.entries.entry(i));
			std::optional<uint64_t> word;

			if (s.words.there)
				word = s.words.word(record_.bytes, i);
			if (walker.step(word.value_or(e.offset), !word && e.size) == Walker::What::User)
				user(true, s.pid, s.tid, word, e, ordered_.where());
			else
				other(s.words.there ? chain_by_address_ : chain_by_map_, s, word, e);
		}
	}

	void deferred()
	{
		Sample d = parse_sample(record_, fields_);

		deferred_++;
		if (!d.words.there)
			return answer(d);

		// Without the record with the entries there is nothing to compare.
		const ::audit::Answer *last = cookies_.last(d.tid, *d.cookie);

		for (uint64_t i = 0; last && i < std::min<uint64_t>(d.words.nr, last->chain.size()); i++)
			user(true, d.pid, d.tid, d.words.word(record_.bytes, i), last->chain[i], ordered_.where());
	}

	void answer(const Sample &d)
	{
		auto [sampled, first] = deferred_of(record_.bytes, d);
		::audit::Answer answer;

		if (sampled)
			answer.sampled = entry(*sampled);
		for (uint64_t i = first; i < d.entries.nr; i++)
			answer.chain.push_back(entry(d.entries.entry(i)));

		for (const Waiting &w : cookies_.answer(d.tid, *d.cookie, answer))
			if (answer.sampled)
				user(false, w.pid, d.tid, w.address, *answer.sampled, w.where);

		Walker walker(Where::User);

		for (const Entry &e : answer.chain)
			if (walker.step(e.offset, e.size) == Walker::What::User)
				user(true, d.pid, d.tid, {}, e, ordered_.where());
			else
				other(chain_by_map_, d, {}, e);
	}

	int report()
	{
		uint64_t waiting = cookies_.waiting();
		Counts sum;

		tally_.print_unknown();
		Tally::print_heading(out_);
		for (auto &[what, counts] : std::initializer_list<std::pair<const char *, const Counts &>>{
			     {"sampled, by address", ip_by_address_},
			     {"sampled, by what is mapped", ip_by_map_},
			     {"callchains, by address", chain_by_address_},
			     {"callchains, by what is mapped", chain_by_map_}}) {
			Tally::print(out_, what, counts);
			for (size_t i = 0; i < std::size(sum.by_verdict); i++)
				sum.by_verdict[i] += counts.by_verdict[i];
		}
		fmt::print(out_, "{} samples, {} deferred callchains, {} mappings; {} entries of the kernel and markers, "
				 "{} samples whose address was never resolved, {} records lost\n",
			   samples_, deferred_, model_.mappings(), others_, waiting, lost_);
		if (ordered_.late())
			fmt::print(out_, "{} records are not in the order of time; they were judged late\n",
				   ordered_.late());
		unsound_.print(out_);
		if (tally_.any_wrong() || unsound_.nr())
			return 1;
		if (options_.strict && (sum[Verdict::Missed] || sum[Verdict::Unknown] || waiting))
			return 1;
		if (!sum[Verdict::True] && !sum[Verdict::Nothing] && !sum[Verdict::Missed])
			fmt::print(out_, "there was nothing to judge\n");
		return 0;
	}

	static constexpr size_t most_threads = 100000;

	const Options &options_;
	std::FILE *out_;
	Reader reader_;
	Ordered ordered_;
	Model model_;
	Tally tally_;
	Unsound unsound_;
	Record record_;
	std::vector<Field> fields_;
	::audit::Cookies<uint32_t, Waiting> cookies_{most_threads};
	Counts ip_by_address_, ip_by_map_, chain_by_address_, chain_by_map_;
	uint64_t samples_ = 0, deferred_ = 0, others_ = 0, lost_ = 0;
};

} // namespace

int run_audit(const Path &file, const Options &options, std::FILE *out)
{
	return Audit(file, options, out).run();
}

} // namespace bid
