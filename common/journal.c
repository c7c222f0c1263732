/* SPDX-License-Identifier: ISC */
/*
 * journald's native protocol and sd_notify.  Runs in every process; holds
 * nothing.  Must never block: a journal that is away costs a line, not a run.
 */
#include "common/journal.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/limits.h"

static int
unix_connect(const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	socklen_t len;
	int fd, saved;

	if (strlen(path) >= sizeof(sun.sun_path)) {
		errno = ENAMETOOLONG;
		return (-1);
	}
	memcpy(sun.sun_path, path, strlen(path));
	len =
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	if (sun.sun_path[0] == '@')
		sun.sun_path[0] =
		    '\0'; /* abstract: no closing NUL in its name */
	else
		len++;
	if ((fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) == -1)
		return (-1);
	if (connect(fd, (struct sockaddr *)&sun, len) == -1) {
		saved = errno;
		close(fd);
		errno = saved;
		return (-1);
	}
	return (fd);
}

int
journal_open(void)
{
	return (unix_connect("/run/systemd/journal/socket"));
}

void
journal_begin(struct journal_entry *e)
{
	e->len = 0;
}

void
journal_add(struct journal_entry *e, const char *name, const char *value)
{
	size_t nlen = strlen(name), vlen = strlen(value);
	size_t fixed = nlen + 1 + sizeof(uint64_t) + 1;
	uint64_t le;

	if (e->len + fixed >= sizeof(e->buf))
		return;
	if (e->len + fixed + vlen > sizeof(e->buf))
		vlen = sizeof(e->buf) - e->len - fixed;
	le = htole64(vlen);
	memcpy(e->buf + e->len, name, nlen);
	e->len += nlen;
	e->buf[e->len++] = '\n';
	memcpy(e->buf + e->len, &le, sizeof(le));
	e->len += sizeof(le);
	memcpy(e->buf + e->len, value, vlen);
	e->len += vlen;
	e->buf[e->len++] = '\n';
}

int
journal_send(int fd, const struct journal_entry *e)
{
	ssize_t n;

	n = send(fd, e->buf, e->len, MSG_NOSIGNAL | MSG_DONTWAIT);
	return (n == -1 ? -1 : 0);
}

/* From 3 on, LISTEN_FDS of them, if they are meant for this process. */
static int
listen_fds(int *fds)
{
	const char *pid = getenv("LISTEN_PID"), *num = getenv("LISTEN_FDS");
	int i, n;

	if (pid == NULL || num == NULL || strtol(pid, NULL, 10) != getpid())
		return (0);
	n = (int)strtol(num, NULL, 10);
	if (n < 0 || n > LIM_LISTEN_FDS)
		return (0);
	for (i = 0; i < n; i++) {
		fds[i] = 3 + i;
		(void)fcntl(fds[i], F_SETFD, FD_CLOEXEC);
	}
	return (n);
}

int
listen_fd_take(const struct sockaddr_storage *want, socklen_t len)
{
	static int n = -1, fds[LIM_LISTEN_FDS];
	struct sockaddr_storage ss;
	socklen_t got;
	int i, fd;

	if (n == -1)
		n = listen_fds(fds);
	for (i = 0; i < n; i++) {
		got = sizeof(ss);
		memset(&ss, 0, sizeof(ss));
		if ((fd = fds[i]) == -1 ||
		    getsockname(fd, (struct sockaddr *)&ss, &got) == -1 ||
		    memcmp(&ss, want, len) != 0)
			continue;
		fds[i] = -1; /* its number may be another file's later */
		return (fd);
	}
	return (-1);
}

int64_t
notify_watchdog(void)
{
	const char *usec = getenv("WATCHDOG_USEC"),
		   *pid = getenv("WATCHDOG_PID");
	long long v = usec == NULL ? 0 : strtoll(usec, NULL, 10);

	if (v <= 0 || (pid != NULL && strtol(pid, NULL, 10) != getpid()))
		return (0);
	return (v / 2);
}

int
notify_send(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	ssize_t n;
	int fd;

	if (path == NULL || *path == '\0')
		return (0);
	if ((fd = unix_connect(path)) == -1)
		return (-1);
	n = send(fd, state, strlen(state), MSG_NOSIGNAL);
	close(fd);
	return (n == -1 ? -1 : 0);
}
