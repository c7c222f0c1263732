/* SPDX-License-Identifier: ISC */
/*
 * A run's way out, as its egress tells it.  Runs in worker-http.  This file
 * asks an egress what went out for a run and keeps its word of that: the
 * first request, a refusal, status, usage and limits at the end.  It must
 * never take one egress's word on a run of another, but for what forbids
 * making that run again, nor wait for it without a bound.
 */
#include "worker-http/out.h"

#include <stdlib.h>
#include <time.h>

#include "common/chan.h"
#include "common/limits.h"
#include "common/log.h"
#include "proto/msg.h"
#include "worker-http/job.h"
#include "worker-http/link.h"
#include "worker-http/run_record.h"

void
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

/* The egress that holds this run's way out is gone. */
static void
lost(struct run *r)
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

void
out_begin(struct run *r, uint32_t egress)
{
	r->egress = egress;
	r->out_over = egress == 0;
	/* Of another one's word only what forbids a second run counts. */
	if (r->word_of != egress) {
		r->refused = 0;
		free(r->refusal);
		r->refusal = NULL;
	}
	if (egress != 0 && link_egress(egress) == NULL &&
	    link_egress_dead(egress))
		lost(r);
	refusal_act(r);
	if (r->job == NULL || r->end != RUN_GOES)
		out_close(r);
}

void
out_usage(struct run *r)
{
	const struct msg_out_closed *o = r->out;

	if (o == NULL || (o->in_tokens == 0 && o->out_tokens == 0))
		return;
	r->usage.prompt =
	    o->in_tokens + o->cache_read_tokens + o->cache_write_tokens;
	r->usage.cached = o->cache_read_tokens;
	r->usage.completion = o->out_tokens;
}

uint32_t
out_retry(const struct run *r)
{
	uint64_t now = (uint64_t)time(NULL);

	if (r->out != NULL && r->out->retry_s > 0)
		return (r->out->retry_s);
	if (r->out != NULL && r->out->reset_at > now &&
	    r->out->reset_at - now <= UINT32_MAX)
		return ((uint32_t)(r->out->reset_at - now));
	return (r->retry_s);
}

/* Its word. A run it speaks of may be over for us: OUT_CLOSE had its time. */

/* The run an egress speaks of, in *r; NULL: over. -1: not its own. */
static int
spoken_of(const struct chan *c, uint64_t id, struct run **r)
{
	if (id == 0 || id > run_last_id())
		return (-1);
	if ((*r = run_find(id)) == NULL)
		return (0);
	if ((*r)->started && (*r)->egress != chan_instance(c))
		return (-1);
	(*r)->word_of = chan_instance(c);
	return (0);
}

int
out_h_opened(struct chan *c, struct msg *msg)
{
	const struct msg_out_run *m = msg->body;
	struct run *r;

	if (spoken_of(c, m->run_id, &r) == -1)
		return (-1);
	if (r != NULL)
		r->opened = 1;
	return (0);
}

int
out_h_refused(struct chan *c, struct msg *msg)
{
	const struct msg_out_refused *m = msg->body;
	struct run *r;

	if (spoken_of(c, m->run_id, &r) == -1)
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
out_h_closed(struct chan *c, struct msg *msg)
{
	const struct msg_out_closed *m = msg->body;
	struct run *r;

	if (spoken_of(c, m->run_id, &r) == -1)
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
out_egress_up(uint32_t instance)
{
	struct run *r, *next;

	LIST_FOREACH_SAFE(r, run_all(), entry, next)
		if (r->egress == instance &&
		    (r->job == NULL || r->end != RUN_GOES)) {
			out_close(r);
			run_settle(r);
		}
}

void
out_egress_gone(uint32_t instance)
{
	struct run *r, *next;

	LIST_FOREACH_SAFE(r, run_all(), entry, next)
		if (r->egress == instance && !r->out_over) {
			lost(r);
			run_settle(r);
		}
}
