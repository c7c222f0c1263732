/* SPDX-License-Identifier: ISC */
/*
 * olpd-egress: the way out of the sandboxes.  One process holds one
 * credential and speaks to one provider.  It accepts on listeners that were
 * made inside sandboxes, checks what the clients ask, puts the credential in
 * the place of a run's placeholder and sends that to the provider by TLS.
 * It must never accept from the network, run a program, open a file, or show
 * the credential to anybody but the provider.
 */
#include <sys/resource.h>

#include <event2/event.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/limits.h"
#include "common/log.h"
#include "common/worker.h"
#include "worker-http/egress/broker.h"
#include "worker-http/egress/cage.h"
#include "worker-http/egress/cred.h"
#include "worker-http/egress/resolve.h"

static struct {
	struct cred *cred;   /* in use; the broker has a reference of its own */
	struct cred *staged; /* came in the CONF under way */
	size_t fds;
} self;

/* EGRESS_CRED */

static int
conf_begin(uint64_t generation)
{
	(void)generation;
	cred_unref(self.staged);
	self.staged = NULL;
	return (0);
}

/*
 * Landlock's port and the resolver's socket were fixed when the process began.
 */
static int
same_way(const struct cred *a, const struct cred *b)
{
	return (a->port == b->port && a->resolver_port == b->resolver_port &&
	    strcmp(a->resolver, b->resolver) == 0 && strcmp(a->id, b->id) == 0);
}

static int
on_cred(struct chan *c, struct msg *m)
{
	char err[LIM_TEXT];

	(void)c;
	cred_unref(self.staged);
	self.staged = cred_new(m->body, m->fd[0], m->fd[1], err, sizeof(err));
	if (self.staged != NULL)
		return (0);
	if (self.cred == NULL)
		fatalx("%s", err);
	log_warnx("%s: the one before stays in use", err);
	return (0);
}

static int
conf_end(uint64_t generation)
{
	(void)generation;
	if (self.staged == NULL)
		return (self.cred == NULL ? -1 : 0);
	if (self.cred != NULL && !same_way(self.cred, self.staged)) {
		log_warnx("credential %s: another port or resolver needs a new "
			  "process: "
			  "the one before stays in use",
		    self.cred->id);
		return (conf_begin(generation));
	}
	cred_unref(self.cred);
	self.cred = self.staged;
	self.staged = NULL;
	broker_set_cred(cred_ref(self.cred));
	return (0);
}

static const struct msg_handler from_master[] = {
	{ MT_EGRESS_CRED, on_cred, ST_ANY },
};

/* Life */

/* As many descriptors as there may be. */
static void
raise_fds(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == -1)
		fatal("getrlimit");
	rl.rlim_cur = rl.rlim_max < LIM_NOFILE ? rl.rlim_max : LIM_NOFILE;
	if (setrlimit(RLIMIT_NOFILE, &rl) == -1)
		fatal("setrlimit");
	self.fds = (size_t)rl.rlim_cur;
}

static int
acquire(void)
{
	size_t seed;

	raise_fds();

	/* jansson would look for /dev/urandom in the cage. */
	if (getentropy(&seed, sizeof(seed)) == -1)
		fatal("getentropy");
	json_object_seed(seed);
	return (resolve_init(
	    worker_base(), self.cred->resolver, self.cred->resolver_port));
}

static uint16_t
connect_port(void)
{
	return (self.cred->port);
}

static void
tell_idle(void)
{
	struct msg_empty m = { 0 };

	(void)chan_send(worker_master(), MT_EGRESS_IDLE, &m);
}

static void
start(void)
{
	broker_init(worker_base(), self.fds, LIM_OUT_IDLE_S, tell_idle);
}

/* Links */

static const struct msg_handler from_spawn[] = {
	{ MT_OUT_LISTEN, broker_listen, ST_READY },
	{ MT_OUT_END, broker_end, ST_READY },
};

static const struct msg_handler from_http[] = {
	{ MT_OUT_CLOSE, broker_close, ST_READY },
};

static void
link_gone(struct chan *c, int error, void *arg)
{
	(void)arg;
	worker_link_gone(c, error);
	broker_link_gone(c);
}

static struct chan *
link_new(
    const struct msg_link *l, int fd, const struct msg_handler *table, size_t n)
{
	struct chan *c = chan_new(worker_base(), fd, PROC_EGRESS,
	    (enum proc)l->peer, table, n, link_gone, NULL);

	chan_set_link(c, l);
	chan_set_state(c, ST_READY);
	chan_arm(c);
	return (c);
}

static void
link_up(const struct msg_link *l, int fd)
{
	if (l->peer == PROC_HTTP)
		broker_set_http(link_new(l, fd, from_http, 1));
	else if (l->peer == PROC_SPAWN)
		broker_set_spawn(link_new(l, fd, from_spawn, 2));
	else
		fatalx("link to a process that is no peer of olpd-egress");
}

static const struct worker worker = {
	.proc = PROC_EGRESS,
	.cage = &egress_cage,
	.from_master = from_master,
	.nfrom_master = sizeof(from_master) / sizeof(from_master[0]),
	.conf_begin = conf_begin,
	.conf_end = conf_end,
	.acquire = acquire,
	.connect_port = connect_port,
	.start = start,
	.link = link_up,
};

int
main(int argc, char **argv)
{
	worker_main(argc, argv, &worker);
}
