// SPDX-License-Identifier: GPL-2.0
#include "live/truth.h"
#include "tests/entries.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstring>

using audit::Entry;
using audit::Verdict;
using live::Record;

namespace {

constexpr uint64_t user = static_cast<uint64_t>(PERF_CONTEXT_USER);
constexpr uint64_t user_deferred = static_cast<uint64_t>(PERF_CONTEXT_USER_DEFERRED);
constexpr uint64_t start = 0x10000;
constexpr uint32_t pid = 7, tid = 8;

uint64_t halves(uint32_t low, uint32_t high)
{
	return low | static_cast<uint64_t>(high) << 32;
}

void append(std::vector<uint64_t> &words, const Entry &entry)
{
	uint64_t raw[4];

	std::memcpy(raw, &entry, sizeof(raw));
	words.insert(words.end(), raw, raw + 4);
}

Record record(uint32_t type, uint16_t misc, std::vector<uint64_t> words)
{
	Record r;
	perf_event_header header = {type, misc, static_cast<uint16_t>((words.size() + 1) * 8)};

	r.event = 1;
	r.words.resize(1);
	std::memcpy(r.words.data(), &header, sizeof(header));
	r.words.insert(r.words.end(), words.begin(), words.end());
	return r;
}

class TruthTest : public ::testing::Test {
protected:
	void SetUp() override
	{
		struct stat st;

		ASSERT_EQ(stat("/proc/self/exe", &st), 0);
		truth.spaces().map(pid, {start, start + 0x1000, 0, st.st_ino, "/proc/self/exe"});
		id = audit::read_build_id("/proc/self/exe");
	}

	Entry resolved(uint64_t offset) const { return resolved_entry(id, offset); }

	static Entry word(uint64_t value) { return unresolved_entry(value); }

	static Entry left_to(uint64_t cookie, uint64_t ip)
	{
		uint64_t raw[4] = {0, user_deferred, cookie, ip};
		Entry entry;

		std::memcpy(&entry, raw, sizeof(entry));
		return entry;
	}

	static Record sample(uint64_t ip, const Entry &ip_entry, const std::vector<uint64_t> &words,
			     const std::vector<Entry> &entries)
	{
		std::vector<uint64_t> all = {ip, halves(pid, tid), 0, words.size()};

		all.insert(all.end(), words.begin(), words.end());
		append(all, ip_entry);
		all.push_back(entries.size());
		for (const Entry &entry : entries)
			append(all, entry);
		return record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, all);
	}

	// Both records of a cookie.
	void take_deferred(uint64_t cookie, const Entry &ip, const std::vector<Entry> &entries,
			   const std::vector<uint64_t> &words)
	{
		std::vector<uint64_t> all = {cookie};

		append(all, ip);
		all.push_back(entries.size());
		for (const Entry &entry : entries)
			append(all, entry);
		all.insert(all.end(), {halves(pid, tid), 0});
		truth.take(record(PERF_RECORD_CALLCHAIN_DEFERRED,
				  PERF_RECORD_MISC_USER | PERF_RECORD_MISC_CALLCHAIN_BUILD_ID, all));
		all = {cookie, words.size()};
		all.insert(all.end(), words.begin(), words.end());
		all.insert(all.end(), {halves(pid, tid), 0});
		truth.take(record(PERF_RECORD_CALLCHAIN_DEFERRED, PERF_RECORD_MISC_USER, all));
	}

	audit::BuildIds ids;
	live::Truth truth{ids};
	audit::BuildId id;
};

TEST_F(TruthTest, InPlace)
{
	truth.take(sample(start + 1, resolved(1), {user, start + 1, start + 2}, {word(user), resolved(1), resolved(2)}));
	EXPECT_EQ(truth.addresses[Verdict::True], 1U);
	EXPECT_EQ(truth.callchains[Verdict::True], 2U);
	truth.take(sample(start + 1, resolved(2), {user, start + 1}, {word(user), resolved(2)}));
	EXPECT_EQ(truth.addresses[Verdict::Wrong], 1U);
	EXPECT_EQ(truth.callchains[Verdict::Wrong], 1U);
	EXPECT_EQ(truth.remarks.size(), 2U);
}

TEST_F(TruthTest, DeferredAddressBesidesTheCallchain)
{
	truth.take(sample(start + 1, left_to(99, start + 1), {user_deferred, 99}, {word(user_deferred), word(99)}));
	EXPECT_EQ(truth.waiting(), 1U);
	take_deferred(99, resolved(1), {resolved(5)}, {start + 5});
	EXPECT_EQ(truth.waiting(), 0U);
	EXPECT_EQ(truth.addresses[Verdict::True], 1U);
	EXPECT_EQ(truth.callchains[Verdict::True], 1U);
}

TEST_F(TruthTest, DeferredAddressFirstInTheCallchain)
{
	truth.take(sample(start + 5, left_to(99, start + 5), {user_deferred, 99}, {word(user_deferred), word(99)}));
	take_deferred(99, resolved(5), {resolved(5), resolved(6)}, {start + 5, start + 6});
	EXPECT_EQ(truth.addresses[Verdict::True], 1U);
	EXPECT_EQ(truth.callchains[Verdict::True], 2U);
	// One that comes after its record.
	truth.take(sample(start + 5, left_to(99, start + 5), {user_deferred, 99}, {word(user_deferred), word(99)}));
	EXPECT_EQ(truth.addresses[Verdict::True], 2U);
	EXPECT_EQ(truth.waiting(), 0U);
}

TEST_F(TruthTest, EntriesAndWordsDiffer)
{
	truth.take(sample(start, resolved(0), {user, start}, {word(user)}));
	EXPECT_EQ(truth.callchains[Verdict::Wrong], 1U);
}

TEST_F(TruthTest, SamplesAfterTheExit)
{
	auto task = [](uint32_t type) { return record(type, 0, {halves(70, pid), halves(70, tid), 0, 0, 0}); };

	truth.take(task(PERF_RECORD_FORK));
	truth.take(task(PERF_RECORD_EXIT));
	ASSERT_NE(truth.spaces().of(70), nullptr);
	for (uint32_t i = 0; i < 1000; i++) {
		truth.take(record(PERF_RECORD_FORK, 0, {halves(100 + i, pid), halves(100 + i, tid), 0, 0, 0}));
		truth.take(record(PERF_RECORD_EXIT, 0, {halves(100 + i, pid), halves(100 + i, tid), 0, 0, 0}));
	}
	EXPECT_EQ(truth.spaces().of(70), nullptr);
}

TEST_F(TruthTest, RecordTooShort)
{
	EXPECT_THROW(truth.take(record(PERF_RECORD_SAMPLE, 0, {start, 0, 0, 1000})), std::runtime_error);
}

} // namespace
