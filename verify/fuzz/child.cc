// SPDX-License-Identifier: GPL-2.0
#include "fuzz/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <system_error>

namespace fuzz {

namespace {

void check(int error, const std::string &what)
{
	if (error)
		throw std::system_error(error, std::generic_category(), what);
}

std::vector<char *> pointers(const std::vector<std::string> &list)
{
	std::vector<char *> p;

	for (const std::string &s : list)
		p.push_back(const_cast<char *>(s.c_str()));
	p.push_back(nullptr);
	return p;
}

struct Actions {
	posix_spawn_file_actions_t v;
	Actions() { check(posix_spawn_file_actions_init(&v), "posix_spawn"); }
	~Actions() { posix_spawn_file_actions_destroy(&v); }
};

struct Attributes {
	posix_spawnattr_t v;
	Attributes() { check(posix_spawnattr_init(&v), "posix_spawn"); }
	~Attributes() { posix_spawnattr_destroy(&v); }
};

} // namespace

std::string beginning_of(const std::filesystem::path &path)
{
	std::string text(1 << 16, '\0');
	int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text.data(), text.size());

	if (fd >= 0)
		close(fd);
	text.resize(n < 0 ? 0 : static_cast<size_t>(n));
	return text;
}

bool Outcome::exited(int code) const
{
	return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

Outcome run_child(const std::vector<std::string> &argv, const std::vector<std::string> &env,
		  const std::filesystem::path &err_file, unsigned int timeout_s, const std::filesystem::path &out_file)
{
	Actions actions;
	Attributes attributes;
	Outcome o;
	pid_t pid;

	posix_spawn_file_actions_addopen(&actions.v, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions.v, 1, out_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
	posix_spawn_file_actions_addopen(&actions.v, 2, err_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
	posix_spawnattr_setflags(&attributes.v, POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setpgroup(&attributes.v, 0);

	check(posix_spawn(&pid, argv[0].c_str(), &actions.v, &attributes.v, pointers(argv).data(),
			  pointers(env).data()),
	      "cannot run " + argv[0]);

	int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));

	if (pidfd < 0) {
		int error = errno;

		kill(-pid, SIGKILL);
		waitpid(pid, nullptr, 0);
		check(error, "pidfd_open");
	}

	pollfd ended = {pidfd, POLLIN, 0};
	int ready;

	do
		ready = poll(&ended, 1, static_cast<int>(timeout_s * 1000));
	while (ready < 0 && errno == EINTR);

	o.hung = ready == 0;
	// Its helpers too: perf starts addr2line and the like. Not reaped yet, so the group's number is still its own.
	kill(-pid, SIGKILL);
	waitpid(pid, &o.status, 0);
	close(pidfd);
	o.err = beginning_of(err_file);
	return o;
}

} // namespace fuzz
