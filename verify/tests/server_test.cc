// SPDX-License-Identifier: GPL-2.0
#include "fuzz/server.h"

#include <gtest/gtest.h>

#include <csignal>
#include <sys/wait.h>

using namespace fuzz;

namespace {

class ServerTest : public testing::Test {
protected:
	~ServerTest() override { std::filesystem::remove(err); }

	Outcome shell(const char *script, unsigned int timeout_s = 60)
	{
		return server.run({"sh", "-c", script}, err, timeout_s);
	}

	const std::filesystem::path err = std::filesystem::path(testing::TempDir()) / "verify-server-test.err";
	Server server{"/bin/sh", {"PATH=/usr/bin:/bin"}, PRELOAD};
};

} // namespace

TEST_F(ServerTest, RunsAgainAndAgain)
{
	for (const char *script : {"echo one >&2; exit 3", "echo two >&2; exit 3"}) {
		Outcome o = shell(script);

		EXPECT_TRUE(o.exited(3));
		EXPECT_EQ(o.err, std::string(script).substr(5, 3) + "\n");
	}
}

TEST_F(ServerTest, SurvivesItsChildrensDeath)
{
	Outcome o = shell("kill -SEGV $$");

	ASSERT_TRUE(WIFSIGNALED(o.status));
	EXPECT_EQ(WTERMSIG(o.status), SIGSEGV);
	EXPECT_TRUE(shell("exit 0").exited(0));
}

TEST_F(ServerTest, EndsWhatHangs)
{
	EXPECT_TRUE(shell("sleep 100000 & wait", 1).hung);
	EXPECT_TRUE(shell("exit 0").exited(0));
}

TEST_F(ServerTest, LeavesNoPreloadToThePrograms)
{
	EXPECT_TRUE(shell("test -z \"$LD_PRELOAD\"").exited(0));
}
