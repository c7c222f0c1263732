/* SPDX-License-Identifier: ISC */
/*
 * An olpd-egress that was taken over and accuses the others to the master:
 * olpd-spawn, olpd-http and other olpd-egress, by every generation it can
 * guess, a hundred times a second.
 */
#include <event2/event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/chan.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/worker.h"
#include "worker-http/egress/cage.h"

#define GENERATIONS 64

static uint16_t port;

static int
on_cred(struct chan *c, struct msg *m)
{
	const struct msg_egress_cred *e = m->body;

	(void)c;
	port = (uint16_t)e->port;
	return (0);
}

static void
accuse(enum proc whom, uint32_t instance)
{
	struct msg_peer_bad bad = { .peer = whom, .instance = instance };

	(void)snprintf(bad.text, sizeof(bad.text), "an accusation");
	for (bad.generation = 1; bad.generation < GENERATIONS; bad.generation++)
		(void)chan_send(worker_master(), MT_PEER_BAD, &bad);
}

static void
accuse_cb(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval again = { 0, 10000 };
	uint32_t i;

	(void)fd;
	(void)what;
	log_info("hostile accuses=1");
	accuse(PROC_SPAWN, 0);
	accuse(PROC_HTTP, 0);
	for (i = 1; i < 8; i++)
		accuse(PROC_EGRESS, i);
	event_base_once(worker_base(), -1, EV_TIMEOUT, accuse_cb, arg, &again);
}

static void
start(void)
{
	static const struct timeval wired = { 0, 500000 };

	event_base_once(worker_base(), -1, EV_TIMEOUT, accuse_cb, NULL, &wired);
}

static uint16_t
connect_port(void)
{
	return (port);
}

/* Kept open: the end of a link would be the end of its peer's patience. */
static void
link_up(const struct msg_link *l, int fd)
{
	log_info("hostile link=%u", (unsigned int)l->peer);
	(void)fd;
}

static const struct msg_handler from_master[] = {
	{ MT_EGRESS_CRED, on_cred, ST_ANY },
};

static const struct worker worker = {
	.proc = PROC_EGRESS,
	.cage = &egress_cage,
	.from_master = from_master,
	.nfrom_master = 1,
	.connect_port = connect_port,
	.start = start,
	.link = link_up,
};

int
main(int argc, char **argv)
{
	worker_main(argc, argv, &worker);
}
