// SPDX-License-Identifier: GPL-2.0
// info, leaks and dump
#include "corpus/corpus.h"
#include "tests/sanitized/files.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace perfdata;
using Json = nlohmann::json;

namespace {

class ReportTest : public ::testing::Test {
protected:
	template <typename F> Said run(F command, const Buffer &content, bool json = false)
	{
		bid::Options options;

		options.json = json;
		return said([&](std::FILE *out) { return command(scratch.write("file", content), options, out); });
	}

	Scratch scratch;
};

} // namespace

TEST_F(ReportTest, DumpIsTheSameInBothByteOrders)
{
	for (const auto &s : hostile::corpus()) {
		if (!s.name.ends_with("-le") || s.name.starts_with("pipe"))
			continue;

		std::string other = s.name.substr(0, s.name.size() - 2) + "be";
		Said a = run(bid::run_dump, s.content), b = run(bid::run_dump, specimen(other));

		EXPECT_EQ(a.status, 0);
		EXPECT_EQ(std::count(a.text.begin(), a.text.end(), '\n'), File::parse(s.content).records().size());
		// Raw memory is hashed as it is.
		if (s.name.starts_with("dwarf") || s.name.starts_with("everything"))
			continue;
		EXPECT_EQ(a.text, b.text) << s.name;
		EXPECT_EQ(a.text, run(bid::run_dump, compressed(s.content, 700)).text);
	}
}

TEST_F(ReportTest, InfoCounts)
{
	for (const char *name : {"converted-le", "converted-be", "pipe-le"}) {
		Said got = run(bid::run_info, specimen(name), true);
		Json json = Json::parse(got.text);
		uint64_t samples = 0;
		Json entries = json["entries"];

		EXPECT_EQ(got.status, 0);
		EXPECT_EQ(json["samples"], 48);
		EXPECT_EQ(json["records"]["SAMPLE"], 48);
		EXPECT_EQ(json["build_ids"].size(), 3U);
		for (const Json &id : json["build_ids"]) {
			samples += id["samples"].get<uint64_t>();
			EXPECT_TRUE(id["name"].get<std::string>().starts_with("/specimen/lib")) << id;
		}
		EXPECT_EQ(samples, json["events"][0]["resolved"].get<uint64_t>() +
					   (json["events"].size() > 1 ? json["events"][1]["resolved"].get<uint64_t>() : 0));
		EXPECT_EQ(entries["total"].get<uint64_t>(),
			  entries["resolved"].get<uint64_t>() + entries["unresolved_user"].get<uint64_t>() +
				  entries["kernel"].get<uint64_t>() + entries["markers"].get<uint64_t>() +
				  entries["deferred"].get<uint64_t>());
		EXPECT_NE(run(bid::run_info, specimen(name)).text.find("/specimen/libalpha.so"), std::string::npos);
	}
}

TEST_F(ReportTest, InfoJoinsDeferred)
{
	Json json = Json::parse(run(bid::run_info, specimen("deferred-le"), true).text);
	uint64_t samples = 0;

	EXPECT_EQ(json["entries"]["deferred"], json["entries"]["answered"]);
	EXPECT_GT(json["entries"]["deferred"], 0);
	for (const Json &id : json["build_ids"])
		samples += id["samples"].get<uint64_t>();
	EXPECT_EQ(samples, json["events"][0]["resolved"].get<uint64_t>());
	EXPECT_GT(samples, 0U);
}

TEST_F(ReportTest, LeaksByRecordAndField)
{
	auto of = [this](const char *name) {
		std::map<std::string, uint64_t> by;
		Said got = run(bid::run_leaks, specimen(name), true);

		EXPECT_EQ(got.status, 1);

		Json leaks = Json::parse(got.text)["leaks"];

		for (const Json &leak : leaks)
			by[leak["record"].get<std::string>() + "." + leak["field"].get<std::string>()] =
				leak["addresses"].get<uint64_t>() + leak["bytes"].get<uint64_t>();
		return by;
	};

	auto plain = of("plain-le"), converted = of("converted-le"), deferred = of("deferred-be"), dwarf = of("dwarf-le");

	EXPECT_TRUE(plain.contains("SAMPLE.ip"));
	EXPECT_TRUE(plain.contains("SAMPLE.callchain"));
	EXPECT_EQ(plain["MMAP2.start"], 6U);
	EXPECT_FALSE(converted.contains("SAMPLE.ip"));
	EXPECT_LT(converted["SAMPLE.entry"], plain["SAMPLE.ip"]);
	EXPECT_GT(converted["SAMPLE.callchain_entries"], 0U);
	EXPECT_EQ(plain, of("plain-be"));
	EXPECT_GT(deferred["CALLCHAIN_DEFERRED.callchain_entries"], 0U);
	EXPECT_GT(dwarf["SAMPLE.stack_user"], 0U);
	EXPECT_GT(dwarf["SAMPLE.regs_user"], 0U);
}

TEST_F(ReportTest, NoLeaks)
{
	hostile::EventSpec e;
	hostile::SampleSpec s;

	e.sample_type = SAMPLE_TID | SAMPLE_TIME | SAMPLE_BUILD_ID_OFFSET | SAMPLE_CALLCHAIN_BUILD_ID_OFFSET;

	hostile::Composer c(std::endian::little, false, {e});

	s.ip_entry = {{3, {1, 2, 3}}, 0x1000};
	s.chain_entries = {{{}, CONTEXT_KERNEL}, {{}, 0xffffffff81000000}, {{}, CONTEXT_USER}, s.ip_entry};
	c.sample({1, 1, 1, 0, 0}, e, s);

	Said got = run(bid::run_leaks, c.finish({}));

	EXPECT_EQ(got.status, 0) << got.text;
	EXPECT_EQ(got.text, "no user address is in it\n");
}
