/* SPDX-License-Identifier: ISC */
/*
 * Takes HTTP/1.1 messages apart, in worker-http and olpd-egress.  It owns the
 * bytes of one head at a time, which may hold a caller's token and are zeroed
 * when the message ends.  What it answers depends on the bytes alone, never
 * on how they were cut into reads.  It must never guess, and once it has
 * refused a message it reads nothing more from that connection.
 */
#include "common/http/http.h"

#include <bsd/stdlib.h>
#include <event2/buffer.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/http/chars.h"
#include "common/limits.h"
#include "common/log.h"

#define COPIED 4096     /* fewer bytes of a body are copied, not moved */
#define TEXT_FIRST 1024 /* holds the head of every client we have seen */

/* Lines read, each ended by a NUL; the last one may still be growing. */
struct text {
	char *buf;
	size_t size;
	size_t len;   /* bytes in use */
	size_t start; /* where the growing line begins */
	int cr;       /* its CR has come, its LF not yet */
};

/* Those after P_FIELDS mean that the head is complete. */
enum state {
	P_BAD,
	P_START, /* the request or status line */
	P_FIELDS,
	P_LENGTH, /* left bytes of body */
	P_EOF,    /* body until the connection closes */
	P_SIZE,   /* a chunk's size line */
	P_DATA,   /* left bytes of a chunk */
	P_CRLF,   /* what must follow a chunk's data */
	P_TRAILER,
	P_DONE,
};

struct http_parser {
	enum http_kind kind;
	enum state state;
	uint64_t conn_max; /* body_max of every message that sets no other */
	uint64_t body_max;
	struct http_head head;
	struct text text;   /* of the head: target, path, query, fields */
	struct text line;   /* of the body: a size line or a trailer */
	size_t fields_at;   /* where in text the fields begin */
	size_t field_bytes; /* field lines with their CRLF, then trailers */
	int has_query;
	int blank;     /* the one empty line before a request has been */
	size_t budget; /* bytes that this call may still take */
	uint64_t left; /* of a chunk or a body with length */
	uint64_t got;  /* of the body, decoded */
	const char *error;
	int error_status;
};

enum line_result { LINE_BAD, LINE_MORE, LINE_OK, LINE_LONG };

static enum http_result
fail(struct http_parser *p, int status, const char *error)
{
	p->state = P_BAD;
	p->error = error;
	p->error_status = status;
	return (HTTP_BAD);
}

/* Lines */

static void
text_clear(struct text *t)
{
	freezero(t->buf, t->size);
	memset(t, 0, sizeof(*t));
}

/* Not realloc(3), which would leave a copy of a token behind. */
static void
text_grow(struct text *t)
{
	size_t size = t->size == 0 ? TEXT_FIRST : t->size * 2;
	char *buf;

	buf = xmalloc(size);
	if (t->len > 0)
		memcpy(buf, t->buf, t->len);
	freezero(t->buf, t->size);
	t->buf = buf;
	t->size = size;
}

static void
text_put(struct text *t, char c)
{
	if (t->len == t->size)
		text_grow(t);
	t->buf[t->len++] = c;
}

/* Take bytes of one line; *used says how many, its CRLF included. */
static enum line_result
line_feed(struct http_parser *p, struct text *t, size_t max,
    const unsigned char *s, size_t n, size_t *used)
{
	size_t i;

	for (i = 0; i < n; i++) {
		*used = i + 1;
		if (t->cr && s[i] == '\n') {
			t->cr = 0;
			text_put(t, '\0');
			return (LINE_OK);
		}
		if (t->cr || s[i] == '\n') {
			(void)fail(p, 400, "CR or LF alone");
			return (LINE_BAD);
		}
		if (s[i] == '\r') {
			t->cr = 1;
			continue;
		}
		if (!is_text(s[i])) {
			(void)fail(p, 400, "control byte in a line");
			return (LINE_BAD);
		}
		if (t->len - t->start == max)
			return (LINE_LONG);
		text_put(t, (char)s[i]);
	}
	return (LINE_MORE);
}

/* The first contiguous bytes of a buffer, not moved; NULL if it is empty. */
static const unsigned char *
buffer_front(struct evbuffer *in, size_t *n)
{
	if (evbuffer_get_length(in) == 0)
		return (NULL);
	if ((*n = evbuffer_get_contiguous_space(in)) == 0)
		*n = 1; /* an empty chain in front: have it pulled up */
	return (evbuffer_pullup(in, (ev_ssize_t)*n));
}

/*
 * A line of at most max bytes without its CRLF, and without any byte that is
 * not is_text(); it is at t->buf + t->start, ended by a NUL.
 */
static enum line_result
line_read(
    struct http_parser *p, struct text *t, struct evbuffer *in, size_t max)
{
	const unsigned char *s;
	enum line_result r;
	size_t n, used = 0;

	while (p->budget > 0 && (s = buffer_front(in, &n)) != NULL) {
		if (n > p->budget)
			n = p->budget;
		r = line_feed(p, t, max, s, n, &used);
		(void)evbuffer_drain(in, used);
		p->budget -= used;
		if (r != LINE_MORE)
			return (r);
	}
	return (LINE_MORE);
}

/* Request line and status line */

static size_t
method_len(const char *line, size_t max)
{
	size_t n = 0;

	while (n < max && is_upper((unsigned char)line[n]))
		n++;
	return (n < max && line[n] == ' ' ? n : 0);
}

/* 0, or the status that refuses this version. */
static int
read_version(const char *s, int *minor)
{
	if (strcmp(s, "HTTP/1.1") == 0 || strcmp(s, "HTTP/1.0") == 0) {
		*minor = s[7] - '0';
		return (0);
	}
	if (strncmp(s, "HTTP/", 5) == 0 && is_digit((unsigned char)s[5]) &&
	    s[5 + strspn(s + 5, "0123456789.")] == '\0')
		return (505);
	return (400);
}

/* Keep the target, then the path, then the query, where the line was. */
static void
keep_target(struct http_parser *p, size_t at, size_t len)
{
	struct text *t = &p->text;
	size_t i;

	memmove(t->buf, t->buf + at, len);
	t->buf[len] = '\0';
	t->len = len + 1;
	for (i = 0; i < len; i++) {
		if (t->buf[i] == '?' && !p->has_query) {
			p->has_query = 1;
			text_put(t, '\0');
		} else
			text_put(t, t->buf[i]);
	}
	text_put(t, '\0');
}

static enum http_result
request_line(struct http_parser *p, char *line)
{
	size_t m = method_len(line, sizeof(p->head.method));
	char *target = line + m + 1, *end;
	int status;

	if (m == 0)
		return (
		    fail(p, 400, "method is not 1 to 15 upper-case letters"));
	if ((end = strchr(target, ' ')) == NULL)
		return (fail(p, 400, "request line has no version"));
	if ((status = read_version(end + 1, &p->head.minor)) != 0)
		return (fail(
		    p, status, "version is neither HTTP/1.1 nor HTTP/1.0"));
	*end = '\0';
	if (!is_target(target))
		return (fail(p, 400, "target is not a path beginning with /"));
	memcpy(p->head.method, line, m);
	keep_target(p, m + 1, (size_t)(end - target));
	return (HTTP_OK);
}

static enum http_result
status_line(struct http_parser *p, char *line)
{
	const char *s;
	char *end;
	int status;

	if ((end = strchr(line, ' ')) == NULL)
		return (fail(p, 400, "status line has no status"));
	*end = '\0';
	if ((status = read_version(line, &p->head.minor)) != 0)
		return (fail(
		    p, status, "version is neither HTTP/1.1 nor HTTP/1.0"));
	s = end + 1;
	if (strspn(s, "0123456789") != 3 || (s[3] != '\0' && s[3] != ' ') ||
	    *s < '1' || *s > '5')
		return (fail(p, 400, "status is not 100 to 599"));
	p->head.status = (s[0] - '0') * 100 + (s[1] - '0') * 10 + (s[2] - '0');
	p->text.len = 0;
	return (HTTP_OK);
}

static enum http_result
read_start(struct http_parser *p, struct evbuffer *in)
{
	struct text *t = &p->text;
	enum http_result r;

	switch (line_read(p, t, in, LIM_HTTP_LINE)) {
	case LINE_BAD:
		return (HTTP_BAD);
	case LINE_MORE:
		return (HTTP_MORE);
	case LINE_LONG:
		if (p->kind == HTTP_REQUEST &&
		    method_len(t->buf, sizeof(p->head.method)) > 0)
			return (fail(p, 414, "request line too long"));
		return (fail(p, 400, "first line too long"));
	case LINE_OK:
		break;
	}
	if (p->kind == HTTP_REQUEST && t->buf[0] == '\0' && !p->blank) {
		/* RFC 9112 section 2.2; one, since more is no client's habit */
		p->blank = 1;
		t->len = 0;
		return (HTTP_OK);
	}
	r = p->kind == HTTP_REQUEST ? request_line(p, t->buf)
				    : status_line(p, t->buf);
	if (r != HTTP_OK)
		return (r);
	p->fields_at = t->start = t->len;
	p->state = P_FIELDS;
	return (HTTP_OK);
}

/* Fields */

/*
 * Split a field line in place: the name in lower case and its NUL, then the
 * value, blanks in front of it included, and its NUL.  The end of that, or
 * NULL when the line was refused.
 */
static char *
split_field(struct http_parser *p, char *line)
{
	char *s, *end;

	if (is_blank((unsigned char)*line)) {
		(void)fail(p, 400, "line begins with a blank");
		return (NULL);
	}
	for (s = line; is_tchar((unsigned char)*s); s++)
		if (is_upper((unsigned char)*s))
			*s = (char)(*s - 'A' + 'a');
	if (s == line || *s != ':') {
		(void)fail(p, 400, "field name is not a token up to its colon");
		return (NULL);
	}
	*s++ = '\0';
	end = s + strlen(s);
	while (end > s && is_blank((unsigned char)end[-1]))
		end--;
	*end = '\0';
	return (end + 1);
}

/* What a field line may still have of its section, without its CRLF. */
static size_t
field_room(const struct http_parser *p, size_t section)
{
	size_t left = section - p->field_bytes;

	if (left < 2)
		return (0);
	return (left - 2 < LIM_HTTP_LINE ? left - 2 : LIM_HTTP_LINE);
}

/* Names and values follow one another in text, which moves no more now. */
static void
point_fields(struct http_parser *p)
{
	struct http_head *h = &p->head;
	char *s = p->text.buf;
	size_t i;

	if (p->kind == HTTP_REQUEST) {
		h->target = s;
		h->path = h->target + strlen(h->target) + 1;
		if (p->has_query)
			h->query = h->path + strlen(h->path) + 1;
	}
	h->fields = xreallocarray(h->fields, h->nfields, sizeof(*h->fields));
	s += p->fields_at;
	for (i = 0; i < h->nfields; i++) {
		h->fields[i].name = s;
		s += strlen(s) + 1;
		h->fields[i].value = s + strspn(s, " \t");
		s += strlen(s) + 1;
	}
}

/* The next element of a comma-separated value, blanks removed; or NULL. */
static const char *
next_element(const char **at, size_t *len)
{
	const char *s = *at, *end;

	if (s == NULL)
		return (NULL);
	s += strspn(s, " \t");
	end = s + strcspn(s, ",");
	*at = *end == ',' ? end + 1 : NULL;
	while (end > s && is_blank((unsigned char)end[-1]))
		end--;
	*len = (size_t)(end - s);
	return (s);
}

static int
element_is(const char *s, size_t len, const char *word)
{
	return (len == strlen(word) && strncasecmp(s, word, len) == 0);
}

static void
read_connection(struct http_head *h)
{
	const char *at, *s;
	int close = 0, keep = 0;
	size_t i, len;

	for (i = 0; i < h->nfields; i++) {
		if (strcmp(h->fields[i].name, "connection") != 0)
			continue;
		at = h->fields[i].value;
		while ((s = next_element(&at, &len)) != NULL) {
			close |= element_is(s, len, "close");
			keep |= element_is(s, len, "keep-alive");
		}
	}
	h->keep_alive = !close && (keep || h->minor == 1);
}

/*
 * 0 for "chunked" alone, else the status.  RFC 9112 section 6.3: what does
 * not end in chunked has no length and is 400; section 6.1: what does, but
 * has a coding that we cannot undo, is 501.
 */
static int
check_codings(const char *value)
{
	const char *at = value, *s;
	size_t len, chunked = 0, other = 0;

	while ((s = next_element(&at, &len)) != NULL) {
		if (len == 0 || chunked > 0)
			return (400);
		if (element_is(s, len, "chunked"))
			chunked++;
		else
			other++;
	}
	if (chunked == 0)
		return (400);
	return (other == 0 ? 0 : 501);
}

static int
read_length(const char *s, uint64_t *length)
{
	size_t n = strspn(s, "0123456789");

	/* 19 digits always fit. */
	if (n == 0 || n > 19 || s[n] != '\0')
		return (-1);
	for (*length = 0; *s != '\0'; s++)
		*length = *length * 10 + (uint64_t)(*s - '0');
	return (0);
}

/* What stands behind the head, by RFC 9112 section 6.3. */
static enum http_result
read_framing(struct http_parser *p)
{
	struct http_head *h = &p->head;
	const char *length = http_field(h, "content-length");
	const char *coding = http_field(h, "transfer-encoding");
	int status;

	if (length != NULL && coding != NULL)
		return (
		    fail(p, 400, "both Content-Length and Transfer-Encoding"));
	if (coding != NULL && h->minor == 0)
		return (fail(p, 400, "Transfer-Encoding in HTTP/1.0"));
	if (coding != NULL && (status = check_codings(coding)) != 0)
		return (
		    fail(p, status, "Transfer-Encoding is not chunked alone"));
	if (length != NULL && read_length(length, &h->length) == -1)
		return (fail(p, 400, "Content-Length is not 1 to 19 digits"));
	/* These end with their head, whatever its fields say. */
	if (p->kind == HTTP_RESPONSE &&
	    (h->status < 200 || h->status == 204 || h->status == 304))
		h->framing = HTTP_NO_BODY;
	else if (coding != NULL)
		h->framing = HTTP_CHUNKED;
	else if (length != NULL)
		h->framing = HTTP_LENGTH;
	else
		h->framing =
		    p->kind == HTTP_REQUEST ? HTTP_NO_BODY : HTTP_UNTIL_EOF;
	if (h->framing != HTTP_LENGTH)
		h->length = 0;
	if (h->length > p->body_max)
		return (fail(p, 413, "body too large"));
	return (HTTP_OK);
}

/* What names, addresses and ports are made of; a comma would join two. */
static int
is_host(const char *s)
{
	const char *c = s;

	while (is_alnum((unsigned char)*c) ||
	    (*c != '\0' && strchr("-._~:[]%", *c) != NULL))
		c++;
	return (c > s && *c == '\0');
}

static enum http_result
check_request(struct http_parser *p)
{
	struct http_head *h = &p->head;
	const char *host = http_field(h, "host");
	size_t i;

	if (host == NULL && h->minor == 1)
		return (fail(p, 400, "no Host"));
	if (host != NULL && !is_host(host))
		return (fail(p, 400, "Host is not a name or address"));
	for (i = 0; i < h->nfields; i++) {
		if (strcmp(h->fields[i].name, "expect") != 0)
			continue;
		if (strcasecmp(h->fields[i].value, "100-continue") != 0)
			return (fail(p, 400, "Expect is not 100-continue"));
		/* RFC 9110 10.1.1: not in HTTP/1.0, not without a body */
		h->expect_continue = h->minor == 1 &&
		    (h->framing == HTTP_CHUNKED || h->length > 0);
	}
	return (HTTP_OK);
}

static enum http_result
check_single(struct http_parser *p)
{
	static const struct {
		const char *name;
		const char *error;
	} single[] = {
		{ "content-length", "more than one Content-Length" },
		{ "transfer-encoding", "more than one Transfer-Encoding" },
		{ "host", "more than one Host" },
		{ "content-type", "more than one Content-Type" },
		{ "authorization", "more than one Authorization" },
		{ "x-api-key", "more than one x-api-key" },
	};
	size_t i;

	for (i = 0; i < sizeof(single) / sizeof(single[0]); i++)
		if (http_field_count(&p->head, single[i].name) > 1)
			return (fail(p, 400, single[i].error));
	return (HTTP_OK);
}

static enum http_result
end_head(struct http_parser *p)
{
	struct http_head *h = &p->head;

	point_fields(p);
	read_connection(h);
	if (check_single(p) == HTTP_BAD || read_framing(p) == HTTP_BAD)
		return (HTTP_BAD);
	if (p->kind == HTTP_REQUEST && check_request(p) == HTTP_BAD)
		return (HTTP_BAD);
	p->field_bytes = 0;
	p->left = h->length;
	switch (h->framing) {
	case HTTP_NO_BODY:
		p->state = P_DONE;
		break;
	case HTTP_LENGTH:
		p->state = h->length == 0 ? P_DONE : P_LENGTH;
		break;
	case HTTP_CHUNKED:
		p->state = P_SIZE;
		break;
	case HTTP_UNTIL_EOF:
		h->keep_alive = 0;
		p->state = P_EOF;
		break;
	}
	return (HTTP_OK);
}

static enum http_result
read_field(struct http_parser *p, struct evbuffer *in)
{
	struct text *t = &p->text;
	char *line, *end;

	switch (line_read(p, t, in, field_room(p, LIM_HTTP_HEAD))) {
	case LINE_BAD:
		return (HTTP_BAD);
	case LINE_MORE:
		return (HTTP_MORE);
	case LINE_LONG:
		return (fail(p, 431, "fields too long"));
	case LINE_OK:
		break;
	}
	line = t->buf + t->start;
	if (*line == '\0')
		return (end_head(p));
	if (p->head.nfields == LIM_HTTP_FIELDS)
		return (fail(p, 431, "too many fields"));
	p->field_bytes += t->len - t->start + 1;
	if ((end = split_field(p, line)) == NULL)
		return (HTTP_BAD);
	p->head.nfields++;
	t->start = t->len = (size_t)(end - t->buf);
	return (HTTP_OK);
}

/* Body */

/* What came in small pieces would keep a buffer of its own for each. */
static int
copy(struct evbuffer *in, struct evbuffer *out, size_t n)
{
	unsigned char buf[COPIED];

	if (evbuffer_remove(in, buf, n) != (int)n)
		return (-1);
	return (evbuffer_add(out, buf, n));
}

/* Move up to want bytes and no more than there are or this call may take. */
static uint64_t
move(struct http_parser *p, struct evbuffer *in, struct evbuffer *out,
    uint64_t want)
{
	size_t n = evbuffer_get_length(in);
	int moved;

	if (n > want)
		n = (size_t)want;
	if (n > p->budget)
		n = p->budget;
	if (n > INT_MAX)
		n = INT_MAX; /* evbuffer_remove_buffer() counts in int */
	if (n == 0)
		return (0);
	if (out == NULL)
		moved = evbuffer_drain(in, n);
	else if (n < COPIED)
		moved = copy(in, out, n);
	else
		moved = evbuffer_remove_buffer(in, out, n);
	if (moved == -1)
		fatalx("http: cannot move %zu bytes", n);
	p->budget -= n;
	p->got += n;
	return (n);
}

static enum http_result
read_left(struct http_parser *p, struct evbuffer *in, struct evbuffer *out,
    enum state then)
{
	uint64_t n;

	while ((n = move(p, in, out, p->left)) > 0)
		p->left -= n;
	if (p->left > 0)
		return (HTTP_MORE);
	p->state = then;
	return (HTTP_OK);
}

static enum http_result
read_until_eof(struct http_parser *p, struct evbuffer *in, struct evbuffer *out)
{
	while (
	    p->got < p->body_max && move(p, in, out, p->body_max - p->got) > 0)
		;
	if (p->got >= p->body_max && evbuffer_get_length(in) > 0)
		return (fail(p, 413, "body too large"));
	return (HTTP_MORE);
}

static int
hex_value(char c)
{
	if (is_digit((unsigned char)c))
		return (c - '0');
	if (c >= 'a' && c <= 'f')
		return (c - 'a' + 10);
	if (c >= 'A' && c <= 'F')
		return (c - 'A' + 10);
	return (-1);
}

/* "1a" or "1a;extensions".  RFC 9112 allows blanks before the ';', we don't. */
static int
parse_size(const char *s, uint64_t *size)
{
	size_t n = 0;
	int v;

	/* 15 digits are 60 bits: no sum of two can overflow. */
	for (*size = 0; n <= 15 && (v = hex_value(s[n])) != -1; n++)
		*size = *size << 4 | (uint64_t)v;
	if (n == 0 || n > 15 || (s[n] != '\0' && s[n] != ';'))
		return (-1);
	return (strchr(s + n, '\t') == NULL ? 0 : -1);
}

static enum http_result
read_size(struct http_parser *p, struct evbuffer *in)
{
	struct text *t = &p->line;

	switch (line_read(p, t, in, LIM_HTTP_CHUNK_LINE)) {
	case LINE_BAD:
		return (HTTP_BAD);
	case LINE_MORE:
		return (HTTP_MORE);
	case LINE_LONG:
		return (fail(p, 400, "chunk size line too long"));
	case LINE_OK:
		break;
	}
	if (parse_size(t->buf, &p->left) == -1)
		return (fail(
		    p, 400, "chunk size is not 1 to 15 hexadecimal digits"));
	if (p->got > p->body_max || p->left > p->body_max - p->got)
		return (fail(p, 413, "body too large"));
	t->len = 0;
	p->state = p->left > 0 ? P_DATA : P_TRAILER;
	return (HTTP_OK);
}

static enum http_result
read_crlf(struct http_parser *p, struct evbuffer *in)
{
	switch (line_read(p, &p->line, in, 0)) {
	case LINE_BAD:
		return (HTTP_BAD);
	case LINE_MORE:
		return (HTTP_MORE);
	case LINE_LONG:
		return (fail(p, 400, "chunk longer than its size"));
	case LINE_OK:
		break;
	}
	p->line.len = 0;
	p->state = P_SIZE;
	return (HTTP_OK);
}

/* Trailers are read as fields are and dropped: nothing of ours needs one. */
static enum http_result
read_trailer(struct http_parser *p, struct evbuffer *in)
{
	struct text *t = &p->line;

	switch (line_read(p, t, in, field_room(p, LIM_HTTP_TRAILER))) {
	case LINE_BAD:
		return (HTTP_BAD);
	case LINE_MORE:
		return (HTTP_MORE);
	case LINE_LONG:
		return (fail(p, 431, "trailers too long"));
	case LINE_OK:
		break;
	}
	if (*t->buf == '\0')
		p->state = P_DONE;
	else if (split_field(p, t->buf) == NULL)
		return (HTTP_BAD);
	p->field_bytes += t->len + 1;
	t->len = 0;
	return (HTTP_OK);
}

static enum http_result
body_step(struct http_parser *p, struct evbuffer *in, struct evbuffer *out)
{
	switch (p->state) {
	case P_LENGTH:
		if (p->head.length > p->body_max)
			return (fail(p, 413, "body too large"));
		return (read_left(p, in, out, P_DONE));
	case P_EOF:
		return (read_until_eof(p, in, out));
	case P_SIZE:
		return (read_size(p, in));
	case P_DATA:
		return (read_left(p, in, out, P_CRLF));
	case P_CRLF:
		return (read_crlf(p, in));
	case P_TRAILER:
		return (read_trailer(p, in));
	case P_BAD:
		return (HTTP_BAD);
	case P_START:
	case P_FIELDS:
	case P_DONE:
		break;
	}
	fatalx("http: body read before its head");
}

/* What http.h offers */

struct http_parser *
http_parser_new(enum http_kind kind, uint64_t body_max)
{
	struct http_parser *p;

	p = xcalloc(1, sizeof(*p));
	p->kind = kind;
	p->conn_max = p->body_max = body_max;
	p->state = P_START;
	return (p);
}

void
http_parser_free(struct http_parser *p)
{
	if (p == NULL)
		return;
	text_clear(&p->text);
	text_clear(&p->line);
	free(p->head.fields);
	free(p);
}

void
http_parser_next(struct http_parser *p)
{
	struct http_field *fields = p->head.fields;

	if (p->state != P_DONE) {
		if (p->state != P_BAD && p->state != P_START)
			(void)fail(p, 400,
			    "message before this one was not read to its end");
		return;
	}
	text_clear(&p->text);
	text_clear(&p->line);
	memset(&p->head, 0, sizeof(p->head));
	p->head.fields = fields;
	p->field_bytes = 0;
	p->has_query = p->blank = 0;
	p->left = p->got = 0;
	p->body_max = p->conn_max;
	p->state = P_START;
}

void
http_parser_body_max(struct http_parser *p, uint64_t body_max)
{
	p->body_max = body_max;
}

enum http_result
http_read_head(
    struct http_parser *p, struct evbuffer *in, const struct http_head **head)
{
	enum http_result r;

	p->budget = SIZE_MAX; /* a head has bounds enough */
	while (p->state == P_START || p->state == P_FIELDS) {
		r = p->state == P_START ? read_start(p, in) : read_field(p, in);
		if (r != HTTP_OK)
			return (r);
	}
	if (p->state == P_BAD)
		return (HTTP_BAD);
	*head = &p->head;
	return (HTTP_OK);
}

enum http_result
http_read_body(struct http_parser *p, struct evbuffer *in, struct evbuffer *out,
    size_t max)
{
	enum http_result r;

	p->budget = max == 0 ? SIZE_MAX : max;
	while (p->state != P_DONE)
		if ((r = body_step(p, in, out)) != HTTP_OK)
			return (r);
	return (HTTP_OK);
}

const char *
http_error(const struct http_parser *p)
{
	return (p->error);
}

int
http_error_status(const struct http_parser *p)
{
	return (p->error_status);
}

const char *
http_field(const struct http_head *h, const char *name)
{
	size_t i;

	for (i = 0; i < h->nfields; i++)
		if (strcmp(h->fields[i].name, name) == 0)
			return (h->fields[i].value);
	return (NULL);
}

size_t
http_field_count(const struct http_head *h, const char *name)
{
	size_t i, n = 0;

	for (i = 0; i < h->nfields; i++)
		n += strcmp(h->fields[i].name, name) == 0;
	return (n);
}
