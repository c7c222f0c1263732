/* SPDX-License-Identifier: ISC */
/*
 * Feeds bytes to the HTTP parser in pieces and writes down all it says, so
 * that two ways of cutting the same bytes can be compared as two strings.
 * For unit/test_http.c and fuzz/fuzz_http.c; aborts on a broken promise.
 */
#ifndef OLP_TESTS_HTTP_TRACE_H
#define OLP_TESTS_HTTP_TRACE_H

#include <event2/buffer.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/http/http.h"

struct http_trace {
	struct http_parser *parser;
	enum http_kind kind;
	size_t max; /* for http_read_body() */
	struct evbuffer *in;
	struct evbuffer *body;
	struct evbuffer *out; /* the trace */
	size_t fed;
	int in_body;
	int bad;
};

static void
http_trace_open(
    struct http_trace *t, enum http_kind kind, uint64_t body_max, size_t max)
{
	t->parser = http_parser_new(kind, body_max);
	t->kind = kind;
	t->max = max;
	t->in = evbuffer_new();
	t->body = evbuffer_new();
	t->out = evbuffer_new();
	t->fed = 0;
	t->in_body = t->bad = 0;
}

static void
http_trace_head(struct http_trace *t, const struct http_head *h)
{
	static const char *const framing[] = { "none", "length", "chunked",
		"eof" };
	size_t i;

	if (t->kind == HTTP_REQUEST)
		evbuffer_add_printf(t->out, "%s %s path=%s query=%s", h->method,
		    h->target, h->path, h->query == NULL ? "-" : h->query);
	else
		evbuffer_add_printf(t->out, "%d", h->status);
	evbuffer_add_printf(t->out, " 1.%d %s", h->minor, framing[h->framing]);
	if (h->framing == HTTP_LENGTH)
		evbuffer_add_printf(t->out, "=%" PRIu64, h->length);
	evbuffer_add_printf(t->out, "%s%s\n", h->keep_alive ? " keep" : "",
	    h->expect_continue ? " expect" : "");
	for (i = 0; i < h->nfields; i++)
		evbuffer_add_printf(
		    t->out, "%s=[%s]\n", h->fields[i].name, h->fields[i].value);
}

static void
http_trace_body(struct http_trace *t, const char *how)
{
	evbuffer_add_printf(t->out, "body ");
	if (evbuffer_add_buffer(t->out, t->body) == -1)
		abort();
	evbuffer_add_printf(t->out, " %s\n", how);
	t->in_body = 0;
}

static void
http_trace_bad(struct http_trace *t)
{
	const struct http_head *h;

	if (t->in_body)
		http_trace_body(t, "bad");
	evbuffer_add_printf(t->out, "bad %d %s\n", http_error_status(t->parser),
	    http_error(t->parser));
	t->bad = 1;
	/* It stays bad, whatever is asked. */
	http_parser_next(t->parser);
	if (http_read_head(t->parser, t->in, &h) != HTTP_BAD ||
	    http_read_body(t->parser, t->in, NULL, 0) != HTTP_BAD)
		abort();
}

static enum http_result
http_trace_read_body(struct http_trace *t)
{
	enum http_result r;
	size_t before;

	do {
		before = evbuffer_get_length(t->in);
		r = http_read_body(t->parser, t->in, t->body, t->max);
		if (t->max != 0 && before - evbuffer_get_length(t->in) > t->max)
			abort();
	} while (
	    r == HTTP_MORE && t->max != 0 && evbuffer_get_length(t->in) > 0);
	return (r);
}

/* Read all that the parser can make of what is in t->in. */
static void
http_trace_pump(struct http_trace *t)
{
	const struct http_head *h;
	enum http_result r;

	while (!t->bad) {
		if (!t->in_body) {
			if ((r = http_read_head(t->parser, t->in, &h)) ==
			    HTTP_OK) {
				http_trace_head(t, h);
				t->in_body = 1;
			}
		} else if ((r = http_trace_read_body(t)) == HTTP_OK) {
			http_trace_body(t, "end");
			http_parser_next(t->parser);
		}
		if (r == HTTP_BAD)
			http_trace_bad(t);
		if (r == HTTP_MORE && evbuffer_get_length(t->in) != 0)
			abort();
		if (r == HTTP_MORE)
			break;
	}
}

/* Pieces of step bytes, the first of first bytes. */
static void
http_trace_feed(struct http_trace *t, const char *data, size_t len,
    size_t first, size_t step)
{
	size_t n;

	for (; len > 0 && !t->bad; data += n, len -= n, first = step) {
		n = first < len ? first : len;
		if (evbuffer_add(t->in, data, n) == -1)
			abort();
		t->fed += n;
		http_trace_pump(t);
	}
}

/* The trace, to be freed.  It ends with how many bytes were taken. */
static char *
http_trace_close(struct http_trace *t, size_t *len)
{
	size_t taken = t->fed - evbuffer_get_length(t->in);
	char *s;

	if (t->in_body && !t->bad)
		http_trace_body(t, "more");
	evbuffer_add_printf(t->out, "taken %zu\n", taken);
	*len = evbuffer_get_length(t->out);
	if ((s = malloc(*len + 1)) == NULL ||
	    evbuffer_remove(t->out, s, *len) != (int)*len)
		abort();
	s[*len] = '\0';
	http_parser_free(t->parser);
	evbuffer_free(t->in);
	evbuffer_free(t->body);
	evbuffer_free(t->out);
	return (s);
}

#endif
