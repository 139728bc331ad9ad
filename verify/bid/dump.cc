// SPDX-License-Identifier: GPL-2.0
// perf-bid dump: one line a record.
#include "bid/commands.h"
#include "bid/entry.h"
#include "bid/model.h"
#include "bid/names.h"
#include "perfdata/sample.h"

namespace bid {

using namespace perfdata;

namespace {

// Long content by a hash, FNV-1a.
uint64_t hash(std::span<const uint8_t> bytes)
{
	uint64_t h = 0xcbf29ce484222325;

	for (uint8_t b : bytes)
		h = (h ^ b) * 0x100000001b3;
	return h;
}

class Line {
public:
	void write(const Record &record, const std::vector<Field> &fields)
	{
		text_.clear();
		fmt::format_to(out(), "{} misc={:#x}", record_name(record.type()), record.misc());
		list_ = false;
		for (const Field &f : fields)
			field(record, f);
		close();
		if (fields.back().end() != record.bytes.size())
			fmt::format_to(out(), " cut={}", record.bytes.size() - fields.back().end());
	}

	fmt::memory_buffer &text() { return text_; }

private:
	std::back_insert_iterator<fmt::memory_buffer> out() { return std::back_inserter(text_); }

	// Most of the output is this.
	void hex(uint64_t v)
	{
		char digits[18];
		char *at = std::end(digits);

		do {
			*--at = "0123456789abcdef"[v & 15];
			v >>= 4;
		} while (v);
		*--at = 'x';
		*--at = '0';
		text_.append(at, std::end(digits));
	}

	void close()
	{
		if (list_)
			text_.push_back(']');
		list_ = false;
	}

	// Fields of one name stand in brackets.
	void head(const Field &f, bool of_list)
	{
		if (list_ && f.name == name_) {
			text_.push_back(' ');
			return;
		}
		close();
		name_ = f.name;
		list_ = of_list;
		fmt::format_to(out(), " {}={}", name_of(f.name), of_list ? "[" : "");
	}

	void field(const Record &record, const Field &f)
	{
		const Bytes &bytes = record.bytes;

		switch (f.kind) {
		case Kind::RecordType:
		case Kind::RecordMisc:
		case Kind::RecordSize:
		case Kind::EntryReserved:
		case Kind::EntryBuildId:
			return;
		case Kind::EntrySize: {
			if (!bytes.holds(f.at, ENTRY_SIZE))
				return;

			auto cookie = f.name == Name::IpEntry ? cookie_of(bytes, f.at) : std::nullopt;

			head(f, f.name != Name::IpEntry);
			if (cookie)
				fmt::format_to(out(), "deferred:{:#x}:{:#x}", *cookie, bytes.u64(f.at + 24));
			else if (bytes.u8(f.at))
				fmt::format_to(out(), "{}", to_string(entry_at(bytes, f.at)));
			else
				hex(bytes.u64(f.at + 24));
			return;
		}
		case Kind::EntryOffset:
			return;
		case Kind::Count:
			head(f, true);
			fmt::format_to(out(), "nr={}", bytes.u64(f.at));
			return;
		case Kind::Text:
			head(f, false);
			fmt::format_to(out(), "{}", escaped(text_in(bytes.slice(f.at, f.width))));
			return;
		case Kind::MapBuildId:
			if (!list_ && name_ == Name::BuildId)
				text_.push_back(':');
			else
				head(f, false);
			for (uint8_t b : bytes.slice(f.at, f.width).span())
				fmt::format_to(out(), "{:02x}", b);
			return;
		case Kind::MapBuildIdSize:
			head(f, false);
			fmt::format_to(out(), "{}", bytes.u8(f.at));
			return;
		case Kind::Task:
		case Kind::Cpu:
		case Kind::Time:
			head(f, false);
			fmt::format_to(out(), "{}", number_in(bytes, f));
			return;
		default:
			break;
		}
		if (f.name == Name::Reserved)
			return;
		head(f, of_many(f));
		if (f.width <= 8 && (f.width & (f.width - 1)) == 0)
			hex(number_in(bytes, f));
		else
			fmt::format_to(out(), "{}:{:016x}", f.width, hash(bytes.slice(f.at, f.width).span()));
	}

	static bool of_many(const Field &f)
	{
		switch (f.name) {
		case Name::Read:
		case Name::Callchain:
		case Name::Raw:
		case Name::Branches:
		case Name::RegsUser:
		case Name::RegsIntr:
		case Name::StackUser:
		case Name::Aux:
		case Name::Content:
		case Name::Device:
			return true;
		default:
			return false;
		}
	}

	// A name may have anything in it; a line may not.
	static std::string escaped(const std::string &text)
	{
		std::string safe;

		for (char c : text) {
			unsigned char u = static_cast<unsigned char>(c);

			if (u <= ' ' || u == '\\' || u == 0x7f)
				safe += fmt::format("\\x{:02x}", u);
			else
				safe += c;
		}
		return safe;
	}

	fmt::memory_buffer text_;
	Name name_ = Name::Type;
	bool list_ = false;
};

} // namespace

int run_dump(const Path &file, const Options &options, std::FILE *out)
{
	Reader reader(file);
	Record record;
	std::vector<Field> fields;
	Line line;

	while (reader.next(record)) {
		layout(record, reader.events(), fields);
		if (options.offsets)
			fmt::print(out, "{} ", reader.where());
		line.write(record, fields);
		if (reader.skipped())
			fmt::format_to(std::back_inserter(line.text()), " behind={}", reader.skipped());
		line.text().push_back('\n');
		std::fwrite(line.text().data(), 1, line.text().size(), out);
	}
	return 0;
}

} // namespace bid
