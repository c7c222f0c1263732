/* SPDX-License-Identifier: ISC */
/*
 * Dialling out, in olpd-egress.  The address that address.c judged is the
 * one given to connect(2): nothing is resolved a second time.  Must never
 * connect to an address before it was judged, nor to another port than the
 * credential's.
 */
#include "worker-http/egress/dial.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/limits.h"
#include "common/log.h"
#include "worker-http/egress/cred.h"
#include "worker-http/egress/resolve.h"

struct dial {
	struct event_base *base;
	struct cred *cred;
	dial_cb *cb;
	void *arg;
	struct resolve *resolve;
	struct sockaddr_storage addrs[LIM_OUT_ADDRS];
	size_t n, next;
	const char
	    *why; /* what was wrong: with a connection, else with an address */
	int fd;   /* being connected, or -1 */
	struct event *ev; /* of fd */
};

static void dial_try(struct dial *);

static void
dial_drop(struct dial *d)
{
	if (d->ev != NULL)
		event_free(d->ev);
	d->ev = NULL;
	if (d->fd != -1)
		close(d->fd);
	d->fd = -1;
}

void
dial_free(struct dial *d)
{
	if (d == NULL)
		return;
	resolve_free(d->resolve);
	dial_drop(d);
	cred_unref(d->cred);
	free(d);
}

static const char *
connect_error(int error)
{
	switch (error) {
	case ECONNREFUSED:
		return ("connection refused");
	case ENETUNREACH:
	case EHOSTUNREACH:
		return ("network or host unreachable");
	case ETIMEDOUT:
		return ("connection timed out");
	case EACCES:
	case EPERM:
		return ("the sandbox or a firewall forbids the connection");
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
		return ("no room for another socket");
	default:
		return ("connection failed");
	}
}

static void
dial_connected_cb(evutil_socket_t s, short what, void *arg)
{
	struct dial *d = arg;
	socklen_t len = sizeof(int);
	int error = 0, fd;

	if (what & EV_TIMEOUT)
		error = ETIMEDOUT;
	else if (getsockopt((int)s, SOL_SOCKET, SO_ERROR, &error, &len) == -1)
		error = errno;
	if (error != 0) {
		d->why = connect_error(error);
		dial_drop(d);
		dial_try(d);
		return;
	}
	fd = d->fd;
	d->fd = -1;
	dial_drop(d);
	d->cb(d->arg, fd, NULL);
}

/* 0: under way; -1: not this address. */
static int
dial_one(struct dial *d, const struct sockaddr_storage *ss)
{
	struct timeval tv = { 0, 0 };
	int on = 1, size = LIM_OUT_SOCKBUF;

	/* All addresses share the time there is. */
	tv.tv_sec = LIM_OUT_CONNECT_S / (time_t)d->n;
	tv.tv_usec = LIM_OUT_CONNECT_S % (time_t)d->n * 1000000 / (time_t)d->n;
	d->fd = socket(
	    ss->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (d->fd == -1) {
		d->why = connect_error(errno);
		return (-1);
	}
	(void)setsockopt(d->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	/* A large one takes a whole request in one turn of the loop. */
	if (setsockopt(d->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)) ==
		-1 ||
	    setsockopt(d->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) == -1)
		log_warn("%s: socket buffers", d->cred->host);
	if (connect(d->fd, (const struct sockaddr *)ss,
		ss->ss_family == AF_INET ? sizeof(struct sockaddr_in)
					 : sizeof(struct sockaddr_in6)) == -1 &&
	    errno != EINPROGRESS) {
		d->why = connect_error(errno);
		dial_drop(d);
		return (-1);
	}
	if ((d->ev = event_new(
		 d->base, d->fd, EV_WRITE, dial_connected_cb, d)) == NULL)
		fatalx("dial: event_new");
	event_add(d->ev, &tv);
	return (0);
}

/* The next address that may be connected to, or the end. */
static void
dial_try(struct dial *d)
{
	const struct sockaddr_storage *ss;
	const char *why;

	while (d->next < d->n) {
		ss = &d->addrs[d->next++];
		why = address_refused((const struct sockaddr *)ss,
		    d->cred->allow, d->cred->nallow);
		if (why == NULL) {
			if (dial_one(d, ss) == 0)
				return;
		} else if (d->why == NULL)
			d->why = why;
	}
	d->cb(d->arg, -1, d->why);
}

static void
dial_resolved_cb(
    void *arg, const struct sockaddr_storage *addrs, size_t n, const char *why)
{
	struct dial *d = arg;

	d->resolve = NULL;
	d->why = why;
	if (n > 0)
		memcpy(d->addrs, addrs, n * sizeof(*addrs));
	d->n = n;
	dial_try(d);
}

struct dial *
dial_new(struct event_base *base, struct cred *cred, dial_cb *cb, void *arg)
{
	struct dial *d = xcalloc(1, sizeof(*d));

	d->base = base;
	d->cred = cred_ref(cred);
	d->cb = cb;
	d->arg = arg;
	d->fd = -1;
	d->resolve = resolve_new(cred->host, cred->port, dial_resolved_cb, d);
	return (d);
}
