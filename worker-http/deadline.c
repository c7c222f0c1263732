/* SPDX-License-Identifier: ISC */
/*
 * Deadlines of a job, and its beats.  Runs in worker-http.  A job has one
 * timer, set for whatever of it comes first: the end of what it does now, the
 * end of all of it, the next sign of life to its caller.  It must never end a
 * job under a run that goes on: that one is killed first.
 */
#include "worker-http/deadline.h"

#include <event2/event.h>

#include "common/limits.h"
#include "worker-http/conn.h"
#include "worker-http/job.h"
#include "worker-http/reply.h"
#include "worker-http/rows.h"
#include "worker-http/run.h"

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

void
deadline_arm(struct job *j)
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

void
deadline_phase(struct job *j, uint32_t seconds, enum olp_err err)
{
	j->phase_ends = seconds == 0 ? 0 : job_now() + (uint64_t)seconds * 1000;
	j->phase_err = err;
}

static void
expire(struct job *j, enum olp_err err)
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

void
deadline_cb(evutil_socket_t fd, short what, void *arg)
{
	struct job *j = arg;
	uint64_t now = job_now(), beat = beat_at(j);

	(void)fd;
	(void)what;
	if (j->total_ends != 0 && now >= j->total_ends) {
		expire(j, ERR_TOTAL);
		return;
	}
	if (phase_over(j, now)) {
		expire(j, j->phase_err);
		return;
	}
	if (beat != 0 && now >= beat)
		reply_beat(j);
	deadline_arm(j);
}
