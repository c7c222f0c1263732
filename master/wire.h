/* SPDX-License-Identifier: ISC */
/*
 * Who talks to whom: the pairs of sockets between workers; and the one
 * olpd-egress that holds each credential in use.
 */
#ifndef OLP_WIRE_H
#define OLP_WIRE_H

#include <stdint.h>

struct chan;
struct cred;
struct msg;
struct super;

/* It is ready: a new pair, of a new generation, with everyone it talks to. */
void wire_up(struct super *);
/* Its channel is closed: its pairs are history. */
void wire_down(struct super *);
/* Who is at the other end of its current pair of that generation, or NULL. */
struct super *wire_peer(
    struct super *, uint32_t proc, uint32_t instance, uint64_t generation);

const char *cred_id(const struct cred *); /* "PROVIDER" or "KEY.PROVIDER" */
/* Handlers: worker-spawn wants one, gives one up; an egress has nothing to do.
 */
int cred_on_want(struct chan *, struct msg *);
int cred_on_dropped(struct chan *, struct msg *);
int cred_on_idle(struct chan *, struct msg *);
/* It said HELLO: give it what it holds.  And: it is gone; frees s->cred. */
void cred_send(struct super *);
void cred_ended(struct super *);
/* After a reload: send changed files anew, end what is not configured any more.
 */
void cred_reload(void);

#endif
