/* SPDX-License-Identifier: ISC */
/*
 * The runs that one olpd-egress brokers: their listeners, what is told to
 * http about them, and when all of it ends.
 *
 * A run's record lives from OUT_LISTEN until both ends are done with it:
 * OUT_END or the death of worker-spawn, and OUT_CLOSE or the death of http.
 * From the first of these on nothing more goes out for it.
 */
#ifndef OLP_EGRESS_BROKER_H
#define OLP_EGRESS_BROKER_H

#include <bsd/sys/queue.h>
#include <stdint.h>

#include "common/chan.h"
#include "common/limits.h"
#include "common/provider/provider.h"
#include "proto/err.h"

struct cred;
struct event;
struct event_base;
struct exchange;

struct run {
	TAILQ_ENTRY(run) entry;
	uint64_t http_gen, run_id;
	int listened; /* OUT_LISTEN came */
	int ended;    /* OUT_END came, or spawn is gone */
	int closed;   /* OUT_CLOSE came, or http is gone */

	char model[LIM_MODEL];
	char placeholder[80];
	char request_id[LIM_REQUEST_ID];
	char key_id[LIM_KEY_ID];
	uint32_t max_requests;
	int no_tools;

	int fd;               /* the listener, or -1 */
	struct event *accept; /* of fd */
	struct event *timer;  /* one wait at a time, see broker.c */
	TAILQ_HEAD(exchanges, exchange) exchanges;
	unsigned int nexchanges;

	/* What OUT_CLOSED will say. */
	int opened;          /* OUT_OPENED was sent */
	uint32_t requests;   /* that went, or may have gone, to the provider */
	uint32_t pending;    /* being read or checked */
	unsigned int status; /* of the last answer */
	int complete;
	enum olp_err err;
	uint32_t retry_s;
	uint64_t reset_at;
	char window[LIM_TEXT];
	struct wire_usage usage; /* of finished exchanges */
	unsigned int refusals, ignored;
};

/*
 * fds: descriptors this process may have.  idle: there has been no run for
 * idle_s seconds; again after as many while that stays so.
 */
void broker_init(
    struct event_base *, size_t fds, unsigned int idle_s, void (*idle)(void));
/* For what begins from now on; takes the reference. */
void broker_set_cred(struct cred *);

/*
 * A new link replaces the one before and all that was known through it. Takes
 * it, armed.
 */
void broker_set_http(struct chan *);
void broker_set_spawn(struct chan *);
/* The link is gone: frees it. */
void broker_link_gone(struct chan *);

/* Handlers: from spawn, from spawn, from http. */
int broker_listen(struct chan *, struct msg *);
int broker_end(struct chan *, struct msg *);
int broker_close(struct chan *, struct msg *);

/* For exchanges and relays. */
struct event_base *broker_base(void);
struct cred *broker_cred(void);
/*
 * A request was refused: count, journal, tell http. 0: say no more to this
 * client, its run is at its bound.
 */
int broker_refuse(struct run *, const char *reason);
/* What OUT_CLOSED will give as err; a refusal outranks it. */
void broker_err(struct run *, enum olp_err);
/*
 * Count a request and tell http that it goes out now. -1: http cannot be told,
 * so it must not.
 */
int broker_open(struct run *);
/* 0: http has not been handed all messages yet. */
int broker_told(void);
/* Room for request bodies of all runs: 0, or -1 when there is none. */
int broker_hold(size_t);
void broker_release(size_t);
/* An exchange of the run has ended. */
void broker_exchange_gone(struct run *);

#endif
