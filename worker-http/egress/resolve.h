/* SPDX-License-Identifier: ISC */
/*
 * Names to addresses without blocking and without files: libevent's evdns
 * with the name servers and hosts that were read before the cage, or with
 * the one the configuration names.
 */
#ifndef OLP_EGRESS_RESOLVE_H
#define OLP_EGRESS_RESOLVE_H

#include <sys/socket.h>

#include <stddef.h>
#include <stdint.h>

struct event_base;
struct resolve;

/*
 * Before the cage, once: with this server, or with "" those of
 * /etc/resolv.conf; and with what /etc/hosts says.  0, or -1: no address.
 */
int resolve_init(struct event_base *, const char *server, uint16_t port);

/*
 * n addresses with the port set, at most LIM_OUT_ADDRS, valid during the
 * call; or n 0 and why.  The resolve is freed when it returns.
 */
typedef void resolve_cb(
    void *arg, const struct sockaddr_storage *, size_t n, const char *why);

/*
 * host is a name or an address.  The callback comes from the loop, never
 * from inside this call, and within LIM_OUT_RESOLVE_S.
 */
struct resolve *resolve_new(
    const char *host, uint16_t port, resolve_cb *, void *arg);
/* NULL is fine. Afterwards the callback is not called. */
void resolve_free(struct resolve *);

#endif
