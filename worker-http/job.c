/* SPDX-License-Identifier: ISC */
/*
 * Jobs of worker-http: every accepted request is one, and ends in exactly
 * one call of job_end().  This file owns the jobs and what is held of their
 * bodies, from head to outcome.  Who asks is auth.c's business, when to start
 * sched.c's, when to give up deadline.c's, the words are reply.c's.  A job
 * must not outlive its connection; what a run still needs then is run.c's.
 */
#include "worker-http/job.h"

#include <bsd/stdlib.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/http/http.h"
#include "common/log.h"
#include "common/worker.h"
#include "worker-http/auth.h"
#include "worker-http/client.h"
#include "worker-http/conn.h"
#include "worker-http/deadline.h"
#include "worker-http/head.h"
#include "worker-http/reply.h"
#include "worker-http/rows.h"
#include "worker-http/run.h"
#include "worker-http/sched.h"
#include "worker-http/server.h"

#define BUCKETS 1024 /* ids are consecutive: of 16,000 jobs 16 in each */

static struct {
	struct jobs all;
	size_t n;
	LIST_HEAD(, job) by_id[BUCKETS];
	uint64_t last_id;
} self = { .all = TAILQ_HEAD_INITIALIZER(self.all) };

static void job_end(struct job *, enum job_outcome, enum olp_err);

uint64_t
job_now(void)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_MONOTONIC, &ts) == -1)
		fatal("clock_gettime");
	return ((uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000);
}

size_t
job_count(void)
{
	return (self.n);
}

struct jobs *
job_all(void)
{
	return (&self.all);
}

uint64_t
job_last_id(void)
{
	return (self.last_id);
}

/* "req_" and 128 random bits in base32. */
static void
request_id(char *buf)
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
	uint8_t r[17] = { 0 };
	size_t i, bit;

	arc4random_buf(r, 16);
	memcpy(buf, "req_", 4);
	for (i = 0; i < 26; i++) {
		bit = i * 5;
		buf[4 + i] =
		    digits[(((unsigned int)r[bit / 8] << 8 | r[bit / 8 + 1]) >>
			       (11 - bit % 8)) &
			31];
	}
	buf[30] = '\0';
}

static struct job *
job_alloc(struct conn *c)
{
	struct job *j = xcalloc(1, sizeof(*j));

	j->id = ++self.last_id;
	j->conn = c;
	j->began = j->last_sent = job_now();
	j->created = (uint64_t)time(NULL);
	j->item.arg = j;
	request_id(j->request_id);
	if ((j->timer = evtimer_new(worker_base(), deadline_cb, j)) == NULL ||
	    (j->body = evbuffer_new()) == NULL)
		fatalx("job: no memory");
	TAILQ_INSERT_TAIL(&self.all, j, all);
	LIST_INSERT_HEAD(&self.by_id[j->id % BUCKETS], j, by_id);
	self.n++;
	return (j);
}

struct job *
job_find(uint64_t id)
{
	struct job *j;

	LIST_FOREACH(j, &self.by_id[id % BUCKETS], by_id)
		if (j->id == id)
			return (j);
	return (NULL);
}

static void
rendered_drop(struct job *j)
{
	if (j->rendered == NULL)
		return;
	rendered_free(j->rendered);
	free(j->rendered);
	j->rendered = NULL;
	hold_sub(&j->hold, j->body_held);
	j->body_held = 0;
}

static void
job_free(struct job *j)
{
	queue_del(sched_queue(), &j->item);
	if (j->run != NULL)
		run_abandon(j->run);
	auth_drop(j);
	TAILQ_REMOVE(&self.all, j, all);
	LIST_REMOVE(j, by_id);
	self.n--;
	event_free(j->timer);
	rendered_drop(j);
	if (j->body != NULL)
		evbuffer_free(j->body);
	if (j->text != NULL)
		evbuffer_free(j->text);
	hold_release(&j->hold);
	explicit_bzero(j->token, sizeof(j->token));
	free(j->providers);
	free(j->models);
	free(j->arg);
	free(j->model);
	free(j->ignored);
	free(j->frame);
	free(j->enforcement);
	free(j->detail);
	free(j);
}

/* From head to body */

static enum olp_err
check_head(struct job *j, const struct http_head *h)
{
	enum olp_err e;

	j->v1 = strncmp(h->path, "/v1/", 4) == 0;
	j->bare = strcmp(h->method, "HEAD") == 0;
	if ((e = server_endpoint(j->bare ? "GET" : h->method, h->path, &j->ep,
		 &j->allow)) != ERR_OK ||
	    (e = head_host(h)) != ERR_OK || (e = head_origin(h)) != ERR_OK)
		return (e);
	if (j->ep->prefix)
		j->arg = xstrdup(h->path + strlen(j->ep->path));
	if (j->ep->body && (e = head_json(h)) != ERR_OK)
		return (e);
	if (!j->ep->body &&
	    (h->framing == HTTP_CHUNKED ||
		(h->framing == HTTP_LENGTH && h->length > 0)))
		return (ERR_TOO_LARGE);
	e = head_token(h, j->token);
	if (e == ERR_KEY_MISSING && j->ep->access == ACCESS_OPEN)
		return (ERR_OK);
	return (e);
}

struct job *
job_new(struct conn *c, const struct http_head *h)
{
	struct job *j = job_alloc(c);
	enum olp_err e;

	if ((e = check_head(j, h)) == ERR_OK && server_draining())
		e = ERR_STOPPING;
	if (e == ERR_OK && (e = auth_begin(j)) == ERR_OK)
		return (j);
	job_fail(j, e,
	    e == ERR_BAD_REQUEST     ? "Authorization and x-api-key differ"
		: e == ERR_TOO_LARGE ? "this endpoint takes no body"
				     : NULL,
	    NULL);
	return (NULL);
}

void
job_bad_head(struct conn *c, enum olp_err err, int status, const char *message)
{
	struct job *j = job_alloc(c);

	j->status = status;
	job_fail(j, err, message, NULL);
}

struct evbuffer *
job_body(struct job *j)
{
	return (j->body);
}

/* Before the key is known little is taken; then all that comes is counted. */
void
job_body_grew(struct job *j)
{
	size_t n = evbuffer_get_length(j->body);

	if (j->auth != AUTH_GRANTED) {
		if (n >= LIM_HTTPD_UNKNOWN && !j->body_done)
			conn_stop_reading(j->conn);
		return;
	}
	if (hold_add(&j->hold, j->key_id, n - j->body_held) == -1) {
		job_fail(j, ERR_OVERLOADED,
		    "too many bytes of requests are held", NULL);
		return;
	}
	j->body_held = n;
}

static void
try_start(struct job *j)
{
	if (j->state != JOB_ARRIVING || !j->body_done ||
	    (j->auth != AUTH_NONE && j->auth != AUTH_GRANTED))
		return;
	deadline_phase(j, 0, ERR_OK);
	deadline_arm(j);
	j->ep->start(j);
}

void
job_known(struct job *j)
{
	uint64_t id = j->id;

	deadline_phase(j, 0, ERR_OK);
	job_body_grew(j); /* may end it */
	if ((j = job_find(id)) == NULL)
		return;
	conn_go_on(j->conn);
	try_start(j);
}

void
job_body_done(struct job *j)
{
	uint64_t id = j->id;

	j->body_done = 1;
	job_body_grew(j); /* may end it */
	if ((j = job_find(id)) != NULL)
		try_start(j);
}

void
job_body_failed(
    struct job *j, enum olp_err err, int status, const char *message)
{
	j->status = status;
	job_fail(j, err, message, NULL);
}

/* The run's news */

void
job_run_started(struct job *j, const char *enforcement)
{
	free(j->enforcement);
	j->enforcement = xstrdup(enforcement);
}

void
job_run_heard(struct job *j)
{
	j->last_heard = job_now();
}

int
job_run_text(struct job *j, const char *s, size_t len)
{
	enum olp_err e;

	if (j->first_text == 0) {
		j->first_text = job_now();
		rendered_drop(j);
		deadline_phase(j, rows()->http.idle_s, ERR_IDLE);
		deadline_arm(j);
	}
	if ((e = reply_text(j, s, len)) == ERR_OK)
		return (0);
	job_fail(j, e,
	    e == ERR_OVERLOADED ? "too many bytes of answers are held" : NULL,
	    NULL);
	return (-1);
}

void
job_run_ending(struct job *j)
{
	j->state = JOB_SETTLING;
	j->phase_ends = j->total_ends = 0;
	deadline_arm(j);
}

void
job_run_done(struct job *j, const struct job_result *r)
{
	j->stop = r->stop;
	j->usage = r->usage;
	reply_whole(j);
	job_end(j, OUTCOME_ANSWERED, ERR_OK);
}

void
job_run_failed(struct job *j, const struct job_result *r)
{
	j->retry_s = r->retry_s;
	if (r->detail != NULL) {
		free(j->detail);
		j->detail = xstrdup(r->detail);
	}
	job_fail(j, r->err, NULL, NULL);
}

void
job_room(struct job *j)
{
	if (j->run != NULL)
		client_resume(j->run);
}

/* The end */

void
job_answer_json(struct job *j, int status, struct evbuffer *body)
{
	reply_json(j, status, body);
	job_end(j, OUTCOME_ANSWERED, ERR_OK);
}

void
job_fail(
    struct job *j, enum olp_err err, const char *message, const char *param)
{
	reply_error(j, err, message, param);
	job_end(j, OUTCOME_FAILED, err);
}

void
job_gone(struct job *j)
{
	job_end(j, OUTCOME_GONE, ERR_CALLER_GONE);
}

/* Every way a request ends goes through here, once. */
static void
job_end(struct job *j, enum job_outcome outcome, enum olp_err err)
{
	struct conn *c = j->conn;
	/* What has no length of its own ends with the connection. */
	int keep =
	    !j->headed || (outcome == OUTCOME_ANSWERED && j->sse.chunked);

	/* Who asks every few seconds whether we live is no news. */
	if (j->ep == NULL || j->ep->access != ACCESS_OPEN || err != ERR_OK)
		reply_log(j, outcome, err);
	if (outcome != OUTCOME_GONE)
		conn_answered(c, keep, &j->hold);
	job_free(j);
}
