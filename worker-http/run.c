/* SPDX-License-Identifier: ISC */
/*
 * Runs in worker-http: a client's output is read and parsed here, in no
 * other process.  This file owns the descriptors of its stdout and stderr
 * and the record of the run until worker-spawn has seen its end and egress
 * has said what went out.  It must never start a run again that a provider
 * may have heard of, nor take a client's word for an answer that no
 * provider gave.
 */
#include "worker-http/run.h"

#include <bsd/string.h>
#include <bsd/sys/queue.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/chan.h"
#include "common/limits.h"
#include "common/lines.h"
#include "common/log.h"
#include "common/memfd.h"
#include "common/provider/provider.h"
#include "common/worker.h"
#include "worker-http/answer.h"
#include "worker-http/job.h"
#include "worker-http/link.h"
#include "worker-http/queue.h"
#include "worker-http/rows.h"
#include "worker-http/sched.h"

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
	int forced; /* it failed because its job said so */
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

static struct {
	LIST_HEAD(, run) all; /* LIM_CONF_RUNS_MAX and those that settle */
	size_t n;
	uint64_t last_id;
} self;

static void run_settle(struct run *);

size_t
run_count(void)
{
	return (self.n);
}

static struct run *
run_find(uint64_t id)
{
	struct run *r;

	LIST_FOREACH(r, &self.all, entry)
		if (r->id == id)
			return (r);
	return (NULL);
}

static void
pipe_close(struct event **ev, int *fd)
{
	if (*ev != NULL)
		event_free(*ev);
	if (*fd != -1)
		close(*fd);
	*ev = NULL;
	*fd = -1;
}

static void
run_free(struct run *r)
{
	LIST_REMOVE(r, entry);
	self.n--;
	queue_release(sched_queue(), &r->slot);
	pipe_close(&r->ev_out, &r->fd_out);
	pipe_close(&r->ev_err, &r->fd_err);
	event_free(r->timer);
	if (r->lines != NULL && lines_skipped(r->lines) > 0)
		log_info("run %" PRIu64 ": %" PRIu64
			 " bytes of lines over the limit were left out",
		    r->id, lines_skipped(r->lines));
	lines_free(r->lines);
	if (r->parse != NULL && r->parser != NULL)
		r->parse->free(r->parser);
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

static void
detail_set(struct run *r, const char *s, size_t len)
{
	char buf[LIM_TEXT];

	free(r->detail);
	r->detail = NULL;
	if (len > 0)
		r->detail = xstrdup(log_vis(buf, sizeof(buf), s, len));
}

/* Waiting with a bound */

static void
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

static void
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

/* Ask what went out, after which nothing more goes. */
static void
out_close(struct run *r)
{
	struct msg_out_run m = { r->id };
	struct chan *c;

	if (r->out_over || r->close_sent || r->egress == 0)
		return;
	if ((c = link_egress(r->egress)) != NULL) {
		r->close_sent = 1;
		if (chan_send(c, MT_OUT_CLOSE, &m) == -1)
			r->out_over = 1;
	} else if (link_egress_dead(r->egress))
		r->out_over = 1;
	if (r->out_over || r->settle_at != 0)
		return;
	r->settle_at = job_now() + LIM_RUN_SETTLE_MS;
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

/* The client has said its last word, or shall say no more. The caller settles.
 */
static void
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

static void
usage_from_broker(struct run *r)
{
	const struct msg_out_closed *o = r->out;

	if (o == NULL || (o->in_tokens == 0 && o->out_tokens == 0))
		return;
	r->usage.prompt =
	    o->in_tokens + o->cache_read_tokens + o->cache_write_tokens;
	r->usage.cached = o->cache_read_tokens;
	r->usage.completion = o->out_tokens;
}

static uint32_t
retry_after(const struct run *r)
{
	uint64_t now = (uint64_t)time(NULL);

	if (r->out != NULL && r->out->retry_s > 0)
		return (r->out->retry_s);
	if (r->out != NULL && r->out->reset_at > now &&
	    r->out->reset_at - now <= UINT32_MAX)
		return ((uint32_t)(r->out->reset_at - now));
	return (r->retry_s);
}

/*
 * Why it failed.  What the provider answered, as egress saw it, comes before
 * a refusal of egress, which may be of the client's second try, and both
 * come before the client's own account.
 */
static enum olp_err
run_reason(const struct run *r)
{
	enum olp_err up =
	    r->out != NULL ? answer_upstream(r->out->status) : ERR_OK;
	int vague = r->err == ERR_CLIENT || r->at_eof;

	if (r->exit_err == ERR_STUCK || (r->exit_err != ERR_OK && vague))
		return (r->exit_err);
	if (r->forced || r->err == ERR_CLIENT_ODD)
		return (r->err);
	if (up != ERR_OK)
		return (vague || answer_status(up) != answer_status(r->err)
			? up
			: r->err);
	if (r->refused)
		return (ERR_BROKER);
	if (r->out != NULL && r->out->err != ERR_OK && r->out->err < ERR_MAX)
		return ((enum olp_err)r->out->err);
	if (vague && r->out != NULL && r->out->opened && !r->out->complete)
		return (ERR_PROVIDER_CUT);
	return (r->err);
}

/* The job gets its error; the run goes on settling by itself. */
static void
run_report(struct run *r, enum olp_err err)
{
	struct job_result res = { .err = err, .retry_s = retry_after(r) };

	if (err == ERR_BROKER && r->refusal != NULL)
		detail_set(r, r->refusal, strlen(r->refusal));
	else if (r->detail == NULL)
		detail_set(r, r->err_tail, r->err_len);
	res.detail = r->detail;
	job_run_failed(run_detach(r), &res);
}

/*
 * May the job be started again although this run had begun?  Only when
 * nothing was said to the caller, one of the two that hold the run died, and
 * the other one knows that no provider was asked.
 */
static int
run_may_restart(const struct run *r)
{
	if (!job_uncommitted(r->job) || r->job->restarts >= LIM_JOB_RESTARTS ||
	    r->text > 0 || r->egress == 0 || r->opened)
		return (0);
	if (r->lost_egress)
		return (!r->lost_spawn && r->exited &&
		    (r->exit_err == ERR_OK || r->exit_err == ERR_RUN_LOST));
	return (r->exited && r->out != NULL && !r->out->opened);
}

/*
 * With worker-spawn its clients die, but not before egress has closed their
 * sockets: what one of them makes of that is not its own failure.
 */
static int
run_cut(const struct run *r)
{
	const struct msg_out_closed *o = r->out;

	return (r->lost_spawn && !r->refused && o != NULL && !o->complete &&
	    (o->status == 0 || (o->status >= 200 && o->status <= 299)));
}

static void
run_judge(struct run *r)
{
	struct job *j;
	/* worker-spawn says so when it could not reach the run's egress. */
	int lost = !r->forced &&
	    (r->lost_egress || run_cut(r) ||
		(r->at_eof && (r->lost_spawn || r->exit_err == ERR_RUN_LOST)));

	if (!lost) {
		run_report(r,
		    r->exited       ? run_reason(r)
			: r->forced ? r->err
				    : ERR_STUCK);
		return;
	}
	if (!run_may_restart(r)) {
		run_report(r, ERR_RUN_LOST);
		return;
	}
	j = run_detach(r);
	j->restarts++;
	sched_again(j, r->lost_spawn);
}

/*
 * The client's word for a whole answer is not enough where a broker saw what
 * came.  When that was not one, whose fault it is shows at the end of the run.
 */
static int
run_believed(struct run *r)
{
	const struct msg_out_closed *o = r->out;
	enum olp_err up;

	if (o == NULL ||
	    (o->opened && o->complete && o->status >= 200 && o->status <= 299))
		return (1);
	up = answer_upstream(o->status);
	r->end = RUN_FAILED;
	r->err = up != ERR_OK            ? up
	    : r->refused                 ? ERR_BROKER
	    : o->err == ERR_PROVIDER_CUT ? ERR_PROVIDER_CUT
					 : ERR_CLIENT_ODD;
	run_kill(r);
	if (r->err != ERR_CLIENT_ODD)
		run_report(r, r->err);
	return (0);
}

/* A whole answer. */
static void
run_deliver(struct run *r)
{
	struct job_result res = { .stop = r->stop };

	if (r->stop == STOP_TOOL)
		run_report(r, ERR_CLIENT_ODD);
	else if (r->text == 0 && r->stop == STOP_END)
		run_report(r, ERR_CLIENT);
	else {
		usage_from_broker(r);
		res.usage = r->usage;
		job_run_done(run_detach(r), &res);
	}
}

/* Called after every change, as the last thing: the run may be gone. */
static void
run_settle(struct run *r)
{
	if (r->busy)
		return;
	if (r->job != NULL && r->out_over) {
		if (r->end == RUN_STOPPED && run_believed(r))
			run_deliver(r);
		else if (r->end == RUN_FAILED && r->job != NULL &&
		    (r->exited || r->exit_late))
			run_judge(r);
	}
	if (r->job == NULL && r->exited && r->out_over)
		run_free(r);
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

/* The client's output */

static int
on_chunk(void *arg, const struct chunk *c)
{
	struct run *r = arg;

	if (r->job == NULL || r->end != RUN_GOES)
		return (1);
	switch (c->kind) {
	case CHUNK_START:
		break;
	case CHUNK_TEXT:
		r->text += c->len;
		if (c->len > 0 && job_run_text(r->job, c->text, c->len) != 0)
			return (1);
		break;
	case CHUNK_USAGE:
		r->usage.prompt = c->in_tokens > 0 ? (uint64_t)c->in_tokens : 0;
		r->usage.completion =
		    c->out_tokens > 0 ? (uint64_t)c->out_tokens : 0;
		break;
	case CHUNK_STOP:
		r->stop = c->stop;
		run_finish(r, RUN_STOPPED);
		return (1);
	case CHUNK_FAIL:
		r->err = c->err > ERR_OK && c->err < ERR_MAX
		    ? (enum olp_err)c->err
		    : ERR_CLIENT;
		r->retry_s = c->retry_s;
		detail_set(r, c->text, c->len);
		run_finish(r, RUN_FAILED);
		return (1);
	}
	return (0);
}

static int
on_line(void *arg, char *line, size_t len)
{
	struct run *r = arg;

	return (r->parse->line(r->parser, line, len, on_chunk, r));
}

static void
out_ended(struct run *r)
{
	pipe_close(&r->ev_out, &r->fd_out);
	if (r->end != RUN_GOES || r->job == NULL)
		return;
	if (lines_end(r->lines) == 0)
		(void)r->parse->end(r->parser, on_chunk, r);
	if (r->job != NULL && r->end == RUN_GOES) {
		r->err = ERR_CLIENT;
		run_finish(r, RUN_FAILED);
	}
	/* Only an end without a word of its own; see run_judge(). */
	r->at_eof = r->end == RUN_FAILED && r->err == ERR_CLIENT;
}

static void
out_cb(evutil_socket_t fd, short what, void *arg)
{
	static char buf[LIM_RUN_READ];
	struct run *r = arg;
	ssize_t n = read(fd, buf, sizeof(buf));

	(void)what;
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	r->busy = 1;
	if (n > 0 && r->job != NULL && r->end == RUN_GOES) {
		job_run_heard(r->job);
		(void)lines_feed(r->lines, buf, (size_t)n);
	} else if (n <= 0)
		out_ended(r);
	r->busy = 0;
	run_settle(r);
}

/* Drained, so that the client never waits for us; its end is kept. */
static void
err_cb(evutil_socket_t fd, short what, void *arg)
{
	static char buf[4096];
	struct run *r = arg;
	ssize_t n = read(fd, buf, sizeof(buf));
	size_t len, keep;

	(void)what;
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		pipe_close(&r->ev_err, &r->fd_err);
		return;
	}
	len = (size_t)n < sizeof(r->err_tail) ? (size_t)n : sizeof(r->err_tail);
	keep = sizeof(r->err_tail) - len;
	if (keep > r->err_len)
		keep = r->err_len;
	memmove(r->err_tail, r->err_tail + r->err_len - keep, keep);
	memcpy(r->err_tail + keep, buf + n - len, len);
	r->err_len = keep + len;
}

void
run_pause(struct run *r)
{
	if (r->paused || r->ev_out == NULL)
		return;
	r->paused = 1;
	event_del(r->ev_out);
}

void
run_resume(struct run *r)
{
	if (!r->paused || r->ev_out == NULL)
		return;
	r->paused = 0;
	event_add(r->ev_out, NULL);
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

static int
nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return (flags == -1 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK));
}

static void
pipes_take(struct run *r, struct msg *msg)
{
	r->fd_out = msg_take_fd(msg, 0);
	r->fd_err = msg_take_fd(msg, 1);
	if (nonblock(r->fd_out) == -1 || nonblock(r->fd_err) == -1)
		log_warn("run %llu: fcntl", (unsigned long long)r->id);
	r->parser = r->parse->new ();
	r->lines = lines_new(LIM_LINE_BYTES, on_line, r);
	r->ev_out = event_new(
	    worker_base(), r->fd_out, EV_READ | EV_PERSIST, out_cb, r);
	r->ev_err = event_new(
	    worker_base(), r->fd_err, EV_READ | EV_PERSIST, err_cb, r);
	if (r->ev_out == NULL || r->ev_err == NULL ||
	    event_add(r->ev_out, NULL) == -1 ||
	    event_add(r->ev_err, NULL) == -1)
		fatalx("run: event_add");
}

/* The egress that holds this run's way out is gone. */
static void
egress_lost(struct run *r)
{
	if (r->end != RUN_STOPPED && !r->out_over)
		r->lost_egress = 1;
	r->out_over = 1;
	r->settle_at = 0;
	run_kill(r);
}

/* Nothing went out and nothing will: not worth waiting for the client to see
 * it. */
static void
refusal_act(struct run *r)
{
	if (!r->started || !r->refused || r->opened || r->end != RUN_GOES)
		return;
	r->err = ERR_BROKER;
	run_finish(r, RUN_FAILED);
}

int
run_h_started(struct chan *c, struct msg *msg)
{
	const struct msg_run_started *m = msg->body;
	struct run *r = run_find(m->run_id);

	(void)c;
	if (r == NULL || r->started || r->exited)
		return (-1);
	r->started = 1;
	r->egress = m->egress;
	r->out_over = m->egress == 0;
	if (r->word_of != r->egress)
		r->opened = r->refused = 0; /* no business of that egress */
	pipes_take(r, msg);
	if (r->job != NULL)
		job_run_started(r->job, m->enforcement);
	if (r->egress != 0 && link_egress(r->egress) == NULL &&
	    link_egress_dead(r->egress))
		egress_lost(r);
	refusal_act(r);
	if (r->job == NULL || r->end != RUN_GOES)
		out_close(r);
	run_settle(r);
	return (0);
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
		detail_set(r, m->detail, strlen(m->detail));
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

/* Egress's word.  A run it speaks of may be over for us: OUT_CLOSE had its
 * time. */

/* The run an egress speaks of, in *r; NULL: over. -1: not its own. */
static int
out_run(const struct chan *c, uint64_t id, struct run **r)
{
	if (id == 0 || id > self.last_id)
		return (-1);
	if ((*r = run_find(id)) == NULL)
		return (0);
	if ((*r)->started && (*r)->egress != chan_instance(c))
		return (-1);
	(*r)->word_of = chan_instance(c);
	return (0);
}

int
run_h_out_opened(struct chan *c, struct msg *msg)
{
	const struct msg_out_run *m = msg->body;
	struct run *r;

	if (out_run(c, m->run_id, &r) == -1)
		return (-1);
	if (r != NULL)
		r->opened = 1;
	return (0);
}

int
run_h_out_refused(struct chan *c, struct msg *msg)
{
	const struct msg_out_refused *m = msg->body;
	struct run *r;

	if (out_run(c, m->run_id, &r) == -1)
		return (-1);
	if (r == NULL || r->refused)
		return (0);
	r->refused = 1;
	free(r->refusal);
	r->refusal = xstrdup(m->reason);
	refusal_act(r);
	run_settle(r);
	return (0);
}

int
run_h_out_closed(struct chan *c, struct msg *msg)
{
	const struct msg_out_closed *m = msg->body;
	struct run *r;

	if (out_run(c, m->run_id, &r) == -1)
		return (-1);
	if (r == NULL || r->out_over)
		return (0);
	if (!r->close_sent)
		return (-1);
	r->out = xmalloc(sizeof(*r->out));
	*r->out = *m;
	r->opened |= m->opened;
	r->out_over = 1;
	r->settle_at = 0;
	run_arm(r);
	run_settle(r);
	return (0);
}

void
run_egress_up(uint32_t instance)
{
	struct run *r, *next;

	LIST_FOREACH_SAFE(r, &self.all, entry, next)
		if (r->egress == instance &&
		    (r->job == NULL || r->end != RUN_GOES)) {
			out_close(r);
			run_settle(r);
		}
}

void
run_egress_gone(uint32_t instance)
{
	struct run *r, *next;

	LIST_FOREACH_SAFE(r, &self.all, entry, next)
		if (r->egress == instance && !r->out_over) {
			egress_lost(r);
			run_settle(r);
		}
}
