/* SPDX-License-Identifier: ISC */
/*
 * olpd-http: accepts callers, speaks TLS and HTTP, reads JSON and the output
 * of clients.  Everything foreign is parsed here, so this process can do
 * nothing with what it learns: it may not open a file, connect, or run a
 * program; it asks worker-spawn, which decides by itself.
 */
#include <sys/resource.h>

#include <jansson.h>
#include <stdlib.h>

#include "common/chan.h"
#include "common/log.h"
#include "common/worker.h"
#include "worker-http/auth.h"
#include "worker-http/cage.h"
#include "worker-http/link.h"
#include "worker-http/rows.h"
#include "worker-http/sched.h"
#include "worker-http/server.h"
#include "worker-http/status.h"

static const struct msg_handler from_master[] = {
	{ MT_CONF_HTTP, rows_h_http, ST_ANY },
	{ MT_CONF_PROVIDER, rows_h_provider, ST_ANY },
	{ MT_CONF_MODEL, rows_h_model, ST_ANY },
	{ MT_CONF_TLS, rows_h_tls, ST_ANY },
	{ MT_CONF_LISTEN, rows_h_listen, ST_ANY },
	{ MT_DRAIN, server_h_drain, ST_READY },
	{ MT_STATUS_FD, status_h_fd, ST_READY | ST_DRAIN },
};

/* What opens files on first use; OpenSSL needs none (tls.c). */
static int
acquire(void)
{
	struct rlimit rl;
	unsigned char one;

	/* A connection is one descriptor, a run two. */
	if (getrlimit(RLIMIT_NOFILE, &rl) == -1)
		fatal("getrlimit");
	rl.rlim_cur = rl.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &rl) == -1)
		fatal("setrlimit");
	json_object_seed(0);
	arc4random_buf(&one, 1);
	return (0);
}

static void
start(void)
{
	sched_init();
	auth_init();
	server_start();
}

static const struct worker worker = {
	.proc = PROC_HTTP,
	.cage = &http_cage,
	.from_master = from_master,
	.nfrom_master = sizeof(from_master) / sizeof(from_master[0]),
	.conf_begin = rows_begin,
	.conf_end = rows_end,
	.acquire = acquire,
	.start = start,
	.link = link_take,
};

int
main(int argc, char **argv)
{
	worker_main(argc, argv, &worker);
}
