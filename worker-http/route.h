/* SPDX-License-Identifier: ISC */
/* From the model a caller names to the row that serves it. */
#ifndef OLP_HTTPD_ROUTE_H
#define OLP_HTTPD_ROUTE_H

#include <stddef.h>

#include "proto/err.h"

struct job;
struct msg_conf_model;

/*
 * The row of that model, if the job's key may use it.  NULL and *err: a
 * model that is there but not for this key is not found, like one that is
 * not there.
 */
const struct msg_conf_model *route_find(
    const struct job *, const char *model, enum olp_err *err);
/* The rows the key may use, by number: NULL after the last. */
const struct msg_conf_model *route_next(const struct job *, size_t *i);

#endif
