/* SPDX-License-Identifier: ISC */
/* The doctor's look at olpd's own things: configuration, keys, programs. */
#include <sys/stat.h>

#include <bsd/string.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/conf/conf.h"
#include "common/conf/parse.h"
#include "common/log.h"
#include "common/provider/provider.h"
#include "doctor.h"

#define KEY_LINES                                                              \
	64 /* of keys' credentials; the first ones tell what is wrong */

static void
check_conf(struct doctor *d, const struct conf_errors *errs)
{
	size_t i;

	for (i = 0; i < errs->n; i++)
		doctor_say(d, "configuration", DOC_FAIL,
		    i == 0 ? "olpd.conf(5); try olpd -n" : NULL, "%s",
		    errs->line[i]);
	if (errs->n == 0)
		doctor_say(
		    d, "configuration", DOC_OK, NULL, "%s", d->conf->file);
}

/* ---- directories ---- */

/* bad: mode bits that may not be set; fix: what to set them to. */
static void
check_directory(struct doctor *d, const char *path, mode_t bad, const char *fix)
{
	char todo[LIM_TEXT];
	struct stat st;

	if (stat(path, &st) == -1) {
		doctor_say(d, "directory", errno == ENOENT ? DOC_OK : DOC_FAIL,
		    errno == ENOENT ? "it is made when it is needed" : NULL,
		    "%s: %s", path, strerror(errno));
		return;
	}
	(void)snprintf(todo, sizeof(todo), "chown %s %.200s; chmod %s %.200s",
	    d->privileged ? "root" : "it to yourself:", path, fix, path);
	if (!S_ISDIR(st.st_mode))
		doctor_say(
		    d, "directory", DOC_FAIL, NULL, "%s is no directory", path);
	else if (st.st_uid != 0 && st.st_uid != geteuid())
		doctor_say(d, "directory", DOC_FAIL, todo,
		    "%s belongs to uid %u", path, (unsigned int)st.st_uid);
	else if ((st.st_mode & bad) != 0)
		doctor_say(d, "directory", DOC_FAIL, todo, "%s has mode %04o",
		    path, (unsigned int)st.st_mode & 07777);
	else
		doctor_say(d, "directory", DOC_OK, NULL, "%s, mode %04o", path,
		    (unsigned int)st.st_mode & 07777);
}

static void
check_directories(struct doctor *d)
{
	char beside[LIM_PATH], creds[LIM_PATH];

	(void)strlcpy(beside, d->conf->file, sizeof(beside));
	*strrchr(beside, '/') = '\0';
	if (beside[0] != '\0')
		check_directory(d, beside, S_IWOTH, "o-w");
	check_directory(d, d->conf->keys_dir, 027, "0700");
	if (strlcpy(creds, beside, sizeof(creds)) < sizeof(creds) &&
	    strlcat(creds, "/credentials", sizeof(creds)) < sizeof(creds))
		check_directory(d, creds, 027, "0700");
	check_directory(d, d->conf->state_dir, 022, "go-w");
	check_directory(d, d->conf->runtime_dir, 022, "go-w");
}

/* ---- keys and credentials ---- */

/* quiet: say nothing where it is in order. */
static void
check_credential(
    struct doctor *d, const char *whose, const struct conf_cred *c, int quiet)
{
	char text[LIM_TEXT];
	const char *problem;
	struct stat st;

	if (c->kind == CRED_NONE)
		return;
	if (lstat(c->file, &st) == -1)
		doctor_say(d, "credential",
		    errno == ENOENT ? DOC_WARN : DOC_FAIL,
		    "olpctl credential set", "%s: %.300s: %s", whose, c->file,
		    strerror(errno));
	else if ((problem = file_verdict(
		      &st, FILE_SECRET, geteuid(), text, sizeof(text))) != NULL)
		doctor_say(d, "credential", DOC_FAIL,
		    "chown it to root and chmod 0600", "%s: %.300s: %.100s",
		    whose, c->file, problem);
	else if (!quiet)
		doctor_say(d, "credential", DOC_OK, NULL, "%s: %.300s", whose,
		    c->file);
}

/* Does it need one, and has neither olpd.conf nor any key named one? */
static void
check_credential_named(struct doctor *d, const struct conf_provider *v,
    const struct conf_keys *keys)
{
	const struct provider_launch *l = launch_find(v->name);
	const struct conf_key *k;
	size_t i;

	if (l == NULL || l->ncreds == 0 || v->cred.kind != CRED_NONE)
		return;
	TAILQ_FOREACH(k, keys, entry) {
		for (i = 0; i < k->ncreds; i++)
			if (strcmp(k->creds[i].provider, v->name) == 0)
				return;
	}
	doctor_say(d, "credential", DOC_WARN,
	    "olpctl credential set, and the line it tells", "%s: none is named",
	    v->name);
}

static void
check_keys(struct doctor *d)
{
	const struct conf_provider *v;
	struct conf_errors errs = { 0 };
	const struct conf_key *k;
	struct conf_keys keys;
	size_t i, n = 0, before = d->n;

	conf_load_keys(
	    d->conf_good ? d->conf : NULL, d->conf->keys_dir, &keys, &errs);
	TAILQ_FOREACH(k, &keys, entry) {
		n++;
		for (i = 0; i < k->ncreds && d->n - before < KEY_LINES; i++)
			check_credential(d, k->id, &k->creds[i].cred, 1);
	}
	TAILQ_FOREACH(v, &d->conf->providers, entry)
		check_credential_named(d, v, &keys);
	for (i = 0; i < errs.n; i++)
		doctor_say(d, "key", DOC_FAIL,
		    "its key is shut out until the file is mended", "%s",
		    errs.line[i]);
	if (errs.n == 0)
		doctor_say(d, "keys", n > 0 ? DOC_OK : DOC_WARN,
		    n > 0 ? NULL : "make one: olpctl key add ID", "%zu in %s",
		    n, d->conf->keys_dir);
	conf_keys_free(&keys);
	conf_errors_free(&errs);
}

/* ---- programs ---- */

/* ../libexec/olpd beside our own program, as olpd itself looks. */
static int
find_libexec(char *buf, size_t size)
{
	char self[LIM_PATH];
	ssize_t n;

	if ((n = readlink("/proc/self/exe", self, sizeof(self) - 1)) == -1)
		return (-1);
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	n = snprintf(buf, size, "%s/../libexec/olpd", self);
	return (n > 0 && (size_t)n < size ? 0 : -1);
}

/* NULL, or why this cannot be run. */
static const char *
program_problem(const char *path, mode_t x)
{
	struct stat st;

	if (stat(path, &st) == -1)
		return (strerror(errno));
	if (!S_ISREG(st.st_mode) || (st.st_mode & x) == 0)
		return ("not an executable file");
	return (
	    (st.st_mode & S_IWOTH) != 0 ? "everybody may write to it" : NULL);
}

static void
check_programs(struct doctor *d, const char *libexec)
{
	static const char *const name[] = { "olpd-http", "olpd-spawn",
		"olpd-egress", "olp-shim", "olp-probe" };
	const char *problem;
	size_t i, bad = 0;
	char *path;

	for (i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		xasprintf(&path, "%s/%s", libexec, name[i]);
		if ((problem = program_problem(path, S_IXUSR)) != NULL &&
		    ++bad > 0)
			doctor_say(d, "programs", DOC_FAIL,
			    "install olpd again", "%s: %s", path, problem);
		free(path);
	}
	if (bad == 0)
		doctor_say(d, "programs", DOC_OK, NULL, "olpd's own are in %s",
		    libexec);
}

/* A client runs as a user of its own, so as root it must be executable for
 * others. */
static void
check_provider(
    struct doctor *d, const struct conf_provider *v, const char *libexec)
{
	mode_t x = d->privileged ? S_IXOTH : S_IXUSR | S_IXGRP | S_IXOTH;
	const char *problem;
	char *path;

	if (v->command[0] != '\0')
		path = xstrdup(v->command);
	else
		xasprintf(&path, "%s/olp-%s", libexec, v->name);
	if ((problem = program_problem(path, x)) != NULL)
		doctor_say(d, "provider", DOC_FAIL,
		    v->command[0] != '\0'
			? "install it, or correct its command in olpd.conf"
			: "give it a command in olpd.conf",
		    "%s: %.300s: %s", v->name, path, problem);
	else
		doctor_say(
		    d, "provider", DOC_OK, NULL, "%s: %.300s", v->name, path);
	free(path);
	check_credential(d, v->name, &v->cred, 0);
}

void
doctor_olpd(struct doctor *d, const struct conf_errors *errs)
{
	const struct conf_provider *v;
	char libexec[2 * LIM_PATH];

	check_conf(d, errs);
	check_directories(d);
	if (find_libexec(libexec, sizeof(libexec)) == 0) {
		check_programs(d, libexec);
		TAILQ_FOREACH(v, &d->conf->providers, entry)
			check_provider(d, v, libexec);
	}
	if (TAILQ_EMPTY(&d->conf->providers))
		doctor_say(d, "provider", DOC_WARN,
		    "provider demo { } and a model are enough to try",
		    "none is configured");
	check_keys(d);
}
