/* SPDX-License-Identifier: ISC */
/*
 * What every provider's parser shares: one line to one JSON object, and the
 * rules of what is given to the caller.  For <provider>_parse.c alone.
 */
#ifndef OLP_PARSE_H
#define OLP_PARSE_H

#include <jansson.h>
#include <stddef.h>

#include "common/provider/provider.h"
#include "proto/err.h"

struct answer {
	chunk_cb *cb; /* during a call of line() or end() */
	void *arg;
	int started;        /* CHUNK_START was given */
	int text;           /* CHUNK_TEXT was given */
	int done;           /* the end was given, or the caller had enough */
	unsigned int noise; /* lines that are none of ours */
	int64_t in_tokens, out_tokens;
};

/*
 * The object on a line, or NULL; then *r is what line() returns.  A line
 * that does not look like an object is passed over (some libraries print);
 * a broken one fails the answer, since text may be lost with it.
 */
json_t *answer_line(struct answer *, const char *line, size_t len, int *r);

/*
 * Each returns what the callback did, or 0 when nothing was given.  What
 * comes out of order fails the answer: text before its start, an end
 * without text that is no refusal and not cut by a limit.
 */
int answer_start(struct answer *, const char *model);
int answer_text(struct answer *, const char *, size_t);
int answer_usage(struct answer *, int64_t in_tokens, int64_t out_tokens);
int answer_stop(struct answer *, enum stop_reason);
/* text: for owners, NULL for none. */
int answer_fail(struct answer *, enum olp_err, const char *text);
int answer_fail_retry(
    struct answer *, enum olp_err, const char *text, uint32_t retry_s);

/* A member that is a string, else "". */
const char *json_text(const json_t *, const char *name);
/* A member that is a whole number a token count can be, else `otherwise`. */
int64_t json_count(const json_t *, const char *name, int64_t otherwise);

#endif
