/* SPDX-License-Identifier: ISC */
/*
 * What a client writes.  Runs in worker-http: a client's output is read and
 * parsed here, in no other process.  This file owns the read ends of its
 * stdout and stderr, the splitter and the parser.  It must never keep a
 * client waiting on stderr, nor read on while its caller does not.
 */
#include "worker-http/client.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "common/chan.h"
#include "common/limits.h"
#include "common/lines.h"
#include "common/log.h"
#include "common/provider/provider.h"
#include "common/worker.h"
#include "worker-http/job.h"
#include "worker-http/run_record.h"

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
		run_detail(r, c->text, c->len);
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
ended(struct run *r)
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
	/* Only an end without a word of its own; see judge.c. */
	r->at_eof = r->end == RUN_FAILED && r->err == ERR_CLIENT;
}

static void
stdout_cb(evutil_socket_t fd, short what, void *arg)
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
		ended(r);
	r->busy = 0;
	run_settle(r);
}

/* Drained, so that the client never waits for us; its end is kept. */
static void
stderr_cb(evutil_socket_t fd, short what, void *arg)
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

static int
nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return (flags == -1 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK));
}

void
client_open(struct run *r, struct msg *msg)
{
	r->fd_out = msg_take_fd(msg, 0);
	r->fd_err = msg_take_fd(msg, 1);
	if (nonblock(r->fd_out) == -1 || nonblock(r->fd_err) == -1)
		log_warn("run %llu: fcntl", (unsigned long long)r->id);
	r->parser = r->parse->new ();
	r->lines = lines_new(LIM_LINE_BYTES, on_line, r);
	r->ev_out = event_new(
	    worker_base(), r->fd_out, EV_READ | EV_PERSIST, stdout_cb, r);
	r->ev_err = event_new(
	    worker_base(), r->fd_err, EV_READ | EV_PERSIST, stderr_cb, r);
	if (r->ev_out == NULL || r->ev_err == NULL ||
	    event_add(r->ev_out, NULL) == -1 ||
	    event_add(r->ev_err, NULL) == -1)
		fatalx("run: event_add");
}

void
client_close(struct run *r)
{
	pipe_close(&r->ev_out, &r->fd_out);
	pipe_close(&r->ev_err, &r->fd_err);
	if (r->lines != NULL && lines_skipped(r->lines) > 0)
		log_info("run %" PRIu64 ": %" PRIu64
			 " bytes of lines over the limit were left out",
		    r->id, lines_skipped(r->lines));
	lines_free(r->lines);
	if (r->parse != NULL && r->parser != NULL)
		r->parse->free(r->parser);
}

void
client_pause(struct run *r)
{
	if (r->paused || r->ev_out == NULL)
		return;
	r->paused = 1;
	event_del(r->ev_out);
}

void
client_resume(struct run *r)
{
	if (!r->paused || r->ev_out == NULL)
		return;
	r->paused = 0;
	event_add(r->ev_out, NULL);
}
