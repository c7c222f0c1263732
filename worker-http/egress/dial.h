/* SPDX-License-Identifier: ISC */
/*
 * A TCP connection to a credential's provider, at an address that may be
 * connected to.
 */
#ifndef OLP_EGRESS_DIAL_H
#define OLP_EGRESS_DIAL_H

struct cred;
struct dial;
struct event_base;

/*
 * A connected, non-blocking socket, which is the callee's, or -1 and why: a
 * constant.  The callee calls dial_free().
 */
typedef void dial_cb(void *arg, int fd, const char *why);

/*
 * The name is resolved once; each address is judged and that very address
 * connected to, one after the other.  The callback comes from the loop.
 */
struct dial *dial_new(struct event_base *, struct cred *, dial_cb *, void *arg);
void dial_free(struct dial *); /* NULL is fine */

#endif
