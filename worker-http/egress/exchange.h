/* SPDX-License-Identifier: ISC */
/*
 * One connection of a run's client: one request, one answer, closed.
 */
#ifndef OLP_EGRESS_EXCHANGE_H
#define OLP_EGRESS_EXCHANGE_H

#include <bsd/sys/queue.h>
#include <stddef.h>

#include "worker-http/egress/body.h"

struct bufferevent;
struct cred;
struct evbuffer;
struct event;
struct http_head;
struct http_parser;
struct relay;
struct run;

enum exchange_state {
	X_HEAD,  /* reading the request's head */
	X_BODY,  /* reading and checking its body */
	X_RELAY, /* the request is in order: relay.c has it */
	X_LAST,  /* all of the answer is in the output buffer */
	X_DRAIN, /* and written: wait for the client to close */
};

struct exchange {
	TAILQ_ENTRY(exchange) entry;
	struct run *run;
	struct cred *cred; /* the one that was in use when it began */
	enum exchange_state state;
	struct bufferevent *client;
	struct http_parser *parser;
	const struct http_head *head; /* the parser's */
	struct body_rules rules;
	struct body *body;
	struct evbuffer *piece; /* of the body: decoded, not checked */
	struct evbuffer *bytes; /* of the body: checked, not sent */
	size_t held;            /* of bytes, as counted by broker_hold() */
	int pending;            /* counted in the run's pending */
	struct relay *relay;
	struct event *timer; /* the end of X_DRAIN */
	size_t dropped;      /* bytes of the client after its request */
};

/* Takes the connected, non-blocking socket; belongs to the run. */
void exchange_new(struct run *, int fd);
void exchange_free(struct exchange *);

/*
 * Answer with an error of ours and end. Only while no answer has begun.
 * message: a constant.
 */
void exchange_error(struct exchange *, int status, const char *message);
/* The answer is in the output buffer, as far as it goes: end. */
void exchange_finish(struct exchange *);

#endif
