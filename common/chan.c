/* SPDX-License-Identifier: ISC */
/*
 * A channel between two processes: packets, descriptors, dispatch.  Linked
 * into every process.  The peer may have been taken over: what it sends is
 * checked here, once for all handlers, before any of them sees it.
 */
#include "common/chan.h"

#include <sys/socket.h>

#include <bsd/stdlib.h>
#include <bsd/sys/queue.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"

struct packet {
	TAILQ_ENTRY(packet) entry;
	int fd[LIM_MSG_FDS];
	size_t nfds;
	size_t len;
	uint8_t data[];
};

struct chan {
	struct event_base *base;
	int fd;
	enum proc self, peer;
	unsigned int state;
	const struct msg_handler *table;
	size_t ntable;
	chan_gone_cb *gone;
	void *arg;
	struct event *readable, *writable;
	struct event *later;        /* a retry, or the news that we gave up */
	TAILQ_HEAD(, packet) queue; /* waiting for the peer to read */
	size_t nqueue;
	int ending; /* errno + 1 once the channel is lost */
	uint32_t instance;
	uint64_t generation, birth;
	int *freed; /* set when the channel dies inside a handler */
};

static void chan_read_cb(evutil_socket_t, short, void *);
static void chan_write_cb(evutil_socket_t, short, void *);
static void chan_later_cb(evutil_socket_t, short, void *);

struct chan *
chan_new(struct event_base *base, int fd, enum proc self, enum proc peer,
    const struct msg_handler *table, size_t n, chan_gone_cb *gone, void *arg)
{
	struct chan *c = xcalloc(1, sizeof(*c));

	c->base = base;
	c->fd = fd;
	c->self = self;
	c->peer = peer;
	c->state = ST_SETUP;
	c->table = table;
	c->ntable = n;
	c->gone = gone;
	c->arg = arg;
	TAILQ_INIT(&c->queue);
	if (fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) == -1)
		fatal("channel to %s: fcntl", proc_name(peer));
	return (c);
}

static void
packet_free(struct packet *p)
{
	while (p->nfds > 0)
		close(p->fd[--p->nfds]);
	freezero(p, sizeof(*p) + p->len); /* may hold a token */
}

void
chan_free(struct chan *c)
{
	struct packet *p;

	if (c == NULL)
		return;
	if (c->freed != NULL)
		*c->freed = 1;
	/* Before close(): a child may still hold the same open description. */
	if (c->readable != NULL)
		event_free(c->readable);
	if (c->writable != NULL)
		event_free(c->writable);
	if (c->later != NULL)
		event_free(c->later);
	while ((p = TAILQ_FIRST(&c->queue)) != NULL) {
		TAILQ_REMOVE(&c->queue, p, entry);
		packet_free(p);
	}
	close(c->fd);
	free(c);
}

static struct event *
chan_event(struct chan *c, short what, event_callback_fn cb)
{
	struct event *ev;

	if ((ev = event_new(c->base, what == 0 ? -1 : c->fd, what, cb, c)) ==
	    NULL)
		fatalx("channel to %s: event_new", proc_name(c->peer));
	return (ev);
}

void
chan_arm(struct chan *c)
{
	if (c->readable != NULL)
		return;
	c->readable = chan_event(c, EV_READ | EV_PERSIST, chan_read_cb);
	c->writable = chan_event(c, EV_WRITE, chan_write_cb);
	c->later = chan_event(c, 0, chan_later_cb);
	event_add(c->readable, NULL);
	if (c->nqueue > 0)
		event_add(c->writable, NULL);
	if (c->ending)
		event_active(c->later, EV_TIMEOUT, 0);
}

/* Give up: the owner hears of it from the loop, never from inside a send. */
static void
chan_lose(struct chan *c, int error)
{
	if (c->ending)
		return;
	c->ending = error + 1;
	if (c->later != NULL) {
		event_del(c->readable);
		event_active(c->later, EV_TIMEOUT, 0);
	}
}

static const struct msg_handler *
chan_handler(const struct chan *c, uint32_t type)
{
	size_t i;

	for (i = 0; i < c->ntable; i++)
		if (c->table[i].type == type)
			return (&c->table[i]);
	return (NULL);
}

static int
chan_breach(const struct chan *c, uint32_t type, const char *why)
{
	struct log_field f = { "OLP_WORKER", proc_name(c->peer) };

	log_event(EV_PROTOCOL, &f, 1, "%s: message %s (%u): %s",
	    proc_name(c->peer), msg_name(type), type, why);
	errno = EPROTO;
	return (-1);
}

/* One packet: every check, then the handler. -1 is a breach. */
static int
chan_dispatch(struct chan *c, const uint8_t *buf, size_t len, struct msg *m)
{
	const struct msg_handler *h;
	union msg_any *body = xmalloc(sizeof(*body));
	int freed = 0, r;

	if (msg_unpack(buf, len, &m->type, body) == -1)
		r = chan_breach(c, m->type, "not an exact encoding");
	else if (!(msg_from(m->type) & c->peer) || !(msg_to(m->type) & c->self))
		r = chan_breach(c, m->type, "not this sender's to send here");
	else if (msg_fds(m->type) != m->nfds)
		r = chan_breach(c, m->type, "wrong number of descriptors");
	else if ((h = chan_handler(c, m->type)) == NULL)
		r = chan_breach(c, m->type, "not expected here");
	else if (!(h->states & c->state))
		r = chan_breach(c, m->type, "not in this state");
	else {
		log_debug("message %s from %s", msg_name(m->type),
		    proc_name(c->peer));
		m->body = body;
		c->freed = &freed;
		r = h->handle(c, m);
		if (freed)
			r = 1;
		else {
			c->freed = NULL;
			if (r == -1)
				r = chan_breach(
				    c, m->type, "refused by its handler");
		}
	}
	freezero(body, sizeof(*body));
	return (r);
}

/* How many came, of which LIM_MSG_FDS at most are kept in fd. */
static size_t
take_fds(struct msghdr *mh, int *fd)
{
	struct cmsghdr *cm;
	size_t i, n = 0, got;
	int one;

	for (cm = CMSG_FIRSTHDR(mh); cm != NULL; cm = CMSG_NXTHDR(mh, cm)) {
		if (cm->cmsg_level != SOL_SOCKET || cm->cmsg_type != SCM_RIGHTS)
			continue;
		got = (cm->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < got; i++) {
			memcpy(
			    &one, CMSG_DATA(cm) + i * sizeof(int), sizeof(int));
			if (n < LIM_MSG_FDS)
				fd[n] = one;
			else
				close(one);
			n++;
		}
	}
	return (n);
}

/*
 * Receive and handle one packet.  1 handled, 0 nothing there now, -1 the
 * channel is over (errno 0: EOF), 2 the channel was freed by its handler.
 */
static int
chan_recv(struct chan *c)
{
	/* One byte and one descriptor more than allowed: to see that there were
	 * more. */
	union {
		char buf[CMSG_SPACE(sizeof(int) * (LIM_MSG_FDS + 1))];
		struct cmsghdr align;
	} cm;
	static uint8_t buf[LIM_MSG_BYTES + 1];
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr mh = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = cm.buf,
		.msg_controllen = sizeof(cm.buf) };
	struct msg m = { 0 };
	ssize_t n;
	size_t i;
	int r;

	do
		n = recvmsg(c->fd, &mh, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	while (n == -1 && (errno == EINTR || errno == ECONNRESET));
	if (n == -1)
		return (errno == EAGAIN ? 0 : -1);
	m.nfds = take_fds(&mh, m.fd);
	if (n == 0)
		r = -1;
	else if (n > LIM_MSG_BYTES || mh.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		r = chan_breach(c, 0, "packet or descriptors over the limit");
	else
		r = chan_dispatch(c, buf, (size_t)n, &m);
	for (i = 0; i < m.nfds && i < LIM_MSG_FDS; i++)
		if (m.fd[i] != -1)
			close(m.fd[i]);
	explicit_bzero(buf, (size_t)n);
	if (r == -1)
		errno = n == 0 ? 0 : EPROTO;
	return (r == 0 ? 1 : r == 1 ? 2 : -1);
}

static int64_t
now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (t.tv_sec * 1000LL + t.tv_nsec / 1000000);
}

static void
chan_read_cb(evutil_socket_t fd, short what, void *arg)
{
	struct chan *c = arg;
	int64_t end = now_ms() + LIM_CHAN_TURN_MS;
	int n, r = 1, error;

	(void)fd;
	(void)what;
	for (n = 0; n < LIM_CHAN_BATCH && r == 1 && (n == 0 || now_ms() < end);
	     n++)
		if ((r = chan_recv(c)) == 2)
			return;
	if (r == -1) {
		error = errno;
		event_del(c->readable);
		c->ending = error + 1;
		c->gone(c, error, c->arg);
	}
}

int
chan_step(struct chan *c, int ms)
{
	struct pollfd pfd = { c->fd, POLLIN, 0 };
	int r;

	if (c->ending) {
		errno = c->ending - 1 == 0 ? EPIPE : c->ending - 1;
		return (-1);
	}
	if (chan_flush(c) > 0)
		pfd.events |= POLLOUT;
	do
		r = poll(&pfd, 1, ms);
	while (r == -1 && errno == EINTR);
	if (r == 0)
		errno = ETIMEDOUT;
	if (r != 1)
		return (-1);
	if (!(pfd.revents & (POLLIN | POLLHUP | POLLERR)))
		return (0); /* only room to write: the next call uses it */
	if ((r = chan_recv(c)) == -1 && errno == 0)
		errno = EPIPE;
	return (r == -1 ? -1 : 0);
}

void
chan_set_state(struct chan *c, unsigned int state)
{
	c->state = state;
}

unsigned int
chan_state(const struct chan *c)
{
	return (c->state);
}

void *
chan_arg(const struct chan *c)
{
	return (c->arg);
}

enum proc
chan_peer(const struct chan *c)
{
	return (c->peer);
}

int
chan_fd(const struct chan *c)
{
	return (c->fd);
}

void
chan_set_link(struct chan *c, const struct msg_link *m)
{
	c->instance = m->instance;
	c->generation = m->generation;
	c->birth = m->birth;
}

uint32_t
chan_instance(const struct chan *c)
{
	return (c->instance);
}

uint64_t
chan_generation(const struct chan *c)
{
	return (c->generation);
}

uint64_t
chan_birth(const struct chan *c)
{
	return (c->birth);
}

/* 0 sent, 1 not now, -1 never. */
static int
packet_send(int fd, const struct packet *p)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * LIM_MSG_FDS)];
		struct cmsghdr align;
	} cm;
	struct iovec iov = { (void *)(uintptr_t)p->data, p->len };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (p->nfds > 0) {
		memset(&cm, 0, sizeof(cm));
		mh.msg_control = cm.buf;
		mh.msg_controllen = CMSG_SPACE(sizeof(int) * p->nfds);
		cm.align.cmsg_level = SOL_SOCKET;
		cm.align.cmsg_type = SCM_RIGHTS;
		cm.align.cmsg_len = CMSG_LEN(sizeof(int) * p->nfds);
		memcpy(CMSG_DATA(&cm.align), p->fd, sizeof(int) * p->nfds);
	}
	do
		n = sendmsg(fd, &mh, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n == -1 && errno == EINTR);
	if (n != -1)
		return (0);
	/* ETOOMANYREFS: too many descriptors of ours are under way to peers
	 * that do not read. */
	return (errno == EAGAIN || errno == ENOBUFS || errno == ETOOMANYREFS
		? 1
		: -1);
}

size_t
chan_flush(struct chan *c)
{
	static const struct timeval soon = { 0, 10000 };
	struct packet *p;
	int r;

	while ((p = TAILQ_FIRST(&c->queue)) != NULL) {
		if ((r = packet_send(c->fd, p)) == 1) {
			if (c->later != NULL && errno != EAGAIN)
				event_add(c->later,
				    &soon); /* no event tells of this */
			else if (c->writable != NULL)
				event_add(c->writable, NULL);
			break;
		}
		TAILQ_REMOVE(&c->queue, p, entry);
		c->nqueue--;
		packet_free(p);
		/* A dead peer is noticed by reading: what it had sent comes
		 * first. */
	}
	return (c->nqueue);
}

static void
chan_write_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)chan_flush(arg);
}

static void
chan_later_cb(evutil_socket_t fd, short what, void *arg)
{
	struct chan *c = arg;

	(void)fd;
	(void)what;
	if (c->ending)
		c->gone(c, c->ending - 1, c->arg);
	else
		(void)chan_flush(c);
}

static struct packet *
packet_new(const struct chan *c, uint32_t type, const void *m, const int *fds,
    size_t nfds)
{
	static uint8_t buf[LIM_MSG_BYTES];
	struct packet *p = NULL;
	long len;

	if (!(msg_from(type) & c->self) || !(msg_to(type) & c->peer) ||
	    msg_fds(type) != nfds) {
		log_warnx("message %s to %s: not ours to send", msg_name(type),
		    proc_name(c->peer));
		return (NULL);
	}
	if ((len = msg_pack(type, m, buf, sizeof(buf))) == -1) {
		log_warn(
		    "message %s to %s", msg_name(type), proc_name(c->peer));
		return (NULL);
	}
	p = xmalloc(sizeof(*p) + (size_t)len);
	p->len = (size_t)len;
	p->nfds = nfds;
	memcpy(p->data, buf, p->len);
	if (nfds > 0)
		memcpy(p->fd, fds, nfds * sizeof(*fds));
	explicit_bzero(buf, p->len);
	return (p);
}

int
chan_send_fds(
    struct chan *c, uint32_t type, const void *m, const int *fds, size_t nfds)
{
	struct packet *p;
	size_t i;

	if (c->ending || (p = packet_new(c, type, m, fds, nfds)) == NULL) {
		for (i = 0; i < nfds; i++)
			close(fds[i]);
		return (-1);
	}
	TAILQ_INSERT_TAIL(&c->queue, p, entry);
	c->nqueue++;
	if (chan_flush(c) > LIM_CHAN_QUEUE) {
		log_warnx("%s: does not read its channel: given up",
		    proc_name(c->peer));
		chan_lose(c, ENOBUFS);
		return (-1);
	}
	return (0);
}

int
chan_send(struct chan *c, uint32_t type, const void *m)
{
	return (chan_send_fds(c, type, m, NULL, 0));
}

int
msg_take_fd(struct msg *m, size_t i)
{
	int fd = m->fd[i];

	m->fd[i] = -1;
	return (fd);
}
