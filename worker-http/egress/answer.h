/* SPDX-License-Identifier: ISC */
/*
 * What olpd-egress makes of a provider's answer: the head that the client
 * gets, what the limits' headers say, and the tokens that were counted.
 */
#ifndef OLP_EGRESS_ANSWER_H
#define OLP_EGRESS_ANSWER_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "common/provider/provider.h"

struct evbuffer;
struct http_head;
struct tap;

/*
 * NULL when an answer with this head may be passed on, else a constant that
 * says why not.
 */
const char *answer_refused(const struct http_head *);

/*
 * Status line and allow-listed fields; framing and the empty line are the
 * caller's.
 */
void answer_put(
    struct evbuffer *, const struct http_head *, const struct provider_wire *);

/*
 * Seconds of Retry-After, as a number or a date; 0: none. At most
 * LIM_OUT_RETRY_S.
 */
uint32_t answer_retry_s(const struct http_head *, time_t now);

/*
 * When a limit resets, in unix seconds; 0: not said.  The first of the
 * provider's window fields that ends in "-reset" counts; of several that one
 * pattern matches, the latest.
 */
uint64_t answer_reset_at(
    const struct http_head *, const struct provider_wire *);

/* The window fields as "name=value;...", cut at a field's end. */
void answer_window(const struct http_head *, const struct provider_wire *,
    char *buf, size_t size);

/* Reads an answer's body for its usage, in bounded memory. Never NULL. */
struct tap *tap_new(const struct provider_wire *, const struct http_head *);
void tap_free(struct tap *); /* NULL is fine */
void tap_feed(struct tap *, const void *data, size_t len);
/* The body is whole: read what is read at the end only. */
void tap_end(struct tap *);
const struct wire_usage *tap_usage(const struct tap *);
/* An event stream, of which the provider itself tells the end. */
int tap_is_stream(const struct tap *);

#endif
