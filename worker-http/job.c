/* SPDX-License-Identifier: ISC */
/*
 * Jobs of worker-http: every accepted request is one, and ends in exactly
 * one call of job_end().  This file owns the jobs, their deadlines, the
 * questions to worker-spawn about who a caller is, and the queue.  A job
 * lives no longer than its connection; what a run still needs after that is
 * run.c's.
 */
#include "worker-http/job.h"

#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/chan.h"
#include "common/http/http.h"
#include "common/log.h"
#include "common/worker.h"
#include "worker-http/answer.h"
#include "worker-http/conn.h"
#include "worker-http/head.h"
#include "worker-http/json.h"
#include "worker-http/link.h"
#include "worker-http/rows.h"
#include "worker-http/run.h"
#include "worker-http/server.h"

#define BUCKETS 1024 /* ids are consecutive: of 16,000 jobs 16 in each */

TAILQ_HEAD(jobs, job);

static struct {
	struct jobs all;
	size_t n;
	LIST_HEAD(, job) by_id[BUCKETS];
	uint64_t last_id;
	struct jobs asking; /* AUTH_WAITS, the oldest first */
	size_t asked;       /* AUTH without an answer */
	struct queue *queue;
	struct event *pump;
	struct event *retry; /* starts that worker-spawn refused */
	struct event *alone; /* fires when worker-spawn stays away ... */
	int is_alone;        /* ... and has fired */
} self = { .all = TAILQ_HEAD_INITIALIZER(self.all),
	.asking = TAILQ_HEAD_INITIALIZER(self.asking) };

static void job_timer_cb(evutil_socket_t, short, void *);
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

struct queue *
job_queue(void)
{
	if (self.queue == NULL)
		self.queue = queue_new();
	return (self.queue);
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
	if ((j->timer = evtimer_new(worker_base(), job_timer_cb, j)) == NULL ||
	    (j->body = evbuffer_new()) == NULL)
		fatalx("job: no memory");
	TAILQ_INSERT_TAIL(&self.all, j, all);
	LIST_INSERT_HEAD(&self.by_id[j->id % BUCKETS], j, by_id);
	self.n++;
	return (j);
}

static struct job *
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
body_drop(struct job *j)
{
	if (j->body != NULL)
		evbuffer_free(j->body);
	j->body = NULL;
}

static void
grant_end(uint64_t grant)
{
	struct msg_grant_end m = { grant };

	if (grant != 0 && link_spawn() != NULL)
		(void)chan_send(link_spawn(), MT_GRANT_END, &m);
}

static void
job_free(struct job *j)
{
	if (j->auth == AUTH_WAITS)
		TAILQ_REMOVE(&self.asking, j, asking);
	queue_del(job_queue(), &j->item);
	if (j->run != NULL)
		run_abandon(j->run);
	grant_end(j->grant);
	TAILQ_REMOVE(&self.all, j, all);
	LIST_REMOVE(j, by_id);
	self.n--;
	event_free(j->timer);
	rendered_drop(j);
	body_drop(j);
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

/* Deadlines */

static void
sooner(uint64_t *next, uint64_t t)
{
	if (t != 0 && (*next == 0 || t < *next))
		*next = t;
}

static uint64_t
beat_at(const struct job *j)
{
	uint32_t s = rows()->http.heartbeat_s;

	if (!j->stream || s == 0 || j->state == JOB_ARRIVING)
		return (0);
	return (j->last_sent + (uint64_t)s * 1000);
}

static void
job_arm(struct job *j)
{
	uint64_t next = 0, now = job_now(), ms;
	struct timeval tv;

	sooner(&next, j->phase_ends);
	sooner(&next, j->total_ends);
	sooner(&next, beat_at(j));
	if (next == 0) {
		event_del(j->timer);
		return;
	}
	ms = next > now ? next - now : 0;
	tv.tv_sec = (time_t)(ms / 1000);
	tv.tv_usec = (suseconds_t)(ms % 1000) * 1000;
	event_add(j->timer, &tv);
}

/* seconds 0: none. */
static void
phase(struct job *j, uint32_t seconds, enum olp_err err)
{
	j->phase_ends = seconds == 0 ? 0 : job_now() + (uint64_t)seconds * 1000;
	j->phase_err = err;
}

static void
job_expire(struct job *j, enum olp_err err)
{
	j->phase_ends = j->total_ends = 0;
	if (j->run != NULL) {
		run_abort(j->run, err);
		return;
	}
	job_fail(j, err, NULL, NULL);
}

/* Silence counts from the last word, and not while the caller keeps us from
 * listening. */
static int
phase_over(struct job *j, uint64_t now)
{
	uint64_t idle = (uint64_t)rows()->http.idle_s * 1000;

	if (j->phase_ends == 0 || now < j->phase_ends)
		return (0);
	if (j->phase_err != ERR_IDLE)
		return (1);
	if (conn_backlog(j->conn) > LIM_HTTPD_OUT_LOW)
		j->last_heard = now;
	j->phase_ends = j->last_heard + idle;
	return (now >= j->phase_ends);
}

static void job_beat(struct job *);

static void
job_timer_cb(evutil_socket_t fd, short what, void *arg)
{
	struct job *j = arg;
	uint64_t now = job_now(), beat = beat_at(j);

	(void)fd;
	(void)what;
	if (j->total_ends != 0 && now >= j->total_ends) {
		job_expire(j, ERR_TOTAL);
		return;
	}
	if (phase_over(j, now)) {
		job_expire(j, j->phase_err);
		return;
	}
	if (beat != 0 && now >= beat)
		job_beat(j);
	job_arm(j);
}

/* Who asks */

static void
asked_pump(void)
{
	struct msg_auth m;
	struct job *j;

	while (link_spawn() != NULL && self.asked < LIM_HTTPD_AUTHS &&
	    (j = TAILQ_FIRST(&self.asking)) != NULL) {
		TAILQ_REMOVE(&self.asking, j, asking);
		j->auth = AUTH_ASKED;
		self.asked++;
		m.auth_id = j->id;
		(void)strlcpy(m.token, j->token, sizeof(m.token));
		(void)chan_send(link_spawn(), MT_AUTH, &m);
		explicit_bzero(&m, sizeof(m));
	}
}

/* What waits meanwhile in the queue stays where it is. */
static void
ask(struct job *j)
{
	if (j->auth == AUTH_WAITS)
		return;
	j->auth = AUTH_WAITS;
	j->grant = 0;
	j->item.held = 1;
	TAILQ_INSERT_TAIL(&self.asking, j, asking);
	asked_pump();
}

static void
try_start(struct job *j)
{
	if (j->state != JOB_ARRIVING || !j->body_done ||
	    (j->auth != AUTH_NONE && j->auth != AUTH_GRANTED))
		return;
	phase(j, 0, ERR_OK);
	job_arm(j);
	j->ep->start(j);
}

static void
keep_profile(struct job *j, const struct msg_auth_ok *m)
{
	size_t i;

	(void)strlcpy(j->key_id, m->key_id, sizeof(j->key_id));
	j->owner = m->owner;
	j->key_runs = m->runs;
	j->nproviders = m->providers_n;
	j->nmodels = m->models_n;
	j->providers = xreallocarray(
	    j->providers, j->nproviders + 1, sizeof(*j->providers));
	j->models =
	    xreallocarray(j->models, j->nmodels + 1, sizeof(*j->models));
	for (i = 0; i < j->nproviders; i++)
		(void)strlcpy(
		    j->providers[i], m->providers[i], sizeof(j->providers[i]));
	for (i = 0; i < j->nmodels; i++)
		(void)strlcpy(j->models[i], m->models[i], sizeof(j->models[i]));
}

int
job_h_auth_ok(struct chan *c, struct msg *msg)
{
	const struct msg_auth_ok *m = msg->body;
	struct job *j = job_find(m->auth_id);

	(void)c;
	if (self.asked == 0 || m->auth_id > self.last_id || m->grant == 0 ||
	    m->key_id[0] == '\0')
		return (-1);
	self.asked--;
	if (j == NULL || j->auth != AUTH_ASKED) {
		grant_end(m->grant); /* its caller left meanwhile */
		asked_pump();
		return (0);
	}
	j->auth = AUTH_GRANTED;
	j->grant = m->grant;
	j->item.held = 0;
	keep_profile(j, m);
	asked_pump();
	if (j->state == JOB_QUEUED)
		job_pump();
	if (j->state != JOB_ARRIVING)
		return (0);
	phase(j, 0, ERR_OK);
	job_body_grew(j); /* may end it */
	if ((j = job_find(m->auth_id)) == NULL)
		return (0);
	conn_go_on(j->conn);
	try_start(j);
	return (0);
}

int
job_h_auth_no(struct chan *c, struct msg *msg)
{
	const struct msg_auth_no *m = msg->body;
	struct job *j = job_find(m->auth_id);

	(void)c;
	if (self.asked == 0 || m->auth_id > self.last_id || m->err == ERR_OK ||
	    m->err >= ERR_MAX)
		return (-1);
	self.asked--;
	asked_pump();
	if (j != NULL && j->auth == AUTH_ASKED) {
		j->auth = AUTH_NONE;
		job_fail(j, (enum olp_err)m->err, NULL, NULL);
	}
	return (0);
}

int
job_h_key_gone(struct chan *c, struct msg *msg)
{
	const struct msg_key_gone *m = msg->body;
	struct job *j, *next;

	(void)c;
	TAILQ_FOREACH_SAFE(j, &self.all, all, next)
		if (strcmp(j->key_id, m->key_id) == 0)
			job_fail(j, ERR_KEY_REVOKED, NULL, NULL);
	return (0);
}

/*
 * It is back within a second when it died, and tries for ever when it cannot
 * be what it must: then nobody is kept waiting.
 */
static void
alone_cb(evutil_socket_t fd, short what, void *arg)
{
	struct job *j, *next;

	(void)fd;
	(void)what;
	(void)arg;
	self.is_alone = 1;
	TAILQ_FOREACH_SAFE(j, &self.asking, asking, next)
		job_fail(j, ERR_SANDBOX, NULL, NULL);
}

static void
alone_soon(void)
{
	static const struct timeval patience = { LIM_JOB_SPAWN_S, 0 };

	event_add(self.alone, &patience);
}

void
job_spawn_up(void)
{
	self.is_alone = 0;
	event_del(self.alone);
	asked_pump();
	job_pump();
}

/* Grants died with it: all that will need one is to be asked for again. */
void
job_spawn_gone(void)
{
	struct job *j;

	alone_soon();
	self.asked = 0;
	TAILQ_FOREACH(j, &self.all, all) {
		j->grant = 0;
		if (j->auth == AUTH_ASKED ||
		    (j->auth == AUTH_GRANTED && j->run == NULL))
			ask(j);
	}
}

/* From head to body */

static enum olp_err
check_head(struct job *j, const struct http_head *h)
{
	enum olp_err e;

	j->v1 = strncmp(h->path, "/v1/", 4) == 0;
	if ((e = server_endpoint(h->method, h->path, &j->ep, &j->allow)) !=
		ERR_OK ||
	    (e = head_host(h)) != ERR_OK || (e = head_origin(h)) != ERR_OK)
		return (e);
	if (j->ep->prefix)
		j->arg = xstrdup(h->path + strlen(j->ep->path));
	if (j->ep->body && (e = head_json(h)) != ERR_OK)
		return (e);
	if (!j->ep->body && h->framing != HTTP_NO_BODY && h->length > 0)
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
	if (e != ERR_OK) {
		job_fail(j, e,
		    e == ERR_BAD_REQUEST ? "Authorization and x-api-key differ"
			: e == ERR_TOO_LARGE ? "this endpoint takes no body"
					     : NULL,
		    NULL);
		return (NULL);
	}
	/* Who asks whether we live is not kept waiting. */
	if (j->token[0] == '\0' ||
	    (j->ep->access == ACCESS_OPEN && link_spawn() == NULL))
		return (j);
	if (self.is_alone) {
		job_fail(j, ERR_SANDBOX, NULL, NULL);
		return (NULL);
	}
	phase(j, rows()->http.queue_s, ERR_QUEUE_TIMEOUT);
	job_arm(j);
	ask(j);
	return (j);
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

/* The queue */

static void
retry_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	queue_retry(job_queue());
	job_pump();
}

static void
job_start_run(struct job *j, struct queue_slot *slot)
{
	const struct msg_conf_provider *p = rows_provider(j->provider);
	enum olp_err e;

	j->state = JOB_RUNNING;
	if ((e = run_start(j, slot)) != ERR_OK) {
		job_fail(j, e, NULL, NULL);
		return;
	}
	phase(j, rows()->http.first_byte_s, ERR_FIRST_BYTE);
	if (j->total_ends == 0 && p != NULL)
		j->total_ends = job_now() + (uint64_t)p->timeout_s * 1000;
	job_arm(j);
}

static void
pump_cb(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval later = { LIM_QUEUE_RETRY_MS / 1000,
		LIM_QUEUE_RETRY_MS % 1000 * 1000 };
	struct queue_slot slot;
	struct queue_item *it;

	(void)fd;
	(void)what;
	(void)arg;
	while (link_spawn() != NULL &&
	    (it = queue_next(job_queue(), &slot)) != NULL)
		job_start_run(it->arg, &slot);
	if (queue_blocked(job_queue()) &&
	    !event_pending(self.retry, EV_TIMEOUT, NULL))
		event_add(self.retry, &later);
}

void
job_pump(void)
{
	if (self.pump != NULL)
		event_active(self.pump, EV_TIMEOUT, 0);
}

void
job_init(void)
{
	self.pump = event_new(worker_base(), -1, 0, pump_cb, NULL);
	self.retry = evtimer_new(worker_base(), retry_cb, NULL);
	self.alone = evtimer_new(worker_base(), alone_cb, NULL);
	if (self.pump == NULL || self.retry == NULL || self.alone == NULL)
		fatalx("job: event_new");
	alone_soon();
}

void
job_configure(void)
{
	const struct rows *r = rows();
	size_t i;

	queue_limits(
	    job_queue(), r->http.queue, r->http.queue_per_key, r->http.runs);
	queue_clear_providers(job_queue());
	for (i = 0; i < r->nproviders; i++)
		queue_set_provider(
		    job_queue(), r->providers[i].name, r->providers[i].runs);
	hold_body_max(r->http.body_max);
	job_pump();
}

/* What is held of the request is now what was made of its body. */
static int
hold_rendered(struct job *j)
{
	const struct rendered *r = j->rendered;
	size_t n = r->input_len + r->system_len + r->settings_len;

	body_drop(j);
	if (n > j->body_held &&
	    hold_add(&j->hold, j->key_id, n - j->body_held) == -1)
		return (-1);
	if (n < j->body_held)
		hold_sub(&j->hold, j->body_held - n);
	j->body_held = n;
	return (0);
}

void
job_enqueue(struct job *j)
{
	enum olp_err e;

	if (hold_rendered(j) == -1) {
		job_fail(j, ERR_OVERLOADED,
		    "too many bytes of requests are held", NULL);
		return;
	}
	j->state = JOB_QUEUED;
	phase(j, rows()->http.queue_s, ERR_QUEUE_TIMEOUT);
	j->queue_ends = j->phase_ends;
	if ((e = queue_add(job_queue(), &j->item, j->key_id, j->key_runs,
		 j->provider)) != ERR_OK) {
		job_fail(j, e, NULL, NULL);
		return;
	}
	job_arm(j);
	job_pump();
}

static void
job_requeue(struct job *j)
{
	j->state = JOB_QUEUED;
	j->phase_ends = j->queue_ends;
	j->phase_err = ERR_QUEUE_TIMEOUT;
	queue_add_first(
	    job_queue(), &j->item, j->key_id, j->key_runs, j->provider);
	job_arm(j);
	job_pump();
}

void
job_refused(struct job *j, enum olp_err err)
{
	j->total_ends = 0; /* it has not begun */
	job_requeue(j);
	queue_refused(job_queue(), j->key_id, j->provider, err);
}

void
job_run_again(struct job *j, int renew)
{
	if (j->requeues++ >= LIM_JOB_REQUEUES) {
		job_fail(j, ERR_RUN_LOST, NULL, NULL);
		return;
	}
	if (renew || j->grant == 0)
		ask(j);
	phase(j, rows()->http.queue_s, ERR_QUEUE_TIMEOUT);
	j->queue_ends = j->phase_ends;
	job_requeue(j);
}

int
job_uncommitted(const struct job *j)
{
	return (j->first_text == 0 && j->rendered != NULL);
}

/* Answers */

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

void
job_answer_json(struct job *j, int status, struct evbuffer *body)
{
	struct evbuffer *out = conn_out(j->conn);
	struct answer a;

	fill_head(j, &a);
	a.status = status;
	a.length = (int64_t)evbuffer_get_length(body);
	answer_head(out, &a);
	if (evbuffer_add_buffer(out, body) == -1)
		fatalx("job: cannot append");
	evbuffer_free(body);
	job_end(j, OUTCOME_ANSWERED, ERR_OK);
}

static void
fail_whole(
    struct job *j, enum olp_err err, const char *message, const char *param)
{
	struct evbuffer *body = evbuffer_new(), *out = conn_out(j->conn);
	struct answer a;

	if (body == NULL)
		fatalx("job: no memory");
	answer_error(body, err, message, param);
	fill_head(j, &a);
	a.status = j->status != 0 ? j->status : answer_status(err);
	a.allow = j->allow;
	a.retry_s = answer_retry(err, j->retry_s);
	a.length = (int64_t)evbuffer_get_length(body);
	answer_head(out, &a);
	if (evbuffer_add_buffer(out, body) == -1)
		fatalx("job: cannot append");
	evbuffer_free(body);
}

void
job_fail(
    struct job *j, enum olp_err err, const char *message, const char *param)
{
	if (j->headed)
		j->format->fail(j, err, message);
	else
		fail_whole(j, err, message, param);
	job_end(j, OUTCOME_FAILED, err);
}

void
job_gone(struct job *j)
{
	job_end(j, OUTCOME_GONE, ERR_CALLER_GONE);
}

/* A stream's head: kept back until something has to be said. */
static void
job_head(struct job *j)
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

static void
job_beat(struct job *j)
{
	if (!j->headed)
		job_head(j);
	else
		j->format->beat(j);
	j->last_sent = job_now();
}

void
job_room(struct job *j)
{
	if (j->run != NULL)
		run_resume(j->run);
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

static int
text_keep(struct job *j, const char *s, size_t len)
{
	size_t before;

	if (j->text == NULL && (j->text = evbuffer_new()) == NULL)
		fatalx("job: no memory");
	before = evbuffer_get_length(j->text);
	json_put_text(j->text, s, len);
	if (evbuffer_get_length(j->text) > LIM_HTTPD_ANSWER) {
		job_fail(j, ERR_ANSWER_TOO_LARGE, NULL, NULL);
		return (-1);
	}
	if (hold_add(&j->hold, j->key_id,
		evbuffer_get_length(j->text) - before) == -1) {
		job_fail(j, ERR_OVERLOADED,
		    "too many bytes of answers are held", NULL);
		return (-1);
	}
	return (0);
}

int
job_run_text(struct job *j, const char *s, size_t len)
{
	if (j->first_text == 0) {
		j->first_text = job_now();
		rendered_drop(j);
		phase(j, rows()->http.idle_s, ERR_IDLE);
		job_arm(j);
	}
	if (!j->stream)
		return (text_keep(j, s, len));
	job_head(j);
	j->format->text(j, s, len);
	j->last_sent = job_now();
	if (conn_backlog(j->conn) > LIM_HTTPD_OUT_HIGH)
		run_pause(j->run);
	return (0);
}

void
job_run_ending(struct job *j)
{
	j->state = JOB_SETTLING;
	j->phase_ends = j->total_ends = 0;
	job_arm(j);
}

void
job_run_done(struct job *j, const struct job_result *r)
{
	struct evbuffer *body;

	j->stop = r->stop;
	j->usage = r->usage;
	if (!j->stream) {
		if ((body = evbuffer_new()) == NULL)
			fatalx("job: no memory");
		if (j->text == NULL && (j->text = evbuffer_new()) == NULL)
			fatalx("job: no memory");
		j->format->whole(j, body);
		job_answer_json(j, 200, body);
		return;
	}
	job_head(j);
	j->format->end(j);
	sse_end(&j->sse);
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

/* The end */

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

static void
job_log(const struct job *j, enum job_outcome outcome, enum olp_err err)
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
		job_log(j, outcome, err);
	if (outcome != OUTCOME_GONE)
		conn_answered(c, keep, &j->hold);
	job_free(j);
}
