/* SPDX-License-Identifier: ISC */
/*
 * The configuration as a tree of plain structs, made by conf_load() from
 * olpd.conf and by conf_load_keys() from keys.d.  Linked into the master and
 * olpctl only: workers get rows by messages and never see a file.
 */
#ifndef OLP_CONF_H
#define OLP_CONF_H

#include <sys/types.h>

#include <bsd/sys/queue.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "common/limits.h"

struct conf_where {
	char file[LIM_PATH];
	unsigned int line;
};

enum conf_cred_kind { CRED_NONE, CRED_API_KEY, CRED_OAUTH_TOKEN };

struct conf_cred {
	enum conf_cred_kind kind; /* CRED_NONE: not set */
	char file[LIM_PATH];
	struct conf_where at;
};

/*
 * "localhost" is 127.0.0.1 and "*" is 0.0.0.0 in here.  An IPv6 address is
 * bound with IPV6_V6ONLY, so that "::" and "*" can stand side by side.
 */
struct conf_listen {
	TAILQ_ENTRY(conf_listen) entry;
	struct conf_where at;
	int is_unix;              /* path, mode, group; else address, port */
	struct sockaddr_storage addr;
	socklen_t addr_len;
	char text[LIM_PATH + 16]; /* "127.0.0.1:4567", "[::1]:4567" or the path: for people */
	char path[108];           /* sun_path's size */
	mode_t mode;              /* 0660 unless given */
	char group[64];           /* "" : the daemon's */
	int tls;
	char tls_cert[LIM_PATH];
	char tls_key[LIM_PATH];
	int insecure;             /* cleartext beyond loopback was asked for */
};
TAILQ_HEAD(conf_listens, conf_listen);

#define CONF_ALLOW_MAX 8
struct conf_provider {
	TAILQ_ENTRY(conf_provider) entry;
	struct conf_where at;
	char name[LIM_PROVIDER];
	char command[LIM_PATH];   /* absolute; "" means the provider's shipped program */
	struct conf_cred cred;    /* the shared one */
	uint32_t runs;            /* at once, 0: no limit of its own */
	uint64_t memory;          /* bytes declared for one run, 0: the provider's default */
	uint32_t timeout_s;       /* whole run */
	char upstream_host[256];  /* "" : the provider's own */
	uint16_t upstream_port;
	char ca_file[LIM_PATH];   /* "" : the system's */
	char allow[CONF_ALLOW_MAX][46]; /* addresses allowed although private */
	size_t nallow;
	int accept_tier;          /* run it although it recommends a stronger tier */
};
TAILQ_HEAD(conf_providers, conf_provider);

struct conf_model {
	TAILQ_ENTRY(conf_model) entry;
	struct conf_where at;
	char name[LIM_MODEL];     /* what callers ask for */
	char provider[LIM_PROVIDER];
	char model[LIM_MODEL];    /* what the client is told */
};
TAILQ_HEAD(conf_models, conf_model);

#define CONF_KEY_LIST_MAX 64
#define CONF_KEY_CREDS_MAX 8
struct conf_key {
	TAILQ_ENTRY(conf_key) entry;
	struct conf_where at;
	char id[LIM_KEY_ID];
	uint8_t hash[2][32];      /* SHA-256 of the token; two while rotating */
	size_t nhash;
	uint32_t uid;
	int owner;                /* tier owner, else member */
	char providers[CONF_KEY_LIST_MAX][LIM_PROVIDER];
	size_t nproviders;        /* 0: none */
	char models[CONF_KEY_LIST_MAX][LIM_MODEL];
	size_t nmodels;           /* 0: all models of its providers */
	struct {
		char provider[LIM_PROVIDER];
		struct conf_cred cred;
	} creds[CONF_KEY_CREDS_MAX]; /* over the provider's shared one */
	size_t ncreds;
	uint32_t runs;            /* at once, 0: LIM_KEY_RUNS_DEFAULT */
	uint32_t starts_per_minute; /* 0: no limit */
	int has_hours;
	uint16_t from_min, to_min; /* minutes after local midnight; from > to spans midnight */
	int64_t expires;          /* unix seconds, 0: never */
	int revoked;
	int require_full;         /* refuse a run whose enforcement is not full */
};
TAILQ_HEAD(conf_keys, conf_key);

struct conf {
	char file[LIM_PATH];        /* absolute, as is the next */
	char keys_dir[LIM_PATH];    /* keys.d beside the file */
	char state_dir[LIM_PATH];   /* default /var/lib/olpd */
	char runtime_dir[LIM_PATH]; /* default /run/olpd */
	char instance[17];          /* "" or [a-z0-9]{1,16} */
	uint32_t uid_lo, uid_hi;    /* both inclusive; default 70000 to 79999 */
	uint32_t service_first;     /* 69990: http, spawn, egress, tui where users are not installed */
	int allow_partial;          /* enforcement allow partial */
	uint64_t memory_budget;     /* bytes for all runs together, 0: no limit */
	uint32_t runs;              /* at once, all keys */
	uint32_t queue;             /* waiting requests, all keys */
	uint32_t queue_per_key;
	uint32_t connections;       /* callers at once */
	uint64_t body_max;          /* bytes of a request body */
	uint64_t home_bytes;        /* size of a run's home, and of its /tmp */
	uint32_t home_inodes;
	uint32_t stop_timeout_s;
	uint32_t heartbeat_s;       /* 0: off */
	uint32_t head_s, body_s, queue_s, first_byte_s, idle_s; /* timeouts */
	char resolver[46];          /* "" : the system's */
	uint16_t resolver_port;     /* 53 unless given */
	struct conf_listens listens;
	struct conf_providers providers;
	struct conf_models models;
};

/*
 * Errors are collected, not printed: one line each, "file:line: message",
 * at most LIM_CONF_ERRORS of them, and a last line that tells if there were
 * more.  Begin with a zeroed one; calls add to what is in it.  No line holds
 * a token, a hash, or a word that looks like a secret.
 */
struct conf_errors {
	char **line;
	size_t n;
	size_t more; /* how many were dropped */
};
void conf_errors_free(struct conf_errors *);
/* Add a line, for what is found wrong elsewhere. */
void conf_error(struct conf_errors *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * The providers that are built in, ended by NULL; any other name is an error
 * from then on.  Kept, not copied.  NULL: any name passes.
 */
void conf_set_known_providers(const char *const *names);

/*
 * Read olpd.conf and its includes.  NULL when there was any error; errs tells.
 * The caller frees.  Certificates and secrets are looked at (there, regular,
 * owned by root or by the effective uid, closed to others), not opened; only a
 * credential file may be missing.
 */
struct conf *conf_load(const char *file, struct conf_errors *errs);
/*
 * The same, but never NULL: what could not be understood is left out or has
 * its default.  For olpctl alone, since a key must be revocable whatever
 * stands in olpd.conf.  Where the file's own name is too long, keys_dir is "".
 */
struct conf *conf_load_rest(const char *file, struct conf_errors *errs);
/* From memory; name stands in messages, include is refused. */
struct conf *conf_load_text(
    const char *name, const char *text, size_t len, struct conf_errors *errs);
void conf_free(struct conf *);

/*
 * Read DIR/ID.conf for every file of that form.  A file with an error, two
 * keys in one file, an id that is not the file's name, a uid out of range or
 * taken twice, an empty or sample token, or a file others can read disables
 * that key only: it is left out and errs tells.  Of two keys with one uid or
 * token the later by name is left out.  Names that begin with a dot or do not
 * end in .conf are passed over.  A missing directory is an empty table; one
 * that others can write to is an empty table and an error.  `conf` gives the
 * range and the names of providers and models.  keys is initialised here.
 */
void conf_load_keys(
    const struct conf *, const char *dir, struct conf_keys *, struct conf_errors *errs);
/*
 * One file; NULL on error.  Used by olpctl as well.  conf may be NULL: then
 * the range and the names are not judged.  The caller frees with free(3).
 */
struct conf_key *conf_load_key(const struct conf *, const char *file, struct conf_errors *errs);
/* From memory: what is about to be written, judged first. name ends in ID.conf. */
struct conf_key *conf_load_key_text(const struct conf *, const char *name, const char *text,
    size_t len, struct conf_errors *errs);
void conf_keys_free(struct conf_keys *);

/* Print as olpd.conf text that reads back to the same tree: olpd -n. */
void conf_print(const struct conf *, FILE *);
/* A key block in the same grammar; what olpctl writes to keys.d. */
void conf_print_key(const struct conf_key *, FILE *);

/*
 * Open a file that the configuration names, and judge the descriptor as
 * conf_load() judged the path: regular, no symbolic link, root's or ours,
 * closed to others (secret) or not writable by them; at most max bytes.
 * -1 and a reason in buf.
 */
int conf_open(const char *path, int secret, off_t max, char *buf, size_t size);

/* Is the address one that only this machine can reach (127/8, ::1, ::ffff:127/104, Unix)? */
int conf_is_loopback(const struct sockaddr *);
/* [a-z][a-z0-9-]{0,23} */
int conf_key_id_ok(const char *);
struct conf_provider *conf_find_provider(const struct conf *, const char *name);

#endif
