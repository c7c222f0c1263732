/* SPDX-License-Identifier: ISC */
/*
 * olpctl status and reload.  The report is worker-http's word: its bytes are
 * read only after every right was given up, bounded in size, depth and time,
 * and shown through vis(3).
 */
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "master/olpctl/olpctl.h"

#define DEPTH_MAX 8    /* of the report; ours has four */
#define COLUMNS_MAX 12 /* of one table in it */
#define CELL_TEXT 256

/* ---- reading ---- */

static int64_t
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
}

/* To EOF. The length, or -1 told. */
static ssize_t
read_report(int fd, char *buf, size_t size)
{
	int64_t end = now_ms() + LIM_CTL_WAIT_S * 1000, left;
	struct pollfd pfd = { fd, POLLIN, 0 };
	size_t n = 0;
	ssize_t r;

	while (n < size && (left = end - now_ms()) > 0) {
		if (poll(&pfd, 1, (int)left) != 1)
			continue;
		if ((r = read(fd, buf + n, size - n)) == 0)
			return ((ssize_t)n);
		if (r == -1 && errno != EINTR && errno != EAGAIN) {
			warn("status report");
			return (-1);
		}
		n += r > 0 ? (size_t)r : 0;
	}
	warnx(n == size ? "status report: larger than %d bytes"
			: "status report: not ended in %d s",
	    n == size ? LIM_CTL_STATUS : LIM_CTL_WAIT_S);
	return (-1);
}

json_t *
status_read(int fd)
{
	char *buf = xmalloc(LIM_CTL_STATUS + 1);
	json_t *o = NULL;
	json_error_t e;
	ssize_t n;

	if ((n = read_report(fd, buf, LIM_CTL_STATUS + 1)) != -1) {
		o = json_loadb(buf, (size_t)n, JSON_REJECT_DUPLICATES, &e);
		if (o == NULL)
			warnx("status report: %s", ctl_vis(e.text));
		else if (!json_is_object(o)) {
			warnx("status report: no object");
			json_decref(o);
			o = NULL;
		}
	}
	free(buf);
	return (o);
}

/* ---- showing: the shape decides, so that a later olpd's report is shown too
 * ---- */

static int
is_plain(const json_t *v)
{
	return (!json_is_object(v) && !json_is_array(v));
}

static int
all_plain(const json_t *a)
{
	size_t i;

	for (i = 0; i < json_array_size(a); i++)
		if (!is_plain(json_array_get(a, i)))
			return (0);
	return (1);
}

/* A value in a few characters. */
static const char *
cell(const json_t *v, char *buf, size_t size)
{
	char *text;
	size_t i, n;

	if (json_is_string(v)) {
		(void)snprintf(buf, size, "%s", json_string_value(v));
		return (buf);
	}
	if (json_is_array(v) && all_plain(v)) {
		buf[0] = '\0';
		for (i = n = 0; i < json_array_size(v) && n < size - 1; i++) {
			(void)snprintf(
			    buf + n, size - n, "%s", i > 0 ? ", " : "");
			n += strlen(buf + n);
			(void)cell(json_array_get(v, i), buf + n, size - n);
			n += strlen(buf + n);
		}
		return (buf[0] != '\0' ? buf : "none");
	}
	text = v != NULL ? json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
	(void)snprintf(buf, size, "%s", text != NULL ? text : "-");
	free(text);
	return (buf);
}

/* The members' names of all rows, in the order they come up. */
static size_t
columns(const json_t *rows, const char **name, size_t max)
{
	size_t i, j, n = 0;
	const char *key;
	json_t *v;

	for (i = 0; i < json_array_size(rows); i++)
		json_object_foreach(json_array_get(rows, i), key, v)
		{
			for (j = 0; j < n && strcmp(name[j], key) != 0; j++)
				continue;
			if (j == n && n < max)
				name[n++] = key;
		}
	return (n);
}

/* Objects alike: one row each. */
static void
show_rows(const json_t *rows)
{
	char text[COLUMNS_MAX][CELL_TEXT];
	const char *name[COLUMNS_MAX], *cells[COLUMNS_MAX];
	struct table t = { 0 };
	size_t i, j, n;

	if ((n = columns(rows, name, COLUMNS_MAX)) == 0)
		return;
	table_row(&t, name, n);
	for (i = 0; i < json_array_size(rows); i++) {
		for (j = 0; j < n; j++)
			cells[j] = cell(
			    json_object_get(json_array_get(rows, i), name[j]),
			    text[j], sizeof(text[j]));
		table_row(&t, cells, n);
	}
	table_print(&t);
}

static int
all_objects(const json_t *v)
{
	const char *key;
	json_t *m;
	size_t i;

	for (i = 0; i < json_array_size(v); i++)
		if (!json_is_object(json_array_get(v, i)))
			return (0);
	json_object_foreach(
	    (json_t *)(uintptr_t)v, key, m) if (!json_is_object(m)) return (0);
	return (json_array_size(v) + json_object_size(v) > 0);
}

/* {"claude": {...}} as rows whose first member is the name. */
static json_t *
named_rows(const json_t *o)
{
	json_t *rows = json_array(), *row, *m;
	const char *key;

	json_object_foreach((json_t *)(uintptr_t)o, key, m)
	{
		row = json_object();
		json_object_set_new(row, "name", json_string(key));
		json_object_update_missing(row, m);
		json_array_append_new(rows, row);
	}
	return (rows);
}

/* The master's own words about a worker: "name pid generation restarts
 * seconds". */
static void
show_workers(const json_t *a)
{
	static const char *const head[] = { "worker", "pid", "generation",
		"restarts", "seconds up" };
	char copy[CELL_TEXT], *rest, *word;
	const char *cells[COLUMNS_MAX];
	struct table t = { 0 };
	size_t i, n;

	table_row(&t, head, 5);
	for (i = 0; i < json_array_size(a); i++) {
		(void)snprintf(copy, sizeof(copy), "%s",
		    json_string_value(json_array_get(a, i)) != NULL
			? json_string_value(json_array_get(a, i))
			: "");
		rest = copy;
		for (n = 0; n < 5 && (word = strsep(&rest, " ")) != NULL; n++)
			cells[n] = word;
		table_row(&t, cells, n);
	}
	printf("\n");
	table_print(&t);
}

static int
is_line(const json_t *v)
{
	return (is_plain(v) || (json_is_array(v) && all_plain(v)));
}

static void show(const char *, const json_t *, int);

/* What fits a line first, so that it does not stand below another's heading. */
static void
show_members(const json_t *o, int depth)
{
	const char *key;
	json_t *v;
	int lines, workers;

	for (lines = 1; lines >= 0; lines--)
		json_object_foreach((json_t *)(uintptr_t)o, key, v)
		{
			workers = depth == 0 && json_is_array(v) &&
			    strcmp(key, "workers") == 0;
			if ((is_line(v) && !workers) != lines)
				continue;
			if (workers)
				show_workers(v);
			else
				show(key, v, depth + 1);
		}
}

static void
show(const char *name, const json_t *v, int depth)
{
	char text[4 * CELL_TEXT];
	json_t *rows;

	if (depth > DEPTH_MAX)
		return;
	if (json_is_object(v) && !all_objects(v)) {
		if (depth > 0)
			printf("\n%s\n", ctl_vis(name));
		show_members(v, depth);
	} else if (!is_line(v) && all_objects(v)) {
		printf("\n%s\n", ctl_vis(name));
		rows = json_is_object(v) ? named_rows(v)
					 : json_incref((json_t *)(uintptr_t)v);
		show_rows(rows);
		json_decref(rows);
	} else
		printf("%s: %s\n", ctl_vis(name),
		    ctl_vis(cell(v, text, sizeof(text))));
}

void
status_show(const json_t *o)
{
	show("", o, 0);
}

/* ---- commands ---- */

/* Why a daemon that is needed did not answer. */
static int
told_code(const struct told *t)
{
	if (t->what == TELL_NO_DAEMON)
		warnx("no olpd is running: %s", ctl_vis(t->text));
	else
		warnx("%s", ctl_vis(t->text));
	return (t->what == TELL_NO_DAEMON ? CTL_NO_DAEMON
		: t->what == TELL_DENIED  ? CTL_DENIED
					  : CTL_FAILED);
}

int
status_run(struct ctl *ctl)
{
	int code = CTL_FAILED, fd;
	struct told t;
	json_t *o;

	if (ctl_conf(ctl, CONF_MAY, &code) == -1)
		return (code);
	if ((fd = tell_status(ctl, &t)) == -1)
		return (told_code(&t));
	if (drop_rights(ctl->conf) == -1 || (o = status_read(fd)) == NULL)
		return (CTL_FAILED);
	close(fd);
	if (ctl->opt[OPT_JSON] != NULL)
		code = ctl_json(o) == -1 ? CTL_FAILED : CTL_OK;
	else {
		status_show(o);
		json_decref(o);
		code = ctl_flush() == -1 ? CTL_FAILED : CTL_OK;
	}
	return (code);
}

int
reload_run(struct ctl *ctl)
{
	struct told t;
	int code;

	if (ctl_conf(ctl, CONF_MAY, &code) == -1)
		return (code);
	tell_reload(ctl, -1, &t);
	if (t.what != TELL_CONFIRMED)
		code = told_code(&t);
	else
		code = t.faults == 0 ? CTL_OK : CTL_FAILED;
	if (ctl->opt[OPT_JSON] != NULL) {
		if (ctl_json(json_pack("{s:b, s:i, s:s}", "confirmed",
			t.what == TELL_CONFIRMED, "errors", t.faults, "message",
			ctl_vis(t.text))) == -1)
			return (CTL_FAILED);
	} else if (t.what == TELL_CONFIRMED)
		printf("olpd: %s\n", ctl_vis(t.text));
	return (ctl_flush() == -1 ? CTL_FAILED : code);
}
