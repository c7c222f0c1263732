/* SPDX-License-Identifier: ISC */
/*
 * A caller that costs next to nothing: the same request N times, PAUSE ms
 * apart, each on a connection of its own.  Prints one time a request in
 * microseconds, from connect(2) to the end of the answer.
 *
 *   bench-ask N PAUSE PORT TOKEN PATH [BODY]
 */
#include <sys/socket.h>

#include <arpa/inet.h>
#include <err.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t
now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (t.tv_sec * 1000000LL + t.tv_nsec / 1000);
}

static int64_t
ask(in_port_t port, const char *request, size_t len)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	char buf[65536];
	size_t have = 0;
	ssize_t n;
	int64_t began = now_us();
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd == -1 || connect(fd, (struct sockaddr *)&to, sizeof(to)) == -1 ||
	    write(fd, request, len) != (ssize_t)len)
		err(1, "port %u", port);
	while ((n = read(fd, buf + have, sizeof(buf) - 1 - have)) > 0)
		have += (size_t)n;
	began = now_us() - began;
	buf[have] = '\0';
	if (strncmp(buf, "HTTP/1.1 200 ", 13) != 0)
		errx(1, "%zu bytes: %.200s", have, buf);
	close(fd);
	return (began);
}

int
main(int argc, char *argv[])
{
	const char *body = argc > 6 ? argv[6] : "";
	char request[8192];
	int i, len;

	if (argc < 6)
		errx(2, "usage: bench-ask N PAUSE PORT TOKEN PATH [BODY]");
	len = snprintf(request, sizeof(request),
	    "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
	    "Content-Type: application/json\r\nContent-Length: %zu\r\n"
	    "Connection: close\r\n\r\n%s",
	    argc > 6 ? "POST" : "GET", argv[5], argv[4], strlen(body), body);
	for (i = 0; i < atoi(argv[1]); i++) {
		printf("%" PRId64 "\n",
		    ask((in_port_t)atoi(argv[3]), request, (size_t)len));
		usleep((useconds_t)atoi(argv[2]) * 1000);
	}
	return (0);
}
