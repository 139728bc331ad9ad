// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded into the program to try. Linking it takes longer than reading a small file, so it is started once, stops
 * before main(), and forks a child that goes on into main() for each request.
 *
 * Request: u32 length, then zero-terminated strings: the file for standard error, and the arguments. Answer: the
 * child's pid, and when it has ended its wait status, a u32 each.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload.h"

typedef int (*main_fn)(int, char **, char **);
typedef int (*start_fn)(main_fn, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

static main_fn real_main;

/*
 * The end of a process is the libraries' and the sanitizer's own work, as long as the program's; a parent that only
 * forks does without. perf itself registers nothing that reads files.
 */
void exit(int status)
{
	fflush(NULL);
	_exit(status);
}

static int get(void *to, size_t n)
{
	char *p = to;

	while (n) {
		ssize_t got = read(PRELOAD_REQUEST_FD, p, n);

		if (got <= 0)
			return -1;
		p += got;
		n -= (size_t)got;
	}
	return 0;
}

static void tell(uint32_t v)
{
	if (write(PRELOAD_ANSWER_FD, &v, sizeof(v)) != sizeof(v))
		_exit(1);
}

static void redirect(int fd, const char *path, int flags)
{
	int opened = open(path, flags, 0644);

	if (opened < 0)
		_exit(126);
	if (opened != fd) {
		dup2(opened, fd);
		close(opened);
	}
}

static int child(char *request, uint32_t len, char **envp)
{
	char **argv;
	int argc = 0;
	char *err = request;

	setpgid(0, 0);
	close(PRELOAD_REQUEST_FD);
	close(PRELOAD_ANSWER_FD);
	redirect(0, "/dev/null", O_RDONLY);
	redirect(1, "/dev/null", O_WRONLY);
	redirect(2, err, O_WRONLY | O_CREAT | O_TRUNC);

	argv = calloc(len + 1, sizeof(*argv));
	if (!argv)
		_exit(126);
	for (char *p = err + strlen(err) + 1; p < request + len; p += strlen(p) + 1)
		argv[argc++] = p;

	return real_main(argc, argv, envp);
}

static int serve(int argc, char **argv, char **envp)
{
	uint32_t len;

	(void)argc;
	(void)argv;

	while (!get(&len, sizeof(len))) {
		char *request = malloc(len + 1);
		int status = 0;
		siginfo_t ended;
		pid_t pid;

		if (!request || get(request, len))
			_exit(1);
		request[len] = 0;

		/* With fork() the address sanitizer takes a million locks of its own first. */
		pid = _Fork();
		if (pid < 0)
			_exit(1);
		if (!pid)
			exit(child(request, len, envp));
		free(request);

		setpgid(pid, pid);
		tell((uint32_t)pid);
		/* Before it is reaped its group's number is its own: what it left running ends with it. */
		if (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT) < 0)
			_exit(1);
		kill(-pid, SIGKILL);
		if (waitpid(pid, &status, 0) < 0)
			_exit(1);
		tell((uint32_t)status);
	}
	_exit(0);
}

int __libc_start_main(main_fn main, int argc, char **argv, void (*init)(void), void (*fini)(void),
		      void (*rtld_fini)(void), void *stack_end)
{
	start_fn start = (start_fn)dlsym(RTLD_NEXT, "__libc_start_main");

	/* What perf starts itself is none of our business. */
	unsetenv("LD_PRELOAD");
	unsetenv("LD_BIND_NOW");
	real_main = main;
	return start(serve, argc, argv, init, fini, rtld_fini, stack_end);
}
