/* SPDX-License-Identifier: ISC */
/*
 * What is said of a job.  Runs in worker-http.  This file writes to the
 * caller, whole answers, errors, a stream's head, text and beats, and the
 * one line to the journal; answer.c has their shape, the job's format what an
 * API makes of them.  It must never end a job, nor write a prompt, an answer
 * or a token to the journal.
 */
#include "worker-http/reply.h"

#include <event2/buffer.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "worker-http/answer.h"
#include "worker-http/client.h"
#include "worker-http/conn.h"
#include "worker-http/hold.h"
#include "worker-http/job.h"
#include "worker-http/json.h"
#include "worker-http/sse.h"

static struct evbuffer *
buffer(void)
{
	struct evbuffer *b = evbuffer_new();

	if (b == NULL)
		fatalx("reply: no memory");
	return (b);
}

static void
fill_head(struct job *j, struct answer *a)
{
	memset(a, 0, sizeof(*a));
	a->status = 200;
	a->type = "application/json";
	a->minor = conn_minor(j->conn);
	a->keep_alive = conn_keeps(j->conn);
	a->request_id = j->request_id;
	a->v1 = j->v1;
	a->provider = j->provider[0] != '\0' ? j->provider : NULL;
	a->model = j->provider_model[0] != '\0' ? j->provider_model : NULL;
	a->enforcement = j->enforcement;
	a->ignored = j->ignored;
	a->detail = j->owner ? j->detail : NULL;
	a->latency_ms = job_now() - j->began;
}

/* A head, and the body behind it; to HEAD the head alone. */
static void
put_whole(struct job *j, struct answer *a, struct evbuffer *body)
{
	struct evbuffer *out = conn_out(j->conn);

	a->length = (int64_t)evbuffer_get_length(body);
	answer_head(out, a);
	if (!j->bare && evbuffer_add_buffer(out, body) == -1)
		fatalx("reply: cannot append");
	evbuffer_free(body);
}

void
reply_json(struct job *j, int status, struct evbuffer *body)
{
	struct answer a;

	fill_head(j, &a);
	a.status = status;
	put_whole(j, &a, body);
}

static void
error_whole(
    struct job *j, enum olp_err err, const char *message, const char *param)
{
	struct evbuffer *body = buffer();
	struct answer a;

	answer_error(body, err, message, param);
	fill_head(j, &a);
	a.status = j->status != 0 ? j->status : answer_status(err);
	a.allow = j->allow;
	a.retry_s = answer_retry(err, j->retry_s);
	put_whole(j, &a, body);
}

void
reply_error(
    struct job *j, enum olp_err err, const char *message, const char *param)
{
	if (j->headed)
		j->format->fail(j, err, message);
	else
		error_whole(j, err, message, param);
}

/* Streams, and what will be a whole answer */

/* A stream's head: kept back until something has to be said. */
static void
stream_head(struct job *j)
{
	struct answer a;

	if (j->headed)
		return;
	j->headed = 1;
	fill_head(j, &a);
	a.type = "text/event-stream; charset=utf-8";
	a.length = -1;
	if (a.minor == 0)
		a.keep_alive = 0;
	answer_head(conn_out(j->conn), &a);
	j->sse.out = conn_out(j->conn);
	j->sse.chunked = a.minor > 0;
	j->format->begin(j);
	j->last_sent = job_now();
}

void
reply_beat(struct job *j)
{
	if (!j->headed)
		stream_head(j);
	else
		j->format->beat(j);
	j->last_sent = job_now();
}

static enum olp_err
text_keep(struct job *j, const char *s, size_t len)
{
	size_t before;

	if (j->text == NULL)
		j->text = buffer();
	before = evbuffer_get_length(j->text);
	json_put_text(j->text, s, len);
	if (evbuffer_get_length(j->text) > LIM_HTTPD_ANSWER)
		return (ERR_ANSWER_TOO_LARGE);
	if (hold_add(&j->hold, j->key_id,
		evbuffer_get_length(j->text) - before) == -1)
		return (ERR_OVERLOADED);
	return (ERR_OK);
}

enum olp_err
reply_text(struct job *j, const char *s, size_t len)
{
	if (!j->stream)
		return (text_keep(j, s, len));
	stream_head(j);
	j->format->text(j, s, len);
	j->last_sent = job_now();
	if (conn_backlog(j->conn) > LIM_HTTPD_OUT_HIGH)
		client_pause(j->run);
	return (ERR_OK);
}

void
reply_whole(struct job *j)
{
	struct evbuffer *body;

	if (j->stream) {
		stream_head(j);
		j->format->end(j);
		sse_end(&j->sse);
		return;
	}
	if (j->text == NULL)
		j->text = buffer();
	body = buffer();
	j->format->whole(j, body);
	reply_json(j, 200, body);
}

/* The journal */

static const char *
outcome_name(enum job_outcome o)
{
	switch (o) {
	case OUTCOME_ANSWERED:
		return ("answered");
	case OUTCOME_FAILED:
		return ("failed");
	case OUTCOME_GONE:
		break;
	}
	return ("caller_gone");
}

/* A number as a field's value, in the next of a few buffers. */
static const char *
number(uint64_t n)
{
	static char buf[6][24];
	static unsigned int i;

	i = (i + 1) % 6;
	(void)snprintf(buf[i], sizeof(buf[i]), "%" PRIu64, n);
	return (buf[i]);
}

void
reply_log(const struct job *j, enum job_outcome outcome, enum olp_err err)
{
	int status = j->headed && outcome != OUTCOME_GONE ? 200
	    : j->status != 0                              ? j->status
							  : answer_status(err);
	uint64_t ms = job_now() - j->began;
	struct log_field f[] = {
		{ "OLP_WORKER", "olpd-http" },
		{ "OLP_REQUEST_ID", j->request_id },
		{ "OLP_KEY_ID", j->key_id[0] != '\0' ? j->key_id : NULL },
		{ "OLP_PROVIDER", j->provider[0] != '\0' ? j->provider : NULL },
		{ "OLP_MODEL",
		    j->provider_model[0] != '\0' ? j->provider_model : NULL },
		{ "OLP_STATUS", number((uint64_t)status) },
		{ "OLP_OUTCOME", outcome_name(outcome) },
		{ "OLP_REASON", err_name(err) },
		{ "OLP_LATENCY_MS", number(ms) },
		{ "OLP_TTFT_MS",
		    j->first_text != 0 ? number(j->first_text - j->began)
				       : NULL },
		{ "OLP_ENFORCEMENT", j->enforcement },
		{ "OLP_RUN_ID", j->run_id != 0 ? number(j->run_id) : NULL },
		{ "OLP_RESTARTS",
		    j->restarts != 0 ? number(j->restarts) : NULL },
	};

	log_event(EV_REQUEST, f, sizeof(f) / sizeof(f[0]),
	    "request %s: %s: %d %s, key %s, %" PRIu64 " ms", j->request_id,
	    outcome_name(outcome), status, err_name(err),
	    j->key_id[0] != '\0' ? j->key_id : "unknown", ms);
}
