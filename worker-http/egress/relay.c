/* SPDX-License-Identifier: ISC */
/*
 * The provider's side of a brokered request, in olpd-egress: tell http,
 * connect, send, pass the answer on.  Nothing is sent before http was handed
 * OUT_OPENED, and an answer that broke off never looks whole to the client.
 * At most LIM_OUT_HIGH bytes wait on either side.
 */
#include "worker-http/egress/relay.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/http/http.h"
#include "common/limits.h"
#include "common/log.h"
#include "worker-http/egress/answer.h"
#include "worker-http/egress/broker.h"
#include "worker-http/egress/connect.h"
#include "worker-http/egress/cred.h"
#include "worker-http/egress/exchange.h"
#include "worker-http/egress/request.h"

#define TOLD_MS 10 /* between two looks whether http took OUT_OPENED */

struct relay {
	struct exchange *x;
	struct event *timer; /* until http was told */
	unsigned int looks;
	struct connect *connect;
	struct bufferevent *up;
	short up_end; /* the event that ended it, or 0 */
	struct http_parser *parser;
	const struct http_head *head; /* the answer's, once it was passed on */
	unsigned int interim;         /* 1xx heads */
	struct evbuffer *piece; /* of the answer: decoded, not passed on */
	struct tap *tap;
};

/* What a step made of the answer. */
enum step {
	STEP_MORE,  /* needs bytes */
	STEP_GO,    /* call again */
	STEP_ENDED, /* the relay is gone */
};

void
relay_free(struct relay *rl)
{
	struct wire_usage *sum;
	const struct wire_usage *u;

	if (rl == NULL)
		return;
	sum = &rl->x->run->usage;
	if (rl->tap != NULL) {
		u = tap_usage(rl->tap);
		sum->in_tokens += u->in_tokens;
		sum->out_tokens += u->out_tokens;
		sum->cache_read_tokens += u->cache_read_tokens;
		sum->cache_write_tokens += u->cache_write_tokens;
		/* A client may have its whole answer before we see the body's
		 * end. */
		rl->x->run->complete |= u->ended;
	}
	rl->x->relay = NULL;
	tap_free(rl->tap);
	event_free(rl->timer);
	connect_free(rl->connect);
	if (rl->up != NULL)
		bufferevent_free(rl->up);
	http_parser_free(rl->parser);
	evbuffer_free(rl->piece);
	free(rl);
}

/* Ends */

/*
 * The provider failed us. What the client has of the answer must not look
 * whole.
 */
static void
relay_fail(struct relay *rl, enum olp_err err, const char *why)
{
	struct exchange *x = rl->x;
	int begun = rl->head != NULL;

	log_warnx("run %" PRIu64 ": request %s: provider %s port %u: %s",
	    x->run->run_id, x->run->request_id, x->cred->host, x->cred->port,
	    why);
	broker_err(x->run, err);
	relay_free(rl);
	if (begun)
		exchange_finish(x);
	else
		exchange_error(x, 502, err_text(err));
}

static void
relay_done(struct relay *rl)
{
	struct exchange *x = rl->x;

	tap_end(rl->tap);
	/*
	 * A stream that ends in order but without the provider's word for it is
	 * not whole.
	 */
	x->run->complete = x->run->status != 200 || !tap_is_stream(rl->tap);
	if (rl->head->framing != HTTP_NO_BODY)
		http_put_last_chunk(bufferevent_get_output(x->client));
	relay_free(rl);
	exchange_finish(x);
}

/* The provider's side is over and all that came was read. */
static void
relay_ended(struct relay *rl)
{
	if (rl->head != NULL && rl->head->framing == HTTP_UNTIL_EOF &&
	    rl->up_end & BEV_EVENT_EOF)
		relay_done(rl);
	else if (rl->up_end & BEV_EVENT_TIMEOUT)
		relay_fail(rl, ERR_PROVIDER_CUT, "silent for too long");
	else
		relay_fail(rl, ERR_PROVIDER_CUT,
		    rl->head != NULL ? "the answer broke off"
				     : "closed without an answer");
}

/* The answer */

static enum step
relay_begin(struct relay *rl, const struct http_head *h)
{
	struct evbuffer *out = bufferevent_get_output(rl->x->client);
	const struct provider_wire *wire = rl->x->cred->wire;

	rl->head = h;
	rl->tap = tap_new(wire, h);
	answer_put(out, h, wire);
	http_put_field(out, "Connection", "close");
	if (h->framing != HTTP_NO_BODY)
		http_put_field(out, "Transfer-Encoding", "chunked");
	http_put_end(out);
	if (h->framing != HTTP_NO_BODY)
		return (STEP_GO);
	relay_done(rl);
	return (STEP_ENDED);
}

static enum step
relay_head(struct relay *rl)
{
	struct run *r = rl->x->run;
	const struct provider_wire *wire = rl->x->cred->wire;
	const struct http_head *h;
	const char *why;

	switch (http_read_head(rl->parser, bufferevent_get_input(rl->up), &h)) {
	case HTTP_MORE:
		return (STEP_MORE);
	case HTTP_BAD:
		relay_fail(rl, ERR_PROVIDER, http_error(rl->parser));
		return (STEP_ENDED);
	case HTTP_OK:
		break;
	}
	if (h->status < 200) {
		if (h->status == 101 || ++rl->interim > LIM_OUT_INTERIM) {
			relay_fail(rl, ERR_PROVIDER,
			    "interim answers that were not asked for");
			return (STEP_ENDED);
		}
		http_parser_next(rl->parser);
		return (STEP_GO);
	}
	r->status = (unsigned int)h->status;
	r->retry_s = answer_retry_s(h, time(NULL));
	r->reset_at = answer_reset_at(h, wire);
	answer_window(h, wire, r->window, sizeof(r->window));
	if ((why = answer_refused(h)) != NULL) {
		relay_fail(rl, ERR_PROVIDER, why);
		return (STEP_ENDED);
	}
	return (relay_begin(rl, h));
}

static void
relay_pass(struct relay *rl)
{
	const unsigned char *p;
	struct evbuffer_ptr at;
	struct evbuffer_iovec v;
	size_t len = evbuffer_get_length(rl->piece), done = 0;

	(void)evbuffer_ptr_set(rl->piece, &at, 0, EVBUFFER_PTR_SET);
	while (done < len && evbuffer_peek(rl->piece, -1, &at, &v, 1) > 0) {
		p = v.iov_base;
		tap_feed(rl->tap, p, v.iov_len);
		done += v.iov_len;
		(void)evbuffer_ptr_set(
		    rl->piece, &at, v.iov_len, EVBUFFER_PTR_ADD);
	}
	http_put_chunk_buffer(bufferevent_get_output(rl->x->client), rl->piece);
}

static enum step
relay_body(struct relay *rl)
{
	struct evbuffer *in = bufferevent_get_input(rl->up);
	size_t before = evbuffer_get_length(in);
	enum http_result r;

	r = http_read_body(rl->parser, in, rl->piece, LIM_OUT_SLICE);
	relay_pass(rl);
	switch (r) {
	case HTTP_OK:
		relay_done(rl);
		return (STEP_ENDED);
	case HTTP_BAD:
		relay_fail(rl, ERR_PROVIDER_CUT, http_error(rl->parser));
		return (STEP_ENDED);
	case HTTP_MORE:
		break;
	}
	return (evbuffer_get_length(in) < before ? STEP_GO : STEP_MORE);
}

/* Pass on what is there, until the client has enough for now. */
static void
relay_pump(struct relay *rl)
{
	struct evbuffer *out = bufferevent_get_output(rl->x->client);
	enum step step = STEP_GO;

	while (step == STEP_GO && evbuffer_get_length(out) < LIM_OUT_HIGH)
		step = rl->head == NULL ? relay_head(rl) : relay_body(rl);
	if (step == STEP_ENDED)
		return;
	if (step == STEP_MORE && rl->up_end)
		relay_ended(rl);
	else if (step == STEP_MORE)
		bufferevent_enable(rl->up, EV_READ);
	else
		bufferevent_disable(rl->up, EV_READ);
}

void
relay_resume(struct relay *rl)
{
	if (rl->up != NULL)
		relay_pump(rl);
}

/* The request */

static void
relay_send(struct relay *rl)
{
	struct exchange *x = rl->x;
	int n;

	n = evbuffer_remove_buffer(
	    x->bytes, bufferevent_get_output(rl->up), LIM_OUT_SLICE);
	if (n == -1)
		fatalx("relay: cannot move a slice");
	broker_release((size_t)n);
	x->held -= (size_t)n;
}

static void
relay_read_cb(struct bufferevent *bev, void *arg)
{
	(void)bev;
	relay_pump(arg);
}

static void
relay_write_cb(struct bufferevent *bev, void *arg)
{
	struct relay *rl = arg;

	(void)bev;
	if (evbuffer_get_length(rl->x->bytes) > 0)
		relay_send(rl);
}

static void
relay_event_cb(struct bufferevent *bev, short what, void *arg)
{
	struct relay *rl = arg;

	(void)bev;
	rl->up_end = what;
	relay_pump(rl);
}

static void
relay_connected_cb(void *arg, struct bufferevent *bev, const char *why)
{
	static const struct timeval tv = { LIM_OUT_ANSWER_S, 0 };
	struct relay *rl = arg;
	struct exchange *x = rl->x;

	connect_free(rl->connect);
	rl->connect = NULL;
	if (bev == NULL) {
		relay_fail(rl, ERR_UNREACHABLE, why);
		return;
	}
	rl->up = bev;
	bufferevent_setcb(
	    bev, relay_read_cb, relay_write_cb, relay_event_cb, rl);
	bufferevent_setwatermark(bev, EV_READ, 0, LIM_OUT_HIGH);
	bufferevent_set_timeouts(bev, &tv, &tv);
	request_put(bufferevent_get_output(bev), x->head, x->cred,
	    evbuffer_get_length(x->bytes));
	relay_send(rl);
	bufferevent_enable(bev, EV_READ | EV_WRITE);
}

/*
 * Connect as soon as http has been handed OUT_OPENED: egress may die any moment
 * from then on.
 */
static void
relay_tell_cb(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval tv = { 0, TOLD_MS * 1000 };
	struct relay *rl = arg;

	(void)fd;
	(void)what;
	if (broker_told())
		rl->connect = connect_new(
		    broker_base(), rl->x->cred, relay_connected_cb, rl);
	else if (++rl->looks * TOLD_MS > LIM_OUT_OPENED_S * 1000)
		relay_fail(rl, ERR_INTERNAL,
		    "not connected: http does not read its link");
	else
		evtimer_add(rl->timer, &tv);
}

void
relay_new(struct exchange *x)
{
	struct relay *rl = xcalloc(1, sizeof(*rl));

	x->relay = rl;
	rl->x = x;
	rl->parser = http_parser_new(HTTP_RESPONSE, LIM_OUT_ANSWER);
	rl->piece = evbuffer_new();
	rl->timer = evtimer_new(broker_base(), relay_tell_cb, rl);
	if (rl->piece == NULL || rl->timer == NULL)
		fatalx("relay: no memory");
	if (broker_open(x->run) == -1)
		relay_fail(rl, ERR_INTERNAL, "not connected: no link to http");
	else
		relay_tell_cb(-1, 0, rl);
}
