/* SPDX-License-Identifier: ISC */
/*
 * A channel between two processes: one message per SOCK_SEQPACKET packet,
 * descriptors beside it, a dispatch table per peer.  The table is that
 * peer's whole power.  Before a handler runs, chan.c has checked for all of
 * them: the number is known, sender and receiver fit, the body is an exact
 * encoding, the descriptor count is right, the table has a row, the state
 * allows it.  Anything else ends the channel (EV_PROTOCOL is logged and
 * `gone` is told EPROTO).
 */
#ifndef OLP_CHAN_H
#define OLP_CHAN_H

#include <stddef.h>
#include <stdint.h>

#include "proto/msg.h"

struct chan;
struct event_base;

/* States a handler may name; a channel starts in ST_SETUP. */
#define ST_SETUP 1u /* before CONF_END, or before the worker is READY */
#define ST_READY 2u
#define ST_DRAIN 4u /* stopping: no new work */
#define ST_ANY (ST_SETUP | ST_READY | ST_DRAIN)

struct msg {
	uint32_t type;
	const void *body; /* the struct of this type; gone after the handler */
	int fd[LIM_MSG_FDS];
	size_t nfds;
};

struct msg_handler {
	uint32_t type;
	/* 0; -1 ends the channel as a breach of protocol. May free the channel. */
	int (*handle)(struct chan *, struct msg *);
	unsigned int states;
};

/*
 * The peer is gone: error is 0 for EOF, EPROTO for a breach (of either
 * kind), else an errno.  All packets that had arrived before EOF were
 * handled first: after ECONNRESET the rest is read too.  The callee frees.
 */
typedef void chan_gone_cb(struct chan *, int error, void *arg);

/*
 * Takes the descriptor.  `self` and `peer` are who we are and who is at the
 * other end.  The table is kept, not copied.  Not armed: chan_arm() or
 * chan_step() makes it read.
 */
struct chan *chan_new(struct event_base *, int fd, enum proc self, enum proc peer,
    const struct msg_handler *, size_t n, chan_gone_cb *, void *arg);
void chan_free(struct chan *); /* NULL is fine */
void chan_arm(struct chan *);  /* let libevent call the handlers */

/* Set-up only: wait up to ms for one packet and handle it. 0, or -1 with errno (ETIMEDOUT, EPROTO, EPIPE). */
int chan_step(struct chan *, int ms);

void chan_set_state(struct chan *, unsigned int state);
unsigned int chan_state(const struct chan *);
void *chan_arg(const struct chan *);
enum proc chan_peer(const struct chan *);
int chan_fd(const struct chan *);
/* What LINK said: which egress, which pair, which process is at the other end. 0 until set. */
void chan_set_link(struct chan *, const struct msg_link *);
uint32_t chan_instance(const struct chan *);
uint64_t chan_generation(const struct chan *);
uint64_t chan_birth(const struct chan *);

/*
 * Send; the descriptors are given away whatever happens.  Queues when the
 * peer is slow; LIM_CHAN_QUEUE packets later it is given up (gone is called
 * from the loop with ENOBUFS).  0, or -1 when the message cannot be encoded
 * (logged: a fault of ours) or the channel is ending.
 */
int chan_send(struct chan *, uint32_t type, const void *m);
int chan_send_fds(struct chan *, uint32_t type, const void *m, const int *fds, size_t nfds);
/* Try once more to write what is queued, without waiting; how many packets are left. */
size_t chan_flush(struct chan *);

/* Move a descriptor out of the message to the caller; what is not taken is closed. */
int msg_take_fd(struct msg *, size_t i);

#endif
