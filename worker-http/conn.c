/* SPDX-License-Identifier: ISC */
/*
 * Connections of callers in worker-http.  This file owns the bufferevent,
 * the parser and the timer of each, and decides when bytes are read.  It
 * must never lose sight of a caller: while a request is worked on, either
 * the socket is read or its end is watched for.  A caller that ends its
 * sending side counts as gone, since that cannot be told from leaving.
 */
#include "worker-http/conn.h"

#include <sys/socket.h>

#include <bsd/sys/queue.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/http/http.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/worker.h"
#include "worker-http/job.h"
#include "worker-http/rows.h"
#include "worker-http/server.h"

enum conn_state {
	CONN_HEAD,    /* between requests, or in a head */
	CONN_BODY,    /* a job, and its body still arrives */
	CONN_BUSY,    /* a job that has its body */
	CONN_CLOSING, /* flush, then end */
};

struct conn {
	TAILQ_ENTRY(conn) entry;
	struct bufferevent *bev;
	struct http_parser *parser;
	const struct http_head *head; /* of the request at hand; the parser's */
	struct job *job;
	struct event *timer;
	struct event *watch; /* for the caller's end while nothing is read */
	int watch_fd; /* a duplicate: edge-triggered, which the socket's own
			 events are not */
	enum conn_state state;
	uint64_t since;   /* ms: CONN_HEAD, it waits for a request */
	int begun;        /* CONN_HEAD: a first byte has come */
	int whole;        /* the request's body was read to its end */
	int linger;       /* CONN_CLOSING: the caller may still be sending */
	int eof;          /* CONN_CLOSING: it has ended */
	size_t drained;   /* CONN_CLOSING: bytes thrown away */
	struct hold hold; /* what the output buffer keeps */
};

static TAILQ_HEAD(, conn) conns = TAILQ_HEAD_INITIALIZER(conns);

static void conn_process(struct conn *);

static void
watch_stop(struct conn *c)
{
	if (c->watch == NULL)
		return;
	event_free(c->watch);
	close(c->watch_fd);
	c->watch = NULL;
}

static void
conn_free(struct conn *c)
{
	SSL *ssl = bufferevent_openssl_get_ssl(c->bev);

	if (ssl != NULL) {
		SSL_set_shutdown(ssl, SSL_RECEIVED_SHUTDOWN);
		(void)SSL_shutdown(ssl);
	}
	TAILQ_REMOVE(&conns, c, entry);
	watch_stop(c);
	event_free(c->timer);
	bufferevent_free(c->bev);
	http_parser_free(c->parser);
	hold_release(&c->hold);
	free(c);
	server_conn_gone();
}

/* The caller left. */
static void
conn_gone(struct conn *c)
{
	struct job *j = c->job;

	c->job = NULL;
	if (j != NULL)
		job_gone(j);
	conn_free(c);
}

static void
timer_set(struct conn *c, uint32_t seconds)
{
	struct timeval tv = { (time_t)seconds, 0 };

	if (seconds == 0)
		event_del(c->timer);
	else
		event_add(c->timer, &tv);
}

/* Reading and watching */

static void
watch_cb(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;
	socklen_t len = sizeof(int);
	int error = 0;

	(void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	if (what & EV_CLOSED || error != 0)
		conn_gone(c);
}

void
conn_stop_reading(struct conn *c)
{
	if (c->watch != NULL)
		return;
	if ((c->watch_fd = fcntl(
		 bufferevent_getfd(c->bev), F_DUPFD_CLOEXEC, 0)) == -1) {
		log_warn("connection: cannot watch it");
		return; /* goes on reading; its bound is the buffer's own */
	}
	c->watch = event_new(worker_base(), c->watch_fd,
	    EV_READ | EV_CLOSED | EV_ET | EV_PERSIST, watch_cb, c);
	if (c->watch == NULL || event_add(c->watch, NULL) == -1)
		fatalx("connection: event_add");
	bufferevent_disable(c->bev, EV_READ);
}

/* Also looks, from the loop, at what has been read before. */
static void
read_on(struct conn *c)
{
	if (c->watch != NULL) {
		watch_stop(c);
		bufferevent_enable(c->bev, EV_READ);
	}
	if (evbuffer_get_length(bufferevent_get_input(c->bev)) > 0)
		bufferevent_trigger(c->bev, EV_READ,
		    BEV_TRIG_IGNORE_WATERMARKS | BEV_TRIG_DEFER_CALLBACKS);
}

/* The end of a connection */

static void
closing_begin(struct conn *c)
{
	c->state = CONN_CLOSING;
	c->linger =
	    !c->whole || evbuffer_get_length(bufferevent_get_input(c->bev)) > 0;
	timer_set(c, 0);
	bufferevent_setwatermark(c->bev, EV_WRITE, 0, 0);
	read_on(c);
}

/*
 * All is written.  Where the caller may still be sending, close() would
 * answer that with a reset, which can overtake the answer: so end our side,
 * and read on for a while.
 */
static void
closing_flushed(struct conn *c)
{
	SSL *ssl = bufferevent_openssl_get_ssl(c->bev);

	if (!c->linger || c->eof || c->drained > LIM_HTTPD_DRAIN) {
		conn_free(c);
		return;
	}
	if (ssl != NULL)
		(void)SSL_shutdown(ssl);
	(void)shutdown(bufferevent_getfd(c->bev), SHUT_WR);
	timer_set(c, LIM_HTTPD_DRAIN_S);
}

static void
closing_drain(struct conn *c)
{
	struct evbuffer *in = bufferevent_get_input(c->bev);
	size_t n = evbuffer_get_length(in);

	(void)evbuffer_drain(in, n);
	c->drained += n;
	if (c->drained <= LIM_HTTPD_DRAIN)
		return;
	if (conn_backlog(c) == 0)
		conn_free(c);
	else
		bufferevent_disable(c->bev, EV_READ);
}

/* What has arrived */

/* The three readers: go on with what is left of the input? */
static int
read_head(struct conn *c)
{
	struct evbuffer *in = bufferevent_get_input(c->bev);
	enum http_result r;
	struct job *j;
	int status;

	if (conn_backlog(c) > LIM_HTTPD_OUT_HIGH) {
		conn_stop_reading(c); /* until the answers before were taken */
		return (0);
	}
	if (!c->begun && evbuffer_get_length(in) > 0) {
		c->begun = 1;
		timer_set(c, rows()->http.head_s);
	}
	if ((r = http_read_head(c->parser, in, &c->head)) == HTTP_MORE)
		return (0);
	timer_set(c, 0);
	if (r == HTTP_BAD) {
		status = http_error_status(c->parser);
		job_bad_head(c, status == 413 ? ERR_TOO_LARGE : ERR_BAD_REQUEST,
		    status, http_error(c->parser));
		return (1);
	}
	c->whole = c->head->framing == HTTP_NO_BODY ||
	    (c->head->framing == HTTP_LENGTH && c->head->length == 0);
	c->state = CONN_BODY;
	if ((j = job_new(c, c->head)) == NULL)
		return (1); /* answered already */
	c->job = j;
	if (c->whole) {
		c->state = CONN_BUSY;
		job_body_done(j);
	} else
		timer_set(c, rows()->http.body_s);
	return (1);
}

static int
read_body(struct conn *c)
{
	struct evbuffer *in = bufferevent_get_input(c->bev);
	int status;

	switch (http_read_body(c->parser, in, job_body(c->job), 0)) {
	case HTTP_BAD:
		timer_set(c, 0);
		status = http_error_status(c->parser);
		job_body_failed(c->job,
		    status == 413 ? ERR_TOO_LARGE : ERR_BAD_REQUEST, status,
		    http_error(c->parser));
		return (1);
	case HTTP_MORE:
		job_body_grew(c->job);
		return (c->state != CONN_BODY);
	case HTTP_OK:
		break;
	}
	timer_set(c, 0);
	c->whole = 1;
	c->state = CONN_BUSY;
	job_body_done(c->job);
	return (1);
}

static void
conn_process(struct conn *c)
{
	int more = 1;

	while (more) {
		switch (c->state) {
		case CONN_HEAD:
			more = read_head(c);
			break;
		case CONN_BODY:
			more = read_body(c);
			break;
		case CONN_BUSY:
			if (evbuffer_get_length(bufferevent_get_input(
				c->bev)) >= LIM_HTTPD_PIPELINE)
				conn_stop_reading(c);
			return;
		case CONN_CLOSING:
			closing_drain(c);
			return; /* c may be gone */
		}
	}
}

static void
read_cb(struct bufferevent *bev, void *arg)
{
	(void)bev;
	conn_process(arg);
}

static void
write_cb(struct bufferevent *bev, void *arg)
{
	struct conn *c = arg;
	size_t left = conn_backlog(c);

	(void)bev;
	if (left == 0)
		hold_release(&c->hold);
	if (c->state == CONN_CLOSING) {
		if (left == 0)
			closing_flushed(c);
	} else if (c->job != NULL)
		job_room(c->job);
	else if (c->watch != NULL)
		read_on(c);
}

static void
event_cb(struct bufferevent *bev, short what, void *arg)
{
	struct conn *c = arg;

	(void)bev;
	if (what & BEV_EVENT_CONNECTED)
		return; /* the TLS handshake is done */
	/* An answer that is complete is still delivered to who only ended its
	 * sending side. */
	if (what & BEV_EVENT_EOF && c->job == NULL && conn_backlog(c) > 0) {
		if (c->state != CONN_CLOSING)
			closing_begin(c);
		c->eof = 1;
		return;
	}
	conn_gone(c);
}

static void
timer_cb(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;

	(void)fd;
	(void)what;
	switch (c->state) {
	case CONN_HEAD:
		if (conn_backlog(c) > 0) {
			/* Not idle: it still takes the answer before. */
			timer_set(c, LIM_HTTPD_KEEP_S);
			return;
		}
		if (!c->begun) {
			conn_free(c);
			return;
		}
		job_bad_head(c, ERR_HEAD_TIMEOUT, 0, NULL);
		return;
	case CONN_BODY:
		job_body_failed(c->job, ERR_BODY_TIMEOUT, 0, NULL);
		return;
	case CONN_BUSY:
	case CONN_CLOSING:
		conn_gone(c);
		return;
	}
}

static struct bufferevent *
bev_new(int fd, SSL_CTX *tls)
{
	struct bufferevent *bev;
	SSL *ssl;

	if (tls == NULL)
		return (bufferevent_socket_new(
		    worker_base(), fd, BEV_OPT_CLOSE_ON_FREE));
	if ((ssl = SSL_new(tls)) == NULL)
		return (NULL);
	bev = bufferevent_openssl_socket_new(worker_base(), fd, ssl,
	    BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
	if (bev == NULL)
		SSL_free(ssl);
	else
		bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
	return (bev);
}

void
conn_new(int fd, SSL_CTX *tls, int refuse)
{
	struct timeval stall = { LIM_HTTPD_STALL_S, 0 };
	struct conn *c = xcalloc(1, sizeof(*c));

	if ((c->bev = bev_new(fd, tls)) == NULL) {
		log_warnx("connection: no buffers for it");
		close(fd);
		free(c);
		server_conn_gone();
		return;
	}
	c->parser = http_parser_new(HTTP_REQUEST, rows()->http.body_max);
	if ((c->timer = evtimer_new(worker_base(), timer_cb, c)) == NULL)
		fatalx("connection: event_new");
	TAILQ_INSERT_TAIL(&conns, c, entry);
	c->since = job_now();
	bufferevent_setcb(c->bev, read_cb, write_cb, event_cb, c);
	bufferevent_setwatermark(c->bev, EV_READ, 0, LIM_HTTPD_PIPELINE);
	bufferevent_setwatermark(c->bev, EV_WRITE, LIM_HTTPD_OUT_LOW, 0);
	bufferevent_set_timeouts(c->bev, NULL, &stall);
	bufferevent_enable(c->bev, EV_READ | EV_WRITE);
	timer_set(c, rows()->http.head_s);
	if (!refuse)
		return;
	job_bad_head(c, ERR_OVERLOADED, 0, "too many connections are open");
	timer_set(c, LIM_HTTPD_DRAIN_S);
}

int
conn_evict(void)
{
	uint64_t now = job_now();
	struct conn *c;

	/* In the order in which they began to wait. */
	TAILQ_FOREACH(c, &conns, entry)
		if (c->state == CONN_HEAD && conn_backlog(c) == 0)
			break;
	if (c == NULL || now - c->since < LIM_HTTPD_PATIENCE_MS)
		return (0);
	conn_free(c);
	return (1);
}

void
conn_drain_all(void)
{
	struct conn *c, *next;

	TAILQ_FOREACH_SAFE(c, &conns, entry, next) {
		if (c->state != CONN_HEAD || c->begun)
			continue;
		if (conn_backlog(c) > 0)
			closing_begin(c);
		else
			conn_free(c);
	}
}

/* For the job */

struct evbuffer *
conn_out(struct conn *c)
{
	return (bufferevent_get_output(c->bev));
}

size_t
conn_backlog(struct conn *c)
{
	return (evbuffer_get_length(bufferevent_get_output(c->bev)));
}

void
conn_go_on(struct conn *c)
{
	struct evbuffer *out = conn_out(c);

	if (c->state != CONN_BODY)
		return;
	if (c->head->expect_continue &&
	    evbuffer_get_length(job_body(c->job)) == 0 &&
	    evbuffer_get_length(bufferevent_get_input(c->bev)) == 0) {
		http_put_status_line(out, 100);
		http_put_end(out);
	}
	read_on(c);
}

int
conn_keeps(const struct conn *c)
{
	return (c->head != NULL && c->head->keep_alive && c->whole &&
	    !server_draining());
}

int
conn_minor(const struct conn *c)
{
	return (c->head != NULL ? c->head->minor : 1);
}

void
conn_answered(struct conn *c, int keep, struct hold *hold)
{
	c->job = NULL;
	hold_move(&c->hold, hold);
	if (!keep || !conn_keeps(c)) {
		closing_begin(c);
		return;
	}
	TAILQ_REMOVE(&conns, c, entry);
	TAILQ_INSERT_TAIL(&conns, c, entry);
	c->since = job_now();
	http_parser_next(c->parser);
	c->head = NULL;
	c->state = CONN_HEAD;
	c->begun = 0;
	timer_set(c, LIM_HTTPD_KEEP_S);
	read_on(c);
}
