/* SPDX-License-Identifier: ISC */
/*
 * Classes of bytes, shared by the HTTP parser and the writer so that what one
 * writes the other accepts.  ASCII only: ctype(3) would ask the locale.
 */
#ifndef OLP_HTTP_CHARS_H
#define OLP_HTTP_CHARS_H

#include <string.h>

static inline int
is_digit(unsigned char c)
{
	return (c >= '0' && c <= '9');
}

static inline int
is_upper(unsigned char c)
{
	return (c >= 'A' && c <= 'Z');
}

static inline int
is_alnum(unsigned char c)
{
	return (is_digit(c) || is_upper(c) || (c >= 'a' && c <= 'z'));
}

/* tchar of RFC 9110 section 5.6.2 */
static inline int
is_tchar(unsigned char c)
{
	return (
	    is_alnum(c) || (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL));
}

/* What may stand in a field value: all but control bytes, HTAB excepted. */
static inline int
is_text(unsigned char c)
{
	return (c == '\t' || (c >= ' ' && c != 0x7f));
}

static inline int
is_blank(unsigned char c)
{
	return (c == ' ' || c == '\t');
}

/*
 * Origin-form: an absolute path and maybe a query.  '#' is refused, since a
 * fragment is no part of it and readers differ on where the path then ends.
 */
static inline int
is_target(const char *s)
{
	if (*s != '/')
		return (0);
	for (; *s != '\0'; s++)
		if (*s <= ' ' || *s > '~' || *s == '#')
			return (0);
	return (1);
}

#endif
