/* SPDX-License-Identifier: ISC */
/*
 * olpctl key list: every file of keys.d, those with errors too, since their
 * keys are shut out and somebody will ask why.
 */
#include <bsd/string.h>
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/conf/units.h"
#include "common/log.h"
#include "master/olpctl/key.h"

static const struct conf_key *
find(const struct conf_keys *keys, const char *name)
{
	const struct conf_key *k;

	TAILQ_FOREACH(k, keys, entry) {
		if (strncmp(k->id, name, strlen(k->id)) == 0 &&
		    strcmp(name + strlen(k->id), ".conf") == 0)
			return (k);
	}
	return (NULL);
}

/* ---- one row ---- */

static void
row_good(struct table *t, const struct conf_key *k)
{
	char uid[16], runs[16], when[UNIT_TEXT], providers[LIM_TEXT] = "";
	size_t i;

	(void)snprintf(uid, sizeof(uid), "%" PRIu32, k->uid);
	(void)snprintf(runs, sizeof(runs), "%" PRIu32,
	    k->runs != 0 ? k->runs : LIM_KEY_RUNS_DEFAULT);
	for (i = 0; i < k->nproviders; i++) {
		(void)strlcat(providers, i == 0 ? "" : ",", sizeof(providers));
		(void)strlcat(providers, k->providers[i], sizeof(providers));
	}
	table_row(t,
	    (const char *const[]){ k->id, key_state(k), uid,
		k->owner ? "owner" : "member", runs,
		k->expires != 0 ? unit_time_text(when, k->expires) : "never",
		providers[0] != '\0' ? providers : "none" },
	    7);
}

static void
row_broken(struct table *t, const char *id)
{
	table_row(t,
	    (const char *const[]){
		id, "broken", "-", "-", "-", "-", "see the errors" },
	    7);
}

/* The complaints about one file. */
static json_t *
broken_to_json(const char *id, const char *path, const struct conf_errors *errs)
{
	json_t *a = json_array();
	size_t i, n = strlen(path);

	for (i = 0; i < errs->n; i++)
		if (strncmp(errs->line[i], path, n) == 0 &&
		    errs->line[i][n] == ':')
			json_array_append_new(
			    a, json_string(ctl_vis(errs->line[i])));
	return (json_pack("{s:s, s:s, s:o}", "id", ctl_vis(id), "state",
	    "broken", "errors", a));
}

/* ---- all of them ---- */

struct listing {
	struct conf_keys keys;
	struct conf_errors errs;
	struct table table;
	json_t *array; /* NULL: the table */
};

static void
list_file(struct listing *l, const char *dir, const char *name)
{
	const struct conf_key *k = find(&l->keys, name);
	char *id, *path;

	if (k != NULL) {
		if (l->array != NULL)
			json_array_append_new(l->array, key_to_json(k));
		else
			row_good(&l->table, k);
		return;
	}
	id = xstrndup(name, strlen(name) - strlen(".conf"));
	xasprintf(&path, "%s/%s", dir, name);
	if (l->array != NULL)
		json_array_append_new(
		    l->array, broken_to_json(id, path, &l->errs));
	else
		row_broken(&l->table, id);
	free(path);
	free(id);
}

/* 0, or an exit code. */
static int
list_files(struct listing *l, const char *dir)
{
	struct names files;
	struct store s;
	int code = CTL_OK;
	size_t i;

	if (access(dir, F_OK) == -1 && errno == ENOENT)
		return (CTL_OK); /* no key yet */
	if (store_open(&s, dir, 0) == -1)
		return (ctl_code(errno));
	if (store_list(&s, ".conf", &files) == -1)
		code = ctl_code(errno);
	for (i = 0; i < files.n; i++)
		list_file(l, dir, files.v[i]);
	names_free(&files);
	store_close(&s);
	return (code);
}

int
key_list(struct ctl *ctl)
{
	static const char *const head[] = { "ID", "STATE", "UID", "TIER",
		"RUNS", "EXPIRES", "PROVIDERS" };
	struct listing l = { 0 };
	size_t i;
	int code;

	if (ctl_conf(ctl, CONF_MAY, &code) == -1)
		return (code);
	conf_load_keys(ctl->conf_good ? ctl->conf : NULL, ctl->conf->keys_dir,
	    &l.keys, &l.errs);
	if (ctl->opt[OPT_JSON] != NULL)
		l.array = json_array();
	else
		table_row(&l.table, head, 7);
	if ((code = list_files(&l, ctl->conf->keys_dir)) == CTL_OK) {
		for (i = 0; i < l.errs.n; i++)
			warnx("%s", l.errs.line[i]);
		if (l.array != NULL)
			code = ctl_json(json_incref(l.array)) == -1 ? CTL_FAILED
								    : CTL_OK;
		else
			table_print(&l.table);
	}
	table_free(&l.table);
	json_decref(l.array);
	conf_keys_free(&l.keys);
	conf_errors_free(&l.errs);
	return (code == CTL_OK && ctl_flush() == -1 ? CTL_FAILED : code);
}
