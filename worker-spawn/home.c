/* SPDX-License-Identifier: ISC */
/*
 * Makes a home's folders and files.  Runs in a run's first process, as root
 * of worker-spawn's user namespace, on a tmpfs it has just mounted.  Every
 * path is resolved beneath the folder it was given, without following a
 * link; it must never open a path of a tenant's making.
 */
#include "worker-spawn/home.h"

#include <sys/stat.h>
#include <sys/syscall.h>

#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <unistd.h>

#include "common/provider/provider.h"

#define CWD (&SANDBOX_CWD[sizeof(SANDBOX_HOME)]) /* relative to the home */

/* A descriptor below dirfd, or -1. */
static int
open_beneath(int dirfd, const char *path, int flags, mode_t mode)
{
	struct open_how how = { .flags = (uint64_t)(flags | O_CLOEXEC),
		.mode = mode,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
		    RESOLVE_NO_MAGICLINKS };

	return ((int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how)));
}

static void
close_keep_errno(int fd)
{
	int saved = errno;

	close(fd);
	errno = saved;
}

/* One folder, open; made for owner unless it is there. */
static int
enter(int dirfd, const char *name, uid_t owner)
{
	int fd;

	if (mkdirat(dirfd, name, 0700) == -1) {
		if (errno != EEXIST)
			return (-1);
		return (open_beneath(dirfd, name, O_RDONLY | O_DIRECTORY, 0));
	}
	if ((fd = open_beneath(dirfd, name, O_RDONLY | O_DIRECTORY, 0)) == -1)
		return (-1);
	if (fchown(fd, owner, owner) == -1) {
		close_keep_errno(fd);
		return (-1);
	}
	return (fd);
}

/*
 * The folder that path's last word is in, made with all above it. *last points
 * at that word.
 */
static int
enter_all(int dirfd, const char *path, uid_t owner, const char **last)
{
	char name[NAME_MAX + 1];
	const char *slash;
	int next, fd;

	if ((fd = fcntl(dirfd, F_DUPFD_CLOEXEC, 0)) == -1)
		return (-1);
	for (; (slash = strchr(path, '/')) != NULL; path = slash + 1) {
		if ((size_t)(slash - path) >= sizeof(name)) {
			close(fd);
			errno = ENAMETOOLONG;
			return (-1);
		}
		(void)strlcpy(name, path, (size_t)(slash - path) + 1);
		next = enter(fd, name, owner);
		close_keep_errno(fd);
		if ((fd = next) == -1)
			return (-1);
	}
	*last = path;
	return (fd);
}

static int
make_folder(int dirfd, const char *path, uid_t owner)
{
	const char *last;
	int fd, parent;

	if ((parent = enter_all(dirfd, path, owner, &last)) == -1)
		return (-1);
	fd = enter(parent, last, owner);
	close_keep_errno(parent);
	if (fd == -1)
		return (-1);
	close(fd);
	return (0);
}

static int
write_all(int fd, const char *data, size_t len)
{
	ssize_t n;

	for (; len > 0; data += n, len -= (size_t)n)
		if ((n = write(fd, data, len)) == -1)
			return (-1);
	return (0);
}

/* The operator's file, as it is now: regular, and of a size that was meant. */
static int
copy_file(const char *source, int to)
{
	char buf[16384];
	struct stat st;
	ssize_t n = 0;
	int from, r = -1;

	if ((from = open(source, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) == -1)
		return (-1);
	if (fstat(from, &st) == -1)
		goto out;
	if (!S_ISREG(st.st_mode) || st.st_size > LIM_SEED_BYTES) {
		errno = S_ISREG(st.st_mode) ? EFBIG : EINVAL;
		goto out;
	}
	while ((n = read(from, buf, sizeof(buf))) > 0)
		if (write_all(to, buf, (size_t)n) == -1)
			goto out;
	r = n == 0 ? 0 : -1;
out:
	close_keep_errno(from);
	return (r);
}

static int
make_seed(int dirfd, const struct launch_seed *s, uid_t owner)
{
	const char *last;
	int parent, fd, r;

	if ((parent = enter_all(dirfd, s->target, owner, &last)) == -1)
		return (-1);
	fd = open_beneath(parent, last, O_WRONLY | O_CREAT | O_EXCL, 0600);
	close_keep_errno(parent);
	if (fd == -1)
		return (-1);
	r = s->source != NULL ? copy_file(s->source, fd)
			      : write_all(fd, s->text, strlen(s->text));
	if (r == 0 &&
	    (fchmod(fd, s->mode) == -1 || fchown(fd, owner, owner) == -1))
		r = -1;
	close_keep_errno(fd);
	return (r);
}

int
home_make(
    int dirfd, const struct provider_launch *l, uid_t owner, const char **what)
{
	size_t i;

	*what = CWD;
	if (make_folder(dirfd, CWD, owner) == -1)
		return (-1);
	for (i = 0; i < l->ndirectories; i++) {
		*what = l->directories[i];
		if (make_folder(dirfd, l->directories[i], owner) == -1)
			return (-1);
	}
	for (i = 0; i < l->nseeds; i++) {
		*what = l->seeds[i].target;
		if (make_seed(dirfd, &l->seeds[i], owner) == -1)
			return (-1);
	}
	return (0);
}
