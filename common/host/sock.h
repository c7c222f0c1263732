/* SPDX-License-Identifier: ISC */
/* Listening sockets. */
#ifndef OLP_HOST_SOCK_H
#define OLP_HOST_SOCK_H

#include <sys/socket.h>

/* An address of a Unix socket; its length. */
socklen_t sock_unix(struct sockaddr_storage *, const char *path);
/*
 * A new listening socket, close-on-exec and non-blocking.  For a Unix socket
 * a file in the way is removed if it is a socket that nobody accepts on;
 * EADDRINUSE: somebody does; EEXIST: it is none.  IPv6 is IPv6 alone.  -1
 * with errno.
 */
int sock_listen(
    const struct sockaddr_storage *, socklen_t, int type, int backlog);

#endif
