// SPDX-License-Identifier: GPL-2.0
#include "audit/judge.h"

#include <fmt/format.h>

#include <algorithm>

namespace audit {

namespace {

bool of_file(const Mapping &mapping)
{
	if (mapping.id && mapping.id->size)
		return true;
	return mapping.inode && mapping.path.starts_with('/');
}

// One that is all zeros identifies no file: who leaves such an entry unresolved misses nothing.
bool identifies(const BuildId &id)
{
	return std::any_of(id.bytes.begin(), id.bytes.begin() + id.size, [](uint8_t b) { return b; });
}

} // namespace

BuildId id_of(const Entry &entry)
{
	BuildId id;

	id.size = entry.size;
	std::copy_n(entry.build_id, id.bytes.size(), id.bytes.begin());
	return id;
}

std::optional<BuildId> Judge::id_of(const Mapping &mapping)
{
	return mapping.id ? mapping.id : ids_.of(mapping.path, mapping.inode);
}

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

	if (!mapping && entry.size)
		if (const AddressSpace *before = spaces_.before_exec(pid))
			mapping = before->find(address);
	if (!mapping && entry.size && only_code_)
		return unknown("no code is mapped there; what else is mapped was not recorded");
	if (!mapping || !of_file(*mapping)) {
		if (!entry.size)
			return Verdict::Nothing;
		if (!mapping)
			return wrong("nothing is mapped there");
		// The vdso has a build ID, but only the table of the file says which.
		if (!ids_.is_told(mapping->path))
			return wrong("what is mapped there is not of a file: " + mapping->path);
	}

	std::optional<BuildId> id = id_of(*mapping);

	if (!id)
		return unknown(fmt::format("cannot tell the build ID of {}, inode {}", mapping->path, mapping->inode));
	if (!entry.size)
		return identifies(*id) ? Verdict::Missed : Verdict::Nothing;

	BuildId found = audit::id_of(entry);

	if (found != *id)
		return wrong(fmt::format("{} has the build ID {}, found {}", mapping->path, to_string(*id),
					 to_string(found)));

	uint64_t offset = mapping->offset_of(address);

	if (entry.offset != offset)
		return wrong(fmt::format("the offset in {} is {:#x}, found {:#x}", mapping->path, offset,
					 entry.offset));
	return Verdict::True;
}

Verdict Judge::place(uint32_t pid, const Entry &entry)
{
	if (!entry.size)
		return user(pid, entry.offset, entry);
	if (form(entry) == Verdict::Wrong)
		return Verdict::Wrong;

	const AddressSpace *space = spaces_.of(pid);
	const AddressSpace *before = spaces_.before_exec(pid);
	const Mapping *same_file = nullptr;
	bool all_known = true, any_file = false;

	if ((!space || space->all().empty()) && (!before || before->all().empty()))
		return unknown("no mapping of the process was recorded");
	for (const AddressSpace *s : {space, before}) {
		if (!s)
			continue;
		for (const auto &[start, mapping] : s->all()) {
			if (!of_file(mapping) && !ids_.is_told(mapping.path))
				continue;

			std::optional<BuildId> id = id_of(mapping);

			all_known = all_known && id;
			any_file = any_file || (of_file(mapping) && id && id->size);
			if (!id || *id != audit::id_of(entry))
				continue;
			if (entry.offset >= mapping.offset &&
			    entry.offset - mapping.offset < mapping.end - mapping.start)
				return Verdict::True;
			same_file = &mapping;
		}
	}
	if (same_file && only_code_ && ids_.is_loaded(same_file->path, audit::id_of(entry), entry.offset).value_or(true))
		return unknown(fmt::format("that of {} is not mapped as code; what else is was not recorded",
					   same_file->path));
	// Without a build ID a mapping stays, where those of files that have one are dropped.
	if (!any_file)
		return unknown("no mapping of a file with a build ID was recorded");
	if (!all_known)
		return unknown("a file with that build ID is not mapped, as far as the build IDs can be told");
	return wrong(fmt::format("{} is mapped, found {}+{:#x}", same_file ? "another part of " + same_file->path :
									     "no file with that build ID",
				 to_string(audit::id_of(entry)), entry.offset));
}

} // namespace audit
