// SPDX-License-Identifier: GPL-2.0
#pragma once

#include "fuzz/child.h"

#include <optional>

namespace fuzz {

enum class Trouble { Crash, Report, Hang, Leftover };

struct Verdict {
	Trouble trouble;
	std::string signature; // the same for the same cause, as far as one can tell
};

// What is wrong with a run. Refusing the file with an error is right, so the exit status says nothing.
std::optional<Verdict> verdict_of(const Outcome &outcome);

} // namespace fuzz
