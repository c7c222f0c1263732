/* SPDX-License-Identifier: ISC */
/*
 * The configuration as the messages that carry it to workers.  Pure: what is
 * not in the configuration (is a program installed, is there a cgroup) is the
 * master's to fill in.  Each fills all of *m.
 */
#ifndef OLP_CONF_ROWS_H
#define OLP_CONF_ROWS_H

#include "common/conf/conf.h"
#include "proto/msg.h"

void row_http(const struct conf *, struct msg_conf_http *);
void row_spawn(const struct conf *, struct msg_conf_spawn *);
void row_provider(const struct conf_provider *, struct msg_conf_provider *);
void row_model(const struct conf_model *, struct msg_conf_model *);
/*
 * A client that olpd ships (no `command`) needs no model block: it serves one
 * of its own name, unless a block names the provider or that model.  0: not so.
 */
int row_own_model(
    const struct conf *, const struct conf_provider *, struct msg_conf_model *);
void row_key(const struct conf_key *, struct msg_conf_key *);
/*
 * The credential of that id: "PROVIDER", the shared one, or "KEY.PROVIDER",
 * that key's own.  file and ca point into the configuration.  -1: there is
 * none of that id, or its key is revoked.
 */
int row_cred(const struct conf *, const struct conf_keys *, const char *id,
    struct msg_egress_cred *, const char **file, const char **ca);

/* A setting that differs and that the running processes were made with, or
 * NULL. */
const char *conf_fixed(const struct conf *, const struct conf *);

#endif
