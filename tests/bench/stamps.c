/* SPDX-License-Identifier: ISC */
/*
 * How old a text is when its caller has it: N streams of bench-stub's stamps
 * at once, through olpd or by bare pipes, read by this one process.  Prints
 * one age a text in microseconds, of those that came while all N were going.
 *
 *   bench-stamps N COUNT MS pipe STUB
 *   bench-stamps N COUNT MS PORT TOKEN
 */
#include <sys/epoll.h>
#include <sys/socket.h>

#include <arpa/inet.h>
#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STREAMS 1024
#define DIGITS 9 /* a stamp has as many or more, and a space behind them */

struct stream {
	int fd, seen;
	char number[24]; /* its last digits, in a row */
	size_t len;
};

static struct stream streams[STREAMS];
static int nstreams, going, started, over;

static int64_t
now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (t.tv_sec * 1000000LL + t.tv_nsec / 1000);
}

static int
by_pipe(const char *stub, const char *prompt)
{
	int in[2], out[2];

	if (pipe(in) == -1 || pipe(out) == -1)
		err(1, "pipe");
	switch (fork()) {
	case -1:
		err(1, "fork");
	case 0:
		(void)dup2(in[0], STDIN_FILENO);
		(void)dup2(out[1], STDOUT_FILENO);
		closefrom(3);
		execl(stub, stub, NULL);
		_exit(127);
	}
	if (write(in[1], prompt, strlen(prompt)) == -1)
		err(1, "write");
	close(in[0]);
	close(in[1]);
	close(out[1]);
	return (out[0]);
}

static int
by_olpd(int port, const char *token, const char *prompt)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons((in_port_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), len;
	char body[256], request[1024];

	len = snprintf(body, sizeof(body),
	    "{\"model\":\"demo\",\"stream\":true,\"messages\":"
	    "[{\"role\":\"user\",\"content\":\"%s\"}]}",
	    prompt);
	len = snprintf(request, sizeof(request),
	    "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
	    "Authorization: Bearer %s\r\nContent-Type: application/json\r\n"
	    "Connection: close\r\nContent-Length: %d\r\n\r\n%s",
	    token, len, body);
	if (fd == -1 || connect(fd, (struct sockaddr *)&to, sizeof(to)) == -1 ||
	    write(fd, request, (size_t)len) != len)
		err(1, "port %d", port);
	return (fd);
}

static void
stamp(struct stream *s, int64_t now)
{
	started += s->seen++ == 0;
	if (started == nstreams && over == 0)
		printf("%" PRId64 "\n",
		    (int64_t)(now - strtoll(s->number, NULL, 10)));
}

static void
take(struct stream *s, const char *p, size_t n, int64_t now)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (isdigit((unsigned char)p[i]) &&
		    s->len < sizeof(s->number) - 1) {
			s->number[s->len++] = p[i];
			continue;
		}
		s->number[s->len] = '\0';
		if (s->len >= DIGITS && p[i] == ' ')
			stamp(s, now);
		s->len = 0;
	}
}

static void
read_one(struct stream *s)
{
	char buf[16384];
	ssize_t n = read(s->fd, buf, sizeof(buf));

	if (n > 0) {
		take(s, buf, (size_t)n, now_us());
		return;
	}
	if (s->seen == 0)
		errx(1, "a stream ended without a stamp");
	close(s->fd);
	going--;
	over = 1;
}

int
main(int argc, char *argv[])
{
	struct epoll_event ev[64];
	int i, n, ep = epoll_create1(EPOLL_CLOEXEC);
	char prompt[64];

	if (argc != 6 || (nstreams = atoi(argv[1])) < 1 || nstreams > STREAMS)
		errx(
		    2, "usage: bench-stamps N COUNT MS pipe STUB | PORT TOKEN");
	(void)snprintf(prompt, sizeof(prompt), "stamps %d %d", atoi(argv[2]),
	    atoi(argv[3]));
	for (i = 0; i < nstreams; i++) {
		streams[i].fd = strcmp(argv[4], "pipe") == 0
		    ? by_pipe(argv[5], prompt)
		    : by_olpd(atoi(argv[4]), argv[5], prompt);
		ev[0] = (struct epoll_event){ .events = EPOLLIN,
			.data.ptr = &streams[i] };
		if (epoll_ctl(ep, EPOLL_CTL_ADD, streams[i].fd, &ev[0]) == -1)
			err(1, "epoll_ctl");
	}
	for (going = nstreams; going > 0;) {
		if ((n = epoll_wait(ep, ev, 64, 60000)) <= 0 && errno != EINTR)
			errx(1, "a minute of silence");
		for (i = 0; i < n; i++)
			read_one(ev[i].data.ptr);
	}
	return (0);
}
