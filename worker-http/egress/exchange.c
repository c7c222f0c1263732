/* SPDX-License-Identifier: ISC */
/*
 * The client's side of a brokered request, in olpd-egress: its head and its
 * body are read and judged here, whole, before anything goes out.  The
 * client is hostile: it may send any byte at any time.  A connection serves
 * one request; EOF from the client is taken for its leaving.
 */
#include "worker-http/egress/exchange.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/http/http.h"
#include "common/limits.h"
#include "common/log.h"
#include "worker-http/egress/broker.h"
#include "worker-http/egress/cred.h"
#include "worker-http/egress/relay.h"
#include "worker-http/egress/request.h"

static void exchange_body(struct exchange *);

void
exchange_free(struct exchange *x)
{
	struct run *r = x->run;

	relay_free(x->relay);
	bufferevent_free(x->client);
	http_parser_free(x->parser);
	body_free(x->body);
	evbuffer_free(x->piece);
	evbuffer_free(x->bytes);
	broker_release(x->held);
	event_free(x->timer);
	cred_unref(x->cred);
	if (x->pending)
		r->pending--;
	TAILQ_REMOVE(&r->exchanges, x, entry);
	free(x);
	broker_exchange_gone(r);
}

/* Ending */

static void
exchange_drain(struct exchange *x)
{
	static const struct timeval tv = { LIM_OUT_DRAIN_S, 0 };

	(void)shutdown(bufferevent_getfd(x->client), SHUT_WR);
	x->state = X_DRAIN;
	evtimer_add(x->timer, &tv);
}

void
exchange_finish(struct exchange *x)
{
	x->state = X_LAST;
	bufferevent_setwatermark(x->client, EV_WRITE, 0, 0);
	if (evbuffer_get_length(bufferevent_get_output(x->client)) == 0)
		exchange_drain(x);
}

static const char *
error_type(int status)
{
	switch (status) {
	case 401:
		return ("authentication_error");
	case 404:
		return ("not_found_error");
	case 413:
		return ("request_too_large");
	case 502:
	case 503:
		return ("api_error");
	default:
		return ("invalid_request_error");
	}
}

void
exchange_error(struct exchange *x, int status, const char *message)
{
	struct evbuffer *out = bufferevent_get_output(x->client);
	char *json;
	int n;

	/* Read by Anthropic's and OpenAI's clients alike. */
	n = xasprintf(&json,
	    "{\"type\":\"error\",\"error\":{\"type\":\"%s\",\"message\":\"olpd:"
	    " %s\"}}",
	    error_type(status), message);
	http_put_status_line(out, status);
	http_put_field(out, "Content-Type", "application/json");
	http_put_fieldf(out, "Content-Length", "%d", n);
	http_put_field(out, "Connection", "close");
	http_put_end(out);
	if (evbuffer_add(out, json, (size_t)n) == -1)
		fatalx("exchange: cannot append %d bytes", n);
	free(json);
	exchange_finish(x);
}

/* Something the client may not ask. x may be gone afterwards. */
static void
exchange_refuse(struct exchange *x, int status, const char *reason)
{
	broker_err(x->run, ERR_BROKER);
	if (broker_refuse(x->run, reason))
		exchange_error(x, status, reason);
	else
		exchange_free(x);
}

static void
exchange_refuse_http(struct exchange *x, const char *part)
{
	char reason[LIM_TEXT];

	(void)snprintf(
	    reason, sizeof(reason), "%s: %s", part, http_error(x->parser));
	exchange_refuse(x, http_error_status(x->parser), reason);
}

/* The head */

/*
 * Not the client's fault but its habit (a continuation turn, a retry), so
 * that what became of the allowed requests stays the run's outcome.
 */
static void
exchange_surplus(struct exchange *x)
{
	static const char reason[] = "more requests than allowed";

	if (broker_refuse(x->run, reason))
		exchange_error(x, 400, reason);
	else
		exchange_free(x);
}

static void
exchange_ignore(struct exchange *x)
{
	if (++x->run->ignored > LIM_OUT_IGNORED)
		exchange_refuse(x, 404, "more side requests than allowed");
	else
		exchange_error(x, 404, "not brokered");
}

static void
exchange_accept(struct exchange *x)
{
	static const struct timeval tv = { LIM_OUT_BODY_S, 0 };
	struct run *r = x->run;

	r->pending++;
	x->pending = 1;
	x->rules.keys = x->cred->wire->body_keys;
	x->rules.model = r->model;
	x->rules.no_tools = r->no_tools;
	x->rules.fetched = x->cred->wire->fetched;
	x->body = body_new(&x->rules);
	x->state = X_BODY;
	bufferevent_set_timeouts(x->client, &tv, &tv);
	if (x->head->expect_continue) {
		http_put_status_line(bufferevent_get_output(x->client), 100);
		http_put_end(bufferevent_get_output(x->client));
	}
	exchange_body(x);
}

static void
exchange_head(struct exchange *x)
{
	struct run *r = x->run;
	const char *reason;
	int status;

	switch (http_read_head(
	    x->parser, bufferevent_get_input(x->client), &x->head)) {
	case HTTP_MORE:
		return;
	case HTTP_BAD:
		exchange_refuse_http(x, "head");
		return;
	case HTTP_OK:
		break;
	}
	switch (
	    request_check(x->head, x->cred, r->placeholder, &status, &reason)) {
	case REQUEST_IGNORED:
		exchange_ignore(x);
		break;
	case REQUEST_REFUSED:
		exchange_refuse(x, status, reason);
		break;
	case REQUEST_OK:
		if (r->requests + r->pending >= r->max_requests)
			exchange_surplus(x);
		else
			exchange_accept(x);
		break;
	}
}

/* The body */

/*
 * Check what was decoded and keep it, copied: bytes that come one by one
 * would otherwise hold a buffer each.  0, or -1: refused by *status, reason.
 */
static int
exchange_check(struct exchange *x, int *status, const char **reason)
{
	const unsigned char *p;
	size_t n;

	while (evbuffer_get_length(x->piece) > 0) {
		if ((n = evbuffer_get_contiguous_space(x->piece)) == 0)
			n = 1; /* an empty chain in front */
		p = evbuffer_pullup(x->piece, (ev_ssize_t)n);
		if (body_feed(x->body, p, n) == -1) {
			*status = 400;
			*reason = body_reason(x->body);
			return (-1);
		}
		if (broker_hold(n) == -1) {
			*status = 503;
			*reason = "no room for the request now";
			return (-1);
		}
		x->held += n;
		if (evbuffer_add(x->bytes, p, n) == -1 ||
		    evbuffer_drain(x->piece, n) == -1)
			fatalx("exchange: cannot keep %zu bytes", n);
	}
	return (0);
}

static void
exchange_body_done(struct exchange *x)
{
	if (evbuffer_get_length(bufferevent_get_input(x->client)) > 0)
		exchange_refuse(x, 400, "body: bytes after the request");
	else if (body_end(x->body) == -1)
		exchange_refuse(x, 400, body_reason(x->body));
	else {
		static const struct timeval tv = { LIM_OUT_ANSWER_S, 0 };

		bufferevent_set_timeouts(x->client, NULL, &tv);
		x->state = X_RELAY;
		x->run->pending--;
		x->pending = 0;
		relay_new(x);
	}
}

static void
exchange_body(struct exchange *x)
{
	struct evbuffer *in = bufferevent_get_input(x->client);
	const char *reason;
	enum http_result r;
	int status;

	r = http_read_body(x->parser, in, x->piece, LIM_OUT_SLICE);
	if (exchange_check(x, &status, &reason) == -1) {
		if (status == 503) {
			broker_err(x->run, ERR_OVERLOADED);
			exchange_error(x, status, reason);
		} else
			exchange_refuse(x, status, reason);
		return;
	}
	switch (r) {
	case HTTP_BAD:
		exchange_refuse_http(x, "body");
		break;
	case HTTP_OK:
		exchange_body_done(x);
		break;
	case HTTP_MORE:
		/* The slice was full: others first. */
		if (evbuffer_get_length(in) > 0)
			bufferevent_trigger(x->client, EV_READ,
			    BEV_TRIG_IGNORE_WATERMARKS |
				BEV_TRIG_DEFER_CALLBACKS);
		break;
	}
}

/* Events */

static void
exchange_drop(struct exchange *x)
{
	struct evbuffer *in = bufferevent_get_input(x->client);
	size_t n = evbuffer_get_length(in);

	(void)evbuffer_drain(in, n);
	x->dropped += n;
	if (x->dropped > LIM_OUT_DRAIN)
		exchange_free(x);
}

static void
exchange_read_cb(struct bufferevent *bev, void *arg)
{
	struct exchange *x = arg;

	switch (x->state) {
	case X_HEAD:
		exchange_head(x);
		break;
	case X_BODY:
		exchange_body(x);
		break;
	case X_RELAY:
		if (evbuffer_get_length(bufferevent_get_input(bev)) == 0)
			break;
		/* Its answer may have begun: there is no other one to give. */
		broker_err(x->run, ERR_BROKER);
		(void)broker_refuse(x->run, "body: bytes after the request");
		exchange_free(x);
		break;
	case X_LAST:
	case X_DRAIN:
		exchange_drop(x);
		break;
	}
}

static void
exchange_write_cb(struct bufferevent *bev, void *arg)
{
	struct exchange *x = arg;

	if (x->state == X_RELAY)
		relay_resume(x->relay);
	else if (x->state == X_LAST &&
	    evbuffer_get_length(bufferevent_get_output(bev)) == 0)
		exchange_drain(x);
}

static void
exchange_event_cb(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	(void)what;
	exchange_free(arg);
}

static void
exchange_timer_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	exchange_free(arg);
}

void
exchange_new(struct run *r, int fd)
{
	static const struct timeval tv = { LIM_OUT_HEAD_S, 0 };
	struct exchange *x = xcalloc(1, sizeof(*x));
	int on = 1, sndbuf = LIM_OUT_SOCKBUF;

	x->run = r;
	x->cred = cred_ref(broker_cred());
	x->parser = http_parser_new(HTTP_REQUEST, LIM_OUT_BODY);
	x->client =
	    bufferevent_socket_new(broker_base(), fd, BEV_OPT_CLOSE_ON_FREE);
	x->piece = evbuffer_new();
	x->bytes = evbuffer_new();
	x->timer = evtimer_new(broker_base(), exchange_timer_cb, x);
	if (x->client == NULL || x->piece == NULL || x->bytes == NULL ||
	    x->timer == NULL)
		fatalx("exchange: no memory");
	TAILQ_INSERT_TAIL(&r->exchanges, x, entry);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof(sndbuf)) ==
	    -1)
		log_warn("run %" PRIu64 ": SO_SNDBUF", r->run_id);
	bufferevent_setcb(x->client, exchange_read_cb, exchange_write_cb,
	    exchange_event_cb, x);
	bufferevent_setwatermark(x->client, EV_READ, 0, LIM_OUT_HIGH);
	bufferevent_setwatermark(x->client, EV_WRITE, LIM_OUT_LOW, 0);
	bufferevent_set_timeouts(x->client, &tv, &tv);
	bufferevent_enable(x->client, EV_READ | EV_WRITE);
}
