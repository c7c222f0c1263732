/* SPDX-License-Identifier: ISC */
/*
 * Files of our own.  Must never follow a symbolic link that somebody else
 * could have put there.
 */
#include "common/host/file.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"

void
file_dir(const char *path, mode_t mode)
{
	int made = mkdir(path, mode) == 0, fd;
	struct stat st;

	if (!made && errno != EEXIST)
		fatal("directory %s", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1 || fstat(fd, &st) == -1 ||
	    (made && fchmod(fd, mode) == -1)) /* whatever the umask is */
		fatal("directory %s", path);
	if (st.st_uid != geteuid() || (!made && (st.st_mode & 022) != 0))
		fatalx("directory %s: owned by uid %u, mode %04o; expected "
		       "uid %u, and nobody else to write to it",
		    path, st.st_uid, st.st_mode & 07777, geteuid());
	close(fd);
}

int
file_lock(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat st;

	if (fd == -1 || fstat(fd, &st) == -1)
		fatal("%s", path);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 077) != 0)
		fatalx("%s: expected a file of uid %u, mode 0600", path,
		    geteuid());
	return (fd);
}

int
file_lock_range(const char *path, off_t lo, off_t hi, off_t other[2])
{
	struct flock fl = {
		.l_type = F_WRLCK, .l_start = lo, .l_len = hi - lo + 1
	};
	int fd = file_lock(path);

	if (fcntl(fd, F_OFD_SETLK, &fl) == 0)
		return (0);
	/* Given back just now: say what it would have been. */
	if (fcntl(fd, F_OFD_GETLK, &fl) == -1)
		fatal("%s", path);
	other[0] = fl.l_start;
	other[1] = fl.l_start + fl.l_len - 1;
	return (-1);
}

int
file_put(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CLOEXEC), saved;
	ssize_t n;

	if (fd == -1)
		return (-1);
	n = write(fd, text, strlen(text));
	saved = errno;
	close(fd);
	errno = saved;
	return (n == -1 ? -1 : 0);
}
