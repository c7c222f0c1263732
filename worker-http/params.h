/* SPDX-License-Identifier: ISC */
/*
 * What becomes of each parameter of a chat request: one table, which the
 * request is read by and GET /v1/olp/parameters shows.
 */
#ifndef OLP_HTTPD_PARAMS_H
#define OLP_HTTPD_PARAMS_H

#include <jansson.h>

struct evbuffer;
struct ir;
struct ir_bad;
struct provider_render;

/* Take all members of the body. 0, or -1 and *bad names the one that was
 * refused. */
int params_take(struct ir *, json_t *root, struct ir_bad *bad);

/*
 * What this provider's client cannot carry is taken out and noted, or
 * refused where the answer would be wrong.  0, or -1 and *bad.
 */
int params_fit(struct ir *, const struct provider_render *, struct ir_bad *bad);

/* The parameter a provider's sentence begins with, else "messages". */
const char *params_named(const char *sentence);

/* The table as the JSON members of an object:
 * "parameters":[...],"unknown":"refused". */
void params_put(struct evbuffer *out);

#endif
