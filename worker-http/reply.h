/* SPDX-License-Identifier: ISC */
/*
 * What is said of a job: to its caller, as the job's format and the bytes
 * that are out already want it, and to the journal.  Nothing here ends the
 * job; job.c does, behind it.
 */
#ifndef OLP_HTTPD_REPLY_H
#define OLP_HTTPD_REPLY_H

#include <stddef.h>

#include "proto/err.h"
#include "worker-http/job.h"

struct evbuffer;

/* A whole answer of this JSON. Frees the buffer. */
void reply_json(struct job *, int status, struct evbuffer *);
/* A whole error answer, or an error in the stream. message and param as in
 * answer_error(). */
void reply_error(
    struct job *, enum olp_err, const char *message, const char *param);
/* A stream: its head, or that we are still there. */
void reply_beat(struct job *);
/* Text of the answer, sent or kept.  A stream's run is paused when the caller
 * does not read.  ERR_ANSWER_TOO_LARGE or ERR_OVERLOADED: cannot be kept. */
enum olp_err reply_text(struct job *, const char *, size_t);
/* The answer is whole: what was kept, or the stream's end. */
void reply_whole(struct job *);
/* The request's one line. */
void reply_log(const struct job *, enum job_outcome, enum olp_err);

#endif
