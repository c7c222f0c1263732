/* SPDX-License-Identifier: ISC */
/*
 * Atomic files in a directory.  Part of olpctl; the only code in it that
 * writes to disk.  It never follows a symbolic link in the last place of a
 * path, and never changes a file that is there.
 */
#include "store.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <bsd/string.h>
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"

#define LOCK_NAME ".lock"
#define TMP_SUFFIX ".tmp"

/* Tells errno and keeps it. name may be NULL: the directory itself. */
static int
fail(const struct store *s, const char *name)
{
	int error = errno;

	warn("%s%s%s", s->path, name != NULL ? "/" : "",
	    name != NULL ? name : "");
	errno = error;
	return (-1);
}

/* What root writes into a user's directory would lock that user out. */
static int
store_trusted(const struct store *s)
{
	struct stat st;

	if (fstat(s->dir, &st) == -1)
		return (fail(s, NULL));
	if (st.st_uid != 0 && st.st_uid != geteuid()) {
		warnx("%s: belongs to uid %u, expected root or uid %u", s->path,
		    (unsigned int)st.st_uid, (unsigned int)geteuid());
		errno = EPERM;
		return (-1);
	}
	if ((st.st_mode & S_IWOTH) != 0) {
		warnx("%s: others can write to it", s->path);
		errno = EPERM;
		return (-1);
	}
	return (0);
}

int
store_open(struct store *s, const char *path, mode_t mode)
{
	int error, made;

	s->dir = s->lock = -1;
	if (strlcpy(s->path, path, sizeof(s->path)) >= sizeof(s->path)) {
		errno = ENAMETOOLONG;
		return (fail(s, NULL));
	}
	made = mode != 0 && mkdir(path, mode) == 0;
	if (mode != 0 && !made && errno != EEXIST)
		return (fail(s, NULL));
	if ((s->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (fail(s, NULL));
	/* The mode that was asked for, whatever the umask says. */
	if ((made && fchmod(s->dir, mode) == -1) || store_trusted(s) == -1) {
		error = errno;
		store_close(s);
		errno = error;
		return (-1);
	}
	return (0);
}

void
store_close(struct store *s)
{
	if (s->lock != -1)
		close(s->lock);
	if (s->dir != -1)
		close(s->dir);
	s->dir = s->lock = -1;
}

/* ---- the lock ---- */

static void
on_alarm(int sig)
{
	(void)sig; /* it is there to end flock(2) */
}

static int
flock_within(int fd, unsigned int seconds)
{
	struct sigaction sa = { .sa_handler = on_alarm }, old;
	int r;

	sigaction(SIGALRM, &sa, &old);
	alarm(seconds);
	r = flock(fd, LOCK_EX);
	alarm(0);
	sigaction(SIGALRM, &old, NULL);
	return (r);
}

static int
ends_in(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);

	return (n > m && strcmp(name + n - m, suffix) == 0);
}

static int
is_leftover(const struct dirent *d)
{
	return (d->d_name[0] == '.' && ends_in(d->d_name, TMP_SUFFIX));
}

/* We hold the lock, so every temporary file is what a killed writer left. */
static void
store_sweep(const struct store *s)
{
	struct dirent **names;
	int i, n;

	if ((n = scandirat(s->dir, ".", &names, is_leftover, NULL)) == -1)
		return; /* whoever writes next meets the same trouble and tells
			 */
	for (i = 0; i < n; i++) {
		(void)unlinkat(s->dir, names[i]->d_name, 0);
		free(names[i]);
	}
	free(names);
}

int
store_lock(struct store *s)
{
	s->lock = openat(
	    s->dir, LOCK_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock == -1)
		return (fail(s, LOCK_NAME));
	if (flock_within(s->lock, LIM_CTL_LOCK_S) == -1) {
		if (errno != EINTR)
			return (fail(s, LOCK_NAME));
		warnx("%s/%s: another olpctl has held it for %d s", s->path,
		    LOCK_NAME, LIM_CTL_LOCK_S);
		errno = EINTR;
		return (-1);
	}
	store_sweep(s);
	return (0);
}

/* ---- files ---- */

static int
write_all(int fd, const void *buf, size_t len)
{
	const char *p = buf;
	ssize_t n;

	while (len > 0) {
		if ((n = write(fd, p, len)) == -1) {
			if (errno == EINTR)
				continue;
			return (-1);
		}
		p += n;
		len -= (size_t)n;
	}
	return (0);
}

static int
write_tmp(const struct store *s, const char *tmp, const void *buf, size_t len,
    mode_t mode)
{
	int fd, error;

	if (unlinkat(s->dir, tmp, 0) == -1 && errno != ENOENT)
		return (-1);
	fd = openat(s->dir, tmp,
	    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd == -1)
		return (-1);
	if (fchmod(fd, mode) == -1 || write_all(fd, buf, len) == -1 ||
	    fsync(fd) == -1) {
		error = errno;
		close(fd);
		errno = error;
		return (-1);
	}
	return (close(fd));
}

int
store_put(
    struct store *s, const char *name, const void *buf, size_t len, mode_t mode)
{
	char *tmp;
	int error, r;

	xasprintf(&tmp, ".%s%s", name, TMP_SUFFIX);
	r = write_tmp(s, tmp, buf, len, mode);
	if (r == 0)
		r = renameat(s->dir, tmp, s->dir, name);
	if (r == -1) {
		error = errno;
		(void)unlinkat(s->dir, tmp, 0);
		errno = error;
	} else
		r = fsync(s->dir);
	free(tmp);
	return (r == -1 ? fail(s, name) : 0);
}

int
store_remove(struct store *s, const char *name)
{
	if (unlinkat(s->dir, name, 0) == -1 || fsync(s->dir) == -1)
		return (fail(s, name));
	return (0);
}

int
store_has(struct store *s, const char *name)
{
	struct stat st;

	if (fstatat(s->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return (1);
	return (errno == ENOENT ? 0 : fail(s, name));
}

/* One byte more than allowed is asked for, to see that there was more. */
static char *
read_whole(int fd, size_t max)
{
	char *buf = xmalloc(max + 2);
	size_t n = 0;
	ssize_t r;

	while ((r = read(fd, buf + n, max + 1 - n)) > 0 ||
	    (r == -1 && errno == EINTR))
		n += r > 0 ? (size_t)r : 0;
	if (r == 0 && n > max)
		errno = EFBIG;
	if (r == -1 || n > max) {
		free(buf);
		return (NULL);
	}
	buf[n] = '\0';
	return (buf);
}

char *
store_get(struct store *s, const char *name, size_t max)
{
	char *text = NULL;
	int fd, error;

	fd = openat(
	    s->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd != -1)
		text = read_whole(fd, max);
	error = errno;
	if (fd != -1)
		close(fd);
	errno = error;
	if (text == NULL && error != ENOENT)
		(void)fail(s, name);
	return (text);
}

/* ---- listing ---- */

static int
by_bytes(const struct dirent **a, const struct dirent **b)
{
	return (strcmp((*a)->d_name, (*b)->d_name));
}

static int
is_visible(const struct dirent *d)
{
	return (d->d_name[0] != '.');
}

int
store_list(struct store *s, const char *suffix, struct names *out)
{
	struct dirent **names;
	int i, n;

	memset(out, 0, sizeof(*out));
	if ((n = scandirat(s->dir, ".", &names, is_visible, by_bytes)) == -1)
		return (fail(s, NULL));
	out->v = xcalloc((size_t)n + 1, sizeof(*out->v));
	for (i = 0; i < n; i++) {
		if (ends_in(names[i]->d_name, suffix))
			out->v[out->n++] = xstrdup(names[i]->d_name);
		free(names[i]);
	}
	free(names);
	return (0);
}

void
names_free(struct names *names)
{
	while (names->n > 0)
		free(names->v[--names->n]);
	free(names->v);
	names->v = NULL;
}
