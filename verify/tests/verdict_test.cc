// SPDX-License-Identifier: GPL-2.0
#include "fuzz/verdict.h"

#include <gtest/gtest.h>

#include <csignal>

using namespace fuzz;

TEST(Verdict, AnErrorIsNoTrouble)
{
	Outcome o;

	o.status = 255 << 8;
	o.err = "incompatible file format\n";
	EXPECT_FALSE(verdict_of(o));
}

TEST(Verdict, ASignalIsACrashNamedByItsFrames)
{
	Outcome o;

	o.status = SIGSEGV;
	o.err = "perf: Segmentation fault\n"
		"    #0 0x55 in dump_stack debug.c:366\n"
		"    #1 0x55 in sighandler_dump_stack debug.c:378\n"
		"    #2 0x7f in __restore_rt libc_sigaction.c:0\n"
		"    #3 0x55 in one a.c:1\n"
		"    #4 0x55 in two a.c:2\n";

	auto v = verdict_of(o);

	ASSERT_TRUE(v);
	EXPECT_EQ(v->trouble, Trouble::Crash);
	EXPECT_EQ(v->signature, "SIGSEGV one < two");
}

TEST(Verdict, SanitizerReportsCountWhateverTheStatus)
{
	Outcome o;

	o.err = "==12==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60 at pc 0x55\n"
		"READ of size 8\n"
		"    #0 0x7f in __interceptor_memcpy ../x/sanitizer_common.inc:827\n"
		"    #1 0x55 in inner util/session.c:12\n"
		"    #2 0x55 in outer /a/b/util/session.c:30\n"
		"\n"
		"0x60 is located 0 bytes after\n"
		"    #0 0x7f in malloc ../x/malloc.cpp:1\n";
	auto v = verdict_of(o);
	ASSERT_TRUE(v);
	EXPECT_EQ(v->trouble, Trouble::Report);
	EXPECT_EQ(v->signature, "ASan heap-buffer-overflow inner util/session.c:12 < outer");

	o.err = "/a/b/util/hist.c:3:7: runtime error: signed integer overflow: 5 + 6\n";
	v = verdict_of(o);
	ASSERT_TRUE(v);
	EXPECT_EQ(v->signature, "UBSan util/hist.c:3:7: signed integer overflow: ");
}

TEST(Verdict, AHangIsTrouble)
{
	Outcome o;

	o.hung = true;
	ASSERT_TRUE(verdict_of(o));
	EXPECT_EQ(verdict_of(o)->trouble, Trouble::Hang);
}
