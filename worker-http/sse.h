/* SPDX-License-Identifier: ISC */
/*
 * An event stream towards one caller: frames, each one HTTP chunk, so that
 * every event leaves at once.  What a frame says is the API's business.
 */
#ifndef OLP_HTTPD_SSE_H
#define OLP_HTTPD_SSE_H

#include <stddef.h>

struct evbuffer;

struct sse {
	struct evbuffer *out; /* the connection's; not ours */
	int chunked; /* HTTP/1.1; else the close of the connection ends it */
};

/* "data: " and what is in json, which is emptied. It holds no line break
 * (json.h). */
void sse_data(struct sse *, struct evbuffer *json);
/* "data: [DONE]". */
void sse_done(struct sse *);
/* The end of the body. */
void sse_end(struct sse *);

#endif
