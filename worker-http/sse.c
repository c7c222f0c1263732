/* SPDX-License-Identifier: ISC */
/*
 * Event stream frames.  Runs in worker-http.  There are no comment lines: as
 * a keep-alive they break several SDKs, so a heartbeat is an ordinary event
 * with nothing in it (cases C039, C040, C042), made by the API.
 */
#include "worker-http/sse.h"

#include <event2/buffer.h>
#include <string.h>

#include "common/http/http.h"
#include "common/log.h"

/*
 * Copied, not moved: a frame has some 200 bytes, and a buffer of its own for
 * each would cost a slow caller four times that.
 */
void
sse_data(struct sse *s, struct evbuffer *json)
{
	size_t len;

	if (evbuffer_prepend(json, "data: ", 6) == -1 ||
	    evbuffer_add(json, "\n\n", 2) == -1)
		fatalx("sse: cannot append");
	len = evbuffer_get_length(json);
	if (s->chunked)
		http_put_chunk(s->out, evbuffer_pullup(json, -1), len);
	else if (evbuffer_add(s->out, evbuffer_pullup(json, -1), len) == -1)
		fatalx("sse: cannot append");
	(void)evbuffer_drain(json, len);
}

void
sse_done(struct sse *s)
{
	static const char done[] = "data: [DONE]\n\n";

	if (s->chunked)
		http_put_chunk(s->out, done, sizeof(done) - 1);
	else if (evbuffer_add(s->out, done, sizeof(done) - 1) == -1)
		fatalx("sse: cannot append");
}

void
sse_end(struct sse *s)
{
	if (s->chunked)
		http_put_last_chunk(s->out);
}
