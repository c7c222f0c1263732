/* SPDX-License-Identifier: ISC */
/*
 * Listening sockets.  Must never remove a file that is not a socket or that
 * somebody accepts on.
 */
#include "common/host/sock.h"

#include <sys/stat.h>
#include <sys/un.h>

#include <bsd/string.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#define FLAGS (SOCK_CLOEXEC | SOCK_NONBLOCK)

socklen_t
sock_unix(struct sockaddr_storage *ss, const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };

	(void)strlcpy(sun.sun_path, path, sizeof(sun.sun_path));
	memset(ss, 0, sizeof(*ss));
	memcpy(ss, &sun, sizeof(sun));
	return (sizeof(sun));
}

static int
clear_path(const struct sockaddr_storage *ss, socklen_t len, int type)
{
	struct sockaddr_un sun;
	struct stat st;
	int fd, r = -1;

	memcpy(&sun, ss, sizeof(sun));
	if (lstat(sun.sun_path, &st) == -1)
		return (errno == ENOENT ? 0 : -1);
	errno = EEXIST;
	if (!S_ISSOCK(st.st_mode) ||
	    (fd = socket(AF_UNIX, type | FLAGS, 0)) == -1)
		return (-1);
	if (connect(fd, (const struct sockaddr *)ss, len) == -1 &&
	    errno == ECONNREFUSED)
		r = unlink(sun.sun_path);
	else
		errno = EADDRINUSE;
	close(fd);
	return (r);
}

int
sock_listen(
    const struct sockaddr_storage *ss, socklen_t len, int type, int backlog)
{
	int fd, on = 1, saved;

	if (ss->ss_family == AF_UNIX && clear_path(ss, len, type) == -1)
		return (-1);
	if ((fd = socket(ss->ss_family, type | FLAGS, 0)) == -1)
		return (-1);
	if (ss->ss_family != AF_UNIX)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (ss->ss_family == AF_INET6)
		(void)setsockopt(
		    fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, (const struct sockaddr *)ss, len) == 0 &&
	    listen(fd, backlog) == 0)
		return (fd);
	saved = errno;
	close(fd);
	errno = saved;
	return (-1);
}
