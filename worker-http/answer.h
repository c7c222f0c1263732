/* SPDX-License-Identifier: ISC */
/*
 * What callers are told: status, head and error body.  The only place that
 * turns an enum olp_err into an HTTP status.
 */
#ifndef OLP_HTTPD_ANSWER_H
#define OLP_HTTPD_ANSWER_H

#include <stddef.h>
#include <stdint.h>

#include "proto/err.h"

struct evbuffer;

/* One answer's head. NULL and 0 leave a field out. */
struct answer {
	int status;
	const char *type; /* Content-Type */
	int minor;        /* of the request's HTTP/1.x */
	int keep_alive;
	int64_t length; /* bytes of body; -1: a stream */
	const char *request_id;
	int v1; /* an endpoint below /v1, whose headers say how it was answered
		 */
	const char *provider;
	const char *model; /* the provider's name of it */
	const char *enforcement;
	const char *ignored;
	const char *detail; /* owners only: any bytes, made fit here */
	const char *allow;  /* with 405 */
	uint32_t retry_s;   /* Retry-After */
	uint64_t latency_ms;
};

void answer_head(struct evbuffer *out, const struct answer *);

int answer_status(enum olp_err);
/* The seconds of Retry-After: as given, or our own advice where the status
 * wants one; 0: none. */
uint32_t answer_retry(enum olp_err, uint32_t given);

/* {"error":{...}} in OpenAI's shape. message NULL: the error's own sentence;
 * param "" or NULL: null. */
void answer_error(
    struct evbuffer *out, enum olp_err, const char *message, const char *param);

/* Foreign bytes made fit for a field's value: printable ASCII, cut to size. */
void answer_clean(char *buf, size_t size, const char *src);

#endif
