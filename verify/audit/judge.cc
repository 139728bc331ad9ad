// SPDX-License-Identifier: GPL-2.0
#include "audit/judge.h"

#include <fmt/format.h>

#include <algorithm>

namespace audit {

Verdict Judge::wrong(std::string why)
{
	why_ = std::move(why);
	return Verdict::Wrong;
}

Verdict Judge::unknown(std::string why)
{
	why_ = std::move(why);
	return Verdict::Unknown;
}

Verdict Judge::form(const Entry &entry)
{
	if (entry.size > perfdata::BUILD_ID_MAX)
		return wrong(fmt::format("the size of its build ID is {}", entry.size));
	if (std::any_of(std::begin(entry.reserved), std::end(entry.reserved), [](uint8_t b) { return b; }) ||
	    std::any_of(entry.build_id + entry.size, std::end(entry.build_id), [](uint8_t b) { return b; }))
		return wrong("bytes that are to be zero are not");
	return Verdict::True;
}

Verdict Judge::other(uint64_t word, const Entry &entry)
{
	if (form(entry) == Verdict::Wrong)
		return Verdict::Wrong;
	if (entry.size || entry.offset != word)
		return wrong(fmt::format("{:#x} is not of user space, or another word", entry.offset));
	return Verdict::Nothing;
}

Verdict Judge::user(uint32_t pid, uint64_t address, const Entry &entry)
{
	if (form(entry) == Verdict::Wrong)
		return Verdict::Wrong;
	if (!entry.size && entry.offset != address)
		return wrong(fmt::format("it is not resolved, and has {:#x} for an address", entry.offset));

	const AddressSpace *space = spaces_.of(pid);

	if (!space)
		return unknown("nothing is known of the process");

	const Mapping *mapping = space->find(address);

	if (!mapping || !mapping->inode || !mapping->path.starts_with('/')) {
		if (!entry.size)
			return Verdict::Nothing;
		return wrong(mapping ? "what is mapped there is not of a file: " + mapping->path :
				       "nothing is mapped there");
	}

	std::optional<BuildId> id = ids_.of(mapping->path, mapping->inode);

	if (!id)
		return unknown(fmt::format("cannot tell the build ID of {}, inode {}", mapping->path, mapping->inode));
	if (!entry.size)
		return id->size ? Verdict::Missed : Verdict::Nothing;

	BuildId found;

	found.size = entry.size;
	std::copy_n(entry.build_id, found.bytes.size(), found.bytes.begin());
	if (found != *id)
		return wrong(fmt::format("{} has the build ID {}, found {}", mapping->path, to_string(*id),
					 to_string(found)));

	uint64_t offset = mapping->offset_of(address);

	if (entry.offset != offset)
		return wrong(fmt::format("the offset in {} is {:#x}, found {:#x}", mapping->path, offset,
					 entry.offset));
	return Verdict::True;
}

} // namespace audit
