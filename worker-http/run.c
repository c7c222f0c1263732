/* SPDX-License-Identifier: ISC */
/*
 * Runs in worker-http: a run from RUN_START until worker-spawn has seen its
 * end and egress has said what went out.  This file owns the records of runs,
 * their bounded waits, their settling, and hears worker-spawn's word; egress's
 * is heard by out.c, the client's output is read by client.c.  It must never
 * start a run again nor hand on an answer but as judge.c has it.
 */
#include "worker-http/run.h"

#include <bsd/string.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/chan.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/memfd.h"
#include "common/provider/provider.h"
#include "common/worker.h"
#include "worker-http/client.h"
#include "worker-http/job.h"
#include "worker-http/judge.h"
#include "worker-http/link.h"
#include "worker-http/out.h"
#include "worker-http/queue.h"
#include "worker-http/rows.h"
#include "worker-http/run_record.h"
#include "worker-http/sched.h"

static struct {
	struct runs all; /* LIM_CONF_RUNS_MAX and those that settle */
	size_t n;
	uint64_t last_id;
} self;

size_t
run_count(void)
{
	return (self.n);
}

struct runs *
run_all(void)
{
	return (&self.all);
}

uint64_t
run_last_id(void)
{
	return (self.last_id);
}

struct run *
run_find(uint64_t id)
{
	struct run *r;

	LIST_FOREACH(r, &self.all, entry)
		if (r->id == id)
			return (r);
	return (NULL);
}

static void
run_free(struct run *r)
{
	LIST_REMOVE(r, entry);
	self.n--;
	queue_release(sched_queue(), &r->slot);
	client_close(r);
	event_free(r->timer);
	free(r->out);
	free(r->refusal);
	free(r->detail);
	free(r);
}

static struct job *
run_detach(struct run *r)
{
	struct job *j = r->job;

	r->job = NULL;
	if (j != NULL)
		j->run = NULL;
	return (j);
}

void
run_detail(struct run *r, const char *s, size_t len)
{
	char buf[LIM_TEXT];

	free(r->detail);
	r->detail = NULL;
	if (len > 0)
		r->detail = xstrdup(log_vis(buf, sizeof(buf), s, len));
}

/* Waiting with a bound */

void
run_arm(struct run *r)
{
	uint64_t at[] = { r->kill_at, r->settle_at, r->exit_at }, next = 0,
		 now = job_now(), ms;
	struct timeval tv;
	size_t i;

	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		if (at[i] != 0 && (next == 0 || at[i] < next))
			next = at[i];
	if (next == 0) {
		event_del(r->timer);
		return;
	}
	ms = next > now ? next - now : 0;
	tv.tv_sec = (time_t)(ms / 1000);
	tv.tv_usec = (suseconds_t)(ms % 1000) * 1000;
	event_add(r->timer, &tv);
}

void
run_kill(struct run *r)
{
	struct msg_run_kill m = { r->id };

	r->kill_at = 0;
	if (r->killed || r->exited)
		return;
	r->killed = 1;
	if (link_spawn() != NULL)
		(void)chan_send(link_spawn(), MT_RUN_KILL, &m);
	r->exit_at = job_now() + LIM_RUN_EXIT_MS;
	run_arm(r);
}

static void
timer_cb(evutil_socket_t fd, short what, void *arg)
{
	struct run *r = arg;
	uint64_t now = job_now();

	(void)fd;
	(void)what;
	if (r->kill_at != 0 && now >= r->kill_at)
		run_kill(r);
	if (r->settle_at != 0 && now >= r->settle_at) {
		r->settle_at = 0;
		r->out_over = 1;
	}
	if (r->exit_at != 0 && now >= r->exit_at) {
		r->exit_at = 0;
		r->exit_late = 1;
	}
	run_arm(r);
	run_settle(r);
}

void
run_finish(struct run *r, enum run_end end)
{
	if (r->end != RUN_GOES)
		return;
	r->end = end;
	if (r->job != NULL)
		job_run_ending(r->job);
	out_close(r);
	if (end == RUN_FAILED || r->stop != STOP_END) {
		run_kill(r);
		return;
	}
	r->kill_at = job_now() + LIM_RUN_GRACE_MS;
	run_arm(r);
}

/* Settling */

/* The job gets its error; the run goes on settling by itself. */
static void
run_report(struct run *r, enum olp_err err)
{
	struct job_result res = { .err = err, .retry_s = out_retry(r) };

	if (err == ERR_BROKER && r->refusal != NULL)
		run_detail(r, r->refusal, strlen(r->refusal));
	else if (r->detail == NULL)
		run_detail(r, r->err_tail, r->err_len);
	res.detail = r->detail;
	job_run_failed(run_detach(r), &res);
}

/* It failed, and all is known that will be. */
static void
settle_failed(struct run *r)
{
	struct job *j;

	if (!judge_again(r)) {
		run_report(r, judge_reason(r));
		return;
	}
	j = run_detach(r);
	j->restarts++;
	sched_again(j, r->lost_spawn);
}

/* The client says it gave a whole answer, and egress what it saw of it. */
static void
settle_stopped(struct run *r)
{
	struct job_result res = { .stop = r->stop };
	enum olp_err e;

	if ((e = judge_word(r)) != ERR_OK) {
		r->end = RUN_FAILED;
		r->err = e;
		run_kill(r);
		/* Whose fault that one is shows at the end of the run. */
		if (e != ERR_CLIENT_ODD)
			run_report(r, e);
		return;
	}
	if ((e = judge_answer(r)) != ERR_OK) {
		run_report(r, e);
		return;
	}
	out_usage(r);
	res.usage = r->usage;
	job_run_done(run_detach(r), &res);
}

void
run_settle(struct run *r)
{
	if (r->busy)
		return;
	if (r->job != NULL && r->out_over && r->end == RUN_STOPPED)
		settle_stopped(r);
	if (r->job != NULL && r->out_over && r->end == RUN_FAILED &&
	    (r->exited || r->exit_late))
		settle_failed(r);
	if (r->job == NULL && r->exited && r->out_over)
		run_free(r);
}

/* Start */

static int
input_fds(const struct rendered *in, int fd[3])
{
	fd[1] = fd[2] = -1;
	if ((fd[0] = memfd_sealed("olp-input", in->input, in->input_len)) !=
		-1 &&
	    (fd[1] = memfd_sealed("olp-system", in->system, in->system_len)) !=
		-1 &&
	    (fd[2] = memfd_sealed(
		 "olp-settings", in->settings, in->settings_len)) != -1)
		return (0);
	log_warn("run: memfd");
	if (fd[0] != -1)
		close(fd[0]);
	if (fd[1] != -1)
		close(fd[1]);
	return (-1);
}

static struct run *
run_alloc(struct job *j, struct queue_slot *slot)
{
	struct run *r = xcalloc(1, sizeof(*r));

	r->id = ++self.last_id;
	r->job = j;
	r->slot = *slot;
	memset(slot, 0, sizeof(*slot));
	r->fd_out = r->fd_err = -1;
	r->out_over = 1; /* until a broker is named */
	r->parse = parse_find(j->provider);
	if ((r->timer = evtimer_new(worker_base(), timer_cb, r)) == NULL)
		fatalx("run: event_new");
	LIST_INSERT_HEAD(&self.all, r, entry);
	self.n++;
	j->run = r;
	j->run_id = r->id;
	return (r);
}

enum olp_err
run_start(struct job *j, struct queue_slot *slot)
{
	const struct msg_conf_provider *p = rows_provider(j->provider);
	struct msg_run_start m;
	struct run *r;
	int fd[3];

	if (p == NULL || parse_find(j->provider) == NULL) {
		queue_release(sched_queue(), slot); /* gone with a reload */
		return (ERR_MODEL_UNKNOWN);
	}
	if (input_fds(j->rendered, fd) == -1) {
		queue_release(sched_queue(), slot);
		return (ERR_OVERLOADED);
	}
	r = run_alloc(j, slot);
	memset(&m, 0, sizeof(m));
	m.run_id = r->id;
	m.grant = j->grant;
	(void)strlcpy(m.provider, j->provider, sizeof(m.provider));
	(void)strlcpy(m.model, j->provider_model, sizeof(m.model));
	(void)strlcpy(m.request_id, j->request_id, sizeof(m.request_id));
	m.input_kind = j->rendered->input_kind;
	m.timeout_s = p->timeout_s;
	/* Where the link is going, run_spawn_gone() is next. */
	(void)chan_send_fds(link_spawn(), MT_RUN_START, &m, fd, 3);
	return (ERR_OK);
}

void
run_abandon(struct run *r)
{
	(void)run_detach(r);
	out_close(r);
	run_kill(r);
	run_settle(r);
}

void
run_abort(struct run *r, enum olp_err err)
{
	r->err = err;
	r->forced = 1;
	run_finish(r, RUN_FAILED);
	run_settle(r);
}

/* worker-spawn's word */

int
run_h_started(struct chan *c, struct msg *msg)
{
	const struct msg_run_started *m = msg->body;
	struct run *r = run_find(m->run_id);

	(void)c;
	if (r == NULL || r->started || r->exited)
		return (-1);
	r->started = 1;
	client_open(r, msg);
	if (r->job != NULL)
		job_run_started(r->job, m->enforcement);
	out_begin(r, m->egress);
	run_settle(r);
	return (0);
}

/* The namespace is gone: its place is free. */
static void
run_exit(struct run *r, enum olp_err err)
{
	r->exited = 1;
	r->exit_err = err;
	r->exit_at = r->kill_at = 0;
	run_arm(r);
	queue_release(sched_queue(), &r->slot);
	sched_pump();
}

static int
is_busy(enum olp_err e)
{
	return (e == ERR_BUSY_KEY || e == ERR_BUSY_PROVIDER ||
	    e == ERR_BUSY_TOTAL || e == ERR_BUSY_MEMORY);
}

int
run_h_failed(struct chan *c, struct msg *msg)
{
	const struct msg_run_failed *m = msg->body;
	struct run *r = run_find(m->run_id);
	enum olp_err err = (enum olp_err)m->err;
	struct job *j;

	(void)c;
	if (r == NULL || r->exited || m->err == ERR_OK || m->err >= ERR_MAX)
		return (-1);
	run_exit(r, ERR_OK);
	if (r->job != NULL && !r->started && r->end == RUN_GOES &&
	    (is_busy(err) || err == ERR_STALE)) {
		j = run_detach(r);
		run_settle(r);
		if (err == ERR_STALE)
			sched_again(j, 1);
		else
			sched_refused(j, err);
		return (0);
	}
	/* The end of its output may have been seen first; worker-spawn knows
	 * better what that meant. */
	if (r->end != RUN_STOPPED && !r->forced) {
		r->err = err;
		r->forced = 1;
		r->retry_s = m->retry_s;
		run_detail(r, m->detail, strlen(m->detail));
		run_finish(r, RUN_FAILED);
	}
	run_settle(r);
	return (0);
}

int
run_h_exited(struct chan *c, struct msg *msg)
{
	const struct msg_run_exited *m = msg->body;
	struct run *r = run_find(m->run_id);

	(void)c;
	if (r == NULL || r->exited || m->err >= ERR_MAX)
		return (-1);
	run_exit(r, (enum olp_err)m->err);
	/* What it wrote is still in the pipe: that end comes by reading. */
	if (!r->started && r->end == RUN_GOES) {
		r->err = m->err != ERR_OK ? (enum olp_err)m->err : ERR_CLIENT;
		run_finish(r, RUN_FAILED);
	}
	run_settle(r);
	return (0);
}

void
run_spawn_gone(void)
{
	struct run *r, *next;
	struct job *j;

	LIST_FOREACH_SAFE(r, &self.all, entry, next) {
		if (r->exited)
			continue;
		run_exit(r, ERR_OK); /* the kernel ends what it had started */
		if (r->started || r->opened) {
			r->lost_spawn = 1;
			run_settle(r);
			continue;
		}
		j = r->end == RUN_GOES ? run_detach(r) : NULL;
		run_settle(r);
		if (j != NULL)
			sched_again(j, 1);
	}
}
