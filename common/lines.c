/* SPDX-License-Identifier: ISC */
/*
 * Lines out of a pipe, in bounded memory.  Runs in worker-http; the bytes
 * are a client's.
 */
#include "common/lines.h"

#include <stdlib.h>
#include <string.h>

#include "common/limits.h"
#include "common/log.h"

struct lines {
	char *buf;        /* the line so far */
	size_t len, size; /* used, allocated */
	size_t max;
	int skipping; /* in a line that was too long */
	uint64_t skipped;
	lines_cb *cb;
	void *arg;
	int stop; /* what the callback said */
};

struct lines *
lines_new(size_t max, lines_cb *cb, void *arg)
{
	struct lines *l = xcalloc(1, sizeof(*l));

	l->max = max;
	l->cb = cb;
	l->arg = arg;
	return (l);
}

void
lines_free(struct lines *l)
{
	if (l == NULL)
		return;
	free(l->buf);
	free(l);
}

static void
lines_grow(struct lines *l, size_t need)
{
	size_t size = l->size == 0 ? 4096 : l->size;

	if (need <= l->size)
		return;
	while (size < need)
		size *= 2;
	l->buf = xreallocarray(l->buf, size, 1);
	l->size = size;
}

static void
lines_add(struct lines *l, const char *data, size_t len)
{
	if (!l->skipping && len > l->max - l->len) {
		l->skipping = 1;
		l->skipped += l->len;
		l->len = 0;
	}
	if (l->skipping) {
		l->skipped += len;
		return;
	}
	if (len == 0 && l->buf != NULL)
		return;
	lines_grow(l, l->len + len + 1);
	if (len > 0)
		memcpy(l->buf + l->len, data, len);
	l->len += len;
}

static void
lines_give(struct lines *l)
{
	if (!l->skipping) {
		l->buf[l->len] = '\0';
		l->stop = l->cb(l->arg, l->buf, l->len);
	}
	l->skipping = 0;
	l->len = 0;
	/* One long line must not hold its memory for the rest of the run. */
	if (l->size > LIM_LINE_KEEP) {
		free(l->buf);
		l->buf = NULL;
		l->size = 0;
	}
}

int
lines_feed(struct lines *l, const char *data, size_t len)
{
	const char *nl;
	size_t n;

	l->stop = 0;
	while (len > 0 && l->stop == 0) {
		nl = memchr(data, '\n', len);
		n = nl == NULL ? len : (size_t)(nl - data);
		lines_add(l, data, n);
		if (nl == NULL)
			break;
		lines_give(l);
		data += n + 1;
		len -= n + 1;
	}
	return (l->stop);
}

int
lines_end(struct lines *l)
{
	l->stop = 0;
	if (l->len > 0)
		lines_give(l);
	return (l->stop);
}

uint64_t
lines_skipped(const struct lines *l)
{
	return (l->skipped);
}
