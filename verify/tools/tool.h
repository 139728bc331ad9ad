// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <exception>

// A program's main: what goes wrong ends as one line and status 2.
template <typename F> int run_tool(const char *name, F body)
{
	try {
		return body();
	} catch (const std::exception &e) {
		fmt::print(stderr, "{}: {}\n", name, e.what());
		return 2;
	}
}
