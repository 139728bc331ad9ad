// SPDX-License-Identifier: GPL-2.0
#include "storm/acts.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace storm {

namespace {

using Work = unsigned long (*)(unsigned long);

[[noreturn]] void fail(const char *what)
{
	throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

std::string some_time(Random &random)
{
	return std::to_string(200 + random() % 5000);	// microseconds
}

unsigned long some_rounds(Random &random)
{
	return 1 + random() % 200;
}

struct Library {
	void *handle;
	Work work;
};

Library load_library(const Files &files, Random &random)
{
	void *handle = dlopen(files.a_library(random).c_str(), RTLD_NOW | RTLD_LOCAL);
	void *work = handle ? dlsym(handle, "storm_work") : nullptr;

	if (!work)
		throw std::runtime_error(dlerror());
	return {handle, reinterpret_cast<Work>(work)};
}

// Becomes another program.
void run_program(const Files &files, Random &random)
{
	std::string path = files.a_program(random), time = some_time(random);

	execl(path.c_str(), path.c_str(), time.c_str(), nullptr);
	fail("exec");
}

// Starts programs in the way of a shell.
void spawn(const Files &files, Random &random)
{
	for (int i = 0; i < 3; i++) {
		std::string path = files.a_program(random), time = some_time(random);
		char *argv[] = {path.data(), time.data(), nullptr};
		pid_t pid;

		errno = posix_spawn(&pid, path.c_str(), nullptr, nullptr, argv, environ);
		if (errno)
			fail("posix_spawn");
		waitpid(pid, nullptr, 0);
	}
}

// Loads, works and unloads.
void load(const Files &files, Random &random)
{
	for (int i = 0; i < 5; i++) {
		Library library = load_library(files, random);

		library.work(some_rounds(random));
		dlclose(library.handle);
	}
}

struct Code {
	void *map;
	size_t size;
};

// Maps the whole file, at the place given if there is one.
Code map_file(const std::string &path, void *place)
{
	int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		fail("open");

	size_t size = static_cast<size_t>(st.st_size);
	void *map = mmap(place, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | (place ? MAP_FIXED : 0), fd, 0);

	if (map == MAP_FAILED)
		fail("mmap");
	close(fd);
	return {map, size};
}

// Where the code begins in each copy of the library.
size_t offset_of_work(const Files &files, Random &random)
{
	Library library = load_library(files, random);
	struct link_map *info;

	if (dlinfo(library.handle, RTLD_DI_LINKMAP, &info))
		throw std::runtime_error(dlerror());

	// The linker was told to keep addresses and offsets the same.
	size_t offset = reinterpret_cast<uintptr_t>(library.work) - info->l_addr;

	dlclose(library.handle);
	return offset;
}

// Maps file over file in the same place, splits the mapping, and works in each.
void remap(const Files &files, Random &random)
{
	size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE)), offset = offset_of_work(files, random);
	Code code = map_file(files.a_library(random), nullptr);

	for (int i = 0; i < 20; i++) {
		auto work = reinterpret_cast<Work>(static_cast<char *>(code.map) + offset);

		work(some_rounds(random));
		if (mprotect(code.map, page, PROT_READ) ||
		    mprotect(static_cast<char *>(code.map) + offset / page * page, page,
			     PROT_READ | PROT_WRITE | PROT_EXEC))
			fail("mprotect");
		work(some_rounds(random));
		map_file(files.a_library(random), code.map);
	}
	munmap(code.map, code.size);
}

// Threads work; the process then ends below them, or becomes another program.
void thread(const Files &files, Random &random)
{
	std::vector<std::thread> threads;
	unsigned long rounds = some_rounds(random);
	Work work = load_library(files, random).work;

	for (int i = 0; i < 3; i++)
		threads.emplace_back([work, rounds] { work(rounds * 4); });
	usleep(static_cast<useconds_t>(random() % 3000));
	if (random() % 2)
		run_program(files, random);
	_exit(0);
}

// Code of no file.
void anonymous(const Files &files, Random &random)
{
	size_t offset = offset_of_work(files, random);
	Code code = map_file(files.a_library(random), nullptr);
	void *copy = mmap(nullptr, code.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		fail("mmap");
	std::memcpy(copy, code.map, code.size);
	if (mprotect(copy, code.size, PROT_READ | PROT_EXEC))
		fail("mprotect");
	munmap(code.map, code.size);
	reinterpret_cast<Work>(static_cast<char *>(copy) + offset)(some_rounds(random) * 4);
}

constexpr void (*acts[])(const Files &, Random &) = {run_program, spawn, load, remap, thread, anonymous};

} // namespace

void act(const Files &files, Random &random)
{
	auto what = acts[random() % std::size(acts)];
	bool killed = random() % 4 == 0;
	uint32_t seed = static_cast<uint32_t>(random());
	int status;
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	if (pid == 0) {
		Random own(seed);

		try {
			what(files, own);
			_exit(0);
		} catch (const std::exception &error) {
			fmt::print(stderr, "{}\n", error.what());
			_exit(1);
		}
	}
	if (killed) {
		usleep(static_cast<useconds_t>(random() % 4000));
		kill(pid, SIGKILL);
	}
	if (waitpid(pid, &status, 0) != pid)
		fail("waitpid");
	// Under memory pressure the kernel may kill, too.
	if (WIFSIGNALED(status) ? WTERMSIG(status) != SIGKILL : WEXITSTATUS(status) != 0)
		throw std::runtime_error(fmt::format("an act ends with status {:#x}", status));
}

} // namespace storm
