// SPDX-License-Identifier: GPL-2.0
#include "fuzz/child.h"

#include <gtest/gtest.h>

#include <csignal>
#include <sys/wait.h>

using namespace fuzz;

namespace {

const std::filesystem::path err = std::filesystem::path(testing::TempDir()) / "verify-child-test.err";

Outcome shell(const char *script, unsigned int timeout_s = 60)
{
	Outcome o = run_child({"/bin/sh", "-c", script}, {"PATH=/usr/bin:/bin"}, err, timeout_s);

	std::filesystem::remove(err);
	return o;
}

} // namespace

TEST(Child, GivesStatusAndStandardError)
{
	Outcome o = shell("echo no >&2; exit 3");

	EXPECT_TRUE(o.exited(3));
	EXPECT_FALSE(o.hung);
	EXPECT_EQ(o.err, "no\n");
}

TEST(Child, GivesTheSignal)
{
	Outcome o = shell("kill -SEGV $$");

	ASSERT_TRUE(WIFSIGNALED(o.status));
	EXPECT_EQ(WTERMSIG(o.status), SIGSEGV);
}

TEST(Child, HasNoInput)
{
	EXPECT_TRUE(shell("! read line").exited(0));
}

// It never ends of itself, so that no speed of the machine matters.
TEST(Child, EndsWhatHangsWithItsChildren)
{
	Outcome o = shell("sleep 100000 & wait", 1);

	EXPECT_TRUE(o.hung);
}

TEST(Child, SaysWhatItCannotRun)
{
	EXPECT_THROW(run_child({"/nonexistent"}, {}, err, 1), std::system_error);
	std::filesystem::remove(err);
}
