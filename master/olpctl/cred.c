/* SPDX-License-Identifier: ISC */
/*
 * olpctl credential ...: a provider's credential, read from standard input
 * and never from an argument, into a file of its own beside olpd.conf.  The
 * secret is looked at for its form alone, and never shown.
 */
#include <sys/stat.h>

#include <bsd/readpassphrase.h>
#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/conf/parse.h"
#include "common/log.h"
#include "common/provider/provider.h"
#include "master/olpctl/key.h"
#include "token.h"

#define CRED_DIR "credentials"

/* One "credential set". */
struct setting {
	const char *provider;
	const char *key_id; /* NULL: the one that all keys share */
	enum conf_cred_kind kind;
	const struct conf_cred
	    *named; /* what is configured now; NULL: nothing */
	char dir[LIM_PATH];
	char name[LIM_PATH];
	char path[LIM_PATH]; /* dir/name */
	char *secret;        /* LIM_CTL_SECRET bytes */
	size_t len;
};

/* ---- which file ---- */

/* credentials/ beside olpd.conf, in the form that the grammar takes: absolute,
 * without "..". */
static int
cred_dir(const struct ctl *ctl, char *buf, size_t size)
{
	char beside[LIM_PATH], *real;
	int n;

	(void)strlcpy(beside, ctl->conf->file, sizeof(beside));
	*strrchr(beside, '/') = '\0';
	if ((real = realpath(beside[0] != '\0' ? beside : "/", NULL)) == NULL) {
		warn("%s", beside);
		return (-1);
	}
	n = snprintf(
	    buf, size, "%s/%s", strcmp(real, "/") == 0 ? "" : real, CRED_DIR);
	free(real);
	if (n > 0 && (size_t)n < size - LIM_CRED_ID)
		return (0);
	warnx("%s: path too long", beside);
	return (-1);
}

/* Is the configured file one of that directory? Then that is the one to write.
 */
static const char *
name_in_dir(const char *dir, const char *file)
{
	const char *slash = strrchr(file, '/');

	if (slash == NULL || slash == file || slash[1] == '\0' ||
	    slash[1] == '.' ||
	    strncmp(file, dir, (size_t)(slash - file)) != 0 ||
	    dir[slash - file] != '\0')
		return (NULL);
	return (slash + 1);
}

static int
setting_path(const struct ctl *ctl, struct setting *s)
{
	const char *name = NULL;

	if (cred_dir(ctl, s->dir, sizeof(s->dir)) == -1)
		return (-1);
	if (s->named != NULL)
		name = name_in_dir(s->dir, s->named->file);
	if (name != NULL)
		(void)strlcpy(s->name, name, sizeof(s->name));
	else
		(void)snprintf(s->name, sizeof(s->name), "%s%s%s",
		    s->key_id != NULL ? s->key_id : "",
		    s->key_id != NULL ? "." : "", s->provider);
	(void)strlcpy(s->path, s->dir, sizeof(s->path));
	(void)strlcat(s->path, "/", sizeof(s->path));
	(void)strlcat(s->path, s->name, sizeof(s->path));
	return (0);
}

/* ---- the secret ---- */

static ssize_t
read_stdin(char *buf, size_t size)
{
	size_t n = 0;
	ssize_t r;

	while (n < size &&
	    ((r = read(STDIN_FILENO, buf + n, size - n)) > 0 ||
		(r == -1 && errno == EINTR)))
		n += r > 0 ? (size_t)r : 0;
	if (n < size && r == -1) {
		warn("standard input");
		return (-1);
	}
	return ((ssize_t)n);
}

/* The line without its end; -1 told. */
static ssize_t
read_secret(char *buf, size_t size, const char *provider)
{
	char prompt[LIM_PROVIDER + 32];
	ssize_t n;

	if (isatty(STDIN_FILENO)) {
		(void)snprintf(
		    prompt, sizeof(prompt), "credential for %s: ", provider);
		if (readpassphrase(
			prompt, buf, size, RPP_STDIN | RPP_ECHO_OFF) == NULL) {
			warn("standard input");
			return (-1);
		}
		n = (ssize_t)strlen(buf);
	} else if ((n = read_stdin(buf, size)) == -1)
		return (-1);
	if (n > 0 && buf[n - 1] == '\n')
		n--;
	if (n > 0 && buf[n - 1] == '\r')
		n--;
	return (n);
}

static int
secret_form(const char *s, size_t n, size_t size)
{
	size_t i;

	if (n == 0)
		warnx("standard input: no credential there");
	else if (n >= size - 1)
		warnx("standard input: longer than %zu bytes", size - 2);
	else if (s[0] == '{')
		warnx("standard input: this is a file of JSON; only an API key "
		      "or a long-lived "
		      "token is taken, never one that can be refreshed");
	else {
		for (i = 0; i < n && s[i] > ' ' && s[i] < 0x7f; i++)
			continue;
		if (i == n)
			return (0);
		warnx("standard input: byte %zu is a space, a second line or "
		      "no ASCII",
		    i + 1);
	}
	return (-1);
}

static int
setting_secret(struct setting *s)
{
	ssize_t n;

	s->secret = xcalloc(1, LIM_CTL_SECRET);
	if ((n = read_secret(s->secret, LIM_CTL_SECRET, s->provider)) == -1 ||
	    secret_form(s->secret, (size_t)n, LIM_CTL_SECRET) == -1)
		return (-1);
	s->secret[n] = '\n';
	s->len = (size_t)n + 1;
	return (0);
}

/* ---- set ---- */

static int
can_use(const struct provider_launch *l, enum conf_cred_kind kind)
{
	size_t i;

	for (i = 0; i < l->ncreds; i++)
		if ((int)l->creds[i] == (int)kind)
			return (1);
	return (0);
}

/* The kind asked for, else the configured one, else an API key. An exit code.
 */
static int
setting_kind(const struct ctl *ctl, struct setting *s)
{
	const struct provider_launch *l = launch_find(s->provider);
	const char *word = ctl->opt[OPT_KIND];

	s->kind = s->named != NULL && s->named->kind != CRED_NONE
	    ? s->named->kind
	    : CRED_API_KEY;
	if (word != NULL && key_kind(word, &s->kind) == -1)
		return (ctl_usage(
		    ctl, "--kind %s: expected api-key or oauth-token", word));
	if (l->ncreds != 0 && can_use(l, s->kind))
		return (CTL_OK);
	warnx("provider %s cannot use %s", s->provider,
	    l->ncreds == 0 ? "a credential and needs none"
			   : key_kind_name(s->kind));
	return (CTL_FAILED);
}

static int
write_secret(const struct setting *s)
{
	struct store dir;
	int code = CTL_OK;

	if (store_open(&dir, s->dir, 0700) == -1)
		return (ctl_code(errno));
	if (store_lock(&dir) == -1 ||
	    store_put(&dir, s->name, s->secret, s->len, 0600) == -1)
		code = ctl_code(errno);
	store_close(&dir);
	return (code);
}

/* The end of the report. line: what olpd.conf needs before this is used, or
 * NULL. */
static int
set_said(struct ctl *ctl, struct store *keys, const struct setting *s,
    const char *line)
{
	char id[LIM_CRED_ID];
	json_t *o;

	(void)snprintf(id, sizeof(id), "%s%s%s",
	    s->key_id != NULL ? s->key_id : "", s->key_id != NULL ? "." : "",
	    s->provider);
	if (ctl->opt[OPT_JSON] == NULL) {
		printf("credential %s: written to %s\n", id, s->path);
		if (line == NULL)
			return (key_written(ctl, keys, NULL));
		printf("it is used once %s has in its block of provider "
		       "%s:\n\t%s\n",
		    ctl->conf->file, s->provider, line);
		return (ctl_flush() == -1 ? CTL_FAILED : CTL_OK);
	}
	o = json_pack("{s:s, s:s, s:s?, s:s, s:s, s:s?}", "id", id, "provider",
	    s->provider, "key", s->key_id, "kind", key_kind_name(s->kind),
	    "file", s->path, "line", line);
	if (line == NULL)
		return (key_written(ctl, keys, o));
	return (ctl_json(o) == -1 ? CTL_FAILED : CTL_OK);
}

/* The one that all keys share. */
static int
set_shared(struct ctl *ctl, struct setting *s)
{
	const struct conf_provider *v =
	    conf_find_provider(ctl->conf, s->provider);
	struct store keys = { .dir = -1, .lock = -1 };
	char *line = NULL;
	int code;

	if (v != NULL && v->cred.kind != CRED_NONE)
		s->named = &v->cred;
	if ((code = setting_kind(ctl, s)) != CTL_OK)
		return (code);
	if (setting_path(ctl, s) == -1 || setting_secret(s) == -1)
		return (CTL_FAILED);
	if ((code = write_secret(s)) != CTL_OK)
		return (code);
	if (s->named == NULL || s->named->kind != s->kind ||
	    strcmp(s->named->file, s->path) != 0)
		xasprintf(&line, "credential %s file \"%s\"",
		    key_kind_name(s->kind), s->path);
	if (line == NULL && access(ctl->conf->keys_dir, F_OK) == 0)
		(void)store_open(&keys, ctl->conf->keys_dir, 0);
	code = set_said(ctl, &keys, s, line);
	store_close(&keys);
	free(line);
	return (code);
}

/* Where the key has its own for that provider, or room for one; -1 told. */
static int
key_slot(const struct conf_key *k, const char *provider)
{
	size_t i;

	for (i = 0; i < k->nproviders && strcmp(k->providers[i], provider) != 0;
	     i++)
		continue;
	if (i == k->nproviders) {
		warnx("key %s may not use provider %s", k->id, provider);
		return (-1);
	}
	for (i = 0; i < k->ncreds; i++)
		if (strcmp(k->creds[i].provider, provider) == 0)
			return ((int)i);
	if (k->ncreds < CONF_KEY_CREDS_MAX)
		return ((int)k->ncreds);
	warnx("key %s has %d credentials already", k->id, CONF_KEY_CREDS_MAX);
	return (-1);
}

static int
set_for_key(
    struct ctl *ctl, struct setting *s, struct store *keys, struct conf_key *k)
{
	struct conf_cred *c;
	int slot, code;

	if ((slot = key_slot(k, s->provider)) == -1)
		return (CTL_FAILED);
	c = &k->creds[slot].cred;
	s->named = (size_t)slot < k->ncreds ? c : NULL;
	if ((code = setting_kind(ctl, s)) != CTL_OK)
		return (code);
	if (setting_path(ctl, s) == -1)
		return (CTL_FAILED);
	if ((code = write_secret(s)) != CTL_OK)
		return (code);
	c->kind = s->kind;
	(void)strlcpy(c->file, s->path, sizeof(c->file));
	(void)strlcpy(k->creds[slot].provider, s->provider, LIM_PROVIDER);
	if ((size_t)slot == k->ncreds)
		k->ncreds++;
	if ((code = key_write(ctl, keys, k, 0)) == CTL_OK)
		code = set_said(ctl, keys, s, NULL);
	return (code);
}

/* One key's own. The secret is read first: nobody waits for a person with
 * keys.d locked. */
static int
set_own(struct ctl *ctl, struct setting *s)
{
	struct store keys;
	struct conf_key *k;
	int code;

	if ((code = key_id_arg(ctl, s->key_id)) != CTL_OK)
		return (code);
	if (setting_secret(s) == -1)
		return (CTL_FAILED);
	if ((code = key_store(ctl, &keys, 0)) != CTL_OK)
		return (code);
	if ((k = key_load(ctl, &keys, s->key_id, &code)) != NULL)
		code = set_for_key(ctl, s, &keys, k);
	free(k);
	store_close(&keys);
	return (code);
}

int
cred_set(struct ctl *ctl)
{
	struct setting s = { .provider = ctl->arg[0],
		.key_id = ctl->opt[OPT_KEY] };
	int code;

	token_guard();
	if (launch_find(s.provider) == NULL) {
		warnx("%s: no such provider", ctl_vis(s.provider));
		return (CTL_FAILED);
	}
	if (ctl_conf(ctl, CONF_MAY, &code) == -1)
		return (code);
	code = s.key_id != NULL ? set_own(ctl, &s) : set_shared(ctl, &s);
	if (s.secret != NULL)
		freezero(s.secret, LIM_CTL_SECRET);
	return (code);
}

/* ---- list ---- */

struct cred_listing {
	struct table table;
	json_t *array; /* NULL: the table */
};

static void
list_one(struct cred_listing *l, const char *key, const char *provider,
    const struct conf_cred *c)
{
	char id[LIM_CRED_ID], text[LIM_TEXT];
	const char *problem = NULL;
	int present = 1;
	struct stat st;

	if (c->kind == CRED_NONE)
		return;
	(void)snprintf(id, sizeof(id), "%s%s%s", key != NULL ? key : "",
	    key != NULL ? "." : "", provider);
	if (lstat(c->file, &st) == -1) {
		present = 0;
		problem = errno == ENOENT ? "missing" : strerror(errno);
	} else
		problem = file_verdict(
		    &st, FILE_SECRET, geteuid(), text, sizeof(text));
	if (l->array == NULL)
		table_row(&l->table,
		    (const char *const[]){ id, key_kind_name(c->kind), c->file,
			problem != NULL ? problem : "ok" },
		    4);
	else
		json_array_append_new(l->array,
		    json_pack("{s:s, s:s, s:s?, s:s, s:s, s:b, s:b, s:s?}",
			"id", id, "provider", provider, "key", key, "kind",
			key_kind_name(c->kind), "file", c->file, "present",
			present, "mode_ok", present && problem == NULL,
			"problem", problem));
}

static void
list_keys(struct ctl *ctl, struct cred_listing *l)
{
	struct conf_errors errs = { 0 };
	const struct conf_key *k;
	struct conf_keys keys;
	size_t i;

	conf_load_keys(ctl->conf_good ? ctl->conf : NULL, ctl->conf->keys_dir,
	    &keys, &errs);
	for (i = 0; i < errs.n; i++)
		warnx("%s", errs.line[i]);
	TAILQ_FOREACH(k, &keys, entry) {
		for (i = 0; i < k->ncreds; i++)
			list_one(
			    l, k->id, k->creds[i].provider, &k->creds[i].cred);
	}
	conf_keys_free(&keys);
	conf_errors_free(&errs);
}

int
cred_list(struct ctl *ctl)
{
	static const char *const head[] = { "ID", "KIND", "FILE", "STATE" };
	const struct conf_provider *v;
	struct cred_listing l = { 0 };
	int code;

	if (ctl_conf(ctl, CONF_MAY, &code) == -1)
		return (code);
	if (ctl->opt[OPT_JSON] != NULL)
		l.array = json_array();
	else
		table_row(&l.table, head, 4);
	TAILQ_FOREACH(v, &ctl->conf->providers, entry)
		list_one(&l, NULL, v->name, &v->cred);
	list_keys(ctl, &l);
	if (l.array != NULL)
		return (ctl_json(l.array) == -1 ? CTL_FAILED : CTL_OK);
	table_print(&l.table);
	return (ctl_flush() == -1 ? CTL_FAILED : CTL_OK);
}
