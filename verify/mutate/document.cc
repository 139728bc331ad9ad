// SPDX-License-Identifier: GPL-2.0
#include "mutate/document.h"

namespace hostile {

using namespace perfdata;

namespace {

Buffer copy(const Bytes &from)
{
	return {from.span().begin(), from.span().end()};
}

} // namespace

Document::Document(const File &file)
	: order(file.order()), pipe(file.pipe()), head(copy(file.all().slice(0, file.data().offset))),
	  data_size_(file.data().size)
{
	uint64_t end = file.data().offset + file.data().size;

	tail = copy(file.all().slice(end, file.all().size() - end));

	for (const Record &r : file.records()) {
		Piece p;

		p.bytes = copy(r.bytes);
		p.record_size = r.bytes.size();
		p.bytes.insert(p.bytes.end(), r.trailing.span().begin(), r.trailing.span().end());
		p.fields = layout(r, file.events());
		pieces.push_back(std::move(p));
	}

	if (pipe)
		return;

	for (const Attr &a : file.attrs())
		if (a.bytes.base() + a.bytes.size() <= head.size())
			attrs.push_back({a.bytes.base(), a.bytes.size()});

	uint64_t entry = 0;

	for (auto &[bit, at] : file.features()) {
		features.push_back({entry, SECTION_SIZE});
		entry += SECTION_SIZE;
		if (bit != FEATURE_BUILD_ID || at.offset < end)
			continue;

		Bytes table = file.all().slice(at.offset, at.size);

		for (uint64_t i = 0; table.holds(i, RECORD_HEADER_SIZE);) {
			uint64_t len = table.u16(i + 6);

			if (len < RECORD_HEADER_SIZE || !table.holds(i, len))
				break;
			build_ids.push_back({at.offset + i - end, len});
			i += len;
		}
	}
}

Buffer Document::assemble() const
{
	Buffer out = head;
	uint64_t size = 0;

	for (const Piece &p : pieces) {
		out.insert(out.end(), p.bytes.begin(), p.bytes.end());
		size += p.bytes.size();
	}

	size_t tail_at = out.size();

	out.insert(out.end(), tail.begin(), tail.end());
	if (pipe || size == data_size_)
		return out;

	// A field that was changed before keeps its change: it is moved by the difference.
	auto shift = [&out, this](uint64_t at, uint64_t by) {
		put(out, at, 8, Bytes(out, order).u64(at) + by, order);
	};

	shift(FH_DATA + 8, size - data_size_);
	for (const Section &f : features)
		shift(tail_at + f.offset, size - data_size_);
	return out;
}

std::vector<Place> Document::places_of(Kind kind) const
{
	std::vector<Place> places;

	for (size_t p = 0; p < pieces.size(); p++)
		for (size_t f = 0; f < pieces[p].fields.size(); f++) {
			const Field &field = pieces[p].fields[f];

			if (field.kind == kind && field.at + field.width <= pieces[p].bytes.size())
				places.push_back({p, f});
		}
	return places;
}

} // namespace hostile
