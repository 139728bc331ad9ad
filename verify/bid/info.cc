// SPDX-License-Identifier: GPL-2.0
// perf-bid info: what is in a file?
#include "audit/cookies.h"
#include "bid/commands.h"
#include "bid/counts.h"
#include "bid/entry.h"
#include "bid/model.h"
#include "bid/names.h"
#include "perfdata/sample.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>

namespace bid {

using namespace perfdata;

namespace {

struct HashOfId {
	size_t operator()(const BuildId &id) const
	{
		uint64_t word;

		std::memcpy(&word, id.bytes.data(), sizeof(word));	// a build ID is a hash
		return word;
	}
};

struct OfBuildId {
	uint64_t entries = 0;
	uint64_t samples = 0;	// whose sampled instruction it is of
};

struct OfEvent {
	uint64_t samples = 0;
	uint64_t resolved = 0;	// sampled instructions
};

class Info {
public:
	explicit Info(const Path &file) : reader_(file) {}

	void run()
	{
		Record record;

		while (reader_.next(record)) {
			uint32_t type = record.type();

			(type < common_.size() ? common_[type] : records_[type])++;
			bytes_ += record.bytes.size();
			try {
				take(record);
			} catch (const FormatError &e) {
				unsound_.add(reader_.where(), e);
			}
		}
		for (uint32_t type = 0; type < common_.size(); type++)
			if (common_[type])
				records_[type] = common_[type];
	}

	void print(std::FILE *out) const;
	void print_json(std::FILE *out) const;
	const Unsound &unsound() const { return unsound_; }

private:
	void take(const Record &record)
	{
		uint32_t type = record.type();

		if (type == RECORD_MMAP2 && record.misc() & MISC_MMAP_BUILD_ID)
			name(record);
		if (type != RECORD_SAMPLE && type != RECORD_CALLCHAIN_DEFERRED)
			return;
		layout(record, reader_.events(), fields_);

		Sample s = parse_sample(record, fields_);

		if (type == RECORD_SAMPLE)
			sample(record, s);
		else
			deferred(record, s);
	}

	enum class What : uint8_t { Resolved, User, Kernel, Marker };

	What count(const Record &record, uint64_t at, Walker::What what)
	{
		uint8_t size = record.bytes.u8(at);

		entries_++;
		if (size) {
			by_id_[id_at(record, at)].entries++;
			resolved_++;
			return What::Resolved;
		}
		switch (what) {
		case Walker::What::User:
			user_++;
			return What::User;
		case Walker::What::Elsewhere:
			kernel_++;
			return What::Kernel;
		default:
			markers_++;
			return What::Marker;
		}
	}

	// What was mapped names the files, too.
	void name(const Record &record)
	{
		static constexpr size_t most = 100000;
		BuildId id;

		layout(record, reader_.events(), fields_);
		for (const Field &f : fields_) {
			if (f.kind == Kind::MapBuildIdSize)
				id.size = record.bytes.u8(f.at);
			else if (f.kind == Kind::MapBuildId)
				std::copy_n(record.bytes.span().begin() + f.at, BUILD_ID_MAX, id.bytes.begin());
			else if (f.name == Name::Text && id.size && names_.size() < most)
				names_.try_emplace(id, text_in(record.bytes.slice(f.at, f.width)));
		}
	}

	static BuildId id_at(const Record &record, uint64_t at) { return bid::id_of(entry_at(record.bytes, at)); }

	void chain(const Record &record, const Elements &entries, Where where)
	{
		Walker walker(where);

		if (entries.there)
			entry_bytes_ += 8;
		for (uint64_t i = 0; i < entries.nr; i++) {
			uint64_t at = entries.entry(i);

			count(record, at, walker.step(record.bytes.u64(at + 24), record.bytes.u8(at)));
		}
		entry_bytes_ += entries.nr * ENTRY_SIZE;
	}

	void sample(const Record &record, const Sample &s)
	{
		const Attr *attr = event_of(record, reader_.events());
		size_t number = 0;

		while (number + 1 < reader_.events().size() && &reader_.events().attrs()[number] != attr)
			number++;
		if (by_event_.size() <= number)
			by_event_.resize(number + 1);
		by_event_[number].samples++;
		samples_++;
		if (s.ip_entry) {
			entry_bytes_ += ENTRY_SIZE;
			if (auto cookie = cookie_of(record.bytes, *s.ip_entry)) {
				entries_++;
				deferred_++;
				left_to(s.tid, *cookie, number);
			} else if (count(record, *s.ip_entry,
					 where_of(record) == Where::User ? Walker::What::User :
									   Walker::What::Elsewhere) == What::Resolved) {
				by_id_[id_at(record, *s.ip_entry)].samples++;
				by_event_[number].resolved++;
			}
		}
		if (s.entries.there)
			chain(record, s.entries, where_of(record));
	}

	void left_to(uint32_t tid, uint64_t cookie, size_t number)
	{
		if (const BuildId *id = cookies_.last(tid, cookie))
			answered(number, *id);
		else
			cookies_.wait(tid, cookie, number);
	}

	void deferred(const Record &record, const Sample &d)
	{
		if (!d.entries.there)
			return;
		if (d.ip_entry)
			entry_bytes_ += ENTRY_SIZE;
		chain(record, d.entries, Where::User);

		auto sampled = deferred_of(record.bytes, d).sampled;
		BuildId id;

		if (sampled)
			id = id_at(record, *sampled);
		if (sampled && d.ip_entry)
			count(record, *sampled, Walker::What::User);
		for (size_t number : cookies_.answer(d.tid, *d.cookie, id))
			answered(number, id);
	}

	// A sample of that event; the ID of a size of 0 when its address was not resolved.
	void answered(size_t number, const BuildId &id)
	{
		answered_++;
		by_event_[number].resolved += id.size != 0;
		if (id.size)
			by_id_[id].samples++;
	}

	std::vector<std::pair<BuildId, OfBuildId>> sorted_ids() const
	{
		std::vector<std::pair<BuildId, OfBuildId>> list(by_id_.begin(), by_id_.end());

		std::sort(list.begin(), list.end(), [](const auto &a, const auto &b) {
			return std::tie(b.second.samples, b.second.entries, a.first) <
			       std::tie(a.second.samples, a.second.entries, b.first);
		});
		return list;
	}

	std::string name_of_id(const BuildId &id) const
	{
		if (auto named = names_.find(id); named != names_.end())
			return named->second;
		for (const BuildIdRow &row : reader_.build_ids())
			if (row.id == id)
				return row.name;
		return "";
	}

	double share(uint64_t of, uint64_t all) const
	{
		return all ? 100.0 * static_cast<double>(of) / static_cast<double>(all) : 0;
	}

	std::string kind() const
	{
		return fmt::format("{}, {}{}", reader_.pipe() ? "stream" : reader_.directory() ? "directory" : "file",
				   reader_.order() == std::endian::little ? "little-endian" : "big-endian",
				   reader_.compressed() ? ", compressed" : "");
	}

	OfEvent of_event(size_t number) const { return number < by_event_.size() ? by_event_[number] : OfEvent{}; }

	static constexpr size_t most_kept = 100000;

	Reader reader_;
	Unsound unsound_;
	std::vector<Field> fields_;
	std::array<uint64_t, 128> common_{};
	std::map<uint32_t, uint64_t> records_;
	std::vector<OfEvent> by_event_;
	std::unordered_map<BuildId, OfBuildId, HashOfId> by_id_;
	std::unordered_map<BuildId, std::string, HashOfId> names_;
	::audit::Cookies<uint32_t, size_t, BuildId> cookies_{most_kept, most_kept};
	uint64_t samples_ = 0, bytes_ = 0, entry_bytes_ = 0;
	uint64_t entries_ = 0, resolved_ = 0, user_ = 0, kernel_ = 0, markers_ = 0, deferred_ = 0, answered_ = 0;
};

void Info::print(std::FILE *out) const
{
	fmt::print(out, "{}, {} bytes, {} of them records\n\n", kind(), reader_.size(), bytes_);
	fmt::print(out, "{:<24} {:>12} {:>12}  {}\n", "event", "samples", "resolved", "sample type");
	for (size_t i = 0; i < reader_.events().size(); i++)
		fmt::print(out, "{:<24} {:>12} {:>12}  {}\n", event_name(reader_, i), of_event(i).samples,
			   of_event(i).resolved, sample_type_names(reader_.events().attrs()[i].sample_type()));
	fmt::print(out, "\n{:<24} {:>12}\n", "record", "number");
	for (const auto &[type, nr] : records_)
		fmt::print(out, "{:<24} {:>12}\n", record_name(type), nr);
	if (!entries_) {
		fmt::print(out, "\nno entries of build ID and file offset\n");
		return;
	}
	fmt::print(out, "\n{:<24} {:>12}\n", "entries", entries_);
	for (const auto &[what, nr] : std::initializer_list<std::pair<const char *, uint64_t>>{
		     {"resolved", resolved_}, {"user, not resolved", user_}, {"kernel", kernel_}, {"markers", markers_},
		     {"left to a record to come", deferred_}, {"  that came", answered_}})
		fmt::print(out, "  {:<22} {:>12} {:>6.2f} %\n", what, nr, share(nr, entries_));
	fmt::print(out, "{:<24} {:>12} {:>6.2f} % of the records\n", "bytes of entries", entry_bytes_,
		   share(entry_bytes_, bytes_));
	fmt::print(out, "\n{:<40} {:>12} {:>9} {:>12}  {}\n", fmt::format("{} build IDs", by_id_.size()), "samples", "",
		   "entries", "name");
	for (const auto &[id, of] : sorted_ids())
		fmt::print(out, "{:<40} {:>12} {:>7.2f} % {:>12}  {}\n", perfdata::to_string(id), of.samples,
			   share(of.samples, samples_), of.entries, name_of_id(id));
}

void Info::print_json(std::FILE *out) const
{
	nlohmann::ordered_json json, events = json.array(), records = json.object(), ids = json.array();

	for (size_t i = 0; i < reader_.events().size(); i++)
		events.push_back({{"name", event_name(reader_, i)},
				  {"sample_type", sample_type_names(reader_.events().attrs()[i].sample_type())},
				  {"samples", of_event(i).samples},
				  {"resolved", of_event(i).resolved}});
	for (const auto &[type, nr] : records_)
		records[record_name(type)] = nr;
	for (const auto &[id, of] : sorted_ids())
		ids.push_back({{"build_id", perfdata::to_string(id)},
			       {"name", name_of_id(id)},
			       {"samples", of.samples},
			       {"share", share(of.samples, samples_)},
			       {"entries", of.entries}});
	json["mode"] = reader_.pipe() ? "pipe" : reader_.directory() ? "directory" : "file";
	json["byte_order"] = reader_.order() == std::endian::little ? "little" : "big";
	json["compressed"] = reader_.compressed();
	json["bytes"] = reader_.size();
	json["record_bytes"] = bytes_;
	json["samples"] = samples_;
	json["events"] = events;
	json["records"] = records;
	json["entries"] = {{"total", entries_},	    {"resolved", resolved_},  {"unresolved_user", user_},
			   {"kernel", kernel_},	    {"markers", markers_},    {"deferred", deferred_},
			   {"answered", answered_}, {"bytes", entry_bytes_}};
	json["build_ids"] = ids;
	// Names are bytes, and need not be UTF-8.
	fmt::print(out, "{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

} // namespace

int run_info(const Path &file, const Options &options, std::FILE *out)
{
	Info info(file);

	info.run();
	if (options.json)
		info.print_json(out);
	else
		info.print(out);
	info.unsound().print(options.json ? stderr : out);
	return info.unsound().nr() ? 1 : 0;
}

} // namespace bid
