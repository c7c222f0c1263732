/* SPDX-License-Identifier: ISC */
/*
 * When a job's run starts.  Runs in worker-http.  This file owns the queue
 * and the moments at which it is looked at: a job enters it when its body is
 * read, and goes back to its head when worker-spawn refused the start or a
 * run was lost before anything was said.  It must never start a job that has
 * no grant, nor keep one going round without end.
 */
#include "worker-http/sched.h"

#include <event2/buffer.h>
#include <event2/event.h>

#include "common/limits.h"
#include "common/log.h"
#include "common/worker.h"
#include "worker-http/auth.h"
#include "worker-http/deadline.h"
#include "worker-http/hold.h"
#include "worker-http/job.h"
#include "worker-http/link.h"
#include "worker-http/queue.h"
#include "worker-http/rows.h"
#include "worker-http/run.h"

static struct {
	struct queue *queue;
	struct event *pump;
	struct event *retry; /* starts that worker-spawn refused */
} self;

struct queue *
sched_queue(void)
{
	if (self.queue == NULL)
		self.queue = queue_new();
	return (self.queue);
}

static void
retry_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	queue_retry(sched_queue());
	sched_pump();
}

static void
start_run(struct job *j, struct queue_slot *slot)
{
	const struct msg_conf_provider *p = rows_provider(j->provider);
	enum olp_err e;

	j->state = JOB_RUNNING;
	if ((e = run_start(j, slot)) != ERR_OK) {
		job_fail(j, e, NULL, NULL);
		return;
	}
	deadline_phase(j, rows()->http.first_byte_s, ERR_FIRST_BYTE);
	if (j->total_ends == 0 && p != NULL)
		j->total_ends = job_now() + (uint64_t)p->timeout_s * 1000;
	deadline_arm(j);
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
	    (it = queue_next(sched_queue(), &slot)) != NULL)
		start_run(it->arg, &slot);
	if (queue_blocked(sched_queue()) &&
	    !event_pending(self.retry, EV_TIMEOUT, NULL))
		event_add(self.retry, &later);
}

void
sched_pump(void)
{
	if (self.pump != NULL)
		event_active(self.pump, EV_TIMEOUT, 0);
}

void
sched_init(void)
{
	self.pump = event_new(worker_base(), -1, 0, pump_cb, NULL);
	self.retry = evtimer_new(worker_base(), retry_cb, NULL);
	if (self.pump == NULL || self.retry == NULL)
		fatalx("sched: event_new");
}

void
sched_configure(void)
{
	const struct rows *r = rows();
	size_t i;

	queue_limits(
	    sched_queue(), r->http.queue, r->http.queue_per_key, r->http.runs);
	queue_clear_providers(sched_queue());
	for (i = 0; i < r->nproviders; i++)
		queue_set_provider(
		    sched_queue(), r->providers[i].name, r->providers[i].runs);
	hold_body_max(r->http.body_max);
	sched_pump();
}

/* A job's way in, and back */

/* What is held of the request is now what was made of its body. */
static int
hold_rendered(struct job *j)
{
	const struct rendered *r = j->rendered;
	size_t n = r->input_len + r->system_len + r->settings_len;

	if (j->body != NULL)
		evbuffer_free(j->body);
	j->body = NULL;
	if (n > j->body_held &&
	    hold_add(&j->hold, j->key_id, n - j->body_held) == -1)
		return (-1);
	if (n < j->body_held)
		hold_sub(&j->hold, j->body_held - n);
	j->body_held = n;
	return (0);
}

void
sched_enqueue(struct job *j)
{
	enum olp_err e;

	if (hold_rendered(j) == -1) {
		job_fail(j, ERR_OVERLOADED,
		    "too many bytes of requests are held", NULL);
		return;
	}
	j->state = JOB_QUEUED;
	deadline_phase(j, rows()->http.queue_s, ERR_QUEUE_TIMEOUT);
	j->queue_ends = j->phase_ends;
	if ((e = queue_add(sched_queue(), &j->item, j->key_id, j->key_runs,
		 j->provider)) != ERR_OK) {
		job_fail(j, e, NULL, NULL);
		return;
	}
	deadline_arm(j);
	sched_pump();
}

static void
requeue(struct job *j)
{
	j->state = JOB_QUEUED;
	j->phase_ends = j->queue_ends;
	j->phase_err = ERR_QUEUE_TIMEOUT;
	queue_add_first(
	    sched_queue(), &j->item, j->key_id, j->key_runs, j->provider);
	deadline_arm(j);
	sched_pump();
}

void
sched_refused(struct job *j, enum olp_err err)
{
	j->total_ends = 0; /* it has not begun */
	requeue(j);
	queue_refused(sched_queue(), j->key_id, j->provider, err);
}

void
sched_again(struct job *j, int renew)
{
	if (j->requeues++ >= LIM_JOB_REQUEUES) {
		job_fail(j, ERR_RUN_LOST, NULL, NULL);
		return;
	}
	if (renew || j->grant == 0)
		auth_ask(j);
	deadline_phase(j, rows()->http.queue_s, ERR_QUEUE_TIMEOUT);
	j->queue_ends = j->phase_ends;
	requeue(j);
}
