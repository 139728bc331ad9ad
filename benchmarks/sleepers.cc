// SPDX-License-Identifier: GPL-2.0
// Runs a command while there are many tasks that sleep: sleepers NUMBER COMMAND...
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: sleepers NUMBER COMMAND...\n");
		return 2;
	}

	std::vector<pid_t> sleepers;
	int status = 0;

	for (long left = atol(argv[1]); left > 0; left--) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("sleepers: fork");
			status = 2;
			break;
		}
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
		sleepers.push_back(pid);
	}

	pid_t command;

	if (!status && posix_spawnp(&command, argv[2], nullptr, nullptr, argv + 2, environ)) {
		perror("sleepers: cannot run the command");
		status = 2;
	} else if (!status) {
		waitpid(command, &status, 0);
		status = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	}
	for (pid_t pid : sleepers)
		kill(pid, SIGKILL);
	while (wait(nullptr) > 0)
		;
	return status;
}
