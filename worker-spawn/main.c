/* SPDX-License-Identifier: ISC */
/*
 * olpd-spawn: "root" of a user namespace that maps one service id and the
 * key range and nothing else.  It judges tokens, becomes keys' users, makes,
 * bounds and ends sandboxes.  It is init of its process namespace: with it
 * every client dies, by the kernel.  It must never parse a byte that a
 * tenant or a client wrote, never block, and stay small.
 */
#include <sys/resource.h>

#include <bsd/string.h>
#include <event2/event.h>
#include <string.h>
#include <unistd.h>

#include "common/chan.h"
#include "common/log.h"
#include "common/provider/provider.h"
#include "common/worker.h"
#include "worker-spawn/cage.h"
#include "worker-spawn/cgroup.h"
#include "worker-spawn/keys.h"
#include "worker-spawn/probe.h"
#include "worker-spawn/rows.h"
#include "worker-spawn/run.h"
#include "worker-spawn/sandbox.h"
#include "worker-spawn/spawn.h"
#include "worker-spawn/tell.h"
#include "worker-spawn/way.h"

static struct spawn self;

static int on_conf_spawn(struct chan *, struct msg *);
static int on_conf_provider(struct chan *, struct msg *);
static int on_conf_model(struct chan *, struct msg *);
static int on_conf_key(struct chan *, struct msg *);
static int on_egress_failed(struct chan *, struct msg *);
static int on_egress_drop(struct chan *, struct msg *);
static int on_auth(struct chan *, struct msg *);
static int on_grant_end(struct chan *, struct msg *);
static int conf_begin(uint64_t);
static int conf_end(uint64_t);
static int acquire(void);
static void start(void);
static void on_link(const struct msg_link *, int);

/* clang-format off */
static const struct msg_handler from_master[] = {
	{ MT_CONF_SPAWN,    on_conf_spawn,    ST_ANY },
	{ MT_CONF_PROVIDER, on_conf_provider, ST_ANY },
	{ MT_CONF_MODEL,    on_conf_model,    ST_ANY },
	{ MT_CONF_KEY,      on_conf_key,      ST_ANY },
	{ MT_EGRESS_FAILED, on_egress_failed, ST_READY },
	{ MT_EGRESS_DROP,   on_egress_drop,   ST_READY },
};

static const struct msg_handler from_http[] = {
	{ MT_AUTH,      on_auth,      ST_READY },
	{ MT_GRANT_END, on_grant_end, ST_READY },
	{ MT_RUN_START, run_start,    ST_READY },
	{ MT_RUN_KILL,  run_kill,     ST_READY },
};
/* from egress: nothing (way.c) */

static const struct worker worker = {
	.proc = PROC_SPAWN,
	.cage = &spawn_cage,
	.from_master = from_master,
	.nfrom_master = sizeof(from_master) / sizeof(from_master[0]),
	.conf_begin = conf_begin,
	.conf_end = conf_end,
	.acquire = acquire,
	.start = start,
	.link = on_link,
};
/* clang-format on */

/* ---- configuration ---- */

static int
conf_begin(uint64_t generation)
{
	(void)generation;
	rows_free(self.coming);
	self.coming = rows_new();
	if (self.keys == NULL)
		self.keys = keys_new();
	keys_begin(self.keys);
	return (0);
}

static int
on_conf_spawn(struct chan *c, struct msg *m)
{
	(void)c;
	if (self.coming == NULL || self.coming->has_spawn)
		return (-1);
	self.coming->spawn = *(const struct msg_conf_spawn *)m->body;
	self.coming->has_spawn = 1;
	return (0);
}

static int
on_conf_provider(struct chan *c, struct msg *m)
{
	(void)c;
	return (
	    self.coming == NULL ? -1 : rows_add_provider(self.coming, m->body));
}

static int
on_conf_model(struct chan *c, struct msg *m)
{
	(void)c;
	return (
	    self.coming == NULL ? -1 : rows_add_model(self.coming, m->body));
}

/*
 * A key's row needs the range that comes with CONF_SPAWN, which is therefore
 * first.
 */
static int
on_conf_key(struct chan *c, struct msg *m)
{
	const struct msg_conf_key *k = m->body;

	(void)c;
	if (self.coming == NULL || !self.coming->has_spawn)
		return (-1);
	/* A row we cannot take disables that key and no other. */
	(void)keys_add(
	    self.keys, k, self.coming->spawn.uid_lo, self.coming->spawn.uid_hi);
	return (0);
}

static void
key_gone(void *arg, const char *key_id)
{
	struct log_field f = { "OLP_KEY_ID", key_id };

	(void)arg;
	log_event(EV_KEY_GONE, &f, 1,
	    "key %s: ended or changed: what is under way for it ends", key_id);
	/* Ids of keys whose token it was not shown are nothing to worker-http.
	 */
	if (keys_any_grant(self.keys, key_id))
		tell_key_gone(&self, key_id);
	run_key_gone(&self, key_id);
}

static void
log_providers(void)
{
	const struct provider_launch *l;
	size_t i, keys = keys_active(self.keys);

	for (i = 0; i < self.rows->nproviders; i++) {
		l = launch_find(self.rows->providers[i].name);
		log_info("provider %s: read protection %s, recommended tier %s",
		    l->name, protect_name(l->read_protection),
		    tier_name(l->tier));
		if (l->read_protection == PROTECT_NONE && keys > 1)
			log_warnx("provider %s: its client can read what is in "
				  "the sandbox, and "
				  "%zu keys may use it",
			    l->name, keys);
	}
}

/*
 * End what expired keys have under way; look again while there are keys that
 * expire.
 */
static void
look_for_expiry(void)
{
	static const struct timeval pause = { LIM_EXPIRY_LOOK_S, 0 };
	struct keys_now now;

	keys_clock(&now);
	keys_expire(self.keys, &now, key_gone, NULL);
	if (keys_any_expires(self.keys))
		event_add(self.expiry_look, &pause);
	else
		event_del(self.expiry_look);
}

/* Complete: from here on it is what counts. */
static int
conf_end(uint64_t generation)
{
	(void)generation;
	if (self.coming == NULL || !self.coming->has_spawn)
		return (-1);
	rows_free(self.rows);
	self.rows = self.coming;
	self.coming = NULL;
	keys_commit(self.keys, self.base == NULL ? NULL : key_gone, NULL);
	log_providers();
	if (self.base == NULL)
		return (0); /* the first; start() does the rest */
	look_for_expiry();
	probe_start(self.probe);
	tell_posture(&self);
	return (0);
}

/* ---- life and links ---- */

/* A run costs some descriptors here, and clients have their own limit. */
static int
acquire(void)
{
	struct rlimit rl;

	if (!self.rows->spawn.per_user)
		spawn_cage_alone();
	if (getrlimit(RLIMIT_NOFILE, &rl) == -1)
		return (-1);
	rl.rlim_cur = rl.rlim_max;
	return (setrlimit(RLIMIT_NOFILE, &rl));
}

static void
posture_told(struct spawn *sp)
{
	char text[LIM_ENFORCEMENT];
	struct log_field f = { "OLP_ENFORCEMENT", text };

	posture_enforcement(&sp->posture, 1, text, sizeof(text));
	log_event(
	    EV_SANDBOX, &f, 1, "sandbox: %s: %s", text, sp->posture.message);
	tell_posture(sp);
}

static void
expiry_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	look_for_expiry();
}

static void
start(void)
{
	self.base = worker_base();
	TAILQ_INIT(&self.ways);
	TAILQ_INIT(&self.runs);
	self.load_soon = event_new(self.base, -1, 0, tell_load_cb, &self);
	self.expiry_look = event_new(self.base, -1, 0, expiry_cb, NULL);
	if (self.load_soon == NULL || self.expiry_look == NULL)
		fatalx("event_new");
	self.groups =
	    cgroups_open(self.base, VIEW_CGROUP, self.rows->spawn.cgroup);
	self.probe = probe_new(&self, posture_told);
	look_for_expiry();
	probe_start(self.probe);
	probe_wait(self.probe);
}

/* All that was begun for this http ends: its successor knows nothing of it. */
static void
http_end(struct chan *c)
{
	uint64_t birth = chan_birth(c);

	if (self.http == c)
		self.http = NULL;
	chan_free(c);
	keys_grants_drop(self.keys);
	run_http_gone(&self, birth);
}

static void
http_gone(struct chan *c, int error, void *arg)
{
	(void)arg;
	worker_link_gone(c, error);
	http_end(c);
}

static void
link_http(const struct msg_link *m, int fd)
{
	if (self.http != NULL)
		http_end(self.http);
	self.http = chan_new(self.base, fd, PROC_SPAWN, PROC_HTTP, from_http,
	    sizeof(from_http) / sizeof(from_http[0]), http_gone, &self);
	chan_set_link(self.http, m);
	chan_set_state(self.http, ST_READY);
	chan_arm(self.http);
	tell_posture(&self);
	tell_load(&self);
}

static void
on_link(const struct msg_link *m, int fd)
{
	switch (m->peer) {
	case PROC_HTTP:
		link_http(m, fd);
		return;
	case PROC_EGRESS:
		way_link(&self, m, fd);
		return;
	default:
		log_warnx("link to %s: not a peer of ours",
		    proc_name((enum proc)m->peer));
		close(fd);
	}
}

static int
on_egress_failed(struct chan *c, struct msg *m)
{
	const struct msg_egress_failed *f = m->body;

	(void)c;
	run_way_failed(&self, f->cred, f->err, f->text);
	return (0);
}

static int
on_egress_drop(struct chan *c, struct msg *m)
{
	const struct msg_egress_drop *d = m->body;

	(void)c;
	way_drop(&self, d->instance);
	return (0);
}

/* ---- who a caller is ---- */

static int
auth_ok(struct chan *c, uint64_t auth_id, const struct key *k, uint64_t grant)
{
	struct msg_auth_ok m;
	size_t i;

	memset(&m, 0, sizeof(m));
	m.auth_id = auth_id;
	m.grant = grant;
	(void)strlcpy(m.key_id, k->id, sizeof(m.key_id));
	m.owner = k->owner;
	for (i = 0; i < k->nproviders; i++)
		(void)strlcpy(
		    m.providers[i], k->providers[i], sizeof(m.providers[i]));
	m.providers_n = k->nproviders;
	for (i = 0; i < k->nmodels; i++)
		(void)strlcpy(m.models[i], k->models[i], sizeof(m.models[i]));
	m.models_n = k->nmodels;
	m.runs = k->runs;
	m.require_full = k->require_full;
	return (chan_send(c, MT_AUTH_OK, &m));
}

/*
 * Tokens that nobody has are told to worker-http only: a line for each would be
 * anybody's to write.
 */
static int
auth_no(struct chan *c, uint64_t auth_id, const struct key *k, enum olp_err e)
{
	struct msg_auth_no m = { .auth_id = auth_id, .err = e };

	if (k != NULL) {
		struct log_field f[] = { { "OLP_KEY_ID", k->id },
			{ "OLP_REASON", err_name(e) } };

		log_event(EV_KEY_REFUSED, f, 2, "key %s: refused: %s", k->id,
		    err_name(e));
	}
	return (chan_send(c, MT_AUTH_NO, &m));
}

static int
on_auth(struct chan *c, struct msg *m)
{
	const struct msg_auth *a = m->body;
	const struct key *k;
	struct keys_now now;
	enum olp_err e;
	uint64_t grant;

	keys_clock(&now);
	if ((e = keys_check(self.keys, a->token, &now, &k)) != ERR_OK)
		return (auth_no(c, a->auth_id, k, e));
	if ((grant = keys_grant(self.keys, k, &now)) == 0)
		return (auth_no(c, a->auth_id, NULL, ERR_OVERLOADED));
	return (auth_ok(c, a->auth_id, k, grant));
}

static int
on_grant_end(struct chan *c, struct msg *m)
{
	const struct msg_grant_end *g = m->body;

	(void)c;
	keys_grant_end(self.keys, g->grant);
	return (0);
}

int
main(int argc, char **argv)
{
	worker_main(argc, argv, &worker);
}
