// SPDX-License-Identifier: GPL-2.0
#include "fuzz/server.h"

#include "fuzz/preload.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <system_error>

namespace fuzz {

Server::Server(std::string program, std::vector<std::string> env, std::filesystem::path preload)
	: program_(std::move(program)), env_(std::move(env))
{
	env_.push_back("LD_PRELOAD=" + preload.string());
	env_.push_back("LD_BIND_NOW=1");
	start();
}

Server::~Server()
{
	stop();
}

void Server::start()
{
	int request[2], answer[2];

	if (pipe2(request, O_CLOEXEC) < 0 || pipe2(answer, O_CLOEXEC) < 0)
		throw std::system_error(errno, std::generic_category(), "pipe");

	posix_spawn_file_actions_t actions;
	std::vector<char *> env;
	char *argv[] = {program_.data(), nullptr};

	for (std::string &s : env_)
		env.push_back(s.data());
	env.push_back(nullptr);

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, request[0], PRELOAD_REQUEST_FD);
	posix_spawn_file_actions_adddup2(&actions, answer[1], PRELOAD_ANSWER_FD);

	int error = posix_spawn(&pid_, program_.c_str(), &actions, nullptr, argv, env.data());

	posix_spawn_file_actions_destroy(&actions);
	close(request[0]);
	close(answer[1]);
	request_ = request[1];
	answer_ = answer[0];
	if (error)
		throw std::system_error(error, std::generic_category(), "cannot run " + program_);
}

void Server::stop()
{
	close(request_);
	close(answer_);
	if (pid_ > 0)
		waitpid(pid_, nullptr, 0);
	pid_ = -1;
}

// False when the time is over.
bool Server::answer(uint32_t &v, int timeout_ms)
{
	pollfd p = {answer_, POLLIN, 0};
	int ready;

	do
		ready = poll(&p, 1, timeout_ms);
	while (ready < 0 && errno == EINTR);

	if (!ready)
		return false;
	if (ready < 0 || read(answer_, &v, sizeof(v)) != sizeof(v))
		throw std::runtime_error(program_ + " does not answer: is it linked statically, or 32 bit?");
	return true;
}

Outcome Server::run(const std::vector<std::string> &argv, const std::filesystem::path &err_file,
		    unsigned int timeout_s)
{
	std::string strings = err_file.string();
	uint32_t pid = 0, status = 0;
	Outcome o;

	strings.push_back('\0');
	for (const std::string &arg : argv) {
		strings += arg;
		strings.push_back('\0');
	}

	uint32_t len = static_cast<uint32_t>(strings.size());
	std::string request(reinterpret_cast<const char *>(&len), sizeof(len));

	request += strings;
	if (write(request_, request.data(), request.size()) != static_cast<ssize_t>(request.size()))
		throw std::runtime_error(program_ + " takes no request");

	answer(pid, -1);
	o.hung = !answer(status, static_cast<int>(timeout_s * 1000));
	if (o.hung) {
		kill(-static_cast<pid_t>(pid), SIGKILL);
		answer(status, -1);
	}
	o.status = static_cast<int>(status);
	o.err = beginning_of(err_file);
	return o;
}

} // namespace fuzz
