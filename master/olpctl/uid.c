/* SPDX-License-Identifier: ISC */
/*
 * The high-water mark of key uids.  Part of olpctl.  It never counts down,
 * and a mark that cannot be read is an error, not a fresh start.
 */
#include "uid.h"

#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/conf/conf.h"
#include "common/conf/units.h"
#include "common/log.h"
#include "store.h"

#define MARK "next-uid"
#define MARK_BYTES 32 /* a number and a newline */

/* ---- the mark ---- */

/* *next is 0 where there is no mark yet. */
static int
mark_read(struct store *state, uint32_t *next)
{
	uint64_t v;
	char *text;

	*next = 0;
	if ((text = store_get(state, MARK, MARK_BYTES)) == NULL)
		return (errno == ENOENT ? 0 : -1);
	text[strcspn(text, "\n")] = '\0';
	if (unit_number(text, &v) == -1 || v == 0 ||
	    v > (uint64_t)LIM_CONF_UID_MAX + 1) {
		warnx("%s/%s: not a uid; write the next free one there, or "
		      "remove the file "
		      "if no key was ever deleted",
		    state->path, MARK);
		free(text);
		errno = EINVAL;
		return (-1);
	}
	free(text);
	*next = (uint32_t)v;
	return (0);
}

static int
mark_write(struct store *state, uint32_t next)
{
	char text[MARK_BYTES];
	int n;

	n = snprintf(text, sizeof(text), "%" PRIu32 "\n", next);
	return (store_put(state, MARK, text, (size_t)n, 0600));
}

/* ---- what keys.d holds ---- */

/* "uid N" in the text of a file that does not parse, so that its number stays
 * taken. */
static uint32_t
uid_in_text(const char *text)
{
	const char *p = text;
	char *end;
	unsigned long v;

	while ((p = strstr(p, "uid")) != NULL) {
		p += 3;
		if (!isspace((unsigned char)*p))
			continue;
		v = strtoul(p, &end, 10);
		if (end != p && v <= LIM_CONF_UID_MAX)
			return ((uint32_t)v);
	}
	return (0);
}

uint32_t
uid_of_file(struct store *keys, const char *name)
{
	struct conf_errors errs = { 0 };
	struct conf_key *k;
	char *path, *text;
	uint32_t uid = 0;

	xasprintf(&path, "%s/%s", keys->path, name);
	if ((k = conf_load_key(NULL, path, &errs)) != NULL)
		uid = k->uid;
	else if ((text = store_get(keys, name, LIM_CONF_FILE)) != NULL) {
		uid = uid_in_text(text);
		free(text);
	}
	free(k);
	free(path);
	conf_errors_free(&errs);
	return (uid);
}

int
uid_highest(struct store *keys, uint32_t lo, uint32_t hi, uint32_t *top)
{
	struct names files;
	uint32_t uid;
	size_t i;

	*top = 0;
	if (store_list(keys, ".conf", &files) == -1)
		return (-1);
	for (i = 0; i < files.n; i++) {
		uid = uid_of_file(keys, files.v[i]);
		if (uid >= lo && uid <= hi && uid > *top)
			*top = uid;
	}
	names_free(&files);
	return (0);
}

/* ---- taking and keeping ---- */

/* As the master makes it. */
static int
state_open(const struct conf *c, struct store *state)
{
	return (store_open(state, c->state_dir, geteuid() == 0 ? 0711 : 0700));
}

static int
uid_choose(const struct conf *c, struct store *state, struct store *keys,
    uint32_t *uid)
{
	uint32_t next, top;

	if (mark_read(state, &next) == -1 ||
	    uid_highest(keys, c->uid_lo, c->uid_hi, &top) == -1)
		return (-1);
	if (next < c->uid_lo + LIM_CONF_UID_PROBE)
		next = c->uid_lo + LIM_CONF_UID_PROBE;
	if (next <= top)
		next = top + 1;
	if (next > c->uid_hi) {
		warnx("uid-range %" PRIu32 " to %" PRIu32
		      " is used up: the next free uid is %" PRIu32
		      " (%s/%s), and none is given twice; widen the range in "
		      "olpd.conf",
		    c->uid_lo, c->uid_hi, next, state->path, MARK);
		errno = ENOSPC;
		return (-1);
	}
	*uid = next;
	return (0);
}

int
uid_take(const struct conf *c, struct store *keys, uint32_t *uid)
{
	struct store state;
	int r;

	if (state_open(c, &state) == -1)
		return (-1);
	if ((r = uid_choose(c, &state, keys, uid)) == 0)
		r = mark_write(&state, *uid + 1);
	store_close(&state);
	return (r);
}

int
uid_keep(const struct conf *c, uint32_t uid)
{
	struct store state;
	uint32_t next;
	int r;

	if (uid < c->uid_lo || uid > c->uid_hi)
		return (0); /* no number that a key could be given */
	if (state_open(c, &state) == -1)
		return (-1);
	if ((r = mark_read(&state, &next)) == 0 && next <= uid)
		r = mark_write(&state, uid + 1);
	store_close(&state);
	return (r);
}
