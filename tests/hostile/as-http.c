/* SPDX-License-Identifier: ISC */
/*
 * olpd-http taken over, as a puppet: in its own cage, with its real link to
 * worker-spawn, it sends whatever bytes and descriptors the test asks for.
 * The test speaks to it over the listener meant for callers, a line each:
 *
 *	link                    "link N": the pair's generation, 0: none
 *	send HEX [KIND,...]     "sent", or "error ERRNO"
 *	flood HEX COUNT [KIND,...]  COUNT times, reading along: "got N"; ended
 *by EOF "eof N", or by silence "quiet N" stuff HEX COUNT FIRST [KIND,...]  as
 *many as fit, reading nothing: "sent N"; each has a number of its own, from
 *FIRST, at byte 4 recv MS                 "msg HEX NFDS", "none", or "eof" keep
 *MS                 as recv, but keeps what descriptors came
 */
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/chan.h"
#include "common/memfd.h"
#include "common/worker.h"
#include "tests/hostile/tries.h"
#include "worker-http/cage.h"

#define FDS_MAX 253 /* the kernel's */
#define SLOW                                                                   \
	"sleep:20000 say:x" /* to the scripted client, in the demo's place */
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static int listeners[LIM_CONF_LISTENS];
static size_t nlisteners;
static int spawn = -1;
static uint64_t generation;
static uint8_t packet[262144]; /* four times what a channel takes */
static char line[2 * sizeof(packet) + 4096];

/* ---- descriptors of every kind, made before the cage ---- */

static struct {
	const char *kind;
	int fd;
} kinds[40];
static size_t nkinds;

static void
kind(const char *name, int fd)
{
	kinds[nkinds].kind = name;
	kinds[nkinds++].fd = fd;
}

static int
memfd(size_t size, int seals)
{
	int fd = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd == -1 || ftruncate(fd, (off_t)size) == -1 ||
	    (seals != 0 && fcntl(fd, F_ADD_SEALS, seals) == -1))
		return (-1);
	return (fd);
}

static int
again(int fd, int flags)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return (open(path, flags | O_CLOEXEC));
}

static int
without_mode(void)
{
	int fd = memfd(5, 0);

	return (fchmod(fd, 0) == -1 || fcntl(fd, F_ADD_SEALS, SEALS) == -1
		? -1
		: fd);
}

static int
acquire(void)
{
	int sv[2], p[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == -1 || pipe(p) == -1)
		return (-1);
	kind("memfd", memfd_sealed("x", "say:x", 5));
	kind("slow", memfd_sealed("x", SLOW, sizeof(SLOW) - 1));
	kind("empty", memfd_sealed("x", "", 0));
	kind("directory", open("/", O_RDONLY | O_DIRECTORY));
	kind("socket", sv[0]);
	kind("fifo", p[0]);
	kind("pidfd", (int)syscall(SYS_pidfd_open, getpid(), 0));
	kind("zero", open("/dev/zero", O_RDWR));
	kind("null", open("/dev/null", O_RDWR));
	kind("file", open("/usr/bin/env", O_RDONLY));
	kind("file-write", open("/tmp", O_TMPFILE | O_RDWR, 0600));
	kind("proc-mem", open("/proc/self/mem", O_RDWR));
	kind("epoll", epoll_create1(0));
	kind("opath", again(kinds[0].fd, O_PATH));
	kind("unsealed", memfd(5, 0));
	kind("no-seal-seal", memfd(5, SEALS & ~F_SEAL_SEAL));
	kind("no-seal-shrink", memfd(5, SEALS & ~F_SEAL_SHRINK));
	kind("no-seal-grow", memfd(5, SEALS & ~F_SEAL_GROW));
	kind("no-seal-write", memfd(5, SEALS & ~F_SEAL_WRITE));
	kind("future-write",
	    memfd(5, (SEALS & ~F_SEAL_WRITE) | F_SEAL_FUTURE_WRITE));
	kind("write-only", again(memfd(5, SEALS), O_WRONLY));
	kind("mode-0", without_mode());
	kind("huge", memfd((size_t)LIM_RUN_INPUT + 1, SEALS));
	kind("huge-settings", memfd(LIM_RUN_SETTINGS + 1, SEALS));
	return (0);
}

/* ---- the link ---- */

static int
kind_fd(const char *name)
{
	size_t i;

	for (i = 0; i < nkinds; i++)
		if (strcmp(kinds[i].kind, name) == 0)
			return (kinds[i].fd);
	return (-1);
}

/* "a,b,c", "a*200", or nothing. */
static int
fds_parse(char *text, int *fd)
{
	char *word, *star;
	int n = 0, times;

	while (text != NULL && (word = strsep(&text, ",")) != NULL) {
		if (*word == '\0')
			continue;
		if ((star = strchr(word, '*')) != NULL)
			*star++ = '\0';
		for (times = star == NULL ? 1 : atoi(star);
		     times > 0 && n < FDS_MAX; times--)
			fd[n++] = kind_fd(word);
	}
	return (n);
}

static size_t
hex_parse(const char *hex)
{
	static const char digits[] = "0123456789abcdef";
	size_t n = 0;

	for (; n < sizeof(packet) && hex[0] != '\0' && hex[1] != '\0'; hex += 2)
		packet[n++] = (uint8_t)((strchr(digits, hex[0]) - digits) << 4 |
		    (strchr(digits, hex[1]) - digits));
	return (n);
}

static int
put(size_t len, const int *fds, int nfds)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * FDS_MAX)];
		struct cmsghdr align;
	} cm;
	struct iovec iov = { packet, len };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (nfds > 0) {
		memset(&cm, 0, sizeof(cm));
		mh.msg_control = cm.buf;
		mh.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)nfds);
		cm.align.cmsg_level = SOL_SOCKET;
		cm.align.cmsg_type = SCM_RIGHTS;
		cm.align.cmsg_len = CMSG_LEN(sizeof(int) * (size_t)nfds);
		memcpy(CMSG_DATA(&cm.align), fds, sizeof(int) * (size_t)nfds);
	}
	return (
	    sendmsg(spawn, &mh, MSG_NOSIGNAL | MSG_DONTWAIT) == -1 ? -1 : 0);
}

static int
ready(short what, int ms)
{
	struct pollfd p = { spawn, what, 0 };

	return (poll(&p, 1, ms) == 1 ? p.revents : 0);
}

/* Bytes, 0 at the end, -1 when nothing came. */
static ssize_t
get(int ms, int keep, int *nfds)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * LIM_MSG_FDS)];
		struct cmsghdr align;
	} cm;
	struct iovec iov = { packet, sizeof(packet) };
	struct msghdr mh = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = cm.buf,
		.msg_controllen = sizeof(cm.buf) };
	struct cmsghdr *c;
	ssize_t n;
	int i, fd;

	*nfds = 0;
	if (spawn == -1)
		return (0);
	if (!(ready(POLLIN, ms) & (POLLIN | POLLHUP)))
		return (-1);
	if ((n = recvmsg(spawn, &mh, MSG_CMSG_CLOEXEC)) <= 0)
		return (0);
	if ((c = CMSG_FIRSTHDR(&mh)) != NULL)
		*nfds = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	for (i = 0; i < *nfds && !keep; i++) {
		memcpy(
		    &fd, CMSG_DATA(c) + (size_t)i * sizeof(int), sizeof(int));
		close(fd);
	}
	return (n);
}

/* ---- commands ---- */

static void
say_recv(int out, int ms, int keep)
{
	int nfds, at, i;
	ssize_t n = get(ms, keep, &nfds);

	if (n <= 0) {
		dprintf(out, "%s\n", n == 0 ? "eof" : "none");
		return;
	}
	at = snprintf(line, sizeof(line), "msg ");
	for (i = 0; i < n; i++)
		at += snprintf(line + at, 3, "%02x", packet[i]);
	at += snprintf(line + at, 16, " %d\n", nfds);
	(void)!write(out, line, (size_t)at);
}

/* Answers are read as they come; what is sent is kept apart from them. */
static void
flood(int out, size_t len, long count, const int *fds, int nfds)
{
	uint8_t *mine = memcpy(malloc(len), packet, len);
	long sent = 0, got = 0;
	ssize_t n = 1;
	int none, idle = 0;

	while (n != 0 && idle < 20 && (sent < count || got < count)) {
		memcpy(packet, mine, len);
		while (sent < count && sent < got + 1000 &&
		    put(len, fds, nfds) == 0)
			sent++;
		if ((n = get(100, 0, &none)) > 0)
			for (got++; (n = get(0, 0, &none)) > 0; got++)
				continue;
		else
			idle++;
	}
	free(mine);
	dprintf(out, "%s %ld\n",
	    n == 0             ? "eof"
		: got >= count ? "got"
			       : "quiet",
	    got);
}

static void
stuff(int out, size_t len, long count, uint32_t first, const int *fds, int nfds)
{
	uint32_t be;
	long sent;

	for (sent = 0; sent < count; sent++, first++) {
		be = __builtin_bswap32(first);
		memcpy(packet + 7, &be,
		    sizeof(be)); /* the low half of the first number */
		if (put(len, fds, nfds) == -1 &&
		    (!(ready(POLLOUT, 2000) & POLLOUT) ||
			put(len, fds, nfds) == -1))
			break;
	}
	dprintf(out, "sent %ld\n", sent);
}

static void
command(int out, char *text)
{
	char *word[5] = { NULL, NULL, NULL, NULL, NULL };
	int fd[FDS_MAX], nfds, i;
	size_t len;

	for (i = 0; i < 5 && text != NULL; i++)
		word[i] = strsep(&text, " ");
	if (strcmp(word[0], "link") == 0)
		dprintf(out, "link %llu\n",
		    spawn == -1 ? 0ULL : (unsigned long long)generation);
	else if (strcmp(word[0], "recv") == 0 && word[1] != NULL)
		say_recv(out, atoi(word[1]), 0);
	else if (strcmp(word[0], "keep") == 0 && word[1] != NULL)
		say_recv(out, atoi(word[1]), 1);
	else if (strcmp(word[0], "send") == 0 && word[1] != NULL) {
		len = hex_parse(word[1]);
		nfds = fds_parse(word[2], fd);
		if (put(len, fd, nfds) == -1)
			dprintf(out, "error %s\n", strerrorname_np(errno));
		else
			dprintf(out, "sent\n");
	} else if (strcmp(word[0], "flood") == 0 && word[2] != NULL) {
		len = hex_parse(word[1]);
		nfds = fds_parse(word[3], fd);
		flood(out, len, atol(word[2]), fd, nfds);
	} else if (strcmp(word[0], "stuff") == 0 && word[3] != NULL) {
		len = hex_parse(word[1]);
		nfds = fds_parse(word[4], fd);
		stuff(
		    out, len, atol(word[2]), (uint32_t)atol(word[3]), fd, nfds);
	} else
		dprintf(out, "what?\n");
}

/* One command per connection. */
static void
caller(evutil_socket_t l, short what, void *arg)
{
	size_t n = 0;
	ssize_t got;
	int fd = accept4(l, NULL, NULL, SOCK_CLOEXEC);
	char *end;

	(void)what;
	(void)arg;
	if (fd == -1)
		return;
	for (;;) {
		if ((got = read(fd, line + n, sizeof(line) - n - 1)) <= 0)
			break;
		n += (size_t)got;
		line[n] = '\0';
		if ((end = strchr(line, '\n')) == NULL)
			continue;
		*end = '\0';
		command(fd, line);
		break;
	}
	close(fd);
}

static void
start(void)
{
	size_t i;

	for (i = 0; i < nlisteners; i++)
		event_add(event_new(worker_base(), listeners[i],
			      EV_READ | EV_PERSIST, caller, NULL),
		    NULL);
}

static int
on_listen(struct chan *c, struct msg *m)
{
	(void)c;
	if (nlisteners < LIM_CONF_LISTENS && worker_base() != NULL)
		listeners[nlisteners++] = msg_take_fd(m, 0);
	return (0);
}

static void
link_up(const struct msg_link *l, int fd)
{
	if (l->peer != PROC_SPAWN) {
		close(fd);
		return;
	}
	if (spawn != -1)
		close(spawn);
	spawn = fd;
	generation = l->generation;
}

static const struct msg_handler from_master[] = {
	{ MT_CONF_HTTP, tries_ignore, ST_ANY },
	{ MT_CONF_PROVIDER, tries_ignore, ST_ANY },
	{ MT_CONF_MODEL, tries_ignore, ST_ANY },
	{ MT_CONF_TLS, tries_ignore, ST_ANY },
	{ MT_CONF_LISTEN, on_listen, ST_ANY },
	{ MT_DRAIN, tries_ignore, ST_ANY },
	{ MT_STATUS_FD, tries_ignore, ST_ANY },
};

static const struct worker worker = {
	.proc = PROC_HTTP,
	.cage = &http_cage,
	.from_master = from_master,
	.nfrom_master = sizeof(from_master) / sizeof(from_master[0]),
	.acquire = acquire,
	.start = start,
	.link = link_up,
};

int
main(int argc, char **argv)
{
	worker_main(argc, argv, &worker);
}
