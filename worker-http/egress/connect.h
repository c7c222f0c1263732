/* SPDX-License-Identifier: ISC */
/* A verified TLS connection to a credential's provider. */
#ifndef OLP_EGRESS_CONNECT_H
#define OLP_EGRESS_CONNECT_H

struct bufferevent;
struct connect;
struct cred;
struct event_base;

/*
 * The connection, on which nothing was sent and nothing is enabled; it is
 * the callee's.  Or NULL and why, a constant.  The callee calls
 * connect_free().
 */
typedef void connect_cb(void *arg, struct bufferevent *, const char *why);

/*
 * The callback comes from the loop, within the limits of resolving, connecting
 * and the handshake.
 */
struct connect *connect_new(
    struct event_base *, struct cred *, connect_cb *, void *arg);
void connect_free(struct connect *); /* NULL is fine */

#endif
