/* SPDX-License-Identifier: ISC */
/*
 * Checks the JSON body of a model request while it arrives, in constant
 * memory.  Strict RFC 8259: one object, UTF-8 without overlong forms or
 * surrogates, escaped surrogates in pairs, nothing behind it.  Stricter than
 * that at the top level, where what the run may ask for is decided: keys come
 * from the provider's list, once each, compared after their escapes were
 * decoded; and for what the provider would fetch.
 *
 * The verdict depends on the bytes alone, not on how they were cut.
 */
#ifndef OLP_EGRESS_BODY_H
#define OLP_EGRESS_BODY_H

#include <stddef.h>

struct body;

/* What is checked beside well-formedness. Kept, not copied. */
struct body_rules {
	const char *const *keys; /* top-level keys allowed; NULL: any, and no
				    rule below holds */
	/*
	 * Of those that are in keys: "model" must be there and be this string,
	 * "tools" be absent or empty when no_tools, "stream" be a boolean.
	 */
	const char *model;
	int no_tools;
	/*
	 * Words that "type" may not be in an object named "source", at any depth
	 * but in a tool's input: the provider would fetch what it names, and so
	 * be a way into the network.  NULL: none.
	 */
	const char *const *fetched;
};

struct body *body_new(const struct body_rules *); /* never NULL */
void body_free(struct body *);

/* 0: in order so far; -1: refused, as is everything after it. */
int body_feed(struct body *, const void *data, size_t len);
/* The bytes are at their end: 0 when they are a whole body in order. */
int body_end(struct body *);

/* After -1: why, a constant without a byte of the body. */
const char *body_reason(const struct body *);

#endif
