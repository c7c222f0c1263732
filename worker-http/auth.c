/* SPDX-License-Identifier: ISC */
/*
 * Who asks.  Runs in worker-http.  This file owns the questions to
 * worker-spawn about the token that came with a request, the answers and
 * grants, and what becomes of those who ask while worker-spawn is away.  It
 * must never decide by itself what a caller may do, nor send a token
 * anywhere but to worker-spawn.
 */
#include "worker-http/auth.h"

#include <bsd/string.h>
#include <event2/event.h>
#include <string.h>

#include "common/chan.h"
#include "common/log.h"
#include "common/worker.h"
#include "worker-http/deadline.h"
#include "worker-http/job.h"
#include "worker-http/link.h"
#include "worker-http/rows.h"
#include "worker-http/sched.h"
#include "worker-http/server.h"

static struct {
	struct jobs asking;  /* AUTH_WAITS, the oldest first */
	size_t asked;        /* AUTH without an answer */
	struct event *alone; /* fires when worker-spawn stays away ... */
	int is_alone;        /* ... and has fired */
} self = { .asking = TAILQ_HEAD_INITIALIZER(self.asking) };

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
void
auth_ask(struct job *j)
{
	if (j->auth == AUTH_WAITS)
		return;
	j->auth = AUTH_WAITS;
	j->grant = 0;
	j->item.held = 1;
	TAILQ_INSERT_TAIL(&self.asking, j, asking);
	asked_pump();
}

enum olp_err
auth_begin(struct job *j)
{
	/* Who asks whether we live is not kept waiting. */
	if (j->token[0] == '\0' ||
	    (j->ep->access == ACCESS_OPEN && link_spawn() == NULL))
		return (ERR_OK);
	if (self.is_alone)
		return (ERR_SANDBOX);
	deadline_phase(j, rows()->http.queue_s, ERR_QUEUE_TIMEOUT);
	deadline_arm(j);
	auth_ask(j);
	return (ERR_OK);
}

static void
grant_end(uint64_t grant)
{
	struct msg_grant_end m = { grant };

	if (grant != 0 && link_spawn() != NULL)
		(void)chan_send(link_spawn(), MT_GRANT_END, &m);
}

void
auth_drop(struct job *j)
{
	if (j->auth == AUTH_WAITS)
		TAILQ_REMOVE(&self.asking, j, asking);
	grant_end(j->grant);
}

/* worker-spawn's word */

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
auth_h_ok(struct chan *c, struct msg *msg)
{
	const struct msg_auth_ok *m = msg->body;
	struct job *j = job_find(m->auth_id);

	(void)c;
	if (self.asked == 0 || m->auth_id > job_last_id() || m->grant == 0 ||
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
		sched_pump();
	else if (j->state == JOB_ARRIVING)
		job_known(j);
	return (0);
}

int
auth_h_no(struct chan *c, struct msg *msg)
{
	const struct msg_auth_no *m = msg->body;
	struct job *j = job_find(m->auth_id);

	(void)c;
	if (self.asked == 0 || m->auth_id > job_last_id() || m->err == ERR_OK ||
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
auth_h_key_gone(struct chan *c, struct msg *msg)
{
	const struct msg_key_gone *m = msg->body;
	struct job *j, *next;

	(void)c;
	if (m->key_id[0] == '\0')
		return (-1); /* nobody's, and that of who is not known yet */
	TAILQ_FOREACH_SAFE(j, job_all(), all, next)
		if (strcmp(j->key_id, m->key_id) == 0)
			job_fail(j, ERR_KEY_REVOKED, NULL, NULL);
	return (0);
}

/* While it is away */

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
auth_init(void)
{
	self.alone = evtimer_new(worker_base(), alone_cb, NULL);
	if (self.alone == NULL)
		fatalx("auth: event_new");
	alone_soon();
}

void
auth_spawn_up(void)
{
	self.is_alone = 0;
	event_del(self.alone);
	asked_pump();
}

/* Grants died with it: all that will need one is to be asked for again. */
void
auth_spawn_gone(void)
{
	struct job *j;

	alone_soon();
	self.asked = 0;
	TAILQ_FOREACH(j, job_all(), all) {
		j->grant = 0;
		if (j->auth == AUTH_ASKED ||
		    (j->auth == AUTH_GRANTED && j->run == NULL))
			auth_ask(j);
	}
}
