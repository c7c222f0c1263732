/* SPDX-License-Identifier: ISC */
/*
 * JSON out, and a look at JSON before it is parsed.  Runs in worker-http on
 * bytes of callers and clients; it must never emit a line break inside a
 * value nor a byte that is not UTF-8.
 */
#include "worker-http/json.h"

#include <event2/buffer.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/limits.h"
#include "common/log.h"

static void
put(struct evbuffer *out, const char *s, size_t len)
{
	if (len > 0 && evbuffer_add(out, s, len) == -1)
		fatalx("json: cannot append %zu bytes", len);
}

void
json_put(struct evbuffer *out, const char *s)
{
	put(out, s, strlen(s));
}

void
json_putf(struct evbuffer *out, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (evbuffer_add_vprintf(out, fmt, ap) == -1)
		fatalx("json: cannot append");
	va_end(ap);
}

/* Length of the character at s by RFC 3629, 0 when there is none. */
static size_t
utf8_len(const unsigned char *s, size_t n)
{
	unsigned char lo = 0x80, hi = 0xbf;
	size_t len, i;

	if (s[0] < 0x80)
		return (1);
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		len = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		len = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		len = 4;
	else
		return (0);
	if (s[0] == 0xe0)
		lo = 0xa0; /* overlong */
	else if (s[0] == 0xed)
		hi = 0x9f; /* surrogates */
	else if (s[0] == 0xf0)
		lo = 0x90; /* overlong */
	else if (s[0] == 0xf4)
		hi = 0x8f; /* beyond U+10FFFF */
	if (n < len || s[1] < lo || s[1] > hi)
		return (0);
	for (i = 2; i < len; i++)
		if (s[i] < 0x80 || s[i] > 0xbf)
			return (0);
	return (len);
}

/* What stands for the byte or character at s; NULL: itself. *len: bytes of it.
 */
static const char *
escape(const unsigned char *s, size_t n, size_t *len, char buf[8])
{
	*len = 1;
	switch (s[0]) {
	case '"':
		return ("\\\"");
	case '\\':
		return ("\\\\");
	case '\n':
		return ("\\n");
	case '\r':
		return ("\\r");
	case '\t':
		return ("\\t");
	default:
		break;
	}
	if (s[0] < 0x20) {
		(void)snprintf(buf, 8, "\\u%04x", s[0]);
		return (buf);
	}
	if (s[0] < 0x80)
		return (NULL);
	if ((*len = utf8_len(s, n)) == 0) {
		*len = 1;
		return ("\xef\xbf\xbd");
	}
	if (*len == 3 && s[0] == 0xe2 && s[1] == 0x80 &&
	    (s[2] == 0xa8 || s[2] == 0xa9))
		return (s[2] == 0xa8 ? "\\u2028" : "\\u2029");
	return (NULL);
}

void
json_put_text(struct evbuffer *out, const char *str, size_t n)
{
	const unsigned char *s = (const unsigned char *)str;
	size_t i = 0, plain = 0, len;
	const char *esc;
	char buf[8];

	while (i < n) {
		esc = escape(s + i, n - i, &len, buf);
		if (esc != NULL) {
			put(out, str + plain, i - plain);
			json_put(out, esc);
			plain = i + len;
		}
		i += len;
	}
	put(out, str + plain, n - plain);
}

void
json_put_string(struct evbuffer *out, const char *str, size_t n)
{
	put(out, "\"", 1);
	json_put_text(out, str, n);
	put(out, "\"", 1);
}

void
json_put_str(struct evbuffer *out, const char *s)
{
	if (s == NULL)
		json_put(out, "null");
	else
		json_put_string(out, s, strlen(s));
}

void
json_put_member(struct evbuffer *out, const char *name, const char *value)
{
	size_t n = evbuffer_get_length(out);
	struct evbuffer_ptr p;
	char last = '{';

	if (n > 0 && evbuffer_ptr_set(out, &p, n - 1, EVBUFFER_PTR_SET) == 0)
		(void)evbuffer_copyout_from(out, &p, &last, 1);
	if (last != '{' && last != '[')
		put(out, ",", 1);
	json_put_str(out, name);
	put(out, ":", 1);
	json_put_str(out, value);
}

/* The look before parsing */

static const char *
number_odd(const char *s, size_t n)
{
	char buf[512];

	if (n >= sizeof(buf))
		return ("is a number of too many digits");
	memcpy(buf, s, n);
	buf[n] = '\0';
	if (strpbrk(buf, ".eE") == NULL && n > 18)
		return ("is a number out of range");
	if (isinf(strtod(buf, NULL)))
		return ("is a number out of range");
	if (buf[0] == '-' && buf[1] == '0' &&
	    strcspn(buf, "123456789") >= strcspn(buf, "eE"))
		return ("is a negative zero");
	return (NULL);
}

struct look {
	const char *s, *end;
	size_t depth;
	size_t values;
	int at_key; /* the next string at depth 1 is a member's name */
	struct json_odd *odd;
};

/* Past a string; its first bytes are kept when it is a name of the outermost
 * object. */
static void
look_string(struct look *l)
{
	const char *from = ++l->s;
	size_t n;

	while (l->s < l->end && *l->s != '"')
		l->s += *l->s == '\\' && l->s + 1 < l->end ? 2 : 1;
	if (l->depth == 1 && l->at_key) {
		n = (size_t)(l->s - from);
		if (n >= sizeof(l->odd->key))
			n = sizeof(l->odd->key) - 1;
		memcpy(l->odd->key, from, n);
		l->odd->key[n] = '\0';
		l->at_key = 0;
	}
	if (l->s < l->end)
		l->s++;
}

static int
look_number(struct look *l)
{
	const char *from = l->s;

	while (l->s < l->end && *l->s != '\0' &&
	    strchr("0123456789+-.eE", *l->s) != NULL)
		l->s++;
	l->odd->why = number_odd(from, (size_t)(l->s - from));
	return (l->odd->why == NULL ? 0 : -1);
}

static int
look_open(struct look *l)
{
	if (++l->depth > LIM_IR_DEPTH) {
		l->odd->why = "is nested too deeply";
		return (-1);
	}
	if (l->depth == 1)
		l->at_key = *l->s == '{';
	l->s++;
	return (0);
}

static int
look_step(struct look *l)
{
	char c = *l->s;

	if ((c == ',' || c == '[' || c == '{') && ++l->values > LIM_IR_VALUES) {
		l->odd->why = "has too many values";
		return (-1);
	}
	if (c == '"') {
		look_string(l);
		return (0);
	}
	if (c == '-' || (c >= '0' && c <= '9'))
		return (look_number(l));
	if (c == '{' || c == '[')
		return (look_open(l));
	if ((c == '}' || c == ']') && l->depth > 0)
		l->depth--;
	else if (c == ',' && l->depth == 1)
		l->at_key = 1;
	l->s++;
	return (0);
}

int
json_look(const char *s, size_t len, struct json_odd *odd)
{
	struct look l = { s, s + len, 0, 0, 0, odd };

	memset(odd, 0, sizeof(*odd));
	while (l.s < l.end)
		if (look_step(&l) == -1)
			return (-1);
	return (0);
}
