/* SPDX-License-Identifier: ISC */
/*
 * Reads providers' answers, in olpd-egress.  What is not named by the
 * provider's table does not pass to the client: no cookie, no redirect, no
 * id of the account.  Nothing here is kept beyond the answer.
 */
#include "worker-http/egress/answer.h"

#include <event2/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/http/http.h"
#include "common/limits.h"
#include "common/lines.h"
#include "common/log.h"

/* A trailing '*' matches the rest. */
static int
matches(const char *pattern, const char *name)
{
	size_t n = strlen(pattern);

	if (n > 0 && pattern[n - 1] == '*')
		return (strncmp(pattern, name, n - 1) == 0);
	return (strcmp(pattern, name) == 0);
}

const char *
answer_refused(const struct http_head *h)
{
	const char *coding = http_field(h, "content-encoding");

	if (h->status >= 300 && h->status < 400)
		return ("the provider redirects");
	if (coding != NULL && strcasecmp(coding, "identity") != 0)
		return (
		    "the provider answers in a coding that was not asked for");
	return (NULL);
}

static int
listed(const char *const *patterns, const char *name)
{
	for (; *patterns != NULL; patterns++)
		if (matches(*patterns, name))
			return (1);
	return (0);
}

void
answer_put(struct evbuffer *out, const struct http_head *h,
    const struct provider_wire *w)
{
	size_t i;

	http_put_status_line(out, h->status);
	for (i = 0; i < h->nfields; i++)
		if (listed(w->response_fields, h->fields[i].name))
			http_put_field(
			    out, h->fields[i].name, h->fields[i].value);
}

/* Dates */

/*
 * Days from 1970-01-01, proleptic Gregorian; timegm(3) would open the time
 * zone's file.
 */
static int64_t
days(int y, int m, int d)
{
	static const int before[12] = { 0, 31, 59, 90, 120, 151, 181, 212, 243,
		273, 304, 334 };
	int64_t n, last = y - 1;

	n = last * 365 + last / 4 - last / 100 + last / 400 + before[m - 1] +
	    d - 1;
	if (m > 2 && y % 4 == 0 && (y % 100 != 0 || y % 400 == 0))
		n++;
	return (n - 719162); /* of 1970-01-01, counted the same way */
}

static uint64_t
seconds(int y, int mo, int d, int h, int mi, int s)
{
	int64_t t;

	if (y < 1970 || y > 9999 || mo < 1 || mo > 12 || d < 1 || d > 31 ||
	    h < 0 || h > 23 || mi < 0 || mi > 59 || s < 0 || s > 60)
		return (0);
	t = days(y, mo, d) * 86400 + h * 3600 + mi * 60 + s;
	return (t > 0 ? (uint64_t)t : 0);
}

/*
 * "Sun, 06 Nov 1994 08:49:37 GMT", the one form of HTTP dates that is still
 * made; 0: it is none.
 */
static uint64_t
parse_http_date(const char *s)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	int d, y, h, mi, sec, end = 0;
	char mon[4], zone[4];
	const char *m;

	if (sscanf(s, "%*3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d %3[A-Z]%n",
		&d, mon, &y, &h, &mi, &sec, zone, &end) != 7 ||
	    s[end] != '\0' || strcmp(zone, "GMT") != 0 ||
	    (m = strstr(months, mon)) == NULL || (m - months) % 3 != 0)
		return (0);
	return (seconds(y, (int)(m - months) / 3 + 1, d, h, mi, sec));
}

/* RFC 3339, or unix seconds; 0: neither. */
static uint64_t
parse_moment(const char *s)
{
	int y, mo, d, h, mi, sec, oh = 0, om = 0, end = 0;
	size_t n = strspn(s, "0123456789");
	uint64_t t;
	char sign;

	if (s[n] == '\0')
		return (n > 0 && n < 12 ? strtoull(s, NULL, 10) : 0);
	if (sscanf(s, "%4d-%2d-%2dT%2d:%2d:%2d%n", &y, &mo, &d, &h, &mi, &sec,
		&end) != 6 ||
	    end == 0)
		return (0);
	s += end;
	if (*s == '.')
		s += 1 + strspn(s + 1, "0123456789");
	t = seconds(y, mo, d, h, mi, sec);
	if (strcmp(s, "Z") == 0)
		return (t);
	if (sscanf(s, "%c%2d:%2d%n", &sign, &oh, &om, &end) != 3 ||
	    s[end] != '\0' || (sign != '+' && sign != '-') || t < 86400)
		return (0);
	return (sign == '+' ? t - (uint64_t)(oh * 3600 + om * 60)
			    : t + (uint64_t)(oh * 3600 + om * 60));
}

uint32_t
answer_retry_s(const struct http_head *h, time_t now)
{
	const char *s = http_field(h, "retry-after");
	uint64_t n = 0, at;
	size_t digits;

	if (s == NULL || *s == '\0')
		return (0);
	digits = strspn(s, "0123456789");
	if (s[digits] == '\0')
		n = digits < 12 ? strtoull(s, NULL, 10) : LIM_OUT_RETRY_S;
	else if ((at = parse_http_date(s)) > (uint64_t)now)
		n = at - (uint64_t)now;
	return (n < LIM_OUT_RETRY_S ? (uint32_t)n : LIM_OUT_RETRY_S);
}

/* Windows */

static int
ends_in(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return (n >= m && strcmp(s + n - m, end) == 0);
}

uint64_t
answer_reset_at(const struct http_head *h, const struct provider_wire *w)
{
	const char *const *p;
	uint64_t t, latest = 0;
	size_t i;

	for (p = w->window_fields; *p != NULL && latest == 0; p++) {
		for (i = 0; i < h->nfields; i++) {
			if (!matches(*p, h->fields[i].name) ||
			    !ends_in(h->fields[i].name, "-reset"))
				continue;
			if ((t = parse_moment(h->fields[i].value)) > latest)
				latest = t;
		}
	}
	return (latest);
}

static int
is_window(const struct provider_wire *w, const struct http_field *f)
{
	const char *s;

	for (s = f->value; *s != '\0'; s++)
		if (*s < ' ' || *s > '~' || *s == ';')
			return (0);
	return (listed(w->window_fields, f->name));
}

void
answer_window(const struct http_head *h, const struct provider_wire *w,
    char *buf, size_t size)
{
	size_t i, len = 0;
	int n;

	buf[0] = '\0';
	for (i = 0; i < h->nfields; i++) {
		if (!is_window(w, &h->fields[i]))
			continue;
		n = snprintf(buf + len, size - len, "%s%s=%s",
		    len > 0 ? ";" : "", h->fields[i].name, h->fields[i].value);
		if (n < 0 || (size_t)n >= size - len) {
			buf[len] = '\0';
			return;
		}
		len += (size_t)n;
	}
}

/* Usage */

struct tap {
	const struct provider_wire *wire;
	struct wire_usage usage;
	struct lines *lines; /* of an event stream */
	char *json;          /* a whole answer */
	size_t len, size;
	int over; /* it was larger than is kept */
};

static int
tap_line(void *arg, char *line, size_t len)
{
	struct tap *t = arg;

	if (len > 0 && line[len - 1] == '\r')
		line[--len] = '\0';
	if (len < 5 || memcmp(line, "data:", 5) != 0)
		return (0);
	line += 5;
	len -= 5;
	if (len > 0 && *line == ' ') {
		line++;
		len--;
	}
	t->wire->usage(line, len, &t->usage);
	return (0);
}

struct tap *
tap_new(const struct provider_wire *w, const struct http_head *h)
{
	static const char stream[] = "text/event-stream";
	const char *type = http_field(h, "content-type");
	struct tap *t = xcalloc(1, sizeof(*t));

	t->wire = w;
	if (type != NULL && strncasecmp(type, stream, sizeof(stream) - 1) == 0)
		t->lines = lines_new(LIM_OUT_USAGE_LINE, tap_line, t);
	else if (type == NULL || strncasecmp(type, "application/json", 16) != 0)
		t->over = 1;
	return (t);
}

void
tap_free(struct tap *t)
{
	if (t == NULL)
		return;
	lines_free(t->lines);
	free(t->json);
	free(t);
}

static void
tap_grow(struct tap *t, size_t need)
{
	size_t size = t->size == 0 ? 4096 : t->size;

	while (size < need)
		size *= 2;
	t->json = xreallocarray(t->json, size, 1);
	t->size = size;
}

void
tap_feed(struct tap *t, const void *data, size_t len)
{
	if (t->lines != NULL) {
		(void)lines_feed(t->lines, data, len);
		return;
	}
	if (t->over || len > LIM_OUT_USAGE_JSON - t->len) {
		t->over = 1;
		free(t->json);
		t->json = NULL;
		return;
	}
	if (t->len + len > t->size)
		tap_grow(t, t->len + len);
	memcpy(t->json + t->len, data, len);
	t->len += len;
}

void
tap_end(struct tap *t)
{
	if (t->lines != NULL)
		(void)lines_end(t->lines);
	else if (t->json != NULL)
		t->wire->usage(t->json, t->len, &t->usage);
}

const struct wire_usage *
tap_usage(const struct tap *t)
{
	return (&t->usage);
}

int
tap_is_stream(const struct tap *t)
{
	return (t->lines != NULL);
}
