// SPDX-License-Identifier: GPL-2.0
// libFuzzer: any bytes at all are read, or refused with a reason.
#include "bid/commands.h"
#include "perfdata/error.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int file = memfd_create("input", MFD_CLOEXEC);
	static const bid::Path path = "/proc/self/fd/" + std::to_string(file);
	static std::FILE *const nowhere = std::fopen("/dev/null", "w");
	static bid::Options options;

	options.json = size & 1;
	if (ftruncate(file, 0) || pwrite(file, data, size, 0) != static_cast<ssize_t>(size))
		std::abort();

	auto run = [](auto command) {
		try {
			command();
		} catch (const perfdata::FormatError &) {
		} catch (const std::runtime_error &) {
			// compare names the file
		}
	};

	run([] { bid::run_info(path, options, nowhere); });
	run([] { bid::run_audit(path, options, nowhere); });
	run([] { bid::run_leaks(path, options, nowhere); });
	run([] { bid::run_dump(path, options, nowhere); });
	run([] { bid::run_compare(path, path, options, nowhere); });
	return 0;
}
