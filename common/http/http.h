/* SPDX-License-Identifier: ISC */
/*
 * The one HTTP/1.1 parser and writer of olpd, used by worker-http towards
 * callers and by olpd-egress towards clients (requests) and providers
 * (responses).  It works on evbuffers, does no I/O and knows no route.
 *
 * It is strict where others guess: what two readers could understand in two
 * ways is refused and the connection is to be closed (RFC 9112 section 6.3
 * and 11.2).  Refused are: both Content-Length and Transfer-Encoding, more
 * than one Content-Length even when equal, a length that is not 1*DIGIT, any
 * transfer coding but a single final "chunked", Transfer-Encoding in
 * HTTP/1.0, a space before a colon, obs-fold, a bare LF or CR in a head or a
 * chunk line, control bytes, chunk sizes with sign, prefix or blanks,
 * a missing or doubled Host, a second Content-Type, Authorization or
 * x-api-key, and every target but origin-form.
 *
 * What it answers depends on the bytes alone, not on how they were cut into
 * reads.  Ceilings are LIM_HTTP_* in common/limits.h.
 */
#ifndef OLP_HTTP_H
#define OLP_HTTP_H

#include <stddef.h>
#include <stdint.h>

struct evbuffer;
struct http_parser;

enum http_kind { HTTP_REQUEST, HTTP_RESPONSE };

enum http_result {
	HTTP_BAD = -1, /* http_error() tells; answer it if a request, close */
	HTTP_MORE = 0, /* feed more bytes and call again */
	HTTP_OK = 1,   /* the head, or the body, is complete */
};

enum http_framing {
	HTTP_NO_BODY,   /* the message ends with its head */
	HTTP_LENGTH,    /* http_head.length bytes follow */
	HTTP_CHUNKED,   /* chunks follow; extensions and trailers are dropped */
	HTTP_UNTIL_EOF, /* answers only: the connection's close ends it */
};

struct http_field {
	char *name;  /* lower case */
	char *value; /* blanks at both ends removed; never NULL */
};

/* A head as received.  It belongs to the parser, until http_parser_next(). */
struct http_head {
	char method[16]; /* requests: as sent, upper case by rule */
	char *target;    /* requests: origin-form, as sent */
	char *path;      /* requests: the target up to '?', as sent */
	char *query;     /* requests: what follows '?', or NULL */
	int status;      /* responses: 100 to 599 */
	int minor;       /* the 1 of HTTP/1.1; 0 and 1 are accepted */
	struct http_field *fields;
	size_t nfields;
	enum http_framing framing;
	uint64_t length;     /* with HTTP_LENGTH */
	int keep_alive;      /* what version, Connection and framing say */
	int expect_continue; /* requests: Expect: 100-continue, and a body */
};

/*
 * A parser for one connection.  body_max: bytes a body may have after
 * decoding.  Answers to HEAD are not understood, as we send no HEAD.  Never
 * NULL.
 */
struct http_parser *http_parser_new(enum http_kind, uint64_t body_max);
void http_parser_free(struct http_parser *);

/*
 * Forget this message and expect the next one on the same connection; the
 * head's strings are zeroed and freed.  body_max is the connection's again.
 * Only a message whose body was read to HTTP_OK (with HTTP_NO_BODY: whose head
 * was) has a next one: after any other the parser is bad, since what follows
 * would be that body.  A bad parser stays so.
 */
void http_parser_next(struct http_parser *);

/* Change the limit for the body of the message whose head was just read. */
void http_parser_body_max(struct http_parser *, uint64_t body_max);

/*
 * Take a head from the front of the buffer.  Bytes are drained as they are
 * understood, so that a head fed byte by byte costs no second look.  On
 * HTTP_OK *head is set, and again on every call until http_parser_next().  A
 * length over body_max is HTTP_BAD with 413 at once.  1xx answers are heads
 * like others: the caller skips them.
 */
enum http_result http_read_head(
    struct http_parser *, struct evbuffer *in, const struct http_head **head);

/*
 * Move what has arrived of the body, decoded, to out (which may be NULL: to
 * drop it).  HTTP_OK: the body is complete and further bytes of in belong to
 * the next message.  With HTTP_UNTIL_EOF it never says so: the caller's EOF
 * does.  Call again after every read; it takes at most `max` bytes of in a
 * call, framing included, so that one large body cannot hold the loop (0: no
 * such bound).  HTTP_MORE with bytes left in `in` says that max was met.
 * After HTTP_BAD out may have the part of the body that was in order.
 */
enum http_result http_read_body(struct http_parser *, struct evbuffer *in,
    struct evbuffer *out, size_t max);

/*
 * After HTTP_BAD: what is wrong, a constant fit for logs, and the status to
 * answer a request with (400 413 414 431 501 505); of a response it only
 * tells the kind.
 */
const char *http_error(const struct http_parser *);
int http_error_status(const struct http_parser *);

/* The value of the first field of that lower-case name, or NULL. */
const char *http_field(const struct http_head *, const char *name);
/* How often the field occurs. */
size_t http_field_count(const struct http_head *, const char *name);

/* "Not Found" for 404; "Unknown" for what we never send. */
const char *http_reason(int status);

/*
 * Writers.  Each appends to out.  Values are checked: a control byte in a
 * name or value is a fault of ours and ends the process (fatalx), as it
 * would split a head.
 */
void http_put_request_line(
    struct evbuffer *out, const char *method, const char *target);
void http_put_status_line(struct evbuffer *out, int status);
void http_put_field(struct evbuffer *out, const char *name, const char *value);
void http_put_fieldf(struct evbuffer *out, const char *name, const char *fmt,
    ...) __attribute__((format(printf, 3, 4)));
void http_put_end(struct evbuffer *out);
/* One chunk; nothing for len 0, which would end the body. */
void http_put_chunk(struct evbuffer *out, const void *data, size_t len);
/* The same for all that is in data, which is moved, not copied. */
void http_put_chunk_buffer(struct evbuffer *out, struct evbuffer *data);
void http_put_last_chunk(struct evbuffer *out);

#endif
