// SPDX-License-Identifier: GPL-2.0
#include "perfdata/io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <system_error>

namespace perfdata {

namespace {

[[noreturn]] void fail(const char *verb, const std::filesystem::path &path)
{
	throw std::system_error(errno, std::generic_category(), fmt::format("cannot {} {}", verb, path.string()));
}

struct Fd {
	int fd;
	~Fd() { close(fd); }
};

} // namespace

Buffer read_file(const std::filesystem::path &path)
{
	Fd in{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
	struct stat st;

	if (in.fd < 0 || fstat(in.fd, &st) < 0)
		fail("open", path);

	Buffer content(static_cast<size_t>(st.st_size));

	for (size_t done = 0; done < content.size();) {
		ssize_t n = read(in.fd, content.data() + done, content.size() - done);

		if (n < 0)
			fail("read", path);
		if (n == 0) // it shrank while we read it
			content.resize(done);
		done += static_cast<size_t>(n);
	}
	return content;
}

void overwrite_file(const std::filesystem::path &path, std::span<const uint8_t> content)
{
	Fd out{open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};

	if (out.fd < 0)
		fail("create", path);

	for (size_t done = 0; done < content.size();) {
		ssize_t n = write(out.fd, content.data() + done, content.size() - done);

		if (n < 0)
			fail("write", path);
		done += static_cast<size_t>(n);
	}
}

void write_file(const std::filesystem::path &path, std::span<const uint8_t> content)
{
	std::filesystem::path aside = path;

	aside += ".part";
	try {
		overwrite_file(aside, content);
		std::filesystem::rename(aside, path);
	} catch (...) {
		std::error_code ignored;

		std::filesystem::remove(aside, ignored);
		throw;
	}
}

} // namespace perfdata
