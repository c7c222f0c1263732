/* SPDX-License-Identifier: ISC */
/*
 * A model request's head: is it the one that the provider's table allows,
 * and the new one that goes out in its place.
 */
#ifndef OLP_EGRESS_REQUEST_H
#define OLP_EGRESS_REQUEST_H

#include <stddef.h>

struct cred;
struct evbuffer;
struct http_head;

enum request_verdict {
	REQUEST_OK,
	REQUEST_IGNORED, /* a request that the client is known to make: 404 and
			    no word about it */
	REQUEST_REFUSED, /* answer `status`, tell http the reason */
};

/* placeholder: the run's. reason is a constant without a byte of the head. */
enum request_verdict request_check(const struct http_head *,
    const struct cred *, const char *placeholder, int *status,
    const char **reason);

/* After REQUEST_OK: the head for the provider, for a body of body_len bytes. */
void request_put(struct evbuffer *, const struct http_head *, struct cred *,
    size_t body_len);

#endif
