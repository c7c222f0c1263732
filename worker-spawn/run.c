/* SPDX-License-Identifier: ISC */
/*
 * Runs: begun by worker-http with a grant, ended by it, by a deadline, by a
 * key's end or by themselves.  Runs in worker-spawn.  The tenant's bytes are
 * in three sealed memfds that are passed on and never read.
 *
 * For worker-http each run ends in exactly one message: RUN_FAILED before or
 * instead of a client, RUN_EXITED after one.  RUN_STARTED is sent before the
 * gate opens: who has not seen it knows that nothing was executed.
 */
#include "worker-spawn/run.h"

#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cage.h"
#include "common/chan.h"
#include "common/log.h"
#include "common/memfd.h"
#include "common/provider/provider.h"
#include "common/worker.h"
#include "worker-spawn/admit.h"
#include "worker-spawn/child.h"
#include "worker-spawn/keys.h"
#include "worker-spawn/rows.h"
#include "worker-spawn/sandbox.h"
#include "worker-spawn/spawn.h"
#include "worker-spawn/tell.h"
#include "worker-spawn/way.h"

enum { F_INPUT, F_SYSTEM, F_SETTINGS, F_MAX }; /* RUN_START's descriptors */

struct run {
	TAILQ_ENTRY(run) entry;
	struct spawn *sp;
	struct msg_run_start rq; /* the grant in it is spent */
	uint64_t http_gen;       /* with rq.run_id its name */
	char key[LIM_KEY_ID];
	uint32_t uid;
	const struct provider_launch *launch;
	char cred[LIM_CRED_ID]; /* "": it goes nowhere */
	uint32_t cred_kind;
	uint32_t egress;      /* instance, 0: none */
	char placeholder[80]; /* the client's, in place of the credential */
	int fd[F_MAX];        /* read-only copies */
	long len[F_MAX];
	uint64_t memory; /* counted against the budget */
	uint32_t tasks;
	uint32_t timeout_s;
	char enforcement[LIM_ENFORCEMENT];
	struct child *child;    /* NULL: parked, waiting for its way out */
	struct event *deadline; /* of parking, then of the run */
	int listened;           /* egress has its listener */
	int killed;             /* by us; why says for what, ERR_OK: asked to */
	enum olp_err why;
	int stuck, told; /* told: worker-http has had its last message */
};

static void
run_free(struct run *r)
{
	int i;

	if (r == NULL)
		return;
	TAILQ_REMOVE(&r->sp->runs, r, entry);
	event_free(r->deadline);
	child_free(r->child);
	for (i = 0; i < F_MAX; i++)
		if (r->fd[i] != -1)
			close(r->fd[i]);
	tell_load_soon(r->sp);
	freezero(r, sizeof(*r));
}

static struct run *
run_find(const struct spawn *sp, uint64_t generation, uint64_t id)
{
	struct run *r;

	TAILQ_FOREACH(r, &sp->runs, entry)
		if (r->rq.run_id == id && r->http_gen == generation)
			return (r);
	return (NULL);
}

void
run_count(const struct spawn *sp, const char *key_id, const char *provider,
    struct run_count *n)
{
	const struct run *r;

	memset(n, 0, sizeof(*n));
	TAILQ_FOREACH(r, &sp->runs, entry) {
		int same_key = key_id != NULL && strcmp(r->key, key_id) == 0;

		n->all++;
		n->key += same_key ? 1 : 0;
		if (provider != NULL && strcmp(r->rq.provider, provider) == 0)
			n->provider++;
		n->stuck += r->stuck ? 1 : 0;
		n->key_stuck += same_key && r->stuck ? 1 : 0;
		n->memory += r->memory;
	}
}

int
run_uses_way(const struct spawn *sp, uint32_t instance)
{
	const struct run *r;

	TAILQ_FOREACH(r, &sp->runs, entry)
		if (r->egress == instance)
			return (1);
	return (0);
}

/* ---- messages about a run ---- */

/* To the link it was asked on; to nobody when that is gone. */
static struct chan *
run_http(const struct run *r)
{
	struct chan *c = r->sp->http;

	return (c != NULL && chan_birth(c) == r->http_gen ? c : NULL);
}

static int
send_failed(struct chan *c, uint64_t id, enum olp_err e, uint32_t retry_s,
    const char *detail)
{
	struct msg_run_failed m = {
		.run_id = id, .err = e, .retry_s = retry_s
	};

	(void)strlcpy(m.detail, detail, sizeof(m.detail));
	return (chan_send(c, MT_RUN_FAILED, &m));
}

static void
run_failed(struct run *r, enum olp_err e, const char *detail)
{
	struct chan *c = run_http(r);
	uint32_t retry_s = e == ERR_OVERLOADED ? LIM_RUN_RETRY_S : 0;

	if (c != NULL && !r->told)
		(void)send_failed(c, r->rq.run_id, e, retry_s, detail);
	r->told = 1;
}

static void
run_exited(struct run *r, enum olp_err e, int status, int signal)
{
	struct msg_run_exited m = { .run_id = r->rq.run_id,
		.err = e,
		.status = (uint32_t)status,
		.signal = (uint32_t)signal };
	struct chan *c = run_http(r);

	if (c != NULL && !r->told)
		(void)chan_send(c, MT_RUN_EXITED, &m);
	r->told = 1;
}

/* reason and status may be NULL; detail: more about it, for the line alone. */
static void
run_log(const struct run *r, enum log_event ev, const char *reason,
    const char *status, const char *detail)
{
	char uid[16], id[24];
	const struct log_field f[] = {
		{ "OLP_KEY_ID", r->key },
		{ "OLP_UID", uid },
		{ "OLP_REQUEST_ID", r->rq.request_id },
		{ "OLP_RUN_ID", id },
		{ "OLP_PROVIDER", r->rq.provider },
		{ "OLP_MODEL", r->rq.model },
		{ "OLP_ENFORCEMENT", r->enforcement },
		{ "OLP_REASON", reason },
		{ "OLP_EXIT_STATUS", status },
		{ "OLP_WORKER", "olpd-spawn" },
	};

	(void)snprintf(uid, sizeof(uid), "%" PRIu32, r->uid);
	(void)snprintf(id, sizeof(id), "%" PRIu64, r->rq.run_id);
	log_event(ev, f, sizeof(f) / sizeof(f[0]),
	    "run %s: %s: %s %s%s%s%s%s%s%s", id, r->key, r->rq.provider,
	    ev == EV_RUN_START ? "began" : "ended", reason != NULL ? ": " : "",
	    reason != NULL ? reason : "", status != NULL ? ", status " : "",
	    status != NULL ? status : "", *detail != '\0' ? ": " : "", detail);
}

static void
run_kill_for(struct run *r, enum olp_err why)
{
	if (r->killed)
		return;
	r->killed = 1;
	r->why = why;
	event_del(r->deadline);
	child_kill(r->child);
}

/* It has no child: there is nothing to wait for. */
static void
run_drop(struct run *r, enum olp_err e, const char *detail)
{
	log_info("run %" PRIu64 ": %s: %s: not begun: %s%s%s", r->rq.run_id,
	    r->key, r->rq.provider, err_name(e), *detail != '\0' ? ": " : "",
	    detail);
	run_failed(r, e, detail);
	run_free(r);
}

/* Whatever it is doing. */
static void
run_stop(struct run *r, enum olp_err why, const char *what)
{
	if (r->child != NULL)
		run_kill_for(r, why);
	else
		run_drop(r, why, what);
}

/* ---- what its child does ---- */

/* The shim's listener, on its way to where the credential is. */
static void
on_listener(void *arg, int fd)
{
	struct run *r = arg;
	struct way *w = r->egress == 0 ? NULL : way_of(r->sp, r->egress);
	struct msg_out_listen m = { .http_gen = r->http_gen,
		.run_id = r->rq.run_id,
		.max_requests = r->launch->max_requests,
		.no_tools = r->launch->read_protection == PROTECT_NO_TOOLS };

	if (w == NULL || r->listened || r->killed) {
		close(fd);
		run_kill_for(r, ERR_RUN_LOST); /* that egress has died */
		return;
	}
	(void)strlcpy(m.model, r->rq.model, sizeof(m.model));
	(void)strlcpy(m.placeholder, r->placeholder, sizeof(m.placeholder));
	(void)strlcpy(m.request_id, r->rq.request_id, sizeof(m.request_id));
	(void)strlcpy(m.key_id, r->key, sizeof(m.key_id));
	r->listened = 1;
	if (chan_send_fds(w->chan, MT_OUT_LISTEN, &m, &fd, 1) == -1)
		run_kill_for(r, ERR_RUN_LOST);
	explicit_bzero(&m, sizeof(m));
}

static void
on_stuck(void *arg)
{
	struct run *r = arg;

	r->stuck = 1;
	run_log(r, EV_RUN_END, err_name(ERR_STUCK), NULL,
	    "does not die, and its key starts nothing until it has");
	run_exited(r, ERR_STUCK, 128 + 9, 9);
	tell_load(r->sp);
}

static void
out_end(const struct run *r)
{
	struct msg_out_end m = { .http_gen = r->http_gen,
		.run_id = r->rq.run_id };
	struct way *w = r->listened ? way_of(r->sp, r->egress) : NULL;

	if (w != NULL)
		(void)chan_send(w->chan, MT_OUT_END, &m);
}

static void
on_gone(void *arg, const struct child_end *end)
{
	struct run *r = arg;
	enum olp_err e = r->why;
	char status[16];

	out_end(r);
	/* Who asked for its end may have done so for what this made of it. */
	if (end->out_of_memory && (!r->killed || r->why == ERR_OK))
		e = ERR_OOM;
	(void)snprintf(status, sizeof(status), "%d", end->status);
	if (r->stuck)
		log_info(
		    "run %" PRIu64 ": %s: gone at last", r->rq.run_id, r->key);
	else if (!end->ran &&
	    (!r->killed || (r->why == ERR_OK && end->err != ERR_OK))) {
		e = end->err == ERR_OK ? ERR_SANDBOX : end->err;
		run_log(r, EV_RUN_END, err_name(e), NULL, end->detail);
		run_failed(r, e, end->detail);
	} else {
		run_log(r, EV_RUN_END, e == ERR_OK ? NULL : err_name(e), status,
		    "");
		run_exited(r, e, end->status, end->signal);
	}
	run_free(r);
}

static const struct child_ops brokered = { on_listener, on_stuck, on_gone };
static const struct child_ops alone = { NULL, on_stuck, on_gone };

static void
deadline_cb(evutil_socket_t fd, short what, void *arg)
{
	struct run *r = arg;

	(void)fd;
	(void)what;
	if (r->child != NULL)
		run_kill_for(r, ERR_TOTAL);
	else
		run_stop(r, ERR_OVERLOADED,
		    "the egress process did not come in time");
}

/* ---- the start ---- */

/*
 * Three memfds that nobody can change any more, of a size that was meant;
 * each opened anew, since the sender shares the offset of its own.
 */
static enum olp_err
take_descriptors(struct run *r, const struct msg *m)
{
	static const long most[F_MAX] = { LIM_RUN_INPUT, LIM_RUN_INPUT,
		LIM_RUN_SETTINGS };
	int i;

	for (i = 0; i < F_MAX; i++)
		if ((r->len[i] = memfd_check(m->fd[i])) == -1 ||
		    r->len[i] > most[i])
			return (ERR_BAD_FDS);
	for (i = 0; i < F_MAX; i++)
		if ((r->fd[i] = memfd_reopen(m->fd[i])) == -1) {
			if (errno == EACCES) /* its sender shut it */
				return (ERR_BAD_FDS);
			log_warn("run %" PRIu64 ": reopen a descriptor",
			    r->rq.run_id);
			return (child_no_room(errno) ? ERR_OVERLOADED
						     : ERR_INTERNAL);
		}
	return (ERR_OK);
}

/* Random for each run, so that another run's is worth nothing. */
static void
make_placeholder(struct run *r)
{
	uint8_t random[24];
	size_t i, n;

	n = strlcpy(r->placeholder, "olp-run-", sizeof(r->placeholder));
	arc4random_buf(random, sizeof(random));
	for (i = 0; i < sizeof(random); i++)
		(void)snprintf(
		    r->placeholder + n + 2 * i, 3, "%02x", random[i]);
	explicit_bzero(random, sizeof(random));
}

static struct run *
run_new(struct spawn *sp, const struct chan *c, const struct msg_run_start *rq,
    const struct admission *a)
{
	struct run *r = xcalloc(1, sizeof(*r));
	int i;

	r->sp = sp;
	r->rq = *rq;
	r->rq.grant = 0;
	r->http_gen = chan_birth(c);
	(void)strlcpy(r->key, a->key->id, sizeof(r->key));
	r->uid = a->key->uid;
	r->launch = a->launch;
	(void)strlcpy(r->cred, a->cred, sizeof(r->cred));
	r->cred_kind = a->cred_kind;
	r->memory = a->row->memory;
	r->tasks = LIM_RUN_TASKS * a->key->runs;
	r->timeout_s =
	    a->row->timeout_s != 0 ? a->row->timeout_s : LIM_CONF_RUN_S;
	if (rq->timeout_s != 0 && rq->timeout_s < r->timeout_s)
		r->timeout_s = rq->timeout_s;
	for (i = 0; i < F_MAX; i++)
		r->fd[i] = -1;
	if ((r->deadline = event_new(sp->base, -1, 0, deadline_cb, r)) == NULL)
		fatalx("run: event_new");
	TAILQ_INSERT_TAIL(&sp->runs, r, entry);
	tell_load_soon(sp);
	return (r);
}

static void
run_words(
    const struct run *r, struct launch_words *args, struct launch_words *env)
{
	struct launch_run l = { .model = r->rq.model,
		.input_kind = (enum input_kind)r->rq.input_kind,
		.cred = (enum provider_cred)r->cred_kind,
		.placeholder = r->placeholder,
		.system_len = (size_t)r->len[F_SYSTEM],
		.settings_len = (size_t)r->len[F_SETTINGS] };

	r->launch->arguments(&l, args);
	r->launch->hardening(&l, args);
	r->launch->environment(&l, env);
}

static const char *
run_program(const struct run *r, char *buf, size_t size)
{
	(void)snprintf(buf, size, VIEW_PROVIDER "/%s", r->rq.provider);
	if (access(buf, F_OK) == -1 && r->launch->shipped != NULL)
		(void)snprintf(
		    buf, size, VIEW_LIBEXEC "/%s", r->launch->shipped);
	return (buf);
}

static struct child *
run_child(
    struct run *r, const char *program, int *out, int *err, const char **step)
{
	const struct msg_conf_spawn *conf = &r->sp->rows->spawn;
	struct launch_words args = { .n = 0 }, env = { .n = 0 };
	struct sandbox box = { .uid = r->uid,
		.per_user = conf->per_user,
		.landlock = r->sp->posture.place.landlock,
		.port = r->launch->listener == LISTENER_HTTP ? SANDBOX_PORT : 0,
		.program = program,
		.folders = r->launch->folders,
		.nfolders = r->launch->nfolders,
		.has_input = r->rq.input_kind == INPUT_TRANSCRIPT,
		.has_system = r->len[F_SYSTEM] > 0,
		.has_settings = r->len[F_SETTINGS] > 0,
		.tasks = r->tasks,
		.data =
		    2 * r->memory > LIM_RUN_DATA ? 2 * r->memory : LIM_RUN_DATA,
		.args = &args };
	struct child_spec spec = { .launch = r->launch,
		.sandbox = &box,
		.env = &env,
		.input = r->fd[F_INPUT],
		.system = r->fd[F_SYSTEM],
		.settings = r->fd[F_SETTINGS],
		.home_bytes = conf->home_bytes,
		.home_inodes = conf->home_inodes,
		/* The home and /tmp are memory too. */
		.memory =
		    r->memory == 0 ? 0 : r->memory + 2 * conf->home_bytes };
	struct child *c = NULL;

	run_words(r, &args, &env);
	*step = "command line";
	errno = E2BIG;
	if (!args.overflow && !env.overflow)
		c = child_start(r->sp->base, r->sp->groups, &spec,
		    r->launch->listener == LISTENER_HTTP ? &brokered : &alone,
		    r, out, err, step);
	launch_words_free(&args);
	launch_words_free(&env);
	return (c);
}

/* The namespaces are there and nothing else: say so, then let go. */
static void
run_let_go(struct run *r, int out, int err)
{
	struct msg_run_started m = { .run_id = r->rq.run_id,
		.egress = r->egress };
	struct timeval limit = { r->timeout_s, 0 };
	struct chan *c = run_http(r);
	int fds[2] = { out, err };

	(void)strlcpy(m.enforcement, r->enforcement, sizeof(m.enforcement));
	if (c == NULL || chan_send_fds(c, MT_RUN_STARTED, &m, fds, 2) == -1) {
		if (c == NULL) {
			close(out);
			close(err);
		}
		run_kill_for(r, ERR_RUN_LOST);
		return;
	}
	event_add(r->deadline, &limit);
	child_go(r->child);
	run_log(r, EV_RUN_START, NULL, NULL, "");
}

/* Frees r when it cannot be. */
static void
run_launch(struct run *r, uint32_t egress)
{
	char detail[LIM_TEXT], program[LIM_PATH];
	const char *step;
	enum olp_err e;
	int out, err, i;

	r->egress = egress;
	event_del(r->deadline);
	if (access(run_program(r, program, sizeof(program)), F_OK) == -1) {
		run_drop(
		    r, ERR_NOT_INSTALLED, "the client's program is not there");
		return;
	}
	posture_enforcement(&r->sp->posture,
	    r->launch->listener == LISTENER_HTTP, r->enforcement,
	    sizeof(r->enforcement));
	if ((r->child = run_child(r, program, &out, &err, &step)) == NULL) {
		e = child_no_room(errno) ? ERR_OVERLOADED : ERR_SANDBOX;
		(void)snprintf(
		    detail, sizeof(detail), "%s: %s", step, strerror(errno));
		run_drop(r, e, detail);
		return;
	}
	for (i = 0; i < F_MAX; i++) { /* the child has them */
		close(r->fd[i]);
		r->fd[i] = -1;
	}
	run_let_go(r, out, err);
}

/* Wait for an egress with the credential; asked for twice, one comes. */
static void
run_park(struct run *r)
{
	static const struct timeval limit = { LIM_RUN_PARK_S, 0 };
	struct msg_egress_want m;

	memset(&m, 0, sizeof(m));
	(void)strlcpy(m.cred, r->cred, sizeof(m.cred));
	event_add(r->deadline, &limit);
	(void)chan_send(worker_master(), MT_EGRESS_WANT, &m);
}

static int
refuse(struct chan *c, const struct msg_run_start *rq, enum olp_err e,
    uint32_t wait_s)
{
	const struct spawn *sp = chan_arg(c);

	log_debug("run %" PRIu64 ": %s", rq->run_id, err_name(e));
	return (send_failed(c, rq->run_id, e, wait_s,
	    e == ERR_SANDBOX ? sp->posture.message : ""));
}

int
run_start(struct chan *c, struct msg *m)
{
	const struct msg_run_start *rq = m->body;
	struct spawn *sp = chan_arg(c);
	struct admission a;
	struct keys_now now;
	struct run *r;
	struct way *w;
	enum olp_err e;

	if (run_find(sp, chan_birth(c), rq->run_id) != NULL ||
	    rq->input_kind > INPUT_TRANSCRIPT)
		return (-1);
	keys_clock(&now);
	if ((e = admit(sp, rq, &now, &a)) != ERR_OK)
		return (refuse(c, rq, e, a.wait_s));
	r = run_new(sp, c, rq, &a);
	if ((e = take_descriptors(r, m)) != ERR_OK) {
		run_drop(r, e, "its descriptors");
		return (0);
	}
	key_count_start(sp->keys, r->key, &now);
	if (r->cred[0] == '\0') {
		run_launch(r, 0);
		return (0);
	}
	make_placeholder(r);
	if ((w = way_find(sp, r->cred)) != NULL)
		run_launch(r, w->instance);
	else
		run_park(r);
	return (0);
}

int
run_kill(struct chan *c, struct msg *m)
{
	const struct msg_run_kill *rq = m->body;
	struct run *r = run_find(chan_arg(c), chan_birth(c), rq->run_id);

	if (r == NULL)
		return (0); /* it has ended: the message is on its way */
	if (r->child != NULL)
		run_kill_for(r, ERR_OK);
	else
		run_stop(r, ERR_CALLER_GONE, "not begun");
	return (0);
}

/* ---- what others bring about ---- */

void
run_http_gone(struct spawn *sp, uint64_t generation)
{
	struct run *r, *next;

	for (r = TAILQ_FIRST(&sp->runs); r != NULL; r = next) {
		next = TAILQ_NEXT(r, entry);
		if (r->http_gen == generation)
			run_stop(r, ERR_RUN_LOST, "worker-http is gone");
	}
}

void
run_key_gone(struct spawn *sp, const char *key_id)
{
	struct run *r, *next;

	for (r = TAILQ_FIRST(&sp->runs); r != NULL; r = next) {
		next = TAILQ_NEXT(r, entry);
		if (strcmp(r->key, key_id) == 0)
			run_stop(
			    r, ERR_KEY_REVOKED, "the key has ended or changed");
	}
}

void
run_way_ready(struct spawn *sp, const struct way *w)
{
	struct run *r, *next;

	for (r = TAILQ_FIRST(&sp->runs); r != NULL; r = next) {
		next = TAILQ_NEXT(r, entry);
		if (r->child == NULL && strcmp(r->cred, w->cred) == 0)
			run_launch(r, w->instance);
	}
}

void
run_way_failed(
    struct spawn *sp, const char *cred, uint32_t err, const char *why)
{
	enum olp_err e =
	    err > ERR_OK && err < ERR_MAX ? (enum olp_err)err : ERR_INTERNAL;
	struct run *r, *next;

	for (r = TAILQ_FIRST(&sp->runs); r != NULL; r = next) {
		next = TAILQ_NEXT(r, entry);
		if (r->child == NULL && strcmp(r->cred, cred) == 0)
			run_stop(r, e, why);
	}
}
