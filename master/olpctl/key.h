/* SPDX-License-Identifier: ISC */
/* Keys: what the files that handle them share inside olpctl. */
#ifndef OLPCTL_KEY_H
#define OLPCTL_KEY_H

#include "common/conf/conf.h"
#include "master/olpctl/olpctl.h"
#include "master/olpctl/store.h"

/* keyopt.c */
/* The options of "key add". An exit code; its complaint was told. */
int key_options(const struct ctl *, struct conf_key *);
/* "api-key" or "oauth-token". 0, or -1. */
int key_kind(const char *word, enum conf_cred_kind *);

/* keyshow.c */
const char *key_kind_name(enum conf_cred_kind);
/* active, revoked or expired; "rotating" is told apart. */
const char *key_state(const struct conf_key *);
json_t *key_to_json(const struct conf_key *);
void key_to_text(const struct conf_key *);

/* key.c */
/* The argument is an id? An exit code. */
int key_id_arg(const struct ctl *, const char *id);
/* KEYSDIR open and locked. An exit code. */
int key_store(struct ctl *, struct store *, int make);
/*
 * ID.conf as it stands.  Where olpd.conf or a name in the key does not fit any
 * more, the key is read without it.  NULL: *code and told.
 */
struct conf_key *key_load(
    struct ctl *, struct store *, const char *id, int *code);
/* Judge the text by the parser, write it. An exit code. strict: by the names of
 * olpd.conf, too. */
int key_write(
    struct ctl *, struct store *, const struct conf_key *, int strict);
/*
 * The file is written: the daemon is told, its confirmation awaited.  Prints
 * the end of the report (o, freed, with --json).  An exit code.
 */
int key_written(struct ctl *, struct store *, json_t *o);

#endif
