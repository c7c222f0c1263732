/* SPDX-License-Identifier: ISC */
/* Sealed memfds: made in worker-http, checked and reopened in worker-spawn. */
#include "common/memfd.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define ALL_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static int
write_all(int fd, const char *data, size_t len)
{
	ssize_t n;

	while (len > 0) {
		if ((n = write(fd, data, len)) == -1) {
			if (errno == EINTR)
				continue;
			return (-1);
		}
		data += n;
		len -= (size_t)n;
	}
	return (0);
}

int
memfd_sealed(const char *name, const void *data, size_t len)
{
	int fd, saved;

	if ((fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)) == -1)
		return (-1);
	if (write_all(fd, data, len) == -1 || lseek(fd, 0, SEEK_SET) == -1 ||
	    fcntl(fd, F_ADD_SEALS, ALL_SEALS) == -1) {
		saved = errno;
		close(fd);
		errno = saved;
		return (-1);
	}
	return (fd);
}

long
memfd_check(int fd)
{
	struct stat st;
	int seals, mode;

	if ((seals = fcntl(fd, F_GET_SEALS)) == -1 ||
	    (mode = fcntl(fd, F_GETFL)) == -1)
		return (-1);
	if ((mode & O_ACCMODE) == O_WRONLY ||
	    (seals & ALL_SEALS) != ALL_SEALS || fstat(fd, &st) == -1 ||
	    !S_ISREG(st.st_mode)) {
		errno = EPERM;
		return (-1);
	}
	return ((long)st.st_size);
}

int
memfd_reopen(int fd)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return (open(path, O_RDONLY | O_CLOEXEC));
}
