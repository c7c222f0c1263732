/* SPDX-License-Identifier: ISC */
/*
 * A request that was found in order, on its way out, and its answer on the way
 * back.
 */
#ifndef OLP_EGRESS_RELAY_H
#define OLP_EGRESS_RELAY_H

struct exchange;
struct relay;

/*
 * Sets x->relay.  Ends by exchange_finish(), exchange_error() or
 * exchange_free().
 */
void relay_new(struct exchange *);
void relay_free(struct relay *); /* NULL is fine */
/* The client has room for more of the answer. */
void relay_resume(struct relay *);

#endif
