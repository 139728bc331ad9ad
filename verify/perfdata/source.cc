// SPDX-License-Identifier: GPL-2.0
#include "perfdata/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace perfdata {

namespace {

constexpr uint64_t least = 65536;	// bytes in a window: one record

[[noreturn]] void fail(const char *verb, const std::string &name, int error)
{
	throw std::system_error(error, std::generic_category(), fmt::format("cannot {} {}", verb, name));
}

} // namespace

Source::Source(const std::filesystem::path &path)
	: name_(path == "-" ? "standard input" : path.string()),
	  fd_(path == "-" ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC))
{
	struct stat st;

	if (fd_ < 0)
		fail("open", name_, errno);
	if (fstat(fd_, &st) < 0 || S_ISDIR(st.st_mode)) {
		int error = S_ISDIR(st.st_mode) ? EISDIR : errno;

		close(fd_);
		fail("read", name_, error);
	}
	seekable_ = S_ISREG(st.st_mode) && path != "-";
	if (seekable_)
		size_ = static_cast<uint64_t>(st.st_size);
	buffer_.resize(static_cast<size_t>(std::clamp<uint64_t>(size_, least, window)));
}

Source::~Source()
{
	close(fd_);
}

void Source::fill(size_t n)
{
	std::copy(buffer_.begin() + static_cast<ptrdiff_t>(begin_), buffer_.begin() + static_cast<ptrdiff_t>(end_),
		  buffer_.begin());
	end_ -= begin_;
	begin_ = 0;
	while (end_ < n) {
		uint64_t from = at_ + end_;
		ssize_t got = seekable_ ? pread(fd_, buffer_.data() + end_, buffer_.size() - end_,
						static_cast<off_t>(from)) :
					  read(fd_, buffer_.data() + end_, buffer_.size() - end_);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			fail("read", name_, errno);
		if (got == 0)
			break;
		end_ += static_cast<size_t>(got);
	}
}

std::span<const uint8_t> Source::peek(size_t n)
{
	n = std::min(n, buffer_.size());
	if (end_ - begin_ < n)
		fill(n);
	return std::span(buffer_).subspan(begin_, std::min(n, end_ - begin_));
}

void Source::seek(uint64_t at)
{
	at_ = at;
	begin_ = end_ = 0;
}

void Source::skip(uint64_t n)
{
	while (n) {
		if (begin_ == end_ && seekable_)
			return seek(at_ + n);
		if (begin_ == end_)
			fill(1);

		uint64_t step = std::min<uint64_t>(n, end_ - begin_);

		if (!step)
			throw FormatError(at_, fmt::format("it ends, {} bytes before it should", n));
		begin_ += step;
		at_ += step;
		n -= step;
	}
}

Buffer Source::read_at(uint64_t at, uint64_t size) const
{
	static constexpr uint64_t most = 16 << 20;

	if (at > size_ || size > size_ - at)
		throw FormatError(at, fmt::format("{} bytes wanted, in a file of {}", size, size_));
	if (size > most)
		throw FormatError(at, fmt::format("{} bytes of one thing, {} at most are read", size, most));

	Buffer content(size);

	for (size_t done = 0; done < size;) {
		ssize_t got = pread(fd_, content.data() + done, size - done, static_cast<off_t>(at + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			fail("read", name_, errno);
		if (got == 0)
			throw FormatError(at + done, "the file has become shorter");
		done += static_cast<size_t>(got);
	}
	return content;
}

} // namespace perfdata
