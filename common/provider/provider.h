/* SPDX-License-Identifier: ISC */
/*
 * What olpd knows about a provider's client, in four tables that are linked
 * where they are used: launch (worker-spawn), render and parse (worker-http),
 * wire (olpd-egress).  A provider is its own files and a row in each table;
 * nothing else names one.
 *
 * struct provider_launch is the ISOLATION contract (DESIGN.md section 8): it
 * is validated by provider_launch_check(), the same for the built-in rows
 * and, one day, for blocks in olpd.conf.
 */
#ifndef OLP_PROVIDER_H
#define OLP_PROVIDER_H

#include <stddef.h>
#include <stdint.h>

#include "common/limits.h"
#include "proto/err.h"

enum provider_protect { PROTECT_NONE, PROTECT_INNER_SANDBOX, PROTECT_NO_TOOLS };
enum provider_tier { TIER_SEPARATE_VM, TIER_PER_OS_USER, TIER_SHARED_OS_USER }; /* strongest first: 0 is what absent means */
enum provider_listener { LISTENER_NONE, LISTENER_HTTP }; /* HTTP: plain HTTP on 127.0.0.1:port, brokered by olpd-egress */
enum input_kind { INPUT_BYTES, INPUT_TRANSCRIPT };       /* what RUN_START's input is */
/* The same numbers as enum conf_cred_kind. */
enum provider_cred { PROVIDER_CRED_NONE, PROVIDER_CRED_API_KEY, PROVIDER_CRED_OAUTH };

const char *protect_name(enum provider_protect); /* "no-tools" ... */
const char *tier_name(enum provider_tier);       /* "per-os-user" ... */

/* ------------------------------------------------------------------ launch */

/* Fixed places inside every sandbox. */
#define SANDBOX_HOME "/home/olp"
#define SANDBOX_CWD "/home/olp/work"
#define SANDBOX_PROGRAM "/opt/client"             /* the client's program */
#define SANDBOX_INPUT "/run/olpd/input.jsonl"     /* with INPUT_TRANSCRIPT; claude wants the extension */
#define SANDBOX_SYSTEM "/run/olpd/system.txt"
#define SANDBOX_SETTINGS "/run/olpd/settings.json"
#define SANDBOX_PORT 3128

/* One run, as far as argv and environment may depend on it. */
struct launch_run {
	const char *model;
	enum input_kind input_kind;
	enum provider_cred cred;     /* which kind the placeholder stands for */
	const char *placeholder;     /* "" when there is no listener */
	size_t system_len;           /* bytes at SANDBOX_SYSTEM; 0: none */
	size_t settings_len;         /* bytes at SANDBOX_SETTINGS; 0: none */
};

/* A vector of strings being built; bounded by LIM_LAUNCH_WORDS and LIM_LAUNCH_BYTES. */
struct launch_words {
	char *v[LIM_LAUNCH_WORDS + 1]; /* NULL-terminated */
	size_t n;
	int overflow; /* a word was left out: the run must fail */
};
void launch_add(struct launch_words *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* An option and its value (NULL: none), unless the option is there already: what makes hardening idempotent. */
void launch_add_option(struct launch_words *, const char *option, const char *value);
void launch_words_free(struct launch_words *);

struct launch_seed {
	const char *target;  /* below the home: relative, no "..", no two equal */
	const char *source;  /* absolute host path, or NULL: `text` */
	const char *text;
	unsigned int mode;
};

struct provider_launch {
	const char *name;
	const char *shipped;      /* program in libexec where no `command` is configured, or NULL */
	/* -- the seven fields of the contract */
	void (*environment)(const struct launch_run *, struct launch_words *); /* NAME=value; built from nothing; pure */
	const struct launch_seed *seeds; size_t nseeds;
	const char *const *directories; size_t ndirectories; /* below the home; made before seeds */
	int inner_sandbox;        /* the client makes one itself; 0 when absent */
	enum provider_protect read_protection;
	enum provider_tier tier;  /* recommended */
	/* Arguments that only take away rights. Appended to a copy; idempotent; before any positional. */
	void (*hardening)(const struct launch_run *, struct launch_words *);
	/* -- and ours */
	void (*arguments)(const struct launch_run *, struct launch_words *); /* argv after argv[0] */
	const enum provider_cred *creds; size_t ncreds; /* kinds it can use; none: needs no credential */
	const char *const *folders; size_t nfolders;    /* host folders the client needs, with the reason in its file */
	enum provider_listener listener;
	uint64_t memory;          /* bytes a run counts for unless configured */
	uint32_t max_requests;    /* model requests of one exec run */
};

extern const struct provider_launch *const launch_table[]; /* NULL-terminated */
const struct provider_launch *launch_find(const char *name); /* or NULL */
/* 0, or -1 and a sentence in err naming provider and field. */
int provider_launch_check(const struct provider_launch *, char *err, size_t size);

/* ------------------------------------------------------------------ render */

struct ir;
struct rendered {
	enum input_kind input_kind;
	char *input; size_t input_len;
	char *system; size_t system_len;     /* NULL: none */
	char *settings; size_t settings_len; /* NULL: none */
};
void rendered_free(struct rendered *);

/* What of a request a provider's client can carry; worker-http/params.c refuses or notes the rest. */
struct provider_render {
	const char *name;
	int temperature, top_p, max_tokens, stop; /* 1: honoured */
	/* 0; -1 with a sentence in err when the conversation cannot be carried (400). */
	int (*render)(const struct ir *, struct rendered *, char *err, size_t size);
};
extern const struct provider_render *const render_table[];
const struct provider_render *render_find(const char *name);

/* ------------------------------------------------------------------- parse */

enum chunk_kind {
	CHUNK_START,  /* the model began to answer: `model` in text */
	CHUNK_TEXT,   /* a piece of the answer */
	CHUNK_USAGE,  /* in_tokens, out_tokens: running totals of this answer; later ones replace */
	CHUNK_STOP,   /* the answer is complete: stop says why. The client may be killed. */
	CHUNK_FAIL,   /* the answer failed: err, and text for owners (never for members) */
};
enum stop_reason { STOP_END, STOP_LENGTH, STOP_REFUSAL, STOP_TOOL };

struct chunk {
	enum chunk_kind kind;
	const char *text; size_t len; /* valid during the callback */
	enum stop_reason stop;
	unsigned int err;             /* enum olp_err */
	uint32_t retry_s;             /* 0: none */
	int64_t in_tokens, out_tokens;
};
/* Non-zero: the caller wants no more. */
typedef int chunk_cb(void *arg, const struct chunk *);

/*
 * Reads a client's standard output line by line.  It never trusts it: any
 * byte is possible.  After CHUNK_STOP or CHUNK_FAIL nothing more is given.
 */
struct provider_parse {
	const char *name;
	void *(*new)(void);
	void (*free)(void *);
	/* One line (lines.h). Non-zero when the callback said so. */
	int (*line)(void *, char *line, size_t len, chunk_cb *, void *arg);
	/* EOF: gives CHUNK_FAIL(ERR_CLIENT) unless the answer had ended. */
	int (*end)(void *, chunk_cb *, void *arg);
};
extern const struct provider_parse *const parse_table[];
const struct provider_parse *parse_find(const char *name);
/* What an HTTP status of a provider means, whoever tells of it; ERR_OK for 2xx, and for 0, which is none. */
enum olp_err provider_status(int64_t status);

/* -------------------------------------------------------------------- wire */

struct wire_usage {
	uint64_t in_tokens, out_tokens, cache_read_tokens, cache_write_tokens;
	int ended; /* the provider said that the answer is complete */
};

/*
 * How the provider's API looks on the wire, for the broker.  The broker
 * writes every request head anew from this: what is not named does not pass.
 */
struct provider_wire {
	const char *name;
	const char *host; uint16_t port;
	const char *method, *path;     /* exactly */
	const char *const *queries;    /* allowed query strings, NULL-terminated; "" = none */
	const char *const *request_fields;  /* header names passed on, lower case, NULL-terminated */
	const char *const *response_fields; /* the same towards the client; a trailing '*' matches a prefix */
	const char *const *window_fields;   /* rate-limit headers reported to http, as above; the first that ends in -reset is reset_at */
	const char *const *body_keys;  /* top-level keys a body may have, NULL-terminated */
	const char *const *fetched;    /* types of a source that the provider would fetch from the network, or NULL */
	/* Credential headers by enum provider_cred: name, and what goes before the secret. */
	struct { const char *field, *before; } auth[3];
	/* A request the client sends that is answered here without going out: NULL-terminated "METHOD path" list, 404. */
	const char *const *ignored;
	/* Usage out of one SSE data line or a whole JSON answer; adds or replaces in *u. */
	void (*usage)(const char *json, size_t len, struct wire_usage *u);
};
extern const struct provider_wire *const wire_table[];
const struct provider_wire *wire_find(const char *name);

#endif
