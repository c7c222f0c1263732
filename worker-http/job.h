/* SPDX-License-Identifier: ISC */
/*
 * One request from its head to the last byte of its answer: state, cancel,
 * the one outcome.  What endpoints share is here and in auth.h (who asks),
 * sched.h (when it starts), deadline.h (when we give up) and reply.h (what is
 * said).
 */
#ifndef OLP_HTTPD_JOB_H
#define OLP_HTTPD_JOB_H

#include <bsd/sys/queue.h>
#include <stddef.h>
#include <stdint.h>

#include "common/limits.h"
#include "common/provider/provider.h"
#include "proto/err.h"
#include "proto/msg.h"
#include "worker-http/hold.h"
#include "worker-http/queue.h"
#include "worker-http/sse.h"

struct conn;
struct endpoint;
struct evbuffer;
struct event;
struct http_head;
struct job;
struct run;

/* How one API shapes its answers. A stream's head is written by reply.c
 * before the first of these. */
struct job_format {
	void (*begin)(struct job *); /* stream: the first frame */
	void (*text)(struct job *, const char *, size_t); /* stream */
	void (*beat)(struct job *); /* stream: nothing to say, still there */
	void (*end)(struct job *);  /* stream: all behind the text */
	void (*fail)(struct job *, enum olp_err,
	    const char *message); /* stream: an error after its head */
	void (*whole)(struct job *,
	    struct evbuffer
		*out); /* not a stream: the body; job->text is emptied */
};

enum job_state {
	JOB_ARRIVING, /* head read; the caller is asked for, the body is read */
	JOB_QUEUED,
	JOB_RUNNING,
	JOB_SETTLING, /* nothing more is expected of the client */
};

enum job_auth {
	AUTH_NONE,  /* nobody has to be asked */
	AUTH_WAITS, /* to be asked, for the first time or again */
	AUTH_ASKED,
	AUTH_GRANTED,
};

enum job_outcome { OUTCOME_ANSWERED, OUTCOME_FAILED, OUTCOME_GONE };

struct job_usage {
	uint64_t prompt, cached, completion; /* tokens */
};

struct job {
	TAILQ_ENTRY(job) all;
	LIST_ENTRY(job) by_id;
	TAILQ_ENTRY(job) asking; /* while AUTH_WAITS */
	uint64_t id;
	struct conn *conn;
	const struct endpoint *ep;
	enum job_state state;
	char request_id[LIM_REQUEST_ID];
	char *arg; /* behind an endpoint's prefix */
	int v1;    /* an endpoint below /v1 */
	int bare;  /* HEAD: GET's answer without its body */
	int body_done;
	struct evbuffer *body; /* as far as it has come */
	size_t body_held;      /* bytes of it in `hold` */
	struct hold hold;

	enum job_auth auth;
	char token[LIM_TOKEN]; /* until the job is over */
	uint64_t grant;        /* 0: none that is valid */
	char key_id[LIM_KEY_ID];
	int owner;
	uint32_t key_runs;
	char (*providers)[LIM_PROVIDER];
	size_t nproviders; /* the key's */
	char (*models)[LIM_MODEL];
	size_t nmodels;

	/* Of requests that run something. */
	const struct job_format *format;
	int stream, include_usage;
	char *model;   /* as asked for */
	char *ignored; /* X-OLP-Ignored */
	char provider[LIM_PROVIDER];
	char provider_model[LIM_MODEL];
	struct rendered *rendered; /* until the request is committed */
	struct queue_item item;
	struct run *run;
	uint64_t run_id; /* the last one's, for the journal */
	unsigned int requeues, restarts;

	/* Times in ms of the monotonic clock, 0: not yet, or none. */
	uint64_t began, first_text, last_sent, last_heard;
	uint64_t phase_ends, total_ends, queue_ends;
	enum olp_err phase_err; /* of phase_ends */
	struct event *timer;

	int headed; /* a stream's head is out */
	struct sse sse;
	char *frame;      /* the format's own: what all its frames begin with */
	uint64_t created; /* unix seconds */
	struct evbuffer *text; /* escaped text of an answer that is no stream */
	char *enforcement;
	char *detail; /* for owners */
	enum stop_reason stop;
	struct job_usage usage;
	const char *allow;
	uint32_t retry_s;
	int status; /* over the error's own, 0: that */
};

/* ------------------------------------------------------------- for conn.c */

/* A request whose head has been read. It may be answered, and gone from the
 * connection, on return: NULL. */
struct job *job_new(struct conn *, const struct http_head *);
/* A head that was none: an answer and its line in the journal, then the
 * connection closes. */
void job_bad_head(struct conn *, enum olp_err, int status, const char *message);
struct evbuffer *job_body(struct job *);
/* More of the body is in job_body(). */
void job_body_grew(struct job *);
void job_body_done(struct job *);
void job_body_failed(
    struct job *, enum olp_err, int status, const char *message);
void job_gone(struct job *); /* the caller left */
void job_room(struct job *); /* conn_backlog() is well below its bound again */

/* ------------------------------------------------------------- for api_*.c */

/* An answer of this JSON, whole; the job is over. Takes the buffer. */
void job_answer_json(struct job *, int status, struct evbuffer *);
/* An error, in whatever form still fits; the job is over. message NULL: the
 * error's own sentence. */
void job_fail(
    struct job *, enum olp_err, const char *message, const char *param);

/* -------------------------------------------------------------- for run.c */

struct job_result {
	enum olp_err err;
	enum stop_reason stop;
	const char *detail; /* for owners, or NULL */
	uint32_t retry_s;
	struct job_usage usage;
};
void job_run_started(struct job *, const char *enforcement);
void job_run_heard(struct job *); /* the client said something */
int job_run_text(
    struct job *, const char *, size_t); /* non-zero: the job is over */
void job_run_ending(
    struct job *); /* only settling is left: no deadline of ours counts */
/* These two end the job's tie to the run; so do sched_again() and
 * sched_refused(). */
void job_run_done(struct job *, const struct job_result *);
void job_run_failed(struct job *, const struct job_result *);

/* -------------------------------------------------------------- for auth.c */

TAILQ_HEAD(jobs, job);
struct jobs *job_all(void);        /* the oldest first */
struct job *job_find(uint64_t id); /* NULL: over */
uint64_t job_last_id(void);        /* none higher was given */
/* Who asks is known (AUTH_GRANTED): on with its body. The job may be over on
 * return. */
void job_known(struct job *);

/* ----------------------------------------------------------------- others */

size_t job_count(void);
uint64_t job_now(void); /* ms of the monotonic clock */

#endif
