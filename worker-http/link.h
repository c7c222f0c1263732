/* SPDX-License-Identifier: ISC */
/*
 * The links to worker-spawn and to each olpd-egress.  A link that is gone
 * has been read to its end first.
 */
#ifndef OLP_HTTPD_LINK_H
#define OLP_HTTPD_LINK_H

#include <stddef.h>
#include <stdint.h>

struct evbuffer;
struct msg_link;

/* worker.h's link. */
void link_take(const struct msg_link *, int fd);

/* The link to worker-spawn, or NULL while there is none. */
struct chan *link_spawn(void);
/* The link to that egress, or NULL. */
struct chan *link_egress(uint32_t instance);
/* It has been there and is gone: instances only grow. */
int link_egress_dead(uint32_t instance);
/* A JSON array of what is linked, for owners. */
void link_put(struct evbuffer *);

#endif
