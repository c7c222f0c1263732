/* SPDX-License-Identifier: ISC */
/*
 * The record of a run, and what run.c offers to the files that share it:
 * client.c, out.c and judge.c, which only reads it.  Others have run.h.
 */
#ifndef OLP_HTTPD_RUN_RECORD_H
#define OLP_HTTPD_RUN_RECORD_H

#include <bsd/sys/queue.h>
#include <stddef.h>
#include <stdint.h>

#include "common/limits.h"
#include "common/provider/provider.h"
#include "proto/err.h"
#include "worker-http/job.h"
#include "worker-http/queue.h"

struct event;
struct lines;
struct msg_out_closed;

enum run_end {
	RUN_GOES,    /* more is expected of the client */
	RUN_STOPPED, /* it gave a whole answer */
	RUN_FAILED,
};

struct run {
	LIST_ENTRY(run) entry;
	uint64_t id;
	struct job *job; /* NULL: nobody waits for it any more */
	struct queue_slot slot;

	const struct provider_parse *parse;
	void *parser;
	struct lines *lines;
	int fd_out, fd_err; /* -1: none, or ended */
	struct event *ev_out, *ev_err;
	int paused;
	int busy; /* inside the parser: nothing may be freed */
	char err_tail[LIM_RUN_STDERR];
	size_t err_len;

	/* What worker-spawn said. */
	int started, exited, killed;
	enum olp_err exit_err;
	int lost_spawn; /* it died while the run was going */

	/* What egress said. out_over: it has nothing more to say. */
	uint32_t egress;  /* 0: no broker */
	uint32_t word_of; /* which one spoke of this run */
	int opened, refused, close_sent, out_over, lost_egress;
	struct msg_out_closed *out; /* NULL: not told */
	char *refusal;

	/* How it went. */
	enum run_end end;
	int at_eof; /* it failed by saying no more */
	int forced; /* it failed because its job or worker-spawn said so */
	enum stop_reason stop;
	enum olp_err err;
	char *detail; /* for owners */
	uint32_t retry_s;
	struct job_usage usage;
	size_t text; /* bytes of answer */

	/* ms of the monotonic clock, 0: none. */
	uint64_t kill_at, settle_at, exit_at;
	int exit_late; /* exit_at has passed */
	struct event *timer;
};

LIST_HEAD(runs, run);
struct runs *run_all(void);
struct run *run_find(uint64_t id); /* NULL: over */
uint64_t run_last_id(void);        /* none higher was given */

/* The reason's detail for owners, made printable; len 0: none. */
void run_detail(struct run *, const char *, size_t len);
/* Its times were changed: set its timer by them. */
void run_arm(struct run *);
/* Once; worker-spawn has LIM_RUN_EXIT_MS to tell its end. */
void run_kill(struct run *);
/* The client has said its last word, or shall say no more; the first call
 * counts. r->stop or r->err is set before. The caller settles. */
void run_finish(struct run *, enum run_end);
/* Called after every change, as the last thing: the run may be gone. */
void run_settle(struct run *);

#endif
