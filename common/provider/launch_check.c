/* SPDX-License-Identifier: ISC */
/*
 * The one validator of a provider's launch contract, for the built-in rows
 * and whatever else will fill a struct provider_launch one day.  It calls
 * the row's functions for every kind of run there is and judges what they
 * give.  Makes no system call; it never looks whether a source exists, since
 * that is a run's own error.
 */
#include "common/provider/provider.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What a run may vary in: strings that no row would write itself. */
#define CHECK_MODEL "olp-check-model"
#define CHECK_PLACEHOLDER "olp-check-placeholder"
#define CWD (&SANDBOX_CWD[sizeof(SANDBOX_HOME)]) /* relative to the home */

typedef void word_maker(const struct launch_run *, struct launch_words *);

/* Where a fault is told. */
struct check {
	const struct provider_launch *p;
	char *err;
	size_t size;
};

static int bad(const struct check *, const char *, const char *, ...)
    __attribute__((format(printf, 3, 4)));

/* Always -1. */
static int
bad(const struct check *c, const char *field, const char *fmt, ...)
{
	char why[LIM_TEXT];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	(void)snprintf(c->err, c->size, "provider %s: %s: %s",
	    c->p->name != NULL ? c->p->name : "(no name)", field, why);
	return (-1);
}

/* Paths */

/* What is wrong with a path below the home, or NULL. */
static const char *
below_fault(const char *s)
{
	const char *end;

	if (s == NULL || *s == '\0')
		return ("a path is empty");
	if (*s == '/')
		return ("must be relative to the home");
	if (*s == '~')
		return ("must not begin with ~");
	if (strlen(s) >= LIM_PATH)
		return ("is too long");
	for (;; s = end + 1) {
		end = s + strcspn(s, "/");
		if (end == s)
			return ("has an empty component");
		if (end - s == 1 && s[0] == '.')
			return ("must not hold \".\"");
		if (end - s == 2 && s[0] == '.' && s[1] == '.')
			return ("must not hold \"..\"");
		if (*end == '\0')
			return (NULL);
	}
}

/* The same for a path of the host. */
static const char *
host_fault(const char *s)
{
	if (*s == '~')
		return ("must not begin with ~");
	if (*s != '/')
		return ("must be absolute");
	return (s[1] == '\0' ? "must not be /" : below_fault(s + 1));
}

/* path is what, or something below it. */
static int
is_within(const char *path, const char *what)
{
	size_t n = strlen(what);

	return (
	    strncmp(path, what, n) == 0 && (path[n] == '\0' || path[n] == '/'));
}

static int
check_directories(const struct check *c)
{
	const struct provider_launch *p = c->p;
	const char *fault;
	size_t i, j;

	if (p->ndirectories > LIM_LAUNCH_PATHS)
		return (
		    bad(c, "directories", "more than %d", LIM_LAUNCH_PATHS));
	for (i = 0; i < p->ndirectories; i++) {
		if ((fault = below_fault(p->directories[i])) != NULL)
			return (bad(c, "directories", "\"%s\" %s",
			    p->directories[i] != NULL ? p->directories[i] : "",
			    fault));
		for (j = 0; j < i; j++)
			if (strcmp(p->directories[i], p->directories[j]) == 0)
				return (bad(c, "directories",
				    "\"%s\" is there twice",
				    p->directories[i]));
	}
	return (0);
}

static int
check_seed(const struct check *c, const struct launch_seed *s)
{
	const char *fault;
	size_t i;

	if ((fault = below_fault(s->target)) != NULL)
		return (bad(c, "seeds", "target \"%s\" %s",
		    s->target != NULL ? s->target : "", fault));
	if ((s->source == NULL) == (s->text == NULL))
		return (bad(c, "seeds",
		    "\"%s\" needs a source or a text, and not both",
		    s->target));
	if (s->source != NULL && (fault = host_fault(s->source)) != NULL)
		return (bad(c, "seeds", "source \"%s\" %s", s->source, fault));
	if ((s->mode & ~0777U) != 0 || (s->mode & 0400) == 0)
		return (bad(c, "seeds",
		    "\"%s\" has mode %o: must be within 0777 and readable",
		    s->target, s->mode));
	for (i = 0; i < c->p->ndirectories; i++)
		if (is_within(c->p->directories[i], s->target))
			return (bad(c, "seeds", "\"%s\" is a directory too",
			    s->target));
	if (is_within(CWD, s->target))
		return (
		    bad(c, "seeds", "\"%s\" is the work directory", s->target));
	return (0);
}

static int
check_seeds(const struct check *c)
{
	const struct provider_launch *p = c->p;
	size_t i, j;

	if (p->nseeds > LIM_LAUNCH_PATHS)
		return (bad(c, "seeds", "more than %d", LIM_LAUNCH_PATHS));
	for (i = 0; i < p->nseeds; i++) {
		if (check_seed(c, &p->seeds[i]) == -1)
			return (-1);
		for (j = 0; j < i; j++)
			if (is_within(p->seeds[i].target, p->seeds[j].target) ||
			    is_within(p->seeds[j].target, p->seeds[i].target))
				return (bad(c, "seeds",
				    "\"%s\" and \"%s\" are one place",
				    p->seeds[j].target, p->seeds[i].target));
	}
	return (0);
}

static int
check_folders(const struct check *c)
{
	const struct provider_launch *p = c->p;
	const char *fault;
	size_t i, j;

	if (p->nfolders > LIM_LAUNCH_PATHS)
		return (bad(c, "folders", "more than %d", LIM_LAUNCH_PATHS));
	for (i = 0; i < p->nfolders; i++) {
		if (p->folders[i] == NULL ||
		    (fault = host_fault(p->folders[i])) != NULL)
			return (bad(c, "folders", "\"%s\" %s",
			    p->folders[i] != NULL ? p->folders[i] : "",
			    p->folders[i] != NULL ? fault : "a path is empty"));
		for (j = 0; j < i; j++)
			if (strcmp(p->folders[i], p->folders[j]) == 0)
				return (bad(c, "folders",
				    "\"%s\" is there twice", p->folders[i]));
	}
	return (0);
}

/* Plain members */

static int
check_name(const struct check *c)
{
	const char *s = c->p->name;
	size_t i;

	if (s == NULL || !islower((unsigned char)s[0]))
		return (bad(c, "name", "must begin with a lower-case letter"));
	for (i = 0; s[i] != '\0'; i++)
		if (!islower((unsigned char)s[i]) &&
		    !isdigit((unsigned char)s[i]) && s[i] != '-')
			return (bad(c, "name",
			    "must be lower-case letters, digits and -"));
	if (i >= LIM_PROVIDER)
		return (
		    bad(c, "name", "must be shorter than %d", LIM_PROVIDER));
	if ((s = c->p->shipped) != NULL &&
	    (*s == '\0' || *s == '.' || strchr(s, '/') != NULL))
		return (bad(c, "shipped",
		    "\"%s\" must be the name of a program of olpd's own", s));
	return (0);
}

static int
check_words(const struct check *c)
{
	const struct provider_launch *p = c->p;

	if (p->inner_sandbox != 0 && p->inner_sandbox != 1)
		return (bad(c, "inner sandbox", "must be yes or no"));
	if ((unsigned int)p->read_protection > PROTECT_NO_TOOLS)
		return (bad(c, "read protection",
		    "must be none, inner-sandbox or no-tools"));
	if (p->read_protection == PROTECT_INNER_SANDBOX && !p->inner_sandbox)
		return (bad(c, "read protection",
		    "inner-sandbox, but the client makes no inner sandbox"));
	if ((unsigned int)p->tier > TIER_SHARED_OS_USER)
		return (bad(c, "tier",
		    "must be shared-os-user, per-os-user or separate-vm"));
	if ((unsigned int)p->listener > LISTENER_HTTP)
		return (bad(c, "listener", "must be none or http"));
	if (p->memory < LIM_CONF_MEMORY_MIN || p->memory > LIM_CONF_MEMORY_MAX)
		return (bad(c, "memory", "must be from %d to %lld bytes",
		    LIM_CONF_MEMORY_MIN, (long long)LIM_CONF_MEMORY_MAX));
	if ((p->listener == LISTENER_NONE) != (p->max_requests == 0))
		return (bad(c, "max requests",
		    "must be 0 without a listener and not with one"));
	return (0);
}

static int
check_creds(const struct check *c)
{
	const struct provider_launch *p = c->p;
	size_t i, j;

	for (i = 0; i < p->ncreds; i++) {
		if (p->creds[i] != PROVIDER_CRED_API_KEY &&
		    p->creds[i] != PROVIDER_CRED_OAUTH)
			return (
			    bad(c, "credentials", "must be api-key or oauth"));
		for (j = 0; j < i; j++)
			if (p->creds[i] == p->creds[j])
				return (bad(
				    c, "credentials", "a kind is there twice"));
	}
	if (p->ncreds > 0 && p->listener == LISTENER_NONE)
		return (bad(c, "credentials",
		    "need a listener: none is given into a sandbox"));
	return (0);
}

/* What the row's functions give */

static int
same_words(const struct launch_words *a, const struct launch_words *b)
{
	size_t i;

	if (a->n != b->n || a->overflow != b->overflow)
		return (0);
	for (i = 0; i < a->n; i++)
		if (strcmp(a->v[i], b->v[i]) != 0)
			return (0);
	return (1);
}

/* Twice the same for the same run. w is the caller's to free either way. */
static int
make(const struct check *c, const char *field, word_maker *f,
    const struct launch_run *run, struct launch_words *w)
{
	struct launch_words again = { .n = 0 };
	int same;

	f(run, w);
	f(run, &again);
	same = same_words(w, &again);
	launch_words_free(&again);
	if (w->overflow)
		return (
		    bad(c, field, "more than %d words, or one over %d bytes",
			LIM_LAUNCH_WORDS, LIM_LAUNCH_BYTES - 1));
	return (same ? 0 : bad(c, field, "must depend on the run alone"));
}

/* The length of NAME in NAME=value, 0 when it is nothing of that kind. */
static size_t
name_length(const char *s)
{
	size_t n = strspn(s,
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

	return (s[n] == '=' && !isdigit((unsigned char)s[0]) ? n : 0);
}

static int
judge_environment(const struct check *c, const struct launch_words *w)
{
	int home = 0;
	size_t i, j, n;

	for (i = 0; i < w->n; i++) {
		if ((n = name_length(w->v[i])) == 0)
			return (bad(c, "environment",
			    "\"%s\" is not NAME=value", w->v[i]));
		for (j = 0; j < i; j++)
			if (strncmp(w->v[i], w->v[j], n + 1) == 0)
				return (bad(c, "environment",
				    "%.*s is there twice", (int)n, w->v[i]));
		home |= strcmp(w->v[i], "HOME=" SANDBOX_HOME) == 0;
	}
	return (
	    home ? 0 : bad(c, "environment", "HOME must be %s", SANDBOX_HOME));
}

static int
check_environment(const struct check *c, const struct launch_run *run)
{
	struct launch_words w = { .n = 0 };
	int r;

	r = make(c, "environment", c->p->environment, run, &w);
	if (r == 0)
		r = judge_environment(c, &w);
	launch_words_free(&w);
	return (r);
}

/* argv may be read by others than the run. */
static int
judge_arguments(const struct check *c, const struct launch_words *w)
{
	size_t i;

	for (i = 0; i < w->n; i++) {
		if (strcmp(w->v[i], "--") == 0)
			return (bad(c, "arguments",
			    "\"--\": hardening would come after it"));
		if (strstr(w->v[i], CHECK_PLACEHOLDER) != NULL)
			return (bad(
			    c, "arguments", "must not hold the placeholder"));
	}
	return (0);
}

/* Hardening adds to what is there and, called again, adds nothing. */
static int
judge_hardening(const struct check *c, const struct launch_run *run,
    struct launch_words *w, const struct launch_words *before)
{
	struct launch_words once = { .n = 0 };
	size_t i;
	int same;

	c->p->hardening(run, w);
	for (i = 0; i < before->n; i++)
		if (i >= w->n || strcmp(w->v[i], before->v[i]) != 0)
			return (bad(c, "hardening",
			    "must leave the arguments as they are"));
	for (i = 0; i < w->n; i++)
		launch_add(&once, "%s", w->v[i]);
	c->p->hardening(run, w);
	same = same_words(w, &once);
	launch_words_free(&once);
	if (w->overflow)
		return (bad(c, "hardening",
		    "more than %d words with the arguments", LIM_LAUNCH_WORDS));
	if (!same)
		return (
		    bad(c, "hardening", "must change nothing the second time"));
	return (judge_arguments(c, w));
}

static int
check_argv(const struct check *c, const struct launch_run *run)
{
	struct launch_words w = { .n = 0 }, before = { .n = 0 };
	int r;

	r = make(c, "arguments", c->p->arguments, run, &w);
	if (r == 0)
		r = judge_arguments(c, &w);
	if (r == 0) {
		c->p->arguments(run, &before);
		r = judge_hardening(c, run, &w, &before);
	}
	launch_words_free(&before);
	launch_words_free(&w);
	return (r);
}

/* Every kind of run that can be: what it is given as, and with which files. */
static int
check_runs(const struct check *c, enum provider_cred cred)
{
	struct launch_run run = { .model = CHECK_MODEL, .cred = cred };
	unsigned int kind;

	run.placeholder =
	    c->p->listener == LISTENER_NONE ? "" : CHECK_PLACEHOLDER;
	for (kind = 0; kind < 8; kind++) {
		run.input_kind =
		    (kind & 1) != 0 ? INPUT_TRANSCRIPT : INPUT_BYTES;
		run.system_len = (kind & 2) != 0 ? 1 : 0;
		run.settings_len = (kind & 4) != 0 ? 1 : 0;
		if (check_environment(c, &run) == -1 ||
		    check_argv(c, &run) == -1)
			return (-1);
	}
	return (0);
}

static int
check_functions(const struct check *c)
{
	const struct provider_launch *p = c->p;
	size_t i;

	if (p->environment == NULL)
		return (bad(c, "environment", "is missing"));
	if (p->arguments == NULL)
		return (bad(c, "arguments", "is missing"));
	if (p->hardening == NULL)
		return (bad(c, "hardening", "is missing"));
	if (p->ncreds == 0)
		return (check_runs(c, PROVIDER_CRED_NONE));
	for (i = 0; i < p->ncreds; i++)
		if (check_runs(c, p->creds[i]) == -1)
			return (-1);
	return (0);
}

int
provider_launch_check(const struct provider_launch *p, char *err, size_t size)
{
	struct check c = { p, err, size };

	if (check_name(&c) == -1 || check_words(&c) == -1 ||
	    check_creds(&c) == -1 || check_directories(&c) == -1 ||
	    check_seeds(&c) == -1 || check_folders(&c) == -1)
		return (-1);
	return (check_functions(&c));
}
