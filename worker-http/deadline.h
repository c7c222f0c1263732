/* SPDX-License-Identifier: ISC */
/*
 * When a job has waited long enough: queue, first byte, idle and total, each
 * with its own error, and the beats that tell a stream's caller we are there.
 */
#ifndef OLP_HTTPD_DEADLINE_H
#define OLP_HTTPD_DEADLINE_H

#include <event2/util.h>
#include <stdint.h>

#include "proto/err.h"

struct job;

/* The bound of what the job does now, and the error past it; seconds 0: none.
 * Counts once deadline_arm() was called. */
void deadline_phase(struct job *, uint32_t seconds, enum olp_err);
/* The job's times were changed: set its timer by them. */
void deadline_arm(struct job *);
/* Of job->timer. */
void deadline_cb(evutil_socket_t, short, void *job);

#endif
