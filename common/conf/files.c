/* SPDX-License-Identifier: ISC */
/*
 * What is asked of files before they are trusted: configuration, key files,
 * and the secrets and certificates that the configuration names.  Those are
 * looked at while reading and never read here; who needs one opens it by
 * conf_open(), which judges again, on the descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/conf/parse.h"
#include "common/log.h"

const char *
file_verdict(const struct stat *st, enum file_need need, uid_t self, char *buf,
    size_t size)
{
	unsigned int mode = st->st_mode & 07777,
		     bad = need == FILE_PUBLIC ? 022 : 037;

	if (S_ISLNK(st->st_mode))
		return ("a symbolic link, not a regular file");
	if (!S_ISREG(st->st_mode))
		return ("not a regular file");
	if (st->st_uid != 0 && st->st_uid != self) {
		(void)snprintf(buf, size,
		    "owned by uid %u, expected root or uid %u",
		    (unsigned int)st->st_uid, (unsigned int)self);
		return (buf);
	}
	if ((mode & bad) != 0) {
		(void)snprintf(buf, size, "mode %04o, expected %s", mode,
		    need == FILE_PUBLIC ? "0644 or less" : "0640 or less");
		return (buf);
	}
	return (NULL);
}

int
p_file(struct parser *p, enum file_need need, char *buf, size_t size)
{
	char path[LIM_PATH], text[LIM_TEXT];
	const char *why;
	struct stat st;

	if (p_path(p, path, sizeof(path)) == -1)
		return (-1);
	if (lstat(path, &st) == 0)
		why = file_verdict(&st, need, geteuid(), text, sizeof(text));
	else if (errno == ENOENT && need == FILE_SECRET_LATER)
		why = NULL;
	else
		why = strerror(errno);
	if (why != NULL)
		return (p_error(p, "%s: %s", path, why));
	(void)snprintf(buf, size, "%s", path);
	return (0);
}

int
conf_open(const char *path, int secret, off_t max, char *buf, size_t size)
{
	enum file_need need = secret ? FILE_SECRET : FILE_PUBLIC;
	const char *why = NULL;
	char text[LIM_TEXT];
	struct stat st;
	int fd;

	fd = open(
	    path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd == -1 || fstat(fd, &st) == -1)
		why = strerror(errno);
	else if ((why = file_verdict(
		      &st, need, geteuid(), text, sizeof(text))) == NULL &&
	    st.st_size > max)
		why = "too large";
	if (why == NULL)
		return (fd);
	(void)snprintf(buf, size, "%s: %s", path, why);
	if (fd != -1)
		close(fd);
	return (-1);
}

/* One byte more than allowed is asked for, so that too much is seen. */
char *
file_slurp(int fd, size_t *len, const char **why)
{
	char *buf = xmalloc(LIM_CONF_FILE + 1);
	size_t n = 0;
	ssize_t r;

	while ((r = read(fd, buf + n, LIM_CONF_FILE + 1 - n)) > 0 ||
	    (r == -1 && errno == EINTR))
		n += r > 0 ? (size_t)r : 0;
	if (r == -1)
		*why = strerror(errno);
	else if (n > LIM_CONF_FILE)
		*why = "larger than 1MB";
	else {
		*len = n;
		return (buf);
	}
	free(buf);
	return (NULL);
}
