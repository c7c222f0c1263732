/* SPDX-License-Identifier: ISC */
/*
 * JSON written into evbuffers, and a first look at JSON that is to be read.
 */
#ifndef OLP_HTTPD_JSON_H
#define OLP_HTTPD_JSON_H

#include <stddef.h>
#include <stdint.h>

struct evbuffer;

/* Appends bytes as they are; formats. */
void json_put(struct evbuffer *, const char *);
void json_putf(struct evbuffer *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Appends a string with its quotes.  Control bytes, U+2028 and U+2029 are
 * escaped, so that a value never breaks a line; a byte that is not UTF-8
 * becomes U+FFFD.
 */
void json_put_string(struct evbuffer *, const char *, size_t len);
void json_put_text(struct evbuffer *, const char *,
    size_t len); /* the same without the quotes */
void json_put_str(struct evbuffer *, const char *); /* NULL: null */
/* "name":"value" with a comma in front unless first. */
void json_put_member(struct evbuffer *, const char *name, const char *value);

struct json_odd {
	char key[64]; /* member of the outermost object it was found in, "" for
			 none */
	const char *why;
};

/*
 * Looks through text that is meant to be JSON for what a parser would take
 * silently or refuse without saying where: nesting over LIM_IR_DEPTH, more
 * than LIM_IR_VALUES values, a negative zero, a number beyond what 64 bits or
 * a double hold.  0, or -1 and *odd.  It is no parser: text that is not JSON
 * passes or not, as it likes.
 */
int json_look(const char *, size_t len, struct json_odd *odd);

#endif
