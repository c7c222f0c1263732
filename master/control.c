/* SPDX-License-Identifier: ISC */
/*
 * Serves olpctl: reload and status.  Runs in the master.  Only root and
 * whoever started us are heard, and only two fixed messages.
 */
#include "master/control.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <bsd/string.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/conf/conf.h"
#include "common/host/sock.h"
#include "common/log.h"
#include "master/rows.h"
#include "master/super.h"

struct client {
	TAILQ_ENTRY(client) entry;
	struct chan *chan;
	int asks;       /* the reload at hand is its */
	uint64_t waits; /* for this generation, 0: for nothing */
};

static struct {
	struct event_base *base;
	void (*reload)(void);
	char path[LIM_PATH + 16];
	TAILQ_HEAD(, client) clients;
	int n;
} ctl;

static void
client_free(struct client *cl)
{
	TAILQ_REMOVE(&ctl.clients, cl, entry);
	ctl.n--;
	chan_free(cl->chan);
	free(cl);
}

static void
gone(struct chan *c, int error, void *arg)
{
	(void)c;
	(void)error;
	client_free(arg);
}

static void
answer(struct client *cl, int ok, int last, const char *text)
{
	struct msg_ctl_result r = { .ok = ok, .last = last };

	(void)strlcpy(r.text, text, sizeof(r.text));
	if (last) {
		r.keys_dev = rows.keys_dir.st_dev;
		r.keys_ino = rows.keys_dir.st_ino;
		cl->waits = 0;
	}
	(void)chan_send(cl->chan, MT_CTL_RESULT, &r);
}

static int
on_reload(struct chan *c, struct msg *m)
{
	struct client *cl = chan_arg(c);

	(void)m;
	cl->asks = 1;
	ctl.reload();
	cl->asks = 0;
	cl->waits = rows.generation;
	return (0);
}

/* http writes the report straight to olpctl: its bytes do not pass here. */
static int
on_status(struct chan *c, struct msg *m)
{
	struct super *http = super_ready(PROC_HTTP);
	struct msg_status st = { 0 };
	int fd[2];

	if (http == NULL ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) == -1) {
		answer(chan_arg(c), 0, 1, "olpd-http is not ready");
		return (0);
	}
	super_list(&st);
	(void)chan_send_fds(c, MT_CTL_STATUS_FD, m->body, &fd[0], 1);
	(void)chan_send_fds(http->chan, MT_STATUS_FD, &st, &fd[1], 1);
	return (0);
}

static const struct msg_handler from_ctl[] = {
	{ MT_CTL_RELOAD, on_reload, ST_ANY },
	{ MT_CTL_STATUS, on_status, ST_ANY },
};

static void
accept_cb(evutil_socket_t lfd, short what, void *arg)
{
	int fd = accept4(lfd, NULL, NULL, SOCK_CLOEXEC);
	socklen_t len = sizeof(struct ucred);
	struct client *cl;
	struct ucred u;

	(void)what;
	(void)arg;
	if (fd == -1 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &u, &len) == -1 ||
	    (u.uid != 0 && u.uid != geteuid())) {
		close(fd);
		return;
	}
	if (ctl.n++ == LIM_CTL_CLIENTS)
		client_free(TAILQ_FIRST(&ctl.clients)); /* the oldest */
	cl = xcalloc(1, sizeof(*cl));
	cl->chan = chan_new(
	    ctl.base, fd, PROC_MASTER, PROC_CTL, from_ctl, 2, gone, cl);
	TAILQ_INSERT_TAIL(&ctl.clients, cl, entry);
	chan_arm(cl->chan);
}

void
control_open(struct event_base *base, void (*reload)(void))
{
	struct sockaddr_storage ss;
	struct event *ev;
	int fd;

	ctl.base = base;
	ctl.reload = reload;
	TAILQ_INIT(&ctl.clients);
	(void)snprintf(ctl.path, sizeof(ctl.path), "%s/control.sock",
	    rows.conf->runtime_dir);
	fd = sock_listen(
	    &ss, sock_unix(&ss, ctl.path), SOCK_SEQPACKET, LIM_CTL_CLIENTS);
	if (fd == -1 || chmod(ctl.path, 0600) == -1)
		fatal("%s", ctl.path);
	ev = event_new(base, fd, EV_READ | EV_PERSIST, accept_cb, NULL);
	if (ev == NULL || event_add(ev, NULL) == -1)
		fatalx("event_new");
}

void
control_close(void)
{
	(void)unlink(ctl.path);
}

void
control_line(int ok, const char *text)
{
	struct client *cl;

	TAILQ_FOREACH(cl, &ctl.clients, entry)
		if (cl->asks || cl->waits != 0)
			answer(cl, ok, 0, text);
}

void
control_confirmed(uint64_t generation, int ok, const char *text)
{
	struct client *cl;

	TAILQ_FOREACH(cl, &ctl.clients, entry)
		if (cl->waits != 0 && cl->waits <= generation)
			answer(cl, ok, 1, text);
}
