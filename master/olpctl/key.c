/* SPDX-License-Identifier: ISC */
/*
 * olpctl key ...: key files in keys.d, one writer at a time.  The file is
 * written first and the daemon told afterwards; a daemon that is away reads
 * it at its start.  Only a token's hash is ever on disk.
 */
#include "key.h"

#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/conf/parse.h"
#include "common/conf/units.h"
#include "common/log.h"
#include "token.h"
#include "uid.h"

#define FILE_NAME (LIM_KEY_ID + sizeof(".conf"))

static char *
file_name(char *buf, const char *id)
{
	(void)snprintf(buf, FILE_NAME, "%s.conf", id);
	return (buf);
}

int
key_id_arg(const struct ctl *ctl, const char *id)
{
	if (conf_key_id_ok(id))
		return (CTL_OK);
	return (ctl_usage(ctl,
	    "%s: an id is a letter, then at most 23 of a-z, 0-9 and -",
	    ctl_vis(id)));
}

static void
errors_tell(const struct conf_errors *e, const char *before)
{
	size_t i;

	for (i = 0; i < e->n; i++)
		warnx("%s%s", before, e->line[i]);
}

/* ---- reading and writing one file ---- */

int
key_store(struct ctl *ctl, struct store *s, int make)
{
	int code;

	if (store_open(s, ctl->conf->keys_dir, make ? 0700 : 0) == -1)
		return (ctl_code(errno));
	if (store_lock(s) == 0)
		return (CTL_OK);
	code = ctl_code(errno);
	store_close(s);
	return (code);
}

struct conf_key *
key_load(struct ctl *ctl, struct store *s, const char *id, int *code)
{
	struct conf_errors errs = { 0 }, bare = { 0 };
	char name[FILE_NAME], *path;
	struct conf_key *k = NULL;
	int has;

	*code = CTL_FAILED;
	if ((has = store_has(s, file_name(name, id))) == -1)
		*code = ctl_code(errno);
	else if (has == 0)
		warnx("there is no key %s", id);
	if (has != 1)
		return (NULL);
	xasprintf(&path, "%s/%s", s->path, name);
	if (ctl->conf_good)
		k = conf_load_key(ctl->conf, path, &errs);
	if (k == NULL)
		k = conf_load_key(NULL, path, &bare);
	errors_tell(ctl->conf_good ? &errs : &bare, "");
	conf_errors_free(&errs);
	conf_errors_free(&bare);
	if (k == NULL && access(path, R_OK) == -1)
		*code = ctl_code(errno);
	free(path);
	return (k);
}

static char *
key_text(const struct conf_key *k, size_t *len)
{
	char *text = NULL;
	FILE *f;

	if ((f = open_memstream(&text, len)) == NULL)
		err(1, "open_memstream");
	conf_print_key(k, f);
	if (fclose(f) == EOF)
		err(1, "open_memstream");
	return (text);
}

int
key_write(
    struct ctl *ctl, struct store *s, const struct conf_key *k, int strict)
{
	struct conf_errors errs = { 0 };
	char name[FILE_NAME], *path, *text;
	struct conf_key *back;
	int code = CTL_OK;
	size_t len;

	text = key_text(k, &len);
	xasprintf(&path, "%s/%s", s->path, file_name(name, k->id));
	back = conf_load_key_text(
	    strict ? ctl->conf : NULL, path, text, len, &errs);
	if (back == NULL) {
		errors_tell(&errs, "not written: ");
		code = CTL_FAILED;
	} else if (store_put(s, name, text, len, 0600) == -1)
		code = ctl_code(errno);
	free(back);
	conf_errors_free(&errs);
	free(path);
	free(text);
	return (code);
}

/* ---- the daemon ---- */

/*
 * Without a good olpd.conf its "runtime directory" may be the very line that
 * was not understood: then that nobody listens at the default place says
 * nothing.
 */
static int
daemon_may_hide(const struct ctl *ctl)
{
	return (!ctl->conf_good &&
	    strcmp(ctl->conf->runtime_dir, CTL_RUNTIME) == 0);
}

static int
told_outcome(const struct ctl *ctl, const struct told *t, const char **word,
    char *text, size_t size)
{
	if (t->what == TELL_CONFIRMED) {
		*word = "confirmed";
		(void)strlcpy(text, "the running olpd has confirmed it", size);
		return (CTL_OK);
	}
	if (t->what == TELL_NO_DAEMON && !daemon_may_hide(ctl)) {
		*word = "none";
		(void)strlcpy(text,
		    "no olpd is running; the written file is enough", size);
		return (CTL_OK);
	}
	*word = "unconfirmed";
	(void)snprintf(text, size, "written, but %s: %s; %s reload asks again",
	    t->what == TELL_NO_DAEMON
		? "olpd.conf has errors and may name another runtime directory"
		: "the running olpd did not confirm",
	    t->text, CTL_PROG);
	return (CTL_FAILED);
}

int
key_written(struct ctl *ctl, struct store *s, json_t *o)
{
	char text[sizeof(((struct told *)NULL)->text) + 128];
	const char *word;
	struct told t;
	int code;

	/* The next writer need not wait for the daemon with us. */
	if (s->lock != -1)
		close(s->lock);
	s->lock = -1;
	if (o == NULL && ctl_flush() == -1)
		return (CTL_FAILED);
	tell_reload(ctl, s->dir, &t);
	code = told_outcome(ctl, &t, &word, text, sizeof(text));
	if (o != NULL) {
		json_object_set_new(o, "daemon", json_string(word));
		json_object_set_new(o, "message", json_string(ctl_vis(text)));
		return (ctl_json(o) == -1 ? CTL_FAILED : code);
	}
	if (code == CTL_OK)
		printf("%s\n", ctl_vis(text));
	else
		warnx("%s", ctl_vis(text));
	return (ctl_flush() == -1 ? CTL_FAILED : code);
}

/* ---- add ---- */

/* Without --providers a key may use every provider of olpd.conf. */
static void
all_providers(const struct conf *c, struct conf_key *k)
{
	const struct conf_provider *v;

	TAILQ_FOREACH(v, &c->providers, entry) {
		if (k->nproviders < CONF_KEY_LIST_MAX)
			(void)strlcpy(k->providers[k->nproviders++], v->name,
			    LIM_PROVIDER);
	}
}

static int
has_provider(const struct conf_key *k, const char *name)
{
	size_t i;

	for (i = 0; i < k->nproviders; i++)
		if (strcmp(k->providers[i], name) == 0)
			return (1);
	return (0);
}

/* A model or a credential of a provider that the key may not use would never be
 * used. */
static int
names_fit(const struct conf *c, const struct conf_key *k)
{
	const struct conf_model *m;
	size_t i;

	for (i = 0; i < k->nmodels; i++)
		TAILQ_FOREACH(m, &c->models, entry) {
			if (strcmp(m->name, k->models[i]) != 0 ||
			    has_provider(k, m->provider))
				continue;
			warnx("model %s is of provider %s, which is not among "
			      "the key's",
			    m->name, m->provider);
			return (CTL_FAILED);
		}
	for (i = 0; i < k->ncreds; i++)
		if (!has_provider(k, k->creds[i].provider)) {
			warnx("credential of provider %s, which is not among "
			      "the key's",
			    ctl_vis(k->creds[i].provider));
			return (CTL_FAILED);
		}
	return (CTL_OK);
}

/* Room for one more file? olpd reads no more than it has room for. */
static int
has_room(struct store *s)
{
	struct names files;
	size_t n;

	if (store_list(s, ".conf", &files) == -1)
		return (0);
	n = files.n;
	names_free(&files);
	if (n < LIM_CONF_KEYS)
		return (1);
	warnx("%s holds %zu keys already, and no more are read", s->path, n);
	return (0);
}

static int
add_locked(struct ctl *ctl, struct store *s, struct conf_key *k)
{
	char name[FILE_NAME];
	int has;

	if ((has = store_has(s, file_name(name, k->id))) == -1)
		return (ctl_code(errno));
	if (has == 1) {
		warnx("there is a key %s already", k->id);
		return (CTL_FAILED);
	}
	if (!has_room(s))
		return (CTL_FAILED);
	if (uid_take(ctl->conf, s, &k->uid) == -1)
		return (ctl_code(errno));
	return (key_write(ctl, s, k, 1));
}

/* Shown once: by JSON at the very end, else before the daemon is waited for. */
static int
say_token(struct ctl *ctl, struct store *s, const struct conf_key *k,
    const char *token)
{
	json_t *o = NULL;

	if (ctl->opt[OPT_JSON] != NULL) {
		o = key_to_json(k);
		json_object_set_new(o, "token", json_string(token));
	} else if (ctl_secret("token, shown only now: ", token) == -1)
		return (CTL_FAILED);
	return (key_written(ctl, s, o));
}

static int
add_key(struct ctl *ctl, struct conf_key *k)
{
	char *token = token_new();
	struct store s;
	int code;

	token_hash(token, k->hash[0]);
	k->nhash = 1;
	if ((code = key_store(ctl, &s, 1)) == CTL_OK) {
		code = add_locked(ctl, &s, k);
		if (code == CTL_OK && ctl->opt[OPT_JSON] == NULL)
			printf("key %s: uid %" PRIu32 ", tier %s\n", k->id,
			    k->uid, k->owner ? "owner" : "member");
		if (code == CTL_OK)
			code = say_token(ctl, &s, k, token);
		store_close(&s);
	}
	freezero(token, TOKEN_BYTES);
	return (code);
}

int
key_add(struct ctl *ctl)
{
	struct conf_key *k = xcalloc(1, sizeof(*k));
	int code;

	token_guard();
	if ((code = key_id_arg(ctl, ctl->arg[0])) == CTL_OK &&
	    (code = key_options(ctl, k)) == CTL_OK &&
	    ctl_conf(ctl, CONF_MUST, &code) == 0) {
		(void)strlcpy(k->id, ctl->arg[0], sizeof(k->id));
		if (k->nproviders == 0)
			all_providers(ctl->conf, k);
		if ((code = names_fit(ctl->conf, k)) == CTL_OK)
			code = add_key(ctl, k);
	}
	free(k);
	return (code);
}

/* ---- rotate, revoke, delete ---- */

/* A second hash beside the first; or, to finish, the second alone. */
static int
rotate_hashes(const struct ctl *ctl, struct conf_key *k, const char *token)
{
	if (ctl->opt[OPT_FINISH] != NULL) {
		if (k->nhash != 2) {
			warnx("key %s: no rotation is under way", k->id);
			return (CTL_FAILED);
		}
		memcpy(k->hash[0], k->hash[1], sizeof(k->hash[0]));
		k->nhash = 1;
		return (CTL_OK);
	}
	if (k->revoked || k->nhash == 2) {
		warnx("key %s: %s", k->id,
		    k->revoked ? "it is revoked"
			       : "it has two tokens already; end that with key "
				 "rotate --finish");
		return (CTL_FAILED);
	}
	token_hash(token, k->hash[1]);
	k->nhash = 2;
	return (CTL_OK);
}

static int
rotate_said(struct ctl *ctl, struct store *s, const struct conf_key *k,
    const char *token)
{
	int json = ctl->opt[OPT_JSON] != NULL;

	if (ctl->opt[OPT_FINISH] == NULL) {
		if (!json)
			printf("key %s: both tokens work until \"%s key rotate "
			       "%s --finish\"\n",
			    k->id, CTL_PROG, k->id);
		return (say_token(ctl, s, k, token));
	}
	if (!json)
		printf("key %s: only the newer token is left\n", k->id);
	return (key_written(ctl, s, json ? key_to_json(k) : NULL));
}

int
key_rotate(struct ctl *ctl)
{
	struct conf_key *k = NULL;
	struct store s;
	char *token;
	int code;

	token_guard();
	if ((code = key_id_arg(ctl, ctl->arg[0])) != CTL_OK ||
	    ctl_conf(ctl, CONF_MAY, &code) == -1 ||
	    (code = key_store(ctl, &s, 0)) != CTL_OK)
		return (code);
	token = token_new();
	if ((k = key_load(ctl, &s, ctl->arg[0], &code)) != NULL &&
	    (code = rotate_hashes(ctl, k, token)) == CTL_OK &&
	    (code = key_write(ctl, &s, k, 0)) == CTL_OK)
		code = rotate_said(ctl, &s, k, token);
	freezero(token, TOKEN_BYTES);
	free(k);
	store_close(&s);
	return (code);
}

/* After the brace that opens the block: comments and strings before it are
 * passed over. */
static const char *
block_begin(const char *p)
{
	for (; *p != '\0'; p++) {
		if (*p == '{')
			return (p + 1);
		if (*p == '#')
			p += strcspn(p, "\n");
		else if (*p == '"')
			for (p++; *p != '\0' && *p != '"' && *p != '\n'; p++)
				p += *p == '\\' && p[1] != '\0';
		if (*p == '\0')
			break;
	}
	return (NULL);
}

/*
 * A file that does not parse disables its key already, but only until
 * somebody mends it: the word goes in as text, so that the mended file is
 * revoked.
 */
static int
revoke_text(struct ctl *ctl, struct store *s, const char *id)
{
	char name[FILE_NAME], *text, *with;
	const char *in;
	int r, n;

	(void)ctl;
	if ((text = store_get(s, file_name(name, id), LIM_CONF_FILE)) == NULL)
		return (ctl_code(errno));
	if ((in = block_begin(text)) == NULL) {
		free(text);
		warnx("%s/%s: holds no key block, so it cannot be marked as "
		      "revoked",
		    s->path, name);
		return (CTL_FAILED);
	}
	n = xasprintf(&with, "%.*s\n\trevoked%s%s", (int)(in - text), text,
	    *in == '\n' ? "" : "\n", in);
	free(text);
	r = store_put(s, name, with, (size_t)n, 0600);
	free(with);
	if (r == -1)
		return (ctl_code(errno));
	warnx("%s/%s has errors; \"revoked\" was put into it as it is", s->path,
	    name);
	return (CTL_OK);
}

static int
revoke_locked(struct ctl *ctl, struct store *s, const char *id)
{
	struct conf_key *k;
	char name[FILE_NAME];
	int code;

	if ((k = key_load(ctl, s, id, &code)) == NULL)
		return (
		    store_has(s, file_name(name, id)) == 1 && code == CTL_FAILED
			? revoke_text(ctl, s, id)
			: code);
	k->revoked = 1;
	code = key_write(ctl, s, k, 0);
	free(k);
	return (code);
}

/* What is said of a key that is gone or revoked. */
static int
gone_said(struct ctl *ctl, struct store *s, const char *id, const char *state)
{
	if (ctl->opt[OPT_JSON] != NULL)
		return (key_written(
		    ctl, s, json_pack("{s:s, s:s}", "id", id, "state", state)));
	printf("key %s: %s\n", id, state);
	return (key_written(ctl, s, NULL));
}

int
key_revoke(struct ctl *ctl)
{
	struct store s;
	int code;

	if ((code = key_id_arg(ctl, ctl->arg[0])) != CTL_OK ||
	    ctl_conf(ctl, CONF_MAY, &code) == -1 ||
	    (code = key_store(ctl, &s, 0)) != CTL_OK)
		return (code);
	if ((code = revoke_locked(ctl, &s, ctl->arg[0])) == CTL_OK)
		code = gone_said(ctl, &s, ctl->arg[0], "revoked");
	store_close(&s);
	return (code);
}

/* A credential that was the key's own is somebody's secret: its file is not
 * ours to remove. */
static void
note_credentials(const struct store *s, const char *name)
{
	struct conf_errors errs = { 0 };
	struct conf_key *k;
	char *path;
	size_t i;

	xasprintf(&path, "%s/%s", s->path, name);
	k = conf_load_key(NULL, path, &errs);
	for (i = 0; k != NULL && i < k->ncreds; i++)
		warnx("key %s: its own credential stays in %s", k->id,
		    k->creds[i].cred.file);
	free(k);
	free(path);
	conf_errors_free(&errs);
}

/*
 * The mark must stand above the uid before the file that says so goes.  Where
 * olpd.conf is faulty the state directory may be one that is not there.
 */
static int
delete_locked(struct ctl *ctl, struct store *s, const char *id)
{
	char name[FILE_NAME];
	uint32_t uid;
	int has;

	if ((has = store_has(s, file_name(name, id))) == 0)
		warnx("there is no key %s", id);
	if (has != 1)
		return (has == 0 ? CTL_FAILED : ctl_code(errno));
	uid = uid_of_file(s, name);
	note_credentials(s, name);
	if ((ctl->conf_good || access(ctl->conf->state_dir, F_OK) == 0) &&
	    uid_keep(ctl->conf, uid) == -1) {
		warnx("key %s: not deleted, or its uid might be given again; "
		      "key revoke ends it",
		    id);
		return (CTL_FAILED);
	}
	return (store_remove(s, name) == -1 ? ctl_code(errno) : CTL_OK);
}

int
key_delete(struct ctl *ctl)
{
	struct store s;
	int code;

	if ((code = key_id_arg(ctl, ctl->arg[0])) != CTL_OK ||
	    ctl_conf(ctl, CONF_MAY, &code) == -1 ||
	    (code = key_store(ctl, &s, 0)) != CTL_OK)
		return (code);
	if ((code = delete_locked(ctl, &s, ctl->arg[0])) == CTL_OK)
		code = gone_said(ctl, &s, ctl->arg[0], "deleted");
	store_close(&s);
	return (code);
}

/* ---- list, show ---- */

int
key_show(struct ctl *ctl)
{
	struct conf_key *k;
	struct store s;
	int code;

	if ((code = key_id_arg(ctl, ctl->arg[0])) != CTL_OK ||
	    ctl_conf(ctl, CONF_MAY, &code) == -1)
		return (code);
	if (store_open(&s, ctl->conf->keys_dir, 0) == -1)
		return (ctl_code(errno));
	k = key_load(ctl, &s, ctl->arg[0], &code);
	store_close(&s);
	if (k == NULL)
		return (code);
	if (ctl->opt[OPT_JSON] != NULL)
		code = ctl_json(key_to_json(k)) == -1 ? CTL_FAILED : CTL_OK;
	else {
		key_to_text(k);
		code = ctl_flush() == -1 ? CTL_FAILED : CTL_OK;
	}
	free(k);
	return (code);
}
