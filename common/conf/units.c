/* SPDX-License-Identifier: ISC */
/*
 * Numbers with units, strictly: what is not wholly understood is refused, so
 * that "5 MB x" or "0x10" never means some prefix of itself.  Pure functions,
 * linked into the master and olpctl.
 */
#include "common/conf/units.h"

#include <bsd/string.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct unit {
	const char *name;
	uint64_t factor;
};

/* Ascending, so that the printer finds the largest from the end. */
static const struct unit sizes[] = {
	{ "B", 1 },
	{ "KB", UINT64_C(1) << 10 },
	{ "MB", UINT64_C(1) << 20 },
	{ "GB", UINT64_C(1) << 30 },
	{ "TB", UINT64_C(1) << 40 },
};
static const struct unit spans[] = {
	{ "s", 1 },
	{ "m", 60 },
	{ "h", 3600 },
	{ "d", 86400 },
};
#define N(a) (sizeof(a) / sizeof((a)[0]))

#define TIME_MIN INT64_C(946684800)    /* 2000-01-01T00:00:00Z */
#define TIME_MAX INT64_C(253402300799) /* 9999-12-31T23:59:59Z */

/* Digits up to the first other byte, which *end tells. */
static int
digits(const char *s, const char **end, uint64_t *v)
{
	const char *p;

	if (!isdigit((unsigned char)s[0]) ||
	    (s[0] == '0' && isdigit((unsigned char)s[1])))
		return (-1);
	*v = 0;
	for (p = s; isdigit((unsigned char)*p); p++)
		if (__builtin_mul_overflow(*v, UINT64_C(10), v) ||
		    __builtin_add_overflow(*v, (uint64_t)(*p - '0'), v))
			return (-1);
	*end = p;
	return (0);
}

static int
scaled(const char *s, const struct unit *u, size_t n, uint64_t *v)
{
	const char *end;
	size_t i;

	if (digits(s, &end, v) == -1)
		return (-1);
	for (i = 0; i < n; i++)
		if (strcmp(end, u[i].name) == 0)
			return (__builtin_mul_overflow(*v, u[i].factor, v) ? -1
									   : 0);
	return (-1);
}

static char *
scaled_text(char *buf, uint64_t v, const struct unit *u, size_t n)
{
	size_t i = n - 1;

	while (i > 0 && (v == 0 || v % u[i].factor != 0))
		i--;
	(void)snprintf(
	    buf, UNIT_TEXT, "%" PRIu64 "%s", v / u[i].factor, u[i].name);
	return (buf);
}

int
unit_number(const char *s, uint64_t *v)
{
	const char *end;

	if (digits(s, &end, v) == -1 || *end != '\0')
		return (-1);
	return (0);
}

int
unit_size(const char *s, uint64_t *v)
{
	return (scaled(s, sizes, N(sizes), v));
}

int
unit_seconds(const char *s, uint64_t *v)
{
	return (scaled(s, spans, N(spans), v));
}

int
unit_mode(const char *s, unsigned int *mode)
{
	if (strlen(s) != 4 || s[0] != '0' || strspn(s, "01234567") != 4)
		return (-1);
	*mode = (unsigned int)((s[1] - '0') << 6 | (s[2] - '0') << 3 |
	    (s[3] - '0'));
	return (0);
}

/* Does s have the form of pattern, where 0 stands for any digit? */
static int
shaped(const char *s, const char *pattern)
{
	for (; *pattern != '\0'; s++, pattern++)
		if (*pattern == '0' ? !isdigit((unsigned char)*s)
				    : *s != *pattern)
			return (0);
	return (*s == '\0');
}

static int
two(const char *s)
{
	return ((s[0] - '0') * 10 + (s[1] - '0'));
}

int
unit_clock(const char *s, uint16_t *min)
{
	if (!shaped(s, "00:00") || two(s) > 23 || two(s + 3) > 59)
		return (-1);
	*min = (uint16_t)(two(s) * 60 + two(s + 3));
	return (0);
}

/* Z, or a distance from UTC, to seconds. */
static int
zone(const char *s, int *east)
{
	uint16_t min;

	*east = 0;
	if (strcmp(s, "Z") == 0)
		return (0);
	if ((s[0] != '+' && s[0] != '-') || unit_clock(s + 1, &min) == -1)
		return (-1);
	*east = (s[0] == '+' ? 60 : -60) * min;
	return (0);
}

int
unit_time(const char *s, int64_t *when)
{
	struct tm tm = { 0 }, back;
	char day[11], clock[9];
	int east = 0;
	time_t t;

	(void)strlcpy(day, s, sizeof(day));
	if (!shaped(day, "0000-00-00"))
		return (-1);
	tm.tm_year = two(day) * 100 + two(day + 2) - 1900;
	tm.tm_mon = two(day + 5) - 1;
	tm.tm_mday = two(day + 8);
	if (s[10] != '\0') {
		(void)strlcpy(clock, s + 11, sizeof(clock));
		if (s[10] != 'T' || !shaped(clock, "00:00:00") ||
		    two(clock) > 23 || two(clock + 3) > 59 ||
		    two(clock + 6) > 59 || zone(s + 19, &east) == -1)
			return (-1);
		tm.tm_hour = two(clock);
		tm.tm_min = two(clock + 3);
		tm.tm_sec = two(clock + 6);
	}
	/*
	 * timegm() makes 2 March of 30 February: the day must come back as it
	 * was.
	 */
	t = timegm(&tm);
	if (gmtime_r(&t, &back) == NULL || back.tm_mday != two(day + 8) ||
	    back.tm_mon != two(day + 5) - 1)
		return (-1);
	*when = (int64_t)t - east;
	return (*when < TIME_MIN || *when > TIME_MAX ? -1 : 0);
}

int
unit_hex(const char *s, uint8_t *out, size_t size)
{
	static const char set[] = "0123456789abcdef";
	const char *p;
	size_t i;
	int c;

	if (strlen(s) != 2 * size)
		return (-1);
	for (i = 0; i < 2 * size; i++) {
		c = tolower((unsigned char)s[i]);
		if ((p = strchr(set, c)) == NULL)
			return (-1);
		out[i / 2] =
		    (uint8_t)((i % 2 == 0 ? 0 : out[i / 2] << 4) | (p - set));
	}
	return (0);
}

char *
unit_size_text(char *buf, uint64_t v)
{
	return (scaled_text(buf, v, sizes, N(sizes)));
}

char *
unit_seconds_text(char *buf, uint64_t v)
{
	return (scaled_text(buf, v, spans, N(spans)));
}

char *
unit_time_text(char *buf, int64_t when)
{
	time_t t = (time_t)when;
	struct tm tm;

	if (gmtime_r(&t, &tm) == NULL ||
	    strftime(buf, UNIT_TEXT, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		buf[0] = '\0';
	return (buf);
}
