/* SPDX-License-Identifier: ISC */
/* Mounts, one step at a time.  Runs in children of the master. */
#include "common/host/mounts.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/limits.h"

static char failed[LIM_TEXT];

const char *
mounts_failed(void)
{
	return (failed);
}

static int
check(int r, const char *what, const char *dst)
{
	if (r == -1)
		(void)snprintf(failed, sizeof(failed), "%s %s: %s", what, dst,
		    strerror(errno));
	return (r == -1 ? -1 : 0);
}

static int
restrict_to(const char *dst, unsigned int flags)
{
	struct mount_attr a = { .attr_set = MOUNT_ATTR_RDONLY |
		    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };

	return (check(mount_setattr(AT_FDCWD, dst, flags, &a, sizeof(a)),
	    "make read-only:", dst));
}

int
mounts_read_only(const char *dst)
{
	return (restrict_to(dst, 0));
}

int
mounts_fs(
    const char *type, const char *dst, unsigned long flags, const char *options)
{
	return (check(mount(type, dst, type, flags, options), "mount", dst));
}

int
mounts_begin(const char *dir)
{
	if (check(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL),
		"make private:", "/") == -1 ||
	    mounts_fs(
		"tmpfs", dir, MS_NOSUID | MS_NODEV, "mode=0755,size=1m") == -1)
		return (-1);
	return (check(chdir(dir), "go to", dir));
}

int
mounts_mkdir(const char *dst)
{
	return (check(mkdir(dst, 0755), "make directory", dst));
}

int
mounts_link(const char *to, const char *dst)
{
	return (check(symlink(to, dst), "link", dst));
}

int
mounts_bind(const char *src, const char *dst)
{
	return (check(mount(src, dst, NULL, MS_BIND, NULL), "bind", dst));
}

int
mounts_dir(const char *src, const char *dst)
{
	int r = mount(src, dst, NULL, MS_BIND | MS_REC, NULL);

	return (
	    check(r, "bind", dst) == -1 ? -1 : restrict_to(dst, AT_RECURSIVE));
}

/* A file is a bind mount on an empty one. */
int
mounts_device(const char *src, const char *dst)
{
	int fd = open(dst, O_CREAT | O_WRONLY | O_CLOEXEC, 0444);

	if (check(fd, "make file", dst) == -1)
		return (-1);
	close(fd);
	return (mounts_bind(src, dst));
}

int
mounts_file(const char *src, const char *dst)
{
	return (mounts_device(src, dst) == -1 ? -1 : restrict_to(dst, 0));
}

int
mounts_end(void)
{
	if (restrict_to(".", 0) == -1 ||
	    check((int)syscall(SYS_pivot_root, ".", "."), "pivot to", ".") ==
		-1)
		return (-1);
	if (check(umount2(".", MNT_DETACH), "leave", "the old root") == -1)
		return (-1);
	return (check(chdir("/"), "go to", "/"));
}
