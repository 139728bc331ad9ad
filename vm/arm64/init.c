// SPDX-License-Identifier: GPL-2.0
/*
 * The first and only program of a guest that has no other files than these:
 * runs each of /tests, says on the console how it ended, and powers off.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS_FOR_ONE 300

static int run(const char *name)
{
	char path[512];
	int status;
	pid_t pid;

	snprintf(path, sizeof(path), "/tests/%s", name);
	pid = fork();
	if (!pid) {
		alarm(SECONDS_FOR_ONE);
		execl(path, path, NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(void)
{
	struct dirent *entry;
	DIR *dir;

	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/tmp", 0777);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sys", "/sys", "sysfs", 0, NULL);
	mount("trace", "/sys/kernel/tracing", "tracefs", 0, NULL);
	signal(SIGTTOU, SIG_IGN);

	dir = opendir("/tests");
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		printf("test %s begins\n", entry->d_name);
		fflush(stdout);
		printf("test %s ends with status %d\n", entry->d_name, run(entry->d_name));
		fflush(stdout);
	}
	printf("tests are over\n");
	fflush(stdout);
	sync();
	reboot(RB_POWER_OFF);
	return 1;
}
