// SPDX-License-Identifier: GPL-2.0
// libFuzzer: any bytes at all are read, or refused with a reason.
#include "bid/commands.h"
#include "perfdata/error.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>

namespace {

// One command for each input, so that there are as many as can be: the size says which. libFuzzer changes it all the time.
void run(size_t size, const bid::Path &path, std::FILE *out)
{
	bid::Options options;

	options.json = size / 5 & 1;
	switch (size % 5) {
	case 0: bid::run_info(path, options, out); break;
	case 1: bid::run_audit(path, options, out); break;
	case 2: bid::run_leaks(path, options, out); break;
	case 3: bid::run_dump(path, options, out); break;
	case 4: bid::run_compare(path, path, options, out); break;
	}
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int file = memfd_create("input", MFD_CLOEXEC);
	static const bid::Path path = "/proc/self/fd/" + std::to_string(file);
	static std::FILE *const nowhere = std::fopen("/dev/null", "w");

	if (ftruncate(file, 0) || pwrite(file, data, size, 0) != static_cast<ssize_t>(size))
		std::abort();
	try {
		run(size, path, nowhere);
	} catch (const perfdata::FormatError &) {
	} catch (const std::runtime_error &) {
		// compare names the file
	}
	return 0;
}
