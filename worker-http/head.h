/* SPDX-License-Identifier: ISC */
/*
 * What a request's head must be before anything is asked or read on its
 * behalf.  Pure functions on a parsed head.
 */
#ifndef OLP_HTTPD_HEAD_H
#define OLP_HTTPD_HEAD_H

#include <stddef.h>

#include "common/limits.h"
#include "proto/err.h"

struct http_head;

/* host or host[:port], taken apart. */
struct head_host {
	char name[256];    /* lower case; an IPv6 address with its brackets */
	unsigned int port; /* 0: none was given */
};
/* 0, or -1 when it is neither a name, an IPv4 address nor a bracketed IPv6 one,
 * with 1 to 65535 behind. */
int head_parse_host(const char *, struct head_host *);

/* ERR_OK or ERR_HOST. HTTP/1.0 may have none. */
enum olp_err head_host(const struct http_head *);
/*
 * ERR_OK or ERR_ORIGIN: a web page's request is taken only from a page of
 * our own host and port.  Names are compared whole.
 */
enum olp_err head_origin(const struct http_head *);
/* ERR_OK or ERR_MEDIA_TYPE: application/json in UTF-8, not compressed. */
enum olp_err head_json(const struct http_head *);
/*
 * The caller's token, from Authorization: Bearer or x-api-key.  ERR_OK,
 * ERR_KEY_MISSING, ERR_KEY_INVALID (too long to be one) or ERR_BAD_REQUEST
 * (both, and they differ).
 */
enum olp_err head_token(const struct http_head *, char token[LIM_TOKEN]);

/* %XX decoded into buf; 0, or -1: broken, a NUL, or too long. */
int head_decode(const char *, char *buf, size_t size);

#endif
