/* SPDX-License-Identifier: ISC */
/*
 * Key blocks and the directory they live in.  A file is judged by itself: one
 * that is wrong takes its own key away and nobody else's.  Runs in the master
 * and in olpctl.  Holds hashes, never a token; messages show neither.
 */
#include <bsd/string.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/conf/parse.h"
#include "common/conf/units.h"
#include "common/log.h"

#define SUFFIX ".conf"

/* The tokens of manuals and examples, and no token at all. */
static const char *const sample_hash[] = {
	/* the empty string */
	"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	/* olp_ and 43 times A */
	"58f108d6644010d6c0abdff89790885cea97b4b2935231e670ea1c6e8ba841cd",
};

/* What is being read from one file. */
struct key_file {
	char id[LIM_KEY_ID];  /* the file's name says */
	struct conf_key *key; /* NULL until its block */
};

int
conf_key_id_ok(const char *id)
{
	size_t n = strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return (
	    id[0] >= 'a' && id[0] <= 'z' && id[n] == '\0' && n < LIM_KEY_ID);
}

static int
is_sample(const uint8_t *hash)
{
	uint8_t sample[32];
	size_t i;

	for (i = 0; i < sizeof(sample_hash) / sizeof(sample_hash[0]); i++)
		if (unit_hex(sample_hash[i], sample, sizeof(sample)) == 0 &&
		    memcmp(sample, hash, sizeof(sample)) == 0)
			return (1);
	return (0);
}

static int
key_token(struct parser *p, const struct word *w, void *obj)
{
	struct conf_key *k = obj;
	uint8_t hash[32];

	(void)w;
	p->hush = 1;
	if (p_expect(p, "sha256") == -1)
		return (-1);
	if (!p_is_value(p) || unit_hex(p->tok.text, hash, sizeof(hash)) == -1)
		return (p_expected(p, "64 hexadecimal digits"));
	if (is_sample(hash))
		return (p_error(
		    p, "this is the hash of an empty or a sample token"));
	if (k->nhash == 2)
		return (p_error(p, "more than two"));
	if (k->nhash == 1 && memcmp(k->hash[0], hash, sizeof(hash)) == 0)
		return (p_error(p, "the same one twice"));
	memcpy(k->hash[k->nhash++], hash, sizeof(hash));
	p_next(p);
	return (0);
}

static int
key_uid(struct parser *p, const struct word *w, void *obj)
{
	const struct conf *c = p->env;
	struct conf_key *k = obj;
	uint32_t lo = LIM_CONF_UID_MIN, hi = LIM_CONF_UID_MAX;

	(void)w;
	if (c != NULL) {
		lo = c->uid_lo + LIM_CONF_UID_PROBE;
		hi = c->uid_hi;
	}
	return (p_number(p, lo, hi, &k->uid));
}

static int
key_tier(struct parser *p, const struct word *w, void *obj)
{
	struct conf_key *k = obj;

	(void)w;
	if (p_take(p, "owner"))
		k->owner = 1;
	else if (!p_take(p, "member"))
		return (p_expected(p, "owner or member"));
	return (0);
}

static int
configured_provider(struct parser *p, char *buf, size_t size)
{
	if (p_provider_name(p, buf, size) == -1)
		return (-1);
	if (p->env != NULL && conf_find_provider(p->env, buf) == NULL)
		return (
		    p_error(p, "olpd.conf has no provider block for %s", buf));
	return (0);
}

static int
key_providers(struct parser *p, const struct word *w, void *obj)
{
	struct conf_key *k = obj;
	size_t i;

	(void)w;
	do {
		if (k->nproviders == CONF_KEY_LIST_MAX)
			return (p_error(p, "more than %d", CONF_KEY_LIST_MAX));
		if (configured_provider(
			p, k->providers[k->nproviders], LIM_PROVIDER) == -1)
			return (-1);
		for (i = 0; i < k->nproviders; i++)
			if (strcmp(k->providers[i],
				k->providers[k->nproviders]) == 0)
				return (p_error(
				    p, "%s stands twice", k->providers[i]));
		k->nproviders++;
	} while (p_comma(p));
	return (0);
}

static int
is_configured_model(const struct conf *c, const char *name)
{
	const struct conf_model *m;

	TAILQ_FOREACH(m, &c->models, entry) {
		if (strcmp(m->name, name) == 0)
			return (1);
	}
	return (0);
}

static int
key_models(struct parser *p, const struct word *w, void *obj)
{
	struct conf_key *k = obj;
	size_t i;
	char *name;

	(void)w;
	do {
		if (k->nmodels == CONF_KEY_LIST_MAX)
			return (p_error(p, "more than %d", CONF_KEY_LIST_MAX));
		name = k->models[k->nmodels];
		if (p_model_name(p, name, LIM_MODEL) == -1)
			return (-1);
		if (p->env != NULL && !is_configured_model(p->env, name))
			return (p_error(p, "olpd.conf has no model %s", name));
		for (i = 0; i < k->nmodels; i++)
			if (strcmp(k->models[i], name) == 0)
				return (p_error(p, "%s stands twice", name));
		k->nmodels++;
	} while (p_comma(p));
	return (0);
}

static int
key_credential(struct parser *p, const struct word *w, void *obj)
{
	struct conf_key *k = obj;
	char name[LIM_PROVIDER];
	size_t i;

	(void)w;
	if (configured_provider(p, name, sizeof(name)) == -1)
		return (-1);
	for (i = 0; i < k->ncreds; i++)
		if (strcmp(k->creds[i].provider, name) == 0)
			return (p_error(p, "%s has one already", name));
	if (k->ncreds == CONF_KEY_CREDS_MAX)
		return (p_error(p, "more than %d", CONF_KEY_CREDS_MAX));
	if (p_credential(p, &k->creds[k->ncreds].cred) == -1)
		return (-1);
	(void)strlcpy(k->creds[k->ncreds++].provider, name, LIM_PROVIDER);
	return (0);
}

static int
limit_starts(struct parser *p, const struct word *w, void *obj)
{
	if (p_set_u32(p, w, obj) == -1 || p_expect(p, "per") == -1)
		return (-1);
	return (p_expect(p, "minute"));
}

#define AT(f) .off = offsetof(struct conf_key, f)
static const struct word key_limits[] = {
	{ "runs", .what = "limit runs", .parse = p_set_u32, AT(runs), .lo = 1,
	    .hi = LIM_CONF_RUNS_MAX },
	{ "starts", .what = "limit starts", .parse = limit_starts,
	    AT(starts_per_minute), .lo = 1, .hi = LIM_CONF_STARTS_MAX },
	{ 0 },
};

static int
key_limit(struct parser *p, const struct word *w, void *obj)
{
	(void)w;
	return (p_choices(p, key_limits, obj));
}

static int
clock_time(struct parser *p, uint16_t *min)
{
	if (!p_is_value(p) || unit_clock(p->tok.text, min) == -1)
		return (p_expected(p, "a time of day such as 07:30"));
	p_next(p);
	return (0);
}

static int
key_hours(struct parser *p, const struct word *w, void *obj)
{
	struct conf_key *k = obj;

	(void)w;
	if (clock_time(p, &k->from_min) == -1 || p_expect(p, "to") == -1 ||
	    clock_time(p, &k->to_min) == -1)
		return (-1);
	if (k->from_min == k->to_min)
		return (p_error(p, "begin and end are the same"));
	k->has_hours = 1;
	return (0);
}

static int
key_expires(struct parser *p, const struct word *w, void *obj)
{
	struct conf_key *k = obj;

	(void)w;
	if (!p_is_value(p) || unit_time(p->tok.text, &k->expires) == -1)
		return (p_expected(
		    p, "a date such as 2027-01-31 or 2027-01-31T18:00:00Z"));
	p_next(p);
	return (0);
}

static int
key_require(struct parser *p, const struct word *w, void *obj)
{
	struct conf_key *k = obj;

	(void)w;
	if (p_expect(p, "full") == -1)
		return (-1);
	k->require_full = 1;
	return (0);
}

static const struct word key_words[] = {
	{ "token", .many = 1, .parse = key_token },
	{ "uid", .parse = key_uid },
	{ "tier", .parse = key_tier },
	{ "providers", .parse = key_providers },
	{ "models", .parse = key_models },
	{ "credential", .many = 1, .parse = key_credential },
	{ "limit", .many = 1, .parse = key_limit },
	{ "hours", .parse = key_hours },
	{ "expires", .parse = key_expires },
	{ "revoked", .parse = p_set_flag, AT(revoked) },
	{ "require", .parse = key_require },
	{ 0 },
};
#undef AT

/* What a block must have; silent where an error was told already. */
static int
key_complete(struct parser *p, const struct conf_key *k, size_t before)
{
	if (p->errs->n + p->errs->more > before)
		return (-1);
	if (k->nhash == 0)
		return (p_error_at(p, &k->at, "%s has no token", k->id));
	if (k->uid == 0)
		return (p_error_at(p, &k->at, "%s has no uid", k->id));
	return (0);
}

static int
file_key(struct parser *p, const struct word *w, void *obj)
{
	size_t before = p->errs->n + p->errs->more;
	struct key_file *f = obj;
	struct conf_key *k;

	if (f->key != NULL)
		return (p_error(p, "a file holds one key only"));
	if (!p_is_value(p) || !conf_key_id_ok(p->tok.text))
		return (p_expected(
		    p, "an id: a letter, then at most 23 of a-z, 0-9 and -"));
	if (strcmp(p->tok.text, f->id) != 0)
		return (
		    p_error(p, "id %s in a file for %s", p->tok.text, f->id));
	f->key = k = xcalloc(1, sizeof(*k));
	p_where(p, &k->at);
	if (p_value(p, k->id, sizeof(k->id), "an id") == -1 ||
	    p_block(p, w->name, key_words, k) == -1)
		return (-1);
	return (key_complete(p, k, before));
}

static const struct word file_words[] = {
	{ "key", .many = 1, .parse = file_key },
	{ 0 },
};

/* The id in .../ID.conf; -1 when that is none. */
static int
file_id(const char *file, char *id, size_t size)
{
	const char *base = strrchr(file, '/');
	size_t n;

	base = base != NULL ? base + 1 : file;
	n = strlen(base);
	if (n < sizeof(SUFFIX) ||
	    strcmp(base + n - strlen(SUFFIX), SUFFIX) != 0 ||
	    n - strlen(SUFFIX) >= size)
		return (-1);
	(void)strlcpy(id, base, n - strlen(SUFFIX) + 1);
	return (conf_key_id_ok(id) ? 0 : -1);
}

/* The source that is open, to its end. Closes it. */
static struct conf_key *
read_key(struct parser *p, struct key_file *f, size_t before)
{
	p_words(p, file_words, f);
	p->what = NULL;
	if (f->key == NULL && p->errs->n + p->errs->more == before)
		p_expected(p, "key");
	p_close(p);
	if (p->errs->n + p->errs->more > before) {
		free(f->key);
		f->key = NULL;
	}
	return (f->key);
}

/*
 * A parser for the file of that name, whose id goes to f; NULL when it is no
 * name.
 */
static struct parser *
key_parser(const struct conf *c, const char *file, struct key_file *f,
    struct conf_errors *errs)
{
	struct parser *p;

	if (strlen(file) >= LIM_PATH ||
	    file_id(file, f->id, sizeof(f->id)) == -1) {
		conf_error(
		    errs, "%s: expected a name of the form ID.conf", file);
		return (NULL);
	}
	p = xcalloc(1, sizeof(*p));
	p->env = c;
	p->errs = errs;
	p->is_key = 1;
	p->seen = xcalloc(1, sizeof(*p->seen));
	return (p);
}

static void
key_parser_free(struct parser *p)
{
	free(p->seen);
	free(p);
}

static struct conf_key *
load_key(const struct conf *c, int dirfd, const char *name, const char *file,
    struct conf_errors *errs)
{
	size_t before = errs->n + errs->more;
	struct key_file f = { 0 };
	struct source s = { 0 };
	struct conf_key *k = NULL;
	struct parser *p;

	if ((p = key_parser(c, file, &f, errs)) == NULL)
		return (NULL);
	if (p_open(p, &s, dirfd, name, file, 1) == 0)
		k = read_key(p, &f, before);
	key_parser_free(p);
	return (k);
}

struct conf_key *
conf_load_key(const struct conf *c, const char *file, struct conf_errors *errs)
{
	return (load_key(c, AT_FDCWD, file, file, errs));
}

struct conf_key *
conf_load_key_text(const struct conf *c, const char *name, const char *text,
    size_t len, struct conf_errors *errs)
{
	size_t before = errs->n + errs->more;
	struct key_file f = { 0 };
	struct source s = { 0 };
	struct conf_key *k;
	struct parser *p;

	if ((p = key_parser(c, name, &f, errs)) == NULL)
		return (NULL);
	p_push(p, &s, name, text, len);
	k = read_key(p, &f, before);
	key_parser_free(p);
	return (k);
}

/* ---- keys.d ---- */

/* Does the key take what an earlier one has? */
static int
is_taken(const struct conf_keys *keys, const struct conf_key *k,
    struct conf_errors *errs)
{
	const struct conf_key *o;
	size_t i, j;

	TAILQ_FOREACH(o, keys, entry) {
		if (o->uid == k->uid) {
			conf_error(errs,
			    "%s:%u: key: uid %" PRIu32 " is %s's already",
			    k->at.file, k->at.line, k->uid, o->id);
			return (1);
		}
		for (i = 0; i < o->nhash; i++)
			for (j = 0; j < k->nhash; j++)
				if (memcmp(o->hash[i], k->hash[j],
					sizeof(o->hash[i])) == 0) {
					conf_error(errs,
					    "%s:%u: key: its token is %s's "
					    "already",
					    k->at.file, k->at.line, o->id);
					return (1);
				}
	}
	return (0);
}

static int
is_key_file(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return (d->d_name[0] != '.' && n >= strlen(SUFFIX) &&
	    strcmp(d->d_name + n - strlen(SUFFIX), SUFFIX) == 0);
}

static int
by_bytes(const struct dirent **a, const struct dirent **b)
{
	return (strcmp((*a)->d_name, (*b)->d_name));
}

/* keys.d opened and looked at: -1 when it cannot be trusted or is not there. */
static int
open_dir(const char *dir, struct conf_errors *errs)
{
	struct stat st;
	int fd;

	if ((fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1) {
		if (errno != ENOENT)
			conf_error(errs, "%s: %s", dir, strerror(errno));
		return (-1);
	}
	if (fstat(fd, &st) == 0 && (st.st_mode & S_IWOTH) == 0 &&
	    (st.st_uid == 0 || st.st_uid == geteuid()))
		return (fd);
	conf_error(
	    errs, "%s: others can write to it, no key in it is used", dir);
	close(fd);
	return (-1);
}

static void
load_name(const struct conf *c, int fd, const char *dir, const char *name,
    struct conf_keys *keys, struct conf_errors *errs)
{
	struct conf_key *k;
	char *file;

	xasprintf(&file, "%s/%s", dir, name);
	k = load_key(c, fd, name, file, errs);
	free(file);
	if (k == NULL)
		return;
	if (is_taken(keys, k, errs))
		free(k);
	else
		TAILQ_INSERT_TAIL(keys, k, entry);
}

void
conf_load_keys(const struct conf *c, const char *dir, struct conf_keys *keys,
    struct conf_errors *errs)
{
	struct dirent **names;
	int fd, i, n;

	TAILQ_INIT(keys);
	if ((fd = open_dir(dir, errs)) == -1)
		return;
	if ((n = scandirat(fd, ".", &names, is_key_file, by_bytes)) == -1) {
		conf_error(errs, "%s: %s", dir, strerror(errno));
		close(fd);
		return;
	}
	for (i = 0; i < n; i++) {
		if (i < LIM_CONF_KEYS)
			load_name(c, fd, dir, names[i]->d_name, keys, errs);
		free(names[i]);
	}
	if (n > LIM_CONF_KEYS)
		conf_error(errs, "%s: more than %d keys, the rest is not used",
		    dir, LIM_CONF_KEYS);
	free(names);
	close(fd);
}

void
conf_keys_free(struct conf_keys *keys)
{
	struct conf_key *k;

	while ((k = TAILQ_FIRST(keys)) != NULL) {
		TAILQ_REMOVE(keys, k, entry);
		free(k);
	}
}
