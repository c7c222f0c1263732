/* SPDX-License-Identifier: ISC */
/*
 * Binds listeners or takes them from systemd, and keeps them over the deaths
 * of worker-http and over reloads.  Runs in the master, which never accepts.
 */
#include "master/listen.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/chan.h"
#include "common/conf/conf.h"
#include "common/host/sock.h"
#include "common/journal.h"
#include "common/log.h"
#include "common/memfd.h"

struct listener {
	TAILQ_ENTRY(listener) entry;
	struct conf_listen conf; /* a copy */
	struct sockaddr_storage addr;
	socklen_t len;
	int fd;
	int pem[2]; /* open files of certificate and key; -1: cleartext */
	int kept;   /* fd is also in the other set */
	int ours;   /* bound here, not by systemd */
	gid_t gid;  /* of a Unix socket's file; -1: as it is */
};
TAILQ_HEAD(listeners, listener);
static struct listeners now = TAILQ_HEAD_INITIALIZER(now);
static struct listeners next = TAILQ_HEAD_INITIALIZER(next);

static void
clear(struct listeners *set)
{
	struct listener *l;
	int i;

	while ((l = TAILQ_FIRST(set)) != NULL) {
		TAILQ_REMOVE(set, l, entry);
		if (l->fd != -1 && !l->kept) {
			close(l->fd);
			if (l->conf.is_unix && l->ours)
				(void)unlink(l->conf.path);
		}
		for (i = 0; i < 2; i++)
			if (l->pem[i] != -1)
				close(l->pem[i]);
		free(l);
	}
}

static struct listener *
in_use(const char *text)
{
	struct listener *l;

	TAILQ_FOREACH(l, &now, entry)
		if (strcmp(l->conf.text, text) == 0)
			break;
	return (l);
}

static struct listener *
listener_new(const struct conf_listen *c)
{
	struct listener *l = xcalloc(1, sizeof(*l));

	l->conf = *c;
	l->addr = c->addr;
	l->len = c->addr_len;
	l->fd = l->pem[0] = l->pem[1] = -1;
	l->gid = (gid_t)-1;
	if (c->is_unix)
		l->len = sock_unix(&l->addr, c->path);
	TAILQ_INSERT_TAIL(&next, l, entry);
	return (l);
}

/* 0, or -1 and a reason. */
static int
plan(struct listener *l, char *why, size_t size)
{
	const struct conf_listen *c = &l->conf;
	const struct listener *o = in_use(c->text);
	const struct group *gr;
	int on = 1;

	if (c->tls &&
	    ((l->pem[0] = conf_open(c->tls_cert, 0, LIM_CA_BYTES, why, size)) ==
		    -1 ||
		(l->pem[1] = conf_open(
		     c->tls_key, 1, LIM_CRED_BYTES, why, size)) == -1))
		return (-1);
	if (c->group[0] != '\0') {
		(void)strlcpy(why, "there is no such group", size);
		if ((gr = getgrnam(c->group)) == NULL)
			return (-1);
		l->gid = gr->gr_gid;
	}
	if (o != NULL) {
		l->fd = o->fd;
		l->ours = o->ours;
		l->kept = 1;
	} else if ((l->fd = listen_fd_take(&l->addr, l->len)) == -1) {
		l->fd = sock_listen(
		    &l->addr, l->len, SOCK_STREAM, LIM_LISTEN_BACKLOG);
		(void)strlcpy(why, strerror(errno), size);
		if (l->fd == -1)
			return (-1);
		l->ours = 1;
	}
	/* Accepted ones inherit it: 44 ms a stream without. */
	if (!c->is_unix)
		(void)setsockopt(
		    l->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return (0);
}

int
listen_plan(const struct conf *conf, struct conf_errors *errs)
{
	char why[LIM_PATH + LIM_TEXT];
	const struct conf_listen *c;
	int r = 0;

	TAILQ_FOREACH(c, &conf->listens, entry)
		if (plan(listener_new(c), why, sizeof(why)) == -1) {
			conf_error(errs, "%s:%u: listen on %s: %s", c->at.file,
			    c->at.line, c->text, why);
			r = -1;
		}
	if (r == -1)
		clear(&next);
	return (r);
}

void
listen_commit(void)
{
	struct listener *l, *o;

	TAILQ_FOREACH(l, &next, entry) {
		if (l->kept && (o = in_use(l->conf.text)) != NULL)
			o->kept = 1; /* the descriptor moves */
		l->kept = 0;
		if (l->conf.is_unix && l->ours &&
		    (lchown(l->conf.path, (uid_t)-1, l->gid) == -1 ||
			chmod(l->conf.path, l->conf.mode) == -1))
			log_warn("listen on %s: mode and group", l->conf.text);
	}
	clear(&now);
	TAILQ_CONCAT(&now, &next, entry);
}

void
listen_close(void)
{
	clear(&now);
}

void
listen_send(struct chan *ch)
{
	struct msg_conf_listen m;
	struct msg_conf_tls t = { 0 };
	struct listener *l;
	int fd[2];

	TAILQ_FOREACH(l, &now, entry) {
		memset(&m, 0, sizeof(m));
		m.is_unix = l->conf.is_unix;
		(void)strlcpy(m.text, l->conf.text, sizeof(m.text));
		if (l->conf.tls) {
			m.tls = ++t.id;
			fd[0] = memfd_reopen(l->pem[0]);
			fd[1] = memfd_reopen(l->pem[1]);
			(void)chan_send_fds(ch, MT_CONF_TLS, &t, fd, 2);
		}
		fd[0] = fcntl(l->fd, F_DUPFD_CLOEXEC, 0);
		(void)chan_send_fds(ch, MT_CONF_LISTEN, &m, fd, 1);
	}
}
