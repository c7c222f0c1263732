/* SPDX-License-Identifier: ISC */
/*
 * When a job's run starts: the one queue of worker-http, and a job's way into
 * it, out of it and back.
 */
#ifndef OLP_HTTPD_SCHED_H
#define OLP_HTTPD_SCHED_H

#include "proto/err.h"

struct job;
struct queue;

void sched_init(void);      /* events; once, from worker.h's start */
void sched_configure(void); /* new rows are in use */
struct queue *sched_queue(void);
/* Something changed: see, when the events at hand are done, what may start. */
void sched_pump(void);

/* Wait for a run: model, provider, format and rendered are set.  The body is
 * freed.  The job may be over on return. */
void sched_enqueue(struct job *);
/* worker-spawn said ERR_BUSY_*: to the queue's head again. */
void sched_refused(struct job *, enum olp_err);
/* Its run is lost, unheard: to the queue's head again, or ERR_RUN_LOST after
 * LIM_JOB_REQUEUES times.  renew: the grant is worth nothing any more. */
void sched_again(struct job *, int renew);

#endif
