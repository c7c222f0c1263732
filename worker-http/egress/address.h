/* SPDX-License-Identifier: ISC */
/*
 * Which addresses olpd-egress may connect to: public unicast ones, and those
 * that the configuration names.  Pure; no system calls.
 */
#ifndef OLP_EGRESS_ADDRESS_H
#define OLP_EGRESS_ADDRESS_H

#include <stddef.h>
#include <stdint.h>

struct sockaddr;

struct address {
	uint8_t b[16]; /* IPv6; IPv4 as ::ffff:a.b.c.d */
};

/* An address in text without port, brackets or zone. 0, or -1. */
int address_parse(const char *text, struct address *);

/*
 * NULL when it may be connected to, else a constant that says why not.  The
 * port is not looked at.  `allow` are exceptions; an IPv4 address and its
 * mapped form are the same one.
 */
const char *address_refused(
    const struct sockaddr *, const struct address *allow, size_t n);

#endif
