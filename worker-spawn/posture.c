/* SPDX-License-Identifier: ISC */
/*
 * Judges the functional probe's report and says what was enforced.  Runs in
 * worker-spawn.  Pure.  `full` means that every boundary held when it was
 * tried, by whatever mechanisms this kernel has; they are listed.
 */
#include "worker-spawn/posture.h"

#include <bsd/string.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/provider/provider.h"

static void
begin(struct posture *p, const struct posture_place *place)
{
	memset(p, 0, sizeof(*p));
	p->place = *place;
}

void
posture_unavailable(
    struct posture *p, const struct posture_place *place, const char *why)
{
	begin(p, place);
	(void)strlcpy(p->message, why, sizeof(p->message));
}

static int
is_missing(const struct posture *p, const char *name)
{
	size_t i;

	for (i = 0; i < p->nmissing; i++)
		if (strcmp(p->missing[i], name) == 0)
			return (1);
	return (0);
}

static void
add_missing(struct posture *p, const char *name, size_t len)
{
	char word[LIM_LIST_STR];

	(void)snprintf(word, sizeof(word), "%.*s", (int)len, name);
	if (is_missing(p, word))
		return;
	if (p->nmissing == sizeof(p->missing) / sizeof(p->missing[0]))
		return; /* one is enough to be partial */
	(void)strlcpy(p->missing[p->nmissing++], word, sizeof(p->missing[0]));
}

static void
add_message(struct posture *p, const char *text, size_t len)
{
	size_t used = strlen(p->message);

	(void)snprintf(p->message + used, sizeof(p->message) - used, "%s%.*s",
	    used > 0 ? ", " : "", (int)len, text);
}

/* One line "boundary.try=result". -1: it cannot be one of the probe's. */
static int
judge_line(struct posture *p, const char *line, size_t len, int *broken)
{
	const char *equals = memchr(line, '=', len), *dot;
	size_t name, value;

	if (equals == NULL)
		return (-1);
	name = (size_t)(equals - line);
	value = len - name - 1;
	if ((dot = memchr(line, '.', name)) == NULL || dot == line ||
	    value == 0)
		return (-1);
	if (strncmp(line, "works.", 6) == 0) {
		if (value != 2 || strncmp(equals + 1, "ok", 2) != 0) {
			*broken = 1;
			add_message(p, line, len);
		}
	} else if (value == 4 && strncmp(equals + 1, "OPEN", 4) == 0) {
		add_missing(p, line, (size_t)(dot - line));
		add_message(p, line, name);
	}
	return (0);
}

/* How many lines came before "done=N", when N is that; else -1. */
static long
judge_lines(struct posture *p, const char *report, int *broken)
{
	const char *line, *end;
	long n = 0;

	for (line = report; (end = strchr(line, '\n')) != NULL;
	     line = end + 1) {
		if (strncmp(line, "done=", 5) == 0)
			return (
			    strtol(line + 5, NULL, 10) == n && end[1] == '\0'
				? n
				: -1);
		if (judge_line(p, line, (size_t)(end - line), broken) == -1)
			return (-1);
		n++;
	}
	return (-1);
}

void
posture_judge(struct posture *p, const struct posture_place *place,
    const char *report, int status)
{
	int broken = 0;
	long n;

	begin(p, place);
	n = judge_lines(p, report, &broken);
	if (n < 1 || status != 0) {
		posture_unavailable(
		    p, place, "the probe's report is not whole");
		return;
	}
	if (broken) {
		p->nmissing = 0; /* message says what does not work */
		return;
	}
	p->available = 1;
	if (!place->per_user)
		add_missing(p, "uid", 3);
	if (p->nmissing == 0)
		(void)snprintf(p->message, sizeof(p->message),
		    "all of %ld tries were refused", n);
	else if (p->message[0] == '\0')
		(void)strlcpy(p->message,
		    "clients run as the user who started olpd",
		    sizeof(p->message));
}

int
posture_full(const struct posture *p)
{
	return (p->available && p->nmissing == 0);
}

enum olp_err
posture_allows(const struct posture *p, int allow_partial, int require_full)
{
	if (!p->available)
		return (ERR_SANDBOX);
	if (p->nmissing > 0 && (!allow_partial || require_full))
		return (ERR_SANDBOX);
	return (ERR_OK);
}

static void add(char *, size_t, const char *, ...)
    __attribute__((format(printf, 3, 4)));

static void
add(char *buf, size_t size, const char *fmt, ...)
{
	size_t used = strlen(buf);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(buf + used, size - used, fmt, ap);
	va_end(ap);
}

void
posture_enforcement(const struct posture *p, int broker, char *buf, size_t size)
{
	size_t i;

	buf[0] = '\0';
	if (!p->available) {
		add(buf, size, "none");
		return;
	}
	add(buf, size, p->nmissing == 0 ? "full" : "partial; missing=");
	for (i = 0; i < p->nmissing; i++)
		add(buf, size, "%s%s", i > 0 ? "," : "", p->missing[i]);
	if (p->place.per_user)
		add(buf, size, "; uid");
	add(buf, size, "; userns");
	if (p->place.landlock > 0 && !is_missing(p, "landlock"))
		add(buf, size, "; landlock=%d", p->place.landlock);
	if (!is_missing(p, "seccomp"))
		add(buf, size, "; seccomp");
	add(buf, size, "; net=%s; limits=%s", broker ? "broker" : "none",
	    p->place.limits);
}

void
posture_message(const struct posture *p, struct msg_posture *m)
{
	size_t i;

	memset(m, 0, sizeof(*m));
	m->available = p->available;
	m->active = posture_full(p);
	for (i = 0; i < p->nmissing; i++)
		(void)strlcpy(
		    m->missing[i], p->missing[i], sizeof(m->missing[i]));
	m->missing_n = p->nmissing;
	(void)strlcpy(m->message, p->message, sizeof(m->message));
	posture_enforcement(p, 1, m->enforcement, sizeof(m->enforcement));
}

static void add_layer(struct msg_posture_provider *, const char *, ...)
    __attribute__((format(printf, 2, 3)));

static void
add_layer(struct msg_posture_provider *m, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(m->layers[m->layers_n], sizeof(m->layers[0]), fmt, ap);
	va_end(ap);
	m->layers_n++;
}

void
posture_provider(const struct posture *p, const struct provider_launch *l,
    enum olp_err err, struct msg_posture_provider *m)
{
	memset(m, 0, sizeof(*m));
	(void)strlcpy(m->name, l->name, sizeof(m->name));
	(void)strlcpy(m->read_protection, protect_name(l->read_protection),
	    sizeof(m->read_protection));
	(void)strlcpy(m->tier, tier_name(l->tier), sizeof(m->tier));
	(void)strlcpy(m->enforcement,
	    posture_full(p)    ? "full"
		: p->available ? "partial"
			       : "none",
	    sizeof(m->enforcement));
	m->err = err;
	if (!p->available)
		return;
	if (p->place.per_user)
		add_layer(m, "uid");
	add_layer(m, "userns");
	add_layer(m, "namespaces");
	add_layer(m, "private-home");
	if (p->place.landlock > 0 && !is_missing(p, "landlock"))
		add_layer(m, "landlock=%d", p->place.landlock);
	if (!is_missing(p, "seccomp"))
		add_layer(m, "seccomp");
	add_layer(
	    m, "net=%s", l->listener == LISTENER_HTTP ? "broker" : "none");
	add_layer(m, "limits=%s", p->place.limits);
	if (l->inner_sandbox)
		add_layer(m, "inner-sandbox");
}
