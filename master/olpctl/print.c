/* SPDX-License-Identifier: ISC */
/*
 * What olpctl says on standard output: JSON, tables, and the one line with a
 * token.  Bytes that come from elsewhere pass through vis(3); a token passes
 * no buffer that is not cleared.
 */
#include <bsd/string.h>
#include <err.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "master/olpctl/olpctl.h"

#define VIS_RING 8
#define VIS_TEXT 2048

static int
put(const char *buf, size_t len)
{
	ssize_t n;

	while (len > 0) {
		if ((n = write(STDOUT_FILENO, buf, len)) == -1) {
			if (errno == EINTR)
				continue;
			return (-1);
		}
		buf += n;
		len -= (size_t)n;
	}
	return (0);
}

int
ctl_flush(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return (0);
	warn("standard output");
	return (-1);
}

int
ctl_secret(const char *label, const char *secret)
{
	if (ctl_flush() == -1)
		return (-1);
	if (put(label, strlen(label)) == 0 &&
	    put(secret, strlen(secret)) == 0 && put("\n", 1) == 0)
		return (0);
	warn("standard output");
	return (-1);
}

/* ---- JSON ---- */

static void
cleared_free(void *p)
{
	if (p != NULL)
		explicit_bzero(p, malloc_usable_size(p));
	free(p);
}

void
ctl_json_init(void)
{
	json_set_alloc_funcs(xmalloc, cleared_free);
}

static int
put_cb(const char *buf, size_t len, void *arg)
{
	(void)arg;
	return (put(buf, len));
}

int
ctl_json(json_t *o)
{
	int r;

	if (ctl_flush() == -1)
		return (-1);
	r = json_dump_callback(
	    o, put_cb, NULL, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	if (r == 0)
		r = put("\n", 1);
	if (r == -1)
		warn("standard output");
	json_decref(o);
	return (r);
}

/* ---- text ---- */

const char *
ctl_vis(const char *s)
{
	static char ring[VIS_RING][VIS_TEXT];
	static size_t next;

	next = (next + 1) % VIS_RING;
	return (log_vis(ring[next], VIS_TEXT, s, strlen(s)));
}

void
table_row(struct table *t, const char *const *cells, size_t n)
{
	size_t i;

	if (t->n == 0)
		t->columns = n;
	t->cell = xreallocarray(t->cell, t->n + t->columns, sizeof(*t->cell));
	for (i = 0; i < t->columns; i++)
		t->cell[t->n++] = xstrdup(i < n ? ctl_vis(cells[i]) : "");
}

static size_t
table_width(const struct table *t, size_t column)
{
	size_t i, w = 0;

	for (i = column; i < t->n; i += t->columns)
		if (strlen(t->cell[i]) > w)
			w = strlen(t->cell[i]);
	return (w);
}

void
table_free(struct table *t)
{
	while (t->n > 0)
		free(t->cell[--t->n]);
	free(t->cell);
	t->cell = NULL;
}

void
table_print(struct table *t)
{
	size_t i, *w = xcalloc(t->columns + 1, sizeof(*w));

	for (i = 0; i < t->columns; i++)
		w[i] = table_width(t, i);
	for (i = 0; i < t->n; i++) {
		if (i % t->columns == t->columns - 1)
			printf("%s\n", t->cell[i]);
		else
			printf("%-*s  ", (int)w[i % t->columns], t->cell[i]);
	}
	free(w);
	table_free(t);
}
