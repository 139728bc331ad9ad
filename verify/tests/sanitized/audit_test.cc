// SPDX-License-Identifier: GPL-2.0
#include "audit/build_ids.h"
#include "corpus/corpus.h"
#include "perfdata/layout.h"
#include "tests/sanitized/files.h"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

using namespace perfdata;

namespace {

Said judged(const bid::Path &path, bool strict = false)
{
	bid::Options options;

	options.strict = strict;
	return said([&](std::FILE *out) { return bid::run_audit(path, options, out); });
}

// The offset in the file of the first field of that kind with a value that is not 0, in a record of that type.
uint64_t find(const File &f, uint32_t type, Kind kind, bool (*wanted)(uint64_t) = [](uint64_t v) { return v != 0; })
{
	for (const Record &r : f.records())
		for (const Field &field : layout(r, f.events()))
			if (r.type() == type && field.kind == kind &&
			    wanted(field.width == 8 ? r.bytes.u64(field.at) : r.bytes.u8(field.at)))
				return r.offset() + field.at;
	ADD_FAILURE() << "there is no such field";
	return 0;
}

} // namespace

TEST(Audit, SoundFilesAreTrue)
{
	Scratch scratch;

	for (const auto &s : hostile::corpus()) {
		// The build ID of libdelta.so is told nowhere.
		Said got = judged(scratch.write(s.name, s.content));

		EXPECT_EQ(got.status, 0) << s.name << "\n" << got.text;
		EXPECT_EQ(got.text.find("wrong:"), std::string::npos) << s.name;
		EXPECT_NE(got.text.find(" 0 samples whose address was never resolved"), std::string::npos) << s.name;
	}
}

TEST(Audit, FindsAWrongOffset)
{
	Scratch scratch;

	for (const char *name : {"both-le", "both-be", "deferred-le", "deferred-both-be"}) {
		Buffer b = specimen(name);
		File f = File::parse(b);
		uint64_t at = 0;

		// A deferred callchain has the entry of the sampled address, which the sample has.
		for (const Record &r : f.records())
			if (r.type() == RECORD_CALLCHAIN_DEFERRED && r.bytes.u8(RECORD_HEADER_SIZE + 8))
				at = r.offset() + RECORD_HEADER_SIZE + 8;
		if (!at)
			at = find(f, RECORD_SAMPLE, Kind::EntrySize);
		put(b, at + 24, 8, 0x123456, f.order());

		Said got = judged(scratch.write(name, b));

		EXPECT_EQ(got.status, 1) << name;
		EXPECT_NE(got.text.find("wrong: 0x"), std::string::npos) << name;
		EXPECT_NE(got.text.find("found 0x123456"), std::string::npos) << name << got.text;
	}
}

TEST(Audit, FindsAWrongBuildId)
{
	Scratch scratch;

	for (const char *name : {"both-le", "single-le", "pipe-be"}) {
		Buffer b = specimen(name);
		File f = File::parse(b);

		b[find(f, RECORD_SAMPLE, Kind::EntrySize) + 4] ^= 0x10;

		Said got = judged(scratch.write(name, b));

		// In a file without a build ID it could be anything.
		EXPECT_EQ(got.status, std::string(name).starts_with("both") ? 1 : 0) << name << got.text;
		EXPECT_NE(got.text.find(got.status ? "has the build ID" : "as far as the build IDs can be told"),
			  std::string::npos)
			<< got.text;
	}
}

// No address, but the file itself.
TEST(Audit, AsksTheFile)
{
	Scratch scratch;
	hostile::EventSpec e;
	std::string path = std::filesystem::canonical("/proc/self/exe");
	::audit::BuildId own = ::audit::read_build_id(path);
	hostile::BuildId id{own.size, own.bytes};
	uint64_t size = std::filesystem::file_size(path);
	struct stat st;

	ASSERT_GT(own.size, 0);
	ASSERT_EQ(stat(path.c_str(), &st), 0);
	e.sample_type = SAMPLE_TID | SAMPLE_TIME | SAMPLE_BUILD_ID_OFFSET;
	e.flags = {ATTR_FLAG_SAMPLE_ID_ALL, ATTR_FLAG_MMAP};
	for (auto [offset, status, says] : {std::tuple<uint64_t, int, const char *>{0x2010, 0, ""},
					    {0x10, 0, "is not mapped as code"},
					    {size + 0x100000, 1, "another part of"}}) {
		hostile::Composer c(std::endian::little, false, {e});
		hostile::SampleSpec s;

		// The event has no build ID: the file has it.
		c.record(RECORD_MMAP2, MISC_USER,
			 c.body().u32(5).u32(5).u64(0x10000).u64(0x1000).u64(0x2000).u32(0).u32(0).u64(st.st_ino).u64(0)
				 .u32(5).u32(2).text(path, 8),
			 {5, 5, 1, 0, 0});
		s.ip_entry = {id, offset};
		c.sample({5, 5, 2, 0, 0}, e, s);

		Said got = judged(scratch.write("own", c.finish({})));

		EXPECT_EQ(got.status, status) << got.text;
		EXPECT_NE(got.text.find(says), std::string::npos) << got.text;
	}
}

TEST(Audit, FindsBytesThatAreNotZero)
{
	Scratch scratch;
	Buffer b = specimen("converted-le");
	File f = File::parse(b);

	b[find(f, RECORD_SAMPLE, Kind::EntrySize) + 2] = 1;

	Said got = judged(scratch.write("reserved", b));

	EXPECT_EQ(got.status, 1);
	EXPECT_NE(got.text.find("bytes that are to be zero"), std::string::npos);
}

TEST(Audit, NothingToJudge)
{
	Scratch scratch;
	Said got = judged(scratch.write("plain", specimen("plain-le")));

	EXPECT_EQ(got.status, 0);
	EXPECT_NE(got.text.find("there was nothing to judge"), std::string::npos);
}

TEST(Audit, CompressedAndDirectoryAreJudged)
{
	Scratch scratch, dir;
	Buffer b = specimen("both-le");

	split(dir, b);
	EXPECT_EQ(judged(dir.path()).text, judged(scratch.write("whole", b)).text);
	EXPECT_EQ(judged(scratch.write("z", compressed(b, 1000))).text, judged(scratch.write("whole", b)).text);

	put(b, find(File::parse(b), RECORD_SAMPLE, Kind::EntrySize) + 24, 8, 0x123456, std::endian::little);

	Said got = judged(scratch.write("z", compressed(b, 1000)));

	EXPECT_EQ(got.status, 1);
	EXPECT_NE(got.text.find("+0x"), std::string::npos);
}

TEST(Audit, PassesOverARecordThatIsUnsound)
{
	Scratch scratch;
	Buffer b = specimen("converted-le");
	File f = File::parse(b);

	// It has all that the layout wants, and less than it says.
	put(b, find(f, RECORD_SAMPLE, Kind::Count), 8, UINT64_MAX, std::endian::little);

	Said whole = judged(scratch.write("whole", specimen("converted-le"))), got = judged(scratch.write("cut", b));

	EXPECT_EQ(got.status, 1) << got.text;
	EXPECT_NE(got.text.find("\nunsound: 0x"), std::string::npos) << got.text;
	EXPECT_NE(got.text.find("\n1 records are unsound"), std::string::npos) << got.text;
	// The others are judged, none of them is wrong.
	EXPECT_EQ(got.text.find("wrong: "), std::string::npos) << got.text;
	EXPECT_EQ(got.text.find(" mappings"), whole.text.find(" mappings")) << got.text;
}

// The task is in execve(): its registers are those of the program before.
TEST(Audit, BetweenTwoPrograms)
{
	Scratch scratch;
	hostile::EventSpec e;
	hostile::SampleSpec s;
	hostile::BuildId id{3, {1, 2, 3}};
	hostile::Entry entry{id, 0x1010};

	e.sample_type = SAMPLE_TID | SAMPLE_TIME | SAMPLE_CALLCHAIN_BUILD_ID_OFFSET;
	e.flags = {ATTR_FLAG_SAMPLE_ID_ALL, ATTR_FLAG_BUILD_ID};
	for (bool runs : {false, true}) {
		hostile::Composer c(std::endian::little, false, {e});

		c.mmap2({5, 5, 1, 0, 0}, 0x10000, 0x1000, 0x1000, id, "/old");
		c.record(RECORD_COMM, MISC_COMM_EXEC, c.body().u32(5).u32(5).text("new", 8), {5, 5, 2, 0, 0});
		c.mmap2({5, 5, 3, 0, 0}, 0x20000, 0x1000, 0, {4, {9, 9, 9, 9}}, "/new");
		s.misc = MISC_USER;
		s.chain_entries = {};
		if (runs)
			c.sample({5, 5, 4, 0, 0}, e, s);
		s.misc = MISC_KERNEL;
		s.chain_entries = {{{}, CONTEXT_USER}, entry};
		c.sample({5, 5, 5, 0, 0}, e, s);
		EXPECT_EQ(judged(scratch.write("exec", c.finish({})), true).status, runs ? 1 : 0);
	}
}

// Device and inode in a record that is flagged as if it had a build ID.
TEST(Audit, FalseBuildIdOfAMapping)
{
	Scratch scratch;
	std::string path = std::filesystem::canonical("/proc/self/exe");
	::audit::BuildId own = ::audit::read_build_id(path);
	struct stat st;

	ASSERT_EQ(stat(path.c_str(), &st), 0);
	for (std::endian order : {std::endian::little, std::endian::big})
		for (uint32_t major : {8, 254, 259, 0})
			for (bool asked : {false, true}) {
				hostile::EventSpec e;
				hostile::SampleSpec s;
				hostile::BuildIdRow row{5, MISC_USER, {8, {}}, path};

				e.sample_type = SAMPLE_TID | SAMPLE_TIME | SAMPLE_BUILD_ID_OFFSET;
				e.flags = {ATTR_FLAG_SAMPLE_ID_ALL, ATTR_FLAG_MMAP};
				if (asked)
					e.flags.push_back(ATTR_FLAG_BUILD_ID);

				hostile::Composer c(order, false, {e});
				Buffer inode = c.body().u32(1).u64(st.st_ino).u64(77).bytes();

				c.record(RECORD_MMAP2, MISC_USER | MISC_MMAP_BUILD_ID,
					 c.body().u32(5).u32(5).u64(0x10000).u64(0x1000).u64(0x2000).u32(major).raw(inode)
						 .u32(5).u32(2).text(path, 8),
					 {5, 5, 1, 0, 0});
				s.ip_entry = {{own.size, own.bytes}, 0x2010};
				c.sample({5, 5, 2, 0, 0}, e, s);
				// perf took it for a build ID itself.
				std::copy_n(inode.begin(), row.id.size, row.id.bytes.begin());

				Said got = judged(scratch.write("false", c.finish({row})), true);

				EXPECT_EQ(got.status, 0) << major << asked << got.text;
				EXPECT_EQ(got.text.find("there was nothing"), std::string::npos) << got.text;
			}
}

// Where no event asks for build IDs, those that perf inject has added are told from inodes.
TEST(Audit, AddedBuildIdOfAMapping)
{
	Scratch scratch;
	hostile::EventSpec e;
	hostile::SampleSpec s;
	hostile::BuildId id{20, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}};

	e.sample_type = SAMPLE_TID | SAMPLE_TIME | SAMPLE_BUILD_ID_OFFSET;
	e.flags = {ATTR_FLAG_SAMPLE_ID_ALL, ATTR_FLAG_MMAP};

	hostile::Composer c(std::endian::little, false, {e});

	c.mmap2({5, 5, 1, 0, 0}, 0x10000, 0x1000, 0x2000, id, "/a");
	s.ip_entry = {id, 0x2010};
	c.sample({5, 5, 2, 0, 0}, e, s);
	EXPECT_EQ(judged(scratch.write("added", c.finish({})), true).status, 0);
}

// The table has the build ID of the file that is there now. Another one was mapped.
TEST(Audit, TableOfAReplacedFile)
{
	Scratch scratch;
	std::string path = std::filesystem::canonical("/proc/self/exe");
	::audit::BuildId own = ::audit::read_build_id(path);
	hostile::BuildId id{own.size, own.bytes};
	struct stat st;
	char host[256] = "";

	ASSERT_EQ(stat(path.c_str(), &st), 0);
	ASSERT_EQ(gethostname(host, sizeof(host) - 1), 0);
	for (bool here : {true, false})
		for (bool same : {true, false}) {
			hostile::EventSpec e;
			hostile::SampleSpec s;

			e.sample_type = SAMPLE_TID | SAMPLE_TIME | SAMPLE_BUILD_ID_OFFSET;
			e.flags = {ATTR_FLAG_SAMPLE_ID_ALL, ATTR_FLAG_MMAP};

			hostile::Composer c(std::endian::little, false, {e});

			if (here)
				c.set_host_name(host);
			c.record(RECORD_MMAP2, MISC_USER,
				 c.body().u32(5).u32(5).u64(0x10000).u64(0x1000).u64(0x2000).u32(8).u32(1)
					 .u64(st.st_ino + !same).u64(0).u32(5).u32(2).text(path, 8),
				 {5, 5, 1, 0, 0});
			s.ip_entry = {id, 0x2010};
			c.sample({5, 5, 2, 0, 0}, e, s);

			Said got = judged(scratch.write("replaced", c.finish({{5, MISC_USER, id, path}})), true);

			// On another machine the file has another inode number anyway.
			EXPECT_EQ(got.status, here && !same) << got.text;
		}
}

// The first thread ends, and ten thousand other processes. The rest of the process is what it was.
TEST(Audit, FirstThreadEndsFirst)
{
	Scratch scratch;
	hostile::EventSpec e;
	hostile::SampleSpec s;
	hostile::BuildId id{3, {1, 2, 3}};

	e.sample_type = SAMPLE_TID | SAMPLE_TIME | SAMPLE_BUILD_ID_OFFSET;
	e.flags = {ATTR_FLAG_SAMPLE_ID_ALL, ATTR_FLAG_MMAP, ATTR_FLAG_BUILD_ID};
	for (bool threads : {false, true}) {
		hostile::Composer c(std::endian::little, false, {e});
		uint64_t time = 1;
		auto task = [&c, &time](uint32_t type, uint32_t pid, uint32_t parent, uint32_t tid) {
			time++;
			c.record(type, 0, c.body().u32(pid).u32(parent).u32(tid).u32(parent).u64(time),
				 {pid, tid, time, 0, 0});
		};

		c.mmap2({5, 5, time, 0, 0}, 0x10000, 0x1000, 0x2000, id, "/a");
		if (threads)
			task(RECORD_FORK, 5, 5, 6);
		task(RECORD_EXIT, 5, 5, 5);
		for (uint32_t pid = 100; pid < 10200; pid++)
			task(RECORD_EXIT, pid, 1, pid);
		s.ip_entry = {id, 0x2010};
		c.sample({5, 6, ++time, 0, 0}, e, s);

		Said got = judged(scratch.write("threads", c.finish({})), true);

		// It is forgotten, with the numbers of processes in use again and again.
		EXPECT_EQ(got.status, !threads) << got.text;
	}
}
