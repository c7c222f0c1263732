/* SPDX-License-Identifier: ISC */
/*
 * What the files of olpctl share: the command line as it was read, exit
 * codes, printing, telling the daemon.  olpctl runs with its caller's rights,
 * root's as a rule; it writes key files and credentials and asks the master
 * by a few fixed messages.
 */
#ifndef OLPCTL_H
#define OLPCTL_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "common/conf/conf.h"

#define CTL_CONF "/etc/olpd/olpd.conf"
#define CTL_RUNTIME "/run/olpd" /* where olpd.conf names none */
#define CTL_PROG "olpctl"

/* Exit codes: an interface. */
enum ctl_exit {
	CTL_OK = 0,
	CTL_FAILED = 1,
	CTL_USAGE = 2,
	CTL_DENIED = 3,   /* not permitted */
	CTL_NO_DAEMON = 4 /* only where a running daemon is needed */
};

enum ctl_opt {
	OPT_FILE,
	OPT_JSON,
	OPT_HELP,
	OPT_TIER,
	OPT_PROVIDERS,
	OPT_MODELS,
	OPT_RUNS,
	OPT_STARTS,
	OPT_HOURS,
	OPT_EXPIRES,
	OPT_FULL,
	OPT_CREDENTIAL,
	OPT_FINISH,
	OPT_KEY,
	OPT_KIND,
	OPT_NAMES,
	OPT_MAX
};

struct command;
struct ctl {
	const struct command *cmd;
	const char
	    *opt[OPT_MAX]; /* its value, "" for a flag; NULL: not given */
	const char
	    *creds[CONF_KEY_CREDS_MAX]; /* --credential may stand again */
	size_t ncreds;
	const char *arg[2]; /* what stands after the command */
	size_t nargs;
	/* After ctl_conf(). */
	struct conf *conf; /* what could be understood of it; never NULL */
	struct conf_errors errs;
	int conf_good;
};

/*
 * Read the configuration.  With CONF_MUST its errors are told and -1 is
 * returned; with CONF_MAY they are told as warnings and what could be
 * understood stands in ctl->conf; with CONF_QUIET nothing is told.
 * *code gets the exit code of a failure.
 */
enum ctl_need { CONF_MUST, CONF_MAY, CONF_QUIET };
int ctl_conf(struct ctl *, enum ctl_need, int *code);
/* Names of providers that olpd does not know are errors from now on. */
void ctl_providers(void);
/* The exit code for a failed system call. */
int ctl_code(int error);
/* A complaint about the command line; returns CTL_USAGE. */
int ctl_usage(const struct ctl *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Lines for completion (help --names), usage (help). */
void ctl_names(void);
int ctl_help(struct ctl *);

/* print.c: standard output. */
/* Prints and frees; through write(2), so that no stdio buffer keeps a token. 0,
 * or -1 (told). */
int ctl_json(json_t *);
/* What was said with printf(3) reached its reader? 0, or -1 (told). */
int ctl_flush(void);
/* A secret and a newline, past stdio. 0, or -1 (told). */
int ctl_secret(const char *label, const char *secret);
/* jansson's memory is cleared when it is freed: a token passes through it. Call
 * first. */
void ctl_json_init(void);
/* Terminal-safe, in a static buffer that lasts for eight calls. */
const char *ctl_vis(const char *);

/* Rows of text in columns; the first row is the heading. */
struct table {
	size_t columns;
	char **cell;
	size_t n;
};
void table_row(struct table *, const char *const *cells, size_t n);
/* Prints, frees. */
void table_print(struct table *);
void table_free(struct table *);

/* tell.c: the daemon. */
enum tell {
	TELL_CONFIRMED, /* the running worker-spawn has the new table of keys */
	TELL_NO_DAEMON, /* nothing listens at RUNTIME/control.sock */
	TELL_UNCONFIRMED, /* something does, but did not say so */
	TELL_DENIED       /* not allowed to ask */
};
struct told {
	enum tell what;
	int faults; /* lines that were not ok, said before the last */
	char text[LIM_PATH + LIM_TEXT];
};
/*
 * Ask for a reload and wait for the last answer.  keys: descriptor of the
 * keys.d that was written, so that a daemon with another one confirms
 * nothing; -1: any.  Lines before the last are printed to standard error.
 */
void tell_reload(const struct ctl *, int keys, struct told *);
/* Does a master hold this instance's lock? */
int tell_is_running(const struct conf *);
/* Ask for the status report. The descriptor to read it from, or -1 and told. */
int tell_status(const struct ctl *, struct told *);

/* drop.c */
/*
 * Give up every right for good, and prove it: for bytes that come from
 * worker-http.  What can be done where the caller is not root is done.
 * 0, or -1 (told): then nothing may be read.
 */
int drop_rights(const struct conf *);
int drop_done(void);

/* The commands: each returns an exit code. */
int key_add(struct ctl *);
int key_list(struct ctl *);
int key_show(struct ctl *);
int key_rotate(struct ctl *);
int key_revoke(struct ctl *);
int key_delete(struct ctl *);
int cred_set(struct ctl *);
int cred_list(struct ctl *);
int status_run(struct ctl *);
int reload_run(struct ctl *);
int doctor_run(struct ctl *);

/* status.c, for the doctor too: after drop_rights(). NULL and told when it is
 * no JSON object. */
json_t *status_read(int fd);
void status_show(const json_t *);

#endif
