/* SPDX-License-Identifier: ISC */
/*
 * From a request's JSON to the internal form (common/provider/ir.h).
 */
#ifndef OLP_HTTPD_IR_H
#define OLP_HTTPD_IR_H

#include <jansson.h>
#include <stddef.h>

#include "common/limits.h"
#include "common/provider/ir.h"
#include "proto/err.h"

/* Why a request was refused. `param` and `text` hold the caller's own words and
 * ours, nothing else. */
struct ir_bad {
	enum olp_err err;
	char param[LIM_IR_PARAM]; /* "" : none in particular */
	char text[LIM_TEXT];
};
/* Fills it; always -1. */
int ir_fail(struct ir_bad *, enum olp_err, const char *param, const char *fmt,
    ...) __attribute__((format(printf, 4, 5)));

/* The body of POST /v1/chat/completions. NULL and *bad, or a request the caller
 * frees with ir_free(). */
struct ir *ir_from_chat(const char *body, size_t len, struct ir_bad *bad);

/* Note a parameter that is taken but has no effect; once each. */
void ir_ignored(struct ir *, const char *name);

/* The `messages` of a chat request. 0, or -1 and *bad. */
int ir_take_messages(struct ir *, json_t *, struct ir_bad *bad);

#endif
