/* SPDX-License-Identifier: ISC */
/*
 * One run of a client for a job, from RUN_START to the end that
 * worker-spawn saw and the word of egress on what went out.  A run may
 * outlive its job; then it only waits for those two.
 */
#ifndef OLP_HTTPD_RUN_H
#define OLP_HTTPD_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "proto/err.h"

struct chan;
struct job;
struct msg;
struct queue_slot;
struct run;

/* Ask for it. Takes the slot's count. ERR_OK and job->run is set, or nothing
 * was begun and the slot is released. */
enum olp_err run_start(struct job *, struct queue_slot *);
/* The job is over, or wants no more of this run: kill it, and let it settle by
 * itself. */
void run_abandon(struct run *);
/* The job's deadline: kill it; job_run_failed() comes with this error when it
 * is gone. */
void run_abort(struct run *, enum olp_err);

void run_spawn_gone(void);
size_t run_count(void);

int run_h_started(struct chan *, struct msg *);
int run_h_failed(struct chan *, struct msg *);
int run_h_exited(struct chan *, struct msg *);

#endif
