/* SPDX-License-Identifier: ISC */
/* The configuration's rows as worker-spawn has them; keys are in keys.h. */
#ifndef OLP_ROWS_H
#define OLP_ROWS_H

#include "proto/msg.h"

struct rows {
	struct msg_conf_spawn spawn;
	int has_spawn;
	struct msg_conf_provider *providers;
	size_t nproviders;
	struct msg_conf_model *models;
	size_t nmodels;
};

struct rows *rows_new(void);
void rows_free(struct rows *); /* NULL is fine */
/* 0, or -1: one too many, or a provider we have no launch row for. */
int rows_add_provider(struct rows *, const struct msg_conf_provider *);
int rows_add_model(struct rows *, const struct msg_conf_model *);
const struct msg_conf_provider *rows_provider(
    const struct rows *, const char *name); /* or NULL */

#endif
