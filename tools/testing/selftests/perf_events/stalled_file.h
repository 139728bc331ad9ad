/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A copy of this program on a file system (FUSE) of its own, whose server can be
 * told not to answer when the first page is read, where the ELF header is. That
 * page never gets into the page cache: once the server answers, it fails.
 */
#ifndef STALLED_FILE_H
#define STALLED_FILE_H

#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define STALLED_MAX 64

struct stalled_file {
	char dir[32];
	char path[40];
	pid_t server;
	/* Shared with the server. */
	struct {
		volatile bool stall;	/* do not answer */
		volatile int waiting;	/* requests that are not answered */
	} *shared;
};

struct fuse_server {
	int fd;
	const char *data;
	size_t size;
	uint64_t waiting[STALLED_MAX];
};

static inline void fuse_reply(struct fuse_server *s, uint64_t unique, int error,
			      const void *data, size_t size)
{
	static char buffer[1 << 18];
	struct fuse_out_header *out = (struct fuse_out_header *)buffer;

	*out = (struct fuse_out_header){ sizeof(*out) + size, error, unique };
	memcpy(out + 1, data, size);
	if (write(s->fd, out, out->len) < 0)
		return;			/* the request was interrupted */
}

static inline struct fuse_attr fuse_attr_of(struct fuse_server *s, uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.size = node == FUSE_ROOT_ID ? 0 : s->size,
		.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0755,
		.nlink = 1,
		.blksize = 4096,
	};
}

static inline void fuse_request(struct fuse_server *s, struct stalled_file *file,
				const struct fuse_in_header *in)
{
	const struct fuse_read_in *read = (const struct fuse_read_in *)(in + 1);
	/* Without readahead: nothing but what is asked for is read. */
	struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_write = 4096,
	};
	struct fuse_open_out open = { .open_flags = FOPEN_KEEP_CACHE };
	struct fuse_entry_out entry = {
		.nodeid = 2, .entry_valid = 3600, .attr_valid = 3600,
		.attr = fuse_attr_of(s, 2),
	};
	struct fuse_attr_out attr = {
		.attr_valid = 3600, .attr = fuse_attr_of(s, in->nodeid),
	};
	size_t size;

	switch (in->opcode) {
	case FUSE_INIT:
		fuse_reply(s, in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		fuse_reply(s, in->unique, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		fuse_reply(s, in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		fuse_reply(s, in->unique, 0, &open, sizeof(open));
		break;
	case FUSE_READ:
		if (!read->offset && file->shared->waiting < STALLED_MAX) {
			s->waiting[file->shared->waiting] = in->unique;
			file->shared->waiting++;
			break;
		}
		size = read->offset < s->size ? s->size - read->offset : 0;
		if (size > read->size)
			size = read->size;
		fuse_reply(s, in->unique, 0, s->data + read->offset, size);
		break;
	case FUSE_RELEASE:
	case FUSE_FLUSH:
		fuse_reply(s, in->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		fuse_reply(s, in->unique, -ENOSYS, NULL, 0);
	}
}

static inline void fuse_serve(struct fuse_server *s, struct stalled_file *file)
{
	static uint64_t buffer[(1 << 18) / sizeof(uint64_t)];
	struct pollfd poll_fd = { .fd = s->fd, .events = POLLIN };

	for (;;) {
		if (!file->shared->stall && file->shared->waiting) {
			for (int i = 0; i < file->shared->waiting; i++)
				fuse_reply(s, s->waiting[i], -EIO, NULL, 0);
			file->shared->waiting = 0;
		}
		if (poll(&poll_fd, 1, 1) <= 0)
			continue;
		if (read(s->fd, buffer, sizeof(buffer)) > 0)
			fuse_request(s, file, (struct fuse_in_header *)buffer);
		else if (errno == ENODEV)
			return;
	}
}

/* Mount it, for this process and its children. Returns what cannot be done, or NULL. */
static inline const char *stalled_file_begin(struct stalled_file *file)
{
	struct fuse_server s = {};
	char options[64];
	struct stat st;
	int exe;

	if (geteuid())
		return "not root";
	s.fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (s.fd < 0)
		return "no FUSE";
	exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (exe < 0 || fstat(exe, &st))
		return "cannot read this program";
	s.size = st.st_size;
	s.data = mmap(NULL, s.size, PROT_READ, MAP_PRIVATE, exe, 0);
	close(exe);
	file->shared = mmap(NULL, sizeof(*file->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s.data == MAP_FAILED || file->shared == MAP_FAILED)
		return "out of memory";

	strcpy(file->dir, "/tmp/stalled.XXXXXX");
	if (!mkdtemp(file->dir))
		return "cannot make a directory in /tmp";
	snprintf(file->path, sizeof(file->path), "%s/file", file->dir);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 s.fd);
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("stalled", file->dir, "fuse", 0, options))
		return "cannot mount FUSE";

	file->server = fork();
	if (!file->server) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fuse_serve(&s, file);
		_exit(0);
	}
	close(s.fd);
	return file->server < 0 ? "cannot fork" : NULL;
}

static inline void stalled_file_end(struct stalled_file *file)
{
	if (file->server > 0) {
		file->shared->stall = false;
		umount2(file->dir, MNT_DETACH);
		kill(file->server, SIGKILL);
		waitpid(file->server, NULL, 0);
	}
	rmdir(file->dir);
}

/* Where the function @code of this program is in a mapping of the file, or NULL. */
static inline void *stalled_file_map(struct stalled_file *file, void *code, uint64_t pgoff,
				     size_t size)
{
	int fd = open(file->path, O_RDONLY | O_CLOEXEC);
	uint64_t page = sysconf(_SC_PAGESIZE);
	uint64_t in_page = (uintptr_t)code & (page - 1);
	char *map;

	if (fd < 0)
		return NULL;
	map = mmap(NULL, in_page + size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, pgoff - in_page);
	close(fd);
	return map == MAP_FAILED ? NULL : map + in_page;
}

/* Wait until @count requests are not answered. */
static inline bool stalled_file_wait(struct stalled_file *file, bool waiting)
{
	for (int i = 0; i < 20000; i++) {
		if (!!file->shared->waiting == waiting)
			return true;
		usleep(1000);
	}
	return false;
}

#endif /* STALLED_FILE_H */
