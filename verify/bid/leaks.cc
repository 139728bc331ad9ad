// SPDX-License-Identifier: GPL-2.0
// perf-bid leaks: which user addresses are there still?
#include "bid/commands.h"
#include "bid/counts.h"
#include "bid/names.h"
#include "perfdata/sample.h"

#include <nlohmann/json.hpp>

#include <map>

namespace bid {

using namespace perfdata;

namespace {

// Kernel addresses have the highest bit set, wherever they can be told by value at all.
bool is_user_value(uint64_t value)
{
	return value && !(value >> 63);
}

struct Leak {
	uint64_t records = 0;
	uint64_t addresses = 0;
	uint64_t bytes = 0;	// of memory or raw data, where addresses can be anywhere
	std::string first;	// where
	uint64_t last = 0;	// number of the record
};

class Leaks {
public:
	explicit Leaks(const Path &file) : reader_(file) {}

	void run()
	{
		while (reader_.next(record_)) {
			number_++;
			try {
				layout(record_, reader_.events(), fields_);
				look();
			} catch (const FormatError &e) {
				unsound_.add(reader_.where(), e);
			}
		}
	}

	bool any() const { return !leaks_.empty(); }
	// In these there may be more.
	const Unsound &unsound() const { return unsound_; }

	void print(std::FILE *out) const
	{
		if (!any()) {
			fmt::print(out, "no user address is in it\n");
			return;
		}
		fmt::print(out, "{:<20} {:<20} {:>10} {:>12} {:>12}  {}\n", "record", "field", "records", "addresses",
			   "bytes", "first at");
		for (const auto &[key, leak] : leaks_)
			fmt::print(out, "{:<20} {:<20} {:>10} {:>12} {:>12}  {}\n", record_name(key.first), key.second,
				   leak.records, leak.addresses, leak.bytes, leak.first);
	}

	void print_json(std::FILE *out) const
	{
		nlohmann::ordered_json list = nlohmann::ordered_json::array();

		for (const auto &[key, leak] : leaks_)
			list.push_back({{"record", record_name(key.first)},
					{"field", key.second},
					{"records", leak.records},
					{"addresses", leak.addresses},
					{"bytes", leak.bytes},
					{"first_at", leak.first}});
		fmt::print(out, "{}\n", nlohmann::ordered_json{{"leaks", list}}.dump(2));
	}

private:
	Leak &leak(const char *field)
	{
		Leak &l = leaks_[{record_.type(), field}];

		if (l.first.empty())
			l.first = reader_.where();
		l.records += l.last != number_;
		l.last = number_;
		return l;
	}

	void address(Name name, bool is_user)
	{
		if (is_user)
			leak(name_of(name)).addresses++;
	}

	void look()
	{
		// Of a sample it is the context that says whose the words are: on some machines the values do not.
		Where where = record_.type() == RECORD_CALLCHAIN_DEFERRED ? Where::User : where_of(record_);
		Walker words(where), entries(where);

		if (record_.type() == RECORD_SAMPLE || record_.type() == RECORD_CALLCHAIN_DEFERRED)
			parse_sample(record_, fields_);		// all of it is there
		if (record_.type() == RECORD_AUXTRACE)
			leak("trace").bytes += reader_.skipped();
		for (size_t i = 0; i < fields_.size(); i++)
			look_at(fields_[i], where, words, entries);
	}

	void look_at(const Field &f, Where where, Walker &words, Walker &entries)
	{
		const Bytes &bytes = record_.bytes;

		switch (f.kind) {
		case Kind::Address:
			if (f.name == Name::PhysAddr)
				break;
			if (f.name == Name::Ip || f.name == Name::Start)
				address(f.name, where == Where::User);
			else
				address(f.name, is_user_value(bytes.u64(f.at)));
			break;
		case Kind::Chain:
			address(f.name, words.step(bytes.u64(f.at)) == Walker::What::User);
			break;
		case Kind::EntryOffset: {
			uint64_t word = bytes.u64(f.at);
			bool resolved = bytes.u8(f.at - (ENTRY_SIZE - 8));

			if (f.name == Name::IpEntry)
				address(f.name, !resolved && where == Where::User);
			else
				address(f.name, entries.step(word, resolved) == Walker::What::User && !resolved);
			break;
		}
		case Kind::Opaque:
			opaque(f);
			break;
		default:
			break;
		}
	}

	void opaque(const Field &f)
	{
		switch (f.name) {
		case Name::RegsUser:
		case Name::RegsIntr:
			address(f.name, f.width == 8 && is_user_value(record_.bytes.u64(f.at)) &&
						record_.bytes.u64(f.at) > 0xffff);
			break;
		case Name::StackUser:
		case Name::Raw:
		case Name::Aux:
			leak(name_of(f.name)).bytes += f.width;
			break;
		default:
			break;
		}
	}

	Reader reader_;
	Record record_;
	std::vector<Field> fields_;
	std::map<std::pair<uint32_t, std::string>, Leak> leaks_;
	Unsound unsound_;
	uint64_t number_ = 0;
};

} // namespace

int run_leaks(const Path &file, const Options &options, std::FILE *out)
{
	Leaks leaks(file);

	leaks.run();
	if (options.json)
		leaks.print_json(out);
	else
		leaks.print(out);
	leaks.unsound().print(options.json ? stderr : out);
	return leaks.any() || leaks.unsound().nr() ? 1 : 0;
}

} // namespace bid
