/* SPDX-License-Identifier: ISC */
/*
 * Requests and responses of any bytes.  The first byte picks the kind and the
 * limits; the rest is what a peer sends.  Fed whole, byte by byte and with a
 * small bound per call it must come to the same, and a head that was accepted
 * must, written again by our writer, be accepted as the same head.
 */
#include <event2/buffer.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/http/http.h"
#include "tests/http_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static const uint64_t body_max[] = { 1 << 20, 64, 5, 0 };

static char *
run(uint8_t how, const char *data, size_t len, size_t step, size_t max,
    size_t *tlen)
{
	struct http_trace t;

	http_trace_open(&t, how & 1 ? HTTP_RESPONSE : HTTP_REQUEST,
	    body_max[how >> 1 & 3], max);
	http_trace_feed(&t, data, len, step, step);
	return (http_trace_close(&t, tlen));
}

static void
write_head(struct evbuffer *out, enum http_kind kind, const struct http_head *h)
{
	size_t i;

	if (kind == HTTP_REQUEST)
		http_put_request_line(out, h->method, h->target);
	else
		http_put_status_line(out, h->status);
	for (i = 0; i < h->nfields; i++)
		http_put_field(out, h->fields[i].name, h->fields[i].value);
	http_put_end(out);
}

static void
same_head(const struct http_head *a, const struct http_head *b)
{
	size_t i;

	if (strcmp(a->method, b->method) != 0 || a->status != b->status ||
	    a->nfields != b->nfields || a->framing != b->framing ||
	    a->length != b->length)
		abort();
	if (a->target != NULL && strcmp(a->target, b->target) != 0)
		abort();
	for (i = 0; i < a->nfields; i++)
		if (strcmp(a->fields[i].name, b->fields[i].name) != 0 ||
		    strcmp(a->fields[i].value, b->fields[i].value) != 0)
			abort();
}

/* The first head only, and of HTTP/1.1: that is what we write. */
static void
write_again(uint8_t how, const char *data, size_t len)
{
	enum http_kind kind = how & 1 ? HTTP_RESPONSE : HTTP_REQUEST;
	struct http_parser *a = http_parser_new(kind, UINT64_MAX);
	struct http_parser *b = http_parser_new(kind, UINT64_MAX);
	struct evbuffer *in = evbuffer_new(), *again = evbuffer_new();
	const struct http_head *ha, *hb;

	evbuffer_add(in, data, len);
	if (http_read_head(a, in, &ha) == HTTP_OK && ha->minor == 1) {
		write_head(again, kind, ha);
		/* "a:" grows by the blank we write, maybe over the limit */
		if (http_read_head(b, again, &hb) == HTTP_OK)
			same_head(ha, hb);
		else if (http_error_status(b) != 431 &&
		    http_error_status(b) != 414)
			abort();
	}
	http_parser_free(a);
	http_parser_free(b);
	evbuffer_free(in);
	evbuffer_free(again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const char *data = (const char *)bytes + 1;
	char *whole, *cut, *bound;
	size_t nwhole, ncut, nbound;

	if (size < 2)
		return (0);
	whole = run(bytes[0], data, size - 1, size - 1, 0, &nwhole);
	cut = run(bytes[0], data, size - 1, 1, 0, &ncut);
	bound = run(bytes[0], data, size - 1, size - 1, 3, &nbound);
	if (nwhole != ncut || memcmp(whole, cut, ncut) != 0)
		abort();
	if (nwhole != nbound || memcmp(whole, bound, nbound) != 0)
		abort();
	free(whole);
	free(cut);
	free(bound);
	write_again(bytes[0], data, size - 1);
	return (0);
}
