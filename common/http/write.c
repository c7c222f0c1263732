/* SPDX-License-Identifier: ISC */
/*
 * Writes HTTP/1.1 heads and chunks into evbuffers, in worker-http and
 * olpd-egress.  It decides nothing about a message: who calls it picks the
 * fields and sees to it that they agree with the body.  It must never let a
 * byte through that ends a line, whoever the value came from.
 */
#include "common/http/http.h"

#include <event2/buffer.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/http/chars.h"
#include "common/log.h"

static const struct {
	int status;
	const char *reason;
} reasons[] = {
	{ 100, "Continue" }, { 200, "OK" }, { 201, "Created" },
	{ 202, "Accepted" }, { 204, "No Content" }, { 304, "Not Modified" },
	{ 400, "Bad Request" }, { 401, "Unauthorized" },
	{ 402, "Payment Required" }, { 403, "Forbidden" }, { 404, "Not Found" },
	{ 405, "Method Not Allowed" }, { 406, "Not Acceptable" },
	{ 408, "Request Timeout" }, { 409, "Conflict" }, { 410, "Gone" },
	{ 411, "Length Required" }, { 413, "Content Too Large" },
	{ 414, "URI Too Long" }, { 415, "Unsupported Media Type" },
	{ 417, "Expectation Failed" }, { 421, "Misdirected Request" },
	{ 422, "Unprocessable Content" }, { 426, "Upgrade Required" },
	{ 429, "Too Many Requests" },
	{ 431, "Request Header Fields Too Large" },
	{ 500, "Internal Server Error" }, { 501, "Not Implemented" },
	{ 502, "Bad Gateway" }, { 503, "Service Unavailable" },
	{ 504, "Gateway Timeout" }, { 505, "HTTP Version Not Supported" },
	{ 529, "Overloaded" }, /* Anthropic's own */
};

const char *
http_reason(int status)
{
	size_t i;

	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].status == status)
			return (reasons[i].reason);
	return ("Unknown");
}

static void
put(struct evbuffer *out, const void *data, size_t len)
{
	if (evbuffer_add(out, data, len) == -1)
		fatalx("http: cannot append %zu bytes", len);
}

static void
put_str(struct evbuffer *out, const char *s)
{
	put(out, s, strlen(s));
}

/* The offending bytes are not shown: they may be a caller's. */
static void
check_field(const char *name, const char *value)
{
	const char *s;

	for (s = name; is_tchar((unsigned char)*s); s++)
		;
	if (s == name || *s != '\0')
		fatalx("http: field name to be written is no token");
	for (s = value; is_text((unsigned char)*s); s++)
		;
	if (*s != '\0')
		fatalx(
		    "http: field %s: control byte in the value to be written",
		    name);
}

void
http_put_request_line(
    struct evbuffer *out, const char *method, const char *target)
{
	size_t n = 0;

	while (is_upper((unsigned char)method[n]))
		n++;
	if (n == 0 || method[n] != '\0')
		fatalx(
		    "http: method to be written is not of upper-case letters");
	if (!is_target(target))
		fatalx("http: target to be written is not in origin-form");
	put(out, method, n);
	put_str(out, " ");
	put_str(out, target);
	put_str(out, " HTTP/1.1\r\n");
}

void
http_put_status_line(struct evbuffer *out, int status)
{
	char line[64];

	if (status < 100 || status > 599)
		fatalx("http: status to be written: %d", status);
	(void)snprintf(line, sizeof(line), "HTTP/1.1 %d %s\r\n", status,
	    http_reason(status));
	put_str(out, line);
}

void
http_put_field(struct evbuffer *out, const char *name, const char *value)
{
	check_field(name, value);
	put_str(out, name);
	put_str(out, ": ");
	put_str(out, value);
	put_str(out, "\r\n");
}

void
http_put_fieldf(struct evbuffer *out, const char *name, const char *fmt, ...)
{
	char *value;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&value, fmt, ap);
	va_end(ap);
	if (n == -1)
		fatal("http: field %s: vasprintf", name);
	/* A NUL printed by %c would end the value unseen. */
	if (strlen(value) != (size_t)n)
		fatalx(
		    "http: field %s: control byte in the value to be written",
		    name);
	http_put_field(out, name, value);
	free(value);
}

void
http_put_end(struct evbuffer *out)
{
	put_str(out, "\r\n");
}

static void
put_chunk_size(struct evbuffer *out, size_t len)
{
	char line[32];
	int n;

	n = snprintf(line, sizeof(line), "%zx\r\n", len);
	put(out, line, (size_t)n);
}

void
http_put_chunk(struct evbuffer *out, const void *data, size_t len)
{
	if (len == 0)
		return;
	put_chunk_size(out, len);
	put(out, data, len);
	put_str(out, "\r\n");
}

void
http_put_chunk_buffer(struct evbuffer *out, struct evbuffer *data)
{
	size_t len = evbuffer_get_length(data);

	if (len == 0)
		return;
	put_chunk_size(out, len);
	if (evbuffer_add_buffer(out, data) == -1)
		fatalx("http: cannot move %zu bytes", len);
	put_str(out, "\r\n");
}

void
http_put_last_chunk(struct evbuffer *out)
{
	put_str(out, "0\r\n\r\n");
}
