/* SPDX-License-Identifier: ISC */
/*
 * A worker's life from exec to loop.  The steps are numbered as in
 * worker.h; their order is the security argument.  Linked into the workers.
 */
#include "common/worker.h"

#include <sys/syscall.h>

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"

#define MASTER_FD 3

static struct {
	const struct worker *w;
	struct event_base *base;
	struct chan *master;
	struct msg_cage place;
	int have_place;
	int conf_ended; /* the first CONF_END came */
	uint64_t generation;
} self;

struct event_base *
worker_base(void)
{
	return (self.base);
}

struct chan *
worker_master(void)
{
	return (self.master);
}

const struct msg_cage *
worker_place(void)
{
	return (&self.place);
}

static int
on_log_fd(struct chan *c, struct msg *m)
{
	(void)c;
	log_journal(msg_take_fd(m, 0));
	return (0);
}

static int
on_cage(struct chan *c, struct msg *m)
{
	(void)c;
	self.place = *(const struct msg_cage *)m->body;
	self.have_place = 1;
	return (0);
}

static int
on_conf_begin(struct chan *c, struct msg *m)
{
	const struct msg_generation *g = m->body;

	(void)c;
	return (
	    self.w->conf_begin == NULL ? 0 : self.w->conf_begin(g->generation));
}

static int
on_conf_end(struct chan *c, struct msg *m)
{
	const struct msg_generation *g = m->body;

	if (self.w->conf_end != NULL && self.w->conf_end(g->generation) == -1) {
		if (!self.conf_ended)
			fatalx("set-up: the configuration cannot be used");
		return (0); /* the one before stays; no CONF_ACK tells so */
	}
	self.generation = g->generation;
	if (!self.conf_ended) {
		self.conf_ended = 1;
		return (0); /* READY will say it */
	}
	return (chan_send(c, MT_CONF_ACK, g));
}

static int
on_ping(struct chan *c, struct msg *m)
{
	return (chan_send(c, MT_PONG, m->body));
}

static int
on_link(struct chan *c, struct msg *m)
{
	(void)c;
	self.w->link(m->body, msg_take_fd(m, 0));
	return (0);
}

static const struct msg_handler builtin[] = {
	{ MT_LOG_FD, on_log_fd, ST_SETUP },
	{ MT_CAGE, on_cage, ST_SETUP },
	{ MT_CONF_BEGIN, on_conf_begin, ST_ANY },
	{ MT_CONF_END, on_conf_end, ST_ANY },
	{ MT_PING, on_ping, ST_READY | ST_DRAIN },
	{ MT_LINK, on_link, ST_READY | ST_DRAIN },
};

/* EOF from the master: finish nothing. */
static void
master_gone(struct chan *c, int error, void *arg)
{
	(void)c;
	(void)arg;
	if (error == EPROTO)
		log_warnx("the master broke the protocol");
	if (self.w->stop != NULL)
		self.w->stop();
	_exit(error == 0 ? 0 : 1);
}

static void
channel_open(void)
{
	size_t nb = sizeof(builtin) / sizeof(builtin[0]),
	       n = nb + self.w->nfrom_master;
	struct msg_handler *table = xcalloc(n, sizeof(*table));

	memcpy(table, builtin, sizeof(builtin));
	if (self.w->nfrom_master > 0)
		memcpy(table + nb, self.w->from_master,
		    self.w->nfrom_master * sizeof(*table));
	self.master = chan_new(self.base, MASTER_FD, self.w->proc, PROC_MASTER,
	    table, n, master_gone, NULL);
}

static int
ms_left(const struct timespec *end)
{
	struct timespec now;
	long ms;

	if (clock_gettime(CLOCK_MONOTONIC, &now) == -1)
		fatal("clock_gettime");
	ms = (end->tv_sec - now.tv_sec) * 1000 +
	    (end->tv_nsec - now.tv_nsec) / 1000000;
	return (ms < 0 ? 0 : (int)ms);
}

static void
setup_dialogue(void)
{
	struct msg_hello hello = { PROTO_VERSION, self.w->proc };
	struct timespec end;

	if (clock_gettime(CLOCK_MONOTONIC, &end) == -1)
		fatal("clock_gettime");
	end.tv_sec += LIM_SETUP_S;
	if (chan_send(self.master, MT_HELLO, &hello) == -1)
		fatalx("set-up: cannot greet the master");
	while (!self.conf_ended)
		if (chan_step(self.master, ms_left(&end)) == -1)
			fatal("set-up with the master");
	if (!self.have_place)
		fatalx("set-up: the master did not say where to live");
}

static void
signals_ignore(void)
{
	static const int ignored[] = { SIGPIPE, SIGHUP, SIGINT };
	size_t i;

	for (i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		if (signal(ignored[i], SIG_IGN) == SIG_ERR)
			fatal("signal %d", ignored[i]);
}

static void
options(int argc, char **argv)
{
	int ch, verbose = 0;

	while ((ch = getopt(argc, argv, "v")) != -1) {
		if (ch != 'v') {
			(void)fprintf(stderr,
			    "%s: started by olpd, not by hand\n", argv[0]);
			exit(2);
		}
		verbose = 1;
	}
	log_init(proc_name(self.w->proc), verbose);
}

int
worker_main(int argc, char **argv, const struct worker *w)
{
	struct msg_generation ready;

	self.w = w;
	options(argc, argv);
	if (syscall(SYS_close_range, MASTER_FD + 1, ~0U, 0) == -1)
		fatal("close_range");
	tzset(); /* needs files */
	if ((self.base = event_base_new()) == NULL)
		fatalx("event_base_new");
	channel_open();
	setup_dialogue();
	signals_ignore(); /* before the cage: OpenSSL writes without
			     MSG_NOSIGNAL */
	if (w->acquire != NULL && w->acquire() == -1)
		fatalx("set-up failed");
	cage_enter(w->cage, &self.place,
	    w->connect_port != NULL ? w->connect_port() : 0);
	if (w->start != NULL)
		w->start();
	chan_set_state(self.master, ST_READY);
	chan_arm(self.master);
	ready.generation = self.generation;
	if (chan_send(self.master, MT_READY, &ready) == -1)
		fatalx("cannot tell the master that we are ready");
	event_base_dispatch(self.base);
	fatalx("event loop returned");
}

void
worker_link_gone(const struct chan *c, int error)
{
	struct msg_peer_bad bad = { .peer = chan_peer(c),
		.instance = chan_instance(c),
		.generation = chan_generation(c) };

	if (error != EPROTO && error != ENOBUFS)
		return;
	(void)snprintf(bad.text, sizeof(bad.text), "%s",
	    error == EPROTO ? "broke the protocol"
			    : "does not read its channel");
	(void)chan_send(self.master, MT_PEER_BAD, &bad);
}
