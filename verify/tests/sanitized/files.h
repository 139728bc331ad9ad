// SPDX-License-Identifier: GPL-2.0
// Files for tests, and what the commands say of them.
#pragma once

#include "bid/commands.h"
#include "corpus/compose.h"
#include "corpus/corpus.h"
#include "perfdata/file.h"

#include <functional>

// A directory that is gone at the end.
class Scratch {
public:
	Scratch();
	~Scratch();

	bid::Path write(const std::string &name, const perfdata::Buffer &content) const;
	const bid::Path &path() const { return path_; }

private:
	bid::Path path_;
};

using hostile::specimen;

// The same file with its records in COMPRESSED2 records, or COMPRESSED: each has chunk bytes of them, so that records
// lie across.
perfdata::Buffer compressed(const perfdata::Buffer &file, size_t chunk, bool old = false);
// The same records without the one of that number.
perfdata::Buffer without(const perfdata::Buffer &file, size_t number);
// The records as perf record --threads writes them: those of perf itself and two shares of the others.
void split(const Scratch &to, const perfdata::Buffer &file);

struct Said {
	int status;
	std::string text;
};

Said said(const std::function<int(std::FILE *)> &command);
