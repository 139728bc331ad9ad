// SPDX-License-Identifier: GPL-2.0
#include "perfdata/events.h"

namespace perfdata {

bool Attr::flag(AttrFlag bit) const
{
	uint64_t word = bytes.u64(ATTR_FLAGS);

	return word >> (bytes.order() == std::endian::little ? bit : 63 - bit) & 1;
}

void Events::add(Attr attr)
{
	if (attr.bytes.size() < ATTR_SIZE_VER0)
		throw FormatError(attr.bytes.base(), fmt::format("an attr of {} bytes", attr.bytes.size()));
	for (uint64_t id : attr.ids)
		by_id_.emplace(id, attrs_.size());
	record_build_ids_ = record_build_ids_ || attr.flag(ATTR_FLAG_BUILD_ID);
	attrs_.push_back(std::move(attr));
}

const Attr *Events::of(uint64_t id) const
{
	if (attrs_.empty())
		return nullptr;

	auto it = by_id_.find(id);

	return &attrs_[it == by_id_.end() ? 0 : it->second];
}

} // namespace perfdata
