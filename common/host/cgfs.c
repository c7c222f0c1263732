/* SPDX-License-Identifier: ISC */
/* cgroup2's directories and files. */
#include "common/host/cgfs.h"

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/host/file.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* The line "0::/system.slice/olpd.service". */
int
cgfs_own(const char *mount, char *buf, size_t size)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[PATH_MAX], *own = NULL;
	size_t n = 0;

	while (f != NULL && own == NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, "0::/", 4) == 0)
			own = line + 3;
	if (f != NULL)
		fclose(f);
	if (own != NULL) {
		own[strcspn(own, "\n")] = '\0';
		n = (size_t)snprintf(
		    buf, size, "%s%s", mount, own[1] == '\0' ? "" : own);
	}
	errno = ENOENT;
	return (n == 0 || n >= size ? -1 : 0);
}

int
cgfs_alone(int dir)
{
	char procs[64], me[32];
	int fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, procs, sizeof(procs) - 1);

	close(fd);
	procs[n > 0 ? n : 0] = '\0';
	(void)snprintf(me, sizeof(me), "%d\n", (int)getpid());
	return (strcmp(procs, me) == 0 &&
	    faccessat(dir, "cgroup.events", F_OK, 0) ==
		0); /* the root has none */
}

int
cgfs_open(int dir, const char *name)
{
	if (mkdirat(dir, name, 0755) == -1 && errno != EEXIST)
		return (-1);
	return (openat(dir, name, DIR_FLAGS));
}

void
cgfs_controllers(int dir)
{
	(void)file_put(dir, "cgroup.subtree_control", "+pids");
	(void)file_put(dir, "cgroup.subtree_control", "+memory");
	(void)file_put(dir, "cgroup.subtree_control", "+cpu");
}

/* A few times: the last process may be on its way out. */
static int
remove_one(int dir, const char *name)
{
	static const struct timespec pause = { 0, 20000000 };
	int i, r = -1;

	for (i = 0; i < 25 && r == -1; i++) {
		r = unlinkat(dir, name, AT_REMOVEDIR);
		if (r == 0 || errno != EBUSY)
			break;
		(void)nanosleep(&pause, NULL);
	}
	return (r == -1 && errno != ENOENT ? -1 : 0);
}

int
cgfs_remove(int dir, const char *name)
{
	int fd = openat(dir, name, DIR_FLAGS);
	struct dirent *e;
	DIR *d;

	/* Where root has no CAP_DAC_OVERRIDE only the owner may remove. */
	if (fd == -1 || fchown(fd, geteuid(), (gid_t)-1) == -1 ||
	    (d = fdopendir(fd)) == NULL)
		return (errno == ENOENT ? 0 : -1);
	(void)file_put(fd, "cgroup.kill", "1");
	while ((e = readdir(d)) != NULL)
		if (e->d_type == DT_DIR && e->d_name[0] != '.')
			(void)remove_one(fd, e->d_name);
	closedir(d);
	return (remove_one(dir, name));
}
