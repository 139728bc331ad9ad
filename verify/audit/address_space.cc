// SPDX-License-Identifier: GPL-2.0
#include "audit/address_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iterator>

namespace audit {

void AddressSpace::map(Mapping mapping)
{
	if (mapping.start >= mapping.end)
		return;

	auto next = by_start_.lower_bound(mapping.start);

	// One that begins before may reach into it, or beyond.
	if (next != by_start_.begin()) {
		Mapping &before = std::prev(next)->second;

		if (before.end > mapping.end) {
			Mapping rest = before;

			rest.offset = rest.offset_of(mapping.end);
			rest.start = mapping.end;
			by_start_.emplace(rest.start, rest);
		}
		before.end = std::min(before.end, mapping.start);
	}
	while (next != by_start_.end() && next->first < mapping.end) {
		if (next->second.end > mapping.end) {
			Mapping rest = std::move(next->second);

			rest.offset = rest.offset_of(mapping.end);
			rest.start = mapping.end;
			by_start_.emplace(rest.start, std::move(rest));
		}
		next = by_start_.erase(next);
	}
	by_start_.emplace(mapping.start, std::move(mapping));
}

const Mapping *AddressSpace::find(uint64_t address) const
{
	auto next = by_start_.upper_bound(address);

	if (next == by_start_.begin())
		return nullptr;

	const Mapping &mapping = std::prev(next)->second;

	return address < mapping.end ? &mapping : nullptr;
}

void AddressSpaces::fork(uint32_t pid, uint32_t parent)
{
	auto found = spaces_.find(parent);

	if (pid == parent)	// a thread
		return;
	if (found == spaces_.end())
		spaces_.erase(pid);
	else
		spaces_[pid] = AddressSpace(found->second);
}

void AddressSpaces::exec_keeping(uint32_t pid)
{
	before_[pid] = std::move(spaces_[pid]);
	spaces_[pid] = {};
}

const AddressSpace *AddressSpaces::before_exec(uint32_t pid) const
{
	auto found = before_.find(pid);

	return found == before_.end() ? nullptr : &found->second;
}

void AddressSpaces::read_proc(uint32_t pid)
{
	std::ifstream maps(fmt::format("/proc/{}/maps", pid));
	AddressSpace space;

	for (std::string line; std::getline(maps, line);) {
		Mapping m;
		int path = 0;

		if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %" SCNu64 " %n",
				&m.start, &m.end, &m.offset, &m.inode, &path) < 4)
			continue;
		m.path = line.substr(static_cast<size_t>(path));
		space.map(std::move(m));
	}
	spaces_[pid] = std::move(space);
}

const AddressSpace *AddressSpaces::of(uint32_t pid) const
{
	auto found = spaces_.find(pid);

	return found == spaces_.end() ? nullptr : &found->second;
}

} // namespace audit
