// SPDX-License-Identifier: GPL-2.0
#include "mutate/mutator.h"

#include "mutate/document.h"
#include "mutate/wild.h"

#include <algorithm>
#include <array>

namespace hostile {

using namespace perfdata;

namespace {

class Mutator {
public:
	Mutator(const File &file, uint64_t seed) : rng_(seed), doc_(file) {}

	Mutant run()
	{
		unsigned int n = 1;

		while (n < 8 && rng_.chance(50))
			n++;
		while (n--)
			if (!doc_.pieces.empty())
				change_document();

		Buffer out = doc_.assemble();

		if (rng_.chance(8))
			change_raw(out);
		return {std::move(out), std::move(changes_)};
	}

private:
	template <typename... Args> void note(fmt::format_string<Args...> text, Args &&...args)
	{
		changes_.push_back(fmt::format(text, std::forward<Args>(args)...));
	}

	void change_document()
	{
		uint64_t dice = rng_.below(100);

		if (dice < 45)
			change_field();
		else if (dice < 60)
			resize_record();
		else if (dice < 65)
			change_misc();
		else if (dice < 68)
			lie_about_size();
		else if (dice < 78)
			move_records();
		else if (dice < 90)
			change_attr();
		else if (dice < 97)
			change_feature();
		else
			change_file_header();
	}

	uint64_t load(const Buffer &from, uint64_t at, uint64_t width) const
	{
		Bytes b(from, doc_.order);

		switch (width) {
		case 1: return b.u8(at);
		case 2: return b.u16(at);
		case 4: return b.u32(at);
		default: return b.u64(at);
		}
	}

	void store(Buffer &to, uint64_t at, uint64_t width, uint64_t v) const
	{
		put(to, at, static_cast<unsigned int>(width), v, doc_.order);
	}

	void change_field()
	{
		// What new code reads stands more than once.
		static constexpr std::array<Kind, 27> kinds = {
			Kind::Count,	    Kind::Count,	Kind::Count,	    Kind::EntrySize,
			Kind::EntrySize,    Kind::EntrySize,	Kind::EntryOffset,  Kind::EntryOffset,
			Kind::EntryBuildId, Kind::EntryReserved, Kind::Chain,	    Kind::Cookie,
			Kind::Cookie,	    Kind::MapBuildIdSize, Kind::MapBuildIdSize, Kind::MapBuildId,
			Kind::Task,	    Kind::Time,		Kind::Cpu,	    Kind::Id,
			Kind::Address,	    Kind::FileOffset,	Kind::Length,	    Kind::Length,
			Kind::Text,	    Kind::Opaque,	Kind::RecordType,
		};
		Kind kind = rng_.pick(kinds);
		std::vector<Place> places = doc_.places_of(kind);

		if (places.empty())
			places = doc_.places_of(Kind::Opaque);
		if (places.empty())
			return;

		Place place = rng_.pick(places);
		Piece &p = doc_.pieces[place.piece];
		const Field &f = p.fields[place.field];

		if (f.width != 1 && f.width != 2 && f.width != 4 && f.width != 8)
			return scribble(p.bytes, f.at, f.width, name_of(f.kind));

		uint64_t old = load(p.bytes, f.at, f.width);
		uint64_t behind = f.at + f.width;
		uint64_t room = p.record_size > behind ? p.record_size - behind : 0;
		uint64_t now = f.kind == Kind::Cookie && rng_.chance(40) ? other(places) : wild_value(rng_, f, old, room);

		store(p.bytes, f.at, f.width, now);
		note("record {}, {} at {}: {:#x} to {:#x}", place.piece, name_of(f.kind), f.at, old, now);
	}

	uint64_t other(const std::vector<Place> &places)
	{
		Place from = rng_.pick(places);
		const Piece &p = doc_.pieces[from.piece];
		const Field &f = p.fields[from.field];

		return load(p.bytes, f.at, f.width);
	}

	void scribble(Buffer &b, uint64_t at, uint64_t width, const char *what)
	{
		uint64_t n = 1 + rng_.below(std::min<uint64_t>(width, 8));
		uint64_t from = at + rng_.below(width - n + 1);
		// A missing end of string, a zeroed ID, noise.
		uint64_t how = rng_.below(3);

		if (how == 0) {
			from = at;
			n = width;
		}
		for (uint64_t i = from; i < from + n; i++)
			b[i] = how == 0 ? 'A' : how == 1 ? 0 : static_cast<uint8_t>(rng_.word());
		note("{} at {}: {} bytes overwritten", what, from, n);
	}

	// The record and its stated size stay in step, so the records behind it are still found.
	void resize_record()
	{
		size_t at = rng_.below(doc_.pieces.size());
		Piece &p = doc_.pieces[at];

		if (p.bytes.size() != p.record_size)
			return;

		uint64_t size = p.record_size;

		switch (rng_.below(4)) {
		case 0: // within a field
			size = RECORD_HEADER_SIZE + rng_.below(size - RECORD_HEADER_SIZE + 1);
			size -= rng_.chance(80) ? size % 8 : 0;
			break;
		case 1: // short of the end
			size -= std::min(size - RECORD_HEADER_SIZE, 8 * (1 + rng_.below(8)));
			break;
		case 2: // an entry, or a word, more
			size += rng_.chance(50) ? 32 : 8;
			break;
		default:
			if (!rng_.chance(10))
				return;
			size = UINT16_MAX - 7 * rng_.below(2);
			break;
		}
		p.bytes.resize(size, static_cast<uint8_t>(rng_.chance(50) ? 0 : 0xff));
		p.record_size = size;
		store(p.bytes, 6, 2, size);
		note("record {}: resized to {}", at, size);
	}

	void lie_about_size()
	{
		static constexpr std::array<uint64_t, 8> sizes = {0, 1, 4, 7, 8, 16, 0x7fff, 0xffff};
		size_t at = rng_.below(doc_.pieces.size());
		Piece &p = doc_.pieces[at];
		uint64_t size = rng_.chance(50) ? rng_.pick(sizes) : p.record_size + 8 * rng_.below(9) - 32;

		store(p.bytes, 6, 2, size);
		note("record {}: size stated as {}", at, size & 0xffff);
	}

	void change_misc()
	{
		static constexpr std::array<uint16_t, 8> masks = {1U << 14, 1U << 14, 1U << 15, 1U << 13,
								  1,	    2,	      4,	7};
		std::vector<size_t> deferred;
		size_t at = rng_.below(doc_.pieces.size());

		for (size_t i = 0; i < doc_.pieces.size(); i++)
			if (doc_.pieces[i].type(doc_.order) == RECORD_CALLCHAIN_DEFERRED)
				deferred.push_back(i);

		uint64_t mask = rng_.pick(masks);

		if (!deferred.empty() && rng_.chance(50)) {
			at = rng_.pick(deferred);
			mask = rng_.chance(50) ? MISC_CALLCHAIN_BUILD_ID : MISC_MMAP_BUILD_ID;
		}

		Piece &p = doc_.pieces[at];
		uint64_t now = load(p.bytes, 4, 2) ^ mask;

		store(p.bytes, 4, 2, now);
		note("record {}: misc {:#x}", at, now);
	}

	void move_records()
	{
		size_t a = rng_.below(doc_.pieces.size());
		size_t b = rng_.below(doc_.pieces.size());
		auto at = [this](size_t i) { return doc_.pieces.begin() + static_cast<ptrdiff_t>(i); };

		switch (rng_.below(4)) {
		case 0:
			std::swap(doc_.pieces[a], doc_.pieces[b]);
			return note("records {} and {} swapped", a, b);
		case 1:
			doc_.pieces.insert(at(b), Piece(doc_.pieces[a]));
			return note("record {} repeated at {}", a, b);
		case 2:
			doc_.pieces.erase(at(a));
			return note("record {} removed", a);
		default:
			b = std::min(a + 1 + rng_.below(8), doc_.pieces.size());
			doc_.pieces.erase(at(a), at(b));
			return note("records {} to {} removed", a, b - 1);
		}
	}

	struct AttrPlace {
		Buffer *in;
		Section at;
	};

	std::vector<AttrPlace> attr_places()
	{
		std::vector<AttrPlace> places;

		for (const Section &a : doc_.attrs)
			places.push_back({&doc_.head, a});
		for (Piece &p : doc_.pieces)
			if (p.type(doc_.order) == RECORD_HEADER_ATTR && p.bytes.size() >= RECORD_HEADER_SIZE + ATTR_SIZE_VER0)
				places.push_back({&p.bytes, {RECORD_HEADER_SIZE, p.bytes.size() - RECORD_HEADER_SIZE}});
		return places;
	}

	void change_attr()
	{
		std::vector<AttrPlace> places = attr_places();

		if (places.empty())
			return;

		AttrPlace place = rng_.pick(places);
		uint64_t at = place.at.offset;
		uint64_t width = 8;
		const char *what = "sample_type";
		uint64_t now = 0;

		switch (rng_.below(9)) {
		case 0:
		case 1:
		case 2: {
			static constexpr std::array<unsigned int, 6> bits = {25, 26, 25, 26, 0, 5};

			at += ATTR_SAMPLE_TYPE;
			now = load(*place.in, at, 8) ^ uint64_t{1} << rng_.pick(bits);
			break;
		}
		case 3:
			at += ATTR_SAMPLE_TYPE;
			now = load(*place.in, at, 8) ^ uint64_t{1} << rng_.below(28);
			break;
		case 4: {
			static constexpr std::array<unsigned int, 4> bits = {
				ATTR_FLAG_SAMPLE_ID_ALL, ATTR_FLAG_DEFER_CALLCHAIN, ATTR_FLAG_DEFER_OUTPUT,
				ATTR_FLAG_DEFER_CALLCHAIN};
			unsigned int bit = rng_.chance(80) ? rng_.pick(bits) : static_cast<unsigned int>(rng_.below(64));

			what = "flags";
			at += ATTR_FLAGS;
			now = load(*place.in, at, 8) ^
			      uint64_t{1} << (doc_.order == std::endian::little ? bit : 63 - bit);
			break;
		}
		case 5:
			what = "size";
			at += ATTR_SIZE_FIELD;
			width = 4;
			now = wild_number(rng_, 4, load(*place.in, at, 4));
			break;
		case 6:
			what = "read_format";
			at += ATTR_READ_FORMAT;
			now = rng_.below(32);
			break;
		case 7:
			what = "type";
			width = 4;
			now = rng_.below(8);
			break;
		default:
			what = "word";
			at += 8 * rng_.below(place.at.size / 8);
			now = wild_number(rng_, 8, load(*place.in, at, 8));
			break;
		}
		store(*place.in, at, width, now);
		note("attr {} at {}: {:#x}", what, at, now);
	}

	void change_feature()
	{
		Buffer &tail = doc_.tail;

		if (tail.size() < 16)
			return;

		uint64_t at;
		uint64_t width = 8;
		const char *what;

		if (!doc_.build_ids.empty() && rng_.chance(50)) {
			static constexpr std::array<std::pair<uint64_t, uint64_t>, 5> members = {
				{{4, 2}, {6, 2}, {8, 4}, {12, 8}, {32, 1}}};
			auto [member, member_width] = rng_.pick(members);

			what = "build-ID table";
			at = rng_.pick(doc_.build_ids).offset + member;
			width = member_width;
		} else if (!doc_.features.empty() && rng_.chance(50)) {
			what = "feature table";
			at = rng_.pick(doc_.features).offset + 8 * rng_.below(2);
		} else {
			what = "feature content";
			at = rng_.below(tail.size() / 4) * 4;
			width = 4;
		}
		if (at + width > tail.size())
			return;

		uint64_t now = wild_number(rng_, width, load(tail, at, width));

		store(tail, at, width, now);
		note("{} at {} of the features: {:#x}", what, at, now);
	}

	void change_file_header()
	{
		if (doc_.pipe)
			return;

		uint64_t at = 8 * (1 + rng_.below(FILE_HEADER_SIZE / 8 - 1));
		uint64_t now = wild_number(rng_, 8, load(doc_.head, at, 8));

		store(doc_.head, at, 8, now);
		note("file header at {}: {:#x}", at, now);
	}

	void change_raw(Buffer &out)
	{
		uint64_t n = 1 + rng_.below(8);

		switch (rng_.below(4)) {
		case 0:
			out.resize(rng_.below(out.size()));
			return note("file cut to {} bytes", out.size());
		case 1:
			for (uint64_t i = 0; i < n; i++)
				out[rng_.below(out.size())] ^= static_cast<uint8_t>(1U << rng_.below(8));
			return note("{} bits flipped", n);
		case 2:
			for (uint64_t i = 0; i < n; i++)
				out[rng_.below(out.size())] = static_cast<uint8_t>(rng_.word());
			return note("{} bytes overwritten", n);
		default: {
			uint64_t at = rng_.below(out.size() / 8) * 8;

			store(out, at, 8, wild_number(rng_, 8, load(out, at, 8)));
			return note("word at {:#x} overwritten", at);
		}
		}
	}

	Rng rng_;
	Document doc_;
	std::vector<std::string> changes_;
};

} // namespace

Mutant mutate(const File &file, uint64_t seed)
{
	return Mutator(file, seed).run();
}

} // namespace hostile
