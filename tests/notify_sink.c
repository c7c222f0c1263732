/* SPDX-License-Identifier: ISC */
/* What a daemon tells its service manager: binds PATH and prints each datagram,
 * its lines joined by blanks. */
#include <sys/socket.h>
#include <sys/un.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	char buf[4096];
	ssize_t n, i;
	int fd;

	if (argc != 2 || strlen(argv[1]) >= sizeof(sun.sun_path))
		return (2);
	strcpy(sun.sun_path, argv[1]);
	if ((fd = socket(AF_UNIX, SOCK_DGRAM, 0)) == -1 ||
	    bind(fd, (struct sockaddr *)&sun, sizeof(sun)) == -1)
		return (1);
	(void)puts("bound");
	(void)fflush(stdout);
	while ((n = recv(fd, buf, sizeof(buf) - 1, 0)) > 0) {
		for (i = 0; i < n; i++)
			if (buf[i] == '\n')
				buf[i] = ' ';
		buf[n] = '\0';
		(void)puts(buf);
		(void)fflush(stdout);
	}
	return (0);
}
