/* SPDX-License-Identifier: ISC */
/*
 * The table of runs of an olpd-egress.  Messages change it; listeners feed
 * it.  A run is named by http's generation and http's number.  Must never
 * let a byte out for a run that either end has closed.
 */
#include "worker-http/egress/broker.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <bsd/stdlib.h>
#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "worker-http/egress/answer.h"
#include "worker-http/egress/cred.h"
#include "worker-http/egress/exchange.h"

#define ACCEPT_PAUSE_US                                                        \
	100000 /* for want of descriptors; no event tells its end */

static struct {
	struct event_base *base;
	struct cred *cred;
	struct chan *http, *spawn;
	TAILQ_HEAD(, run) runs;
	size_t nruns;
	size_t nlisteners, nexchanges;
	size_t fds;  /* for listeners (one each) and exchanges (two each) */
	size_t held; /* bytes of request bodies */
	struct event *idle;
	struct timeval idle_tv;
	void (*idle_cb)(void);
} self;

static void run_timer_cb(evutil_socket_t, short, void *);

/* Records */

static void
idle_wait(void)
{
	evtimer_add(self.idle, &self.idle_tv);
}

static void
idle_timer_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	self.idle_cb();
	idle_wait();
}

void
broker_init(struct event_base *base, size_t fds, unsigned int idle_s,
    void (*idle)(void))
{
	self.base = base;
	self.fds = fds > LIM_OUT_FDS ? fds - LIM_OUT_FDS : 0;
	self.idle_tv.tv_sec = idle_s;
	self.idle_cb = idle;
	TAILQ_INIT(&self.runs);
	if ((self.idle = evtimer_new(base, idle_timer_cb, NULL)) == NULL)
		fatalx("broker: evtimer_new");
	idle_wait();
}

void
broker_set_cred(struct cred *c)
{
	cred_unref(self.cred);
	self.cred = c;
}

static struct run *
run_find(uint64_t http_gen, uint64_t run_id)
{
	struct run *r;

	TAILQ_FOREACH(r, &self.runs, entry)
		if (r->run_id == run_id && r->http_gen == http_gen)
			return (r);
	return (NULL);
}

static struct run *
run_new(uint64_t http_gen, uint64_t run_id)
{
	struct run *r = xcalloc(1, sizeof(*r));

	r->http_gen = http_gen;
	r->run_id = run_id;
	r->fd = -1;
	TAILQ_INIT(&r->exchanges);
	if ((r->timer = evtimer_new(self.base, run_timer_cb, r)) == NULL)
		fatalx("broker: evtimer_new");
	TAILQ_INSERT_TAIL(&self.runs, r, entry);
	self.nruns++;
	event_del(self.idle);
	return (r);
}

/* Nothing comes in or goes out for it any more. */
static void
run_stop(struct run *r)
{
	struct exchange *x;

	if (r->accept != NULL)
		event_free(r->accept);
	r->accept = NULL;
	if (r->fd != -1) {
		close(r->fd);
		self.nlisteners--;
	}
	r->fd = -1;
	while ((x = TAILQ_FIRST(&r->exchanges)) != NULL)
		exchange_free(x);
}

static void
run_free(struct run *r)
{
	run_stop(r);
	event_free(r->timer);
	TAILQ_REMOVE(&self.runs, r, entry);
	freezero(r, sizeof(*r));
	if (--self.nruns == 0)
		idle_wait();
}

static void
run_wait(struct run *r, time_t s)
{
	struct timeval tv = { s, 0 };

	evtimer_add(r->timer, &tv);
}

/* Stop it, and free its record when both ends are done with it. */
static void
run_settle(struct run *r)
{
	run_stop(r);
	event_del(r->timer);
	if (r->closed && r->ended)
		run_free(r);
	else if (r->ended || !r->listened)
		run_wait(r, LIM_OUT_FORGET_S);
}

/* Accepting */

/* Others' connections must end first; no event tells when. */
static void
run_pause(struct run *r)
{
	static const struct timeval pause = { 0, ACCEPT_PAUSE_US };

	event_del(r->accept);
	evtimer_add(r->timer, &pause);
}

static int
fds_left(size_t n)
{
	return (self.nlisteners + 2 * self.nexchanges + n <= self.fds);
}

static void
run_accept_cb(evutil_socket_t s, short what, void *arg)
{
	struct run *r = arg;
	int fd;

	(void)what;
	if (!fds_left(2)) {
		run_pause(r);
		return;
	}
	if ((fd = accept4((int)s, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) ==
	    -1) {
		if (errno != EAGAIN && errno != EINTR &&
		    errno != ECONNABORTED) {
			log_warn("run %" PRIu64 ": accept", r->run_id);
			run_pause(r);
		}
		return;
	}
	self.nexchanges++;
	r->nexchanges++;
	exchange_new(r, fd);
	if (r->nexchanges == LIM_OUT_CONNS)
		event_del(r->accept);
}

static void
run_accept(struct run *r)
{
	event_del(r->timer);
	r->accept =
	    event_new(self.base, r->fd, EV_READ | EV_PERSIST, run_accept_cb, r);
	if (r->accept == NULL)
		fatalx("broker: event_new");
	event_add(r->accept, NULL);
}

/* Take connections again, unless a bound of the run is met. */
static void
run_resume(struct run *r)
{
	if (r->accept != NULL && r->refusals <= LIM_OUT_REFUSALS &&
	    r->nexchanges < LIM_OUT_CONNS)
		event_add(r->accept, NULL);
}

void
broker_exchange_gone(struct run *r)
{
	self.nexchanges--;
	r->nexchanges--;
	run_resume(r);
}

/* The one wait that a record has at a time is over. */
static void
run_timer_cb(evutil_socket_t fd, short what, void *arg)
{
	struct run *r = arg;

	(void)fd;
	(void)what;
	if (r->accept != NULL) {
		run_resume(r);
		return;
	}
	if (r->ended && !r->closed)
		log_warnx("run %" PRIu64 ": http never closed it", r->run_id);
	if (r->listened && !r->ended) {
		log_warnx("run %" PRIu64 ": no link to its http", r->run_id);
		r->closed = 1;
		run_settle(r);
		return;
	}
	run_free(r);
}

/* Messages from spawn */

static int
is_listener(int fd)
{
	int on = 0, type = 0;
	struct sockaddr_storage ss;
	socklen_t len = sizeof(on), sslen = sizeof(ss);

	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &len) == -1 || !on)
		return (0);
	len = sizeof(type);
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == -1 ||
	    type != SOCK_STREAM)
		return (0);
	return (getsockname(fd, (struct sockaddr *)&ss, &sslen) == 0 &&
	    (ss.ss_family == AF_INET || ss.ss_family == AF_INET6));
}

static uint64_t
http_generation(void)
{
	return (self.http != NULL ? chan_birth(self.http) : 0);
}

static void
run_serve(struct run *r)
{
	if (r->http_gen == http_generation())
		run_accept(r);
	else if (r->http_gen > http_generation())
		run_wait(r, LIM_OUT_LINK_S);
	else {
		r->closed = 1; /* of an http that is gone */
		run_settle(r);
	}
}

static struct run *
run_listen(const struct msg_out_listen *l, int fd)
{
	struct run *r = run_new(l->http_gen, l->run_id);

	(void)snprintf(r->model, sizeof(r->model), "%s", l->model);
	(void)snprintf(
	    r->placeholder, sizeof(r->placeholder), "%s", l->placeholder);
	(void)snprintf(
	    r->request_id, sizeof(r->request_id), "%s", l->request_id);
	(void)snprintf(r->key_id, sizeof(r->key_id), "%s", l->key_id);
	r->max_requests = l->max_requests;
	r->no_tools = l->no_tools;
	r->listened = 1;
	r->fd = fd;
	self.nlisteners++;
	return (r);
}

/* A record that only waits for an OUT_LISTEN gives way. 0: there is none. */
static int
run_forget(void)
{
	struct run *r;

	TAILQ_FOREACH(r, &self.runs, entry)
		if (!r->listened) {
			run_free(r);
			return (1);
		}
	return (0);
}

/* No record can be made: http must not wait for what will never come. */
static void
no_room(const struct msg_out_listen *l)
{
	struct msg_out_refused m = { .run_id = l->run_id };

	log_warnx("run %" PRIu64 ": no room for another run", l->run_id);
	(void)snprintf(m.reason, sizeof(m.reason),
	    "the broker has no room for another run");
	if (l->http_gen == http_generation())
		(void)chan_send(self.http, MT_OUT_REFUSED, &m);
}

int
broker_listen(struct chan *c, struct msg *m)
{
	const struct msg_out_listen *l = m->body;
	struct run *r;
	int fd;

	(void)c;
	if (!is_listener(m->fd[0]))
		return (-1);
	if ((r = run_find(l->http_gen, l->run_id)) != NULL) {
		if (r->listened)
			return (-1);
		r->listened = 1; /* http closed it before we heard of it */
		event_del(r->timer);
		return (0);
	}
	if ((self.nruns >= LIM_OUT_RUNS && !run_forget()) || !fds_left(1)) {
		no_room(l);
		return (0);
	}
	fd = msg_take_fd(m, 0);
	if (evutil_make_socket_nonblocking(fd) == -1)
		fatal("run %" PRIu64 ": listener", l->run_id);
	run_serve(run_listen(l, fd));
	return (0);
}

int
broker_end(struct chan *c, struct msg *m)
{
	const struct msg_out_end *e = m->body;
	struct run *r;

	(void)c;
	if ((r = run_find(e->http_gen, e->run_id)) != NULL && r->listened) {
		r->ended = 1;
		run_settle(r);
	}
	return (0);
}

/* Messages from and to http */

static void
send_closed(const struct run *r)
{
	struct msg_out_closed m = { .run_id = r->run_id,
		.opened = r->opened,
		.requests = r->requests,
		.status = r->status,
		.complete = r->complete,
		.err = r->err,
		.retry_s = r->retry_s,
		.reset_at = r->reset_at,
		.in_tokens = r->usage.in_tokens,
		.out_tokens = r->usage.out_tokens,
		.cache_read_tokens = r->usage.cache_read_tokens,
		.cache_write_tokens = r->usage.cache_write_tokens };

	(void)snprintf(m.window, sizeof(m.window), "%s", r->window);
	(void)chan_send(self.http, MT_OUT_CLOSED, &m);
}

/*
 * A run that http closed before spawn told us of it is remembered, to be
 * refused when it comes; without room for that, OUT_LISTEN finds none either.
 */
int
broker_close(struct chan *c, struct msg *m)
{
	const struct msg_out_run *o = m->body;
	struct msg_out_closed none = { .run_id = o->run_id };
	struct run *r = run_find(chan_birth(c), o->run_id);

	if (r == NULL && self.nruns >= LIM_OUT_RUNS && !run_forget()) {
		(void)chan_send(c, MT_OUT_CLOSED, &none);
		return (0);
	}
	if (r == NULL)
		r = run_new(chan_birth(c), o->run_id);
	r->closed = 1;
	run_stop(r); /* first: what was read so far counts */
	send_closed(r);
	run_settle(r);
	return (0);
}

/* Links */

static void
spawn_gone(void)
{
	struct run *r, *next;

	chan_free(self.spawn);
	self.spawn = NULL;
	TAILQ_FOREACH_SAFE(r, &self.runs, entry, next) {
		if (!r->listened)
			continue;
		r->ended = 1;
		run_settle(r);
	}
}

static void
http_gone(void)
{
	uint64_t gen = http_generation();
	struct run *r, *next;

	chan_free(self.http);
	self.http = NULL;
	TAILQ_FOREACH_SAFE(r, &self.runs, entry, next) {
		if (r->http_gen > gen)
			continue;
		r->closed = 1;
		if (r->listened)
			run_settle(r);
		else
			run_free(r);
	}
}

void
broker_set_http(struct chan *c)
{
	struct run *r, *next;

	if (self.http != NULL)
		http_gone();
	self.http = c;
	TAILQ_FOREACH_SAFE(r, &self.runs, entry, next)
		if (r->listened && !r->ended && !r->closed)
			run_serve(r);
}

void
broker_set_spawn(struct chan *c)
{
	if (self.spawn != NULL)
		spawn_gone();
	self.spawn = c;
}

void
broker_link_gone(struct chan *c)
{
	if (c == self.http)
		http_gone();
	else if (c == self.spawn)
		spawn_gone();
}

/* For exchanges and relays */

struct event_base *
broker_base(void)
{
	return (self.base);
}

struct cred *
broker_cred(void)
{
	return (self.cred);
}

int
broker_refuse(struct run *r, const char *reason)
{
	struct msg_out_refused m = { .run_id = r->run_id };
	char id[24];
	const struct log_field f[] = { { "OLP_WORKER", "olpd-egress" },
		{ "OLP_KEY_ID", r->key_id },
		{ "OLP_REQUEST_ID", r->request_id }, { "OLP_RUN_ID", id },
		{ "OLP_PROVIDER", self.cred->wire->name },
		{ "OLP_MODEL", r->model }, { "OLP_REASON", reason } };

	if (++r->refusals > LIM_OUT_REFUSALS) {
		if (r->accept != NULL)
			event_del(r->accept);
		return (0);
	}
	(void)snprintf(id, sizeof(id), "%" PRIu64, r->run_id);
	log_event(EV_BROKER_REFUSED, f, sizeof(f) / sizeof(f[0]),
	    "run %s: request refused: %s", id, reason);
	(void)snprintf(m.reason, sizeof(m.reason), "%s", reason);
	(void)chan_send(self.http, MT_OUT_REFUSED, &m);
	return (1);
}

void
broker_err(struct run *r, enum olp_err err)
{
	if (r->err != ERR_BROKER)
		r->err = err;
}

int
broker_open(struct run *r)
{
	struct msg_out_run m = { .run_id = r->run_id };

	r->opened = 1;
	r->requests++;
	r->status = 0;
	r->complete = 0;
	r->retry_s = 0;
	r->reset_at = 0;
	r->window[0] = '\0';
	broker_err(r, ERR_OK);
	return (chan_send(self.http, MT_OUT_OPENED, &m));
}

int
broker_told(void)
{
	return (chan_flush(self.http) == 0);
}

int
broker_hold(size_t n)
{
	if (n > LIM_OUT_BODIES - self.held)
		return (-1);
	self.held += n;
	return (0);
}

void
broker_release(size_t n)
{
	self.held -= n;
}
