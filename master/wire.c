/* SPDX-License-Identifier: ISC */
/*
 * Wires workers to each other, and gives each credential in use its
 * olpd-egress.  Runs in the master, which keeps no end of a pair, so that it
 * cannot read along; it opens credentials' files, judges the descriptors and
 * passes them on.  It must never read what is in them.
 */
#include "master/wire.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <bsd/string.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/conf/rows.h"
#include "common/log.h"
#include "master/rows.h"
#include "master/super.h"
#include "proto/err.h"

/* ---- pairs ---- */

/*
 * In the order in which a new worker is wired: http knows an egress before
 * spawn can name it in RUN_STARTED, and spawn its egresses before http can
 * ask it for a run.  b keeps the generation of the pair.
 */
static const struct {
	enum proc a, b;
} table[] = {
	{ PROC_HTTP, PROC_EGRESS },
	{ PROC_SPAWN, PROC_EGRESS },
	{ PROC_HTTP, PROC_SPAWN },
};
#define SLOT(a) ((a)->proc == PROC_HTTP ? 0 : 1)

static void
send_link(
    const struct super *to, const struct super *peer, uint64_t gen, int fd)
{
	struct msg_link m = { .peer = peer->proc,
		.instance = peer->instance,
		.generation = gen,
		.birth = peer->birth };

	if (peer->cred != NULL)
		(void)strlcpy(m.cred, cred_id(peer->cred), sizeof(m.cred));
	(void)chan_send_fds(to->chan, MT_LINK, &m, &fd, 1);
}

static void
pair(struct super *a, struct super *b)
{
	static uint64_t generation;
	int fd[2];

	if (a->state != SUPER_READY || b->state != SUPER_READY)
		return;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) == -1) {
		super_kill(
		    b, strerror(errno)); /* its successor is wired anew */
		return;
	}
	b->link[SLOT(a)] = ++generation;
	send_link(a, b, generation, fd[0]);
	send_link(b, a, generation, fd[1]);
}

void
wire_up(struct super *s)
{
	struct super *o;
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		TAILQ_FOREACH(o, &supers, entry)
			if (s->proc == table[i].a && o->proc == table[i].b)
				pair(s, o);
			else if (s->proc == table[i].b && o->proc == table[i].a)
				pair(o, s);
}

void
wire_down(struct super *s)
{
	struct super *o;

	s->link[0] = s->link[1] = 0;
	if (s->proc != PROC_EGRESS)
		TAILQ_FOREACH(o, &supers, entry)
			o->link[SLOT(s)] = 0;
}

struct super *
wire_peer(struct super *s, uint32_t proc, uint32_t instance, uint64_t gen)
{
	struct super *peer = super_find(proc, instance);
	const struct super *a = s, *b = peer;

	if (peer == NULL || peer->proc == s->proc)
		return (NULL);
	if (s->proc > peer->proc) { /* the table's b is higher */
		a = peer;
		b = s;
	}
	return (gen != 0 && b->link[SLOT(a)] == gen ? peer : NULL);
}

/* ---- credentials ---- */

struct cred {
	struct msg_egress_cred m;
	int fd[2];         /* the secret, CA certificates; open until sent */
	struct stat st[2]; /* as they were when opened */
	int asked;         /* EGRESS_DROP went to worker-spawn */
	int wanted;        /* though it was linked already */
};

const char *
cred_id(const struct cred *c)
{
	return (c->m.cred);
}

static void
cred_free(struct cred *c)
{
	if (c->fd[0] != -1)
		close(c->fd[0]);
	if (c->fd[1] != -1)
		close(c->fd[1]);
	free(c);
}

/* As the configuration has it now, files open.  NULL and a reason. */
static struct cred *
cred_new(const char *id, char *why, size_t size)
{
	struct cred *c = xcalloc(1, sizeof(*c));
	const char *file[2];
	int r = row_cred(rows.conf, &rows.keys, id, &c->m, &file[0], &file[1]);

	c->fd[0] = c->fd[1] = -1;
	if (r == -1)
		(void)strlcpy(why, "not in the configuration", size);
	else if ((c->fd[0] = conf_open(
		      file[0], 1, LIM_CRED_BYTES, why, size)) != -1 &&
	    (c->fd[1] = conf_open(file[1], 0, LIM_CA_BYTES, why, size)) != -1 &&
	    fstat(c->fd[0], &c->st[0]) == 0 && fstat(c->fd[1], &c->st[1]) == 0)
		return (c);
	cred_free(c);
	return (NULL);
}

static void
fail(const char *id, enum olp_err e, const char *why)
{
	struct super *spawn = super_ready(PROC_SPAWN);
	struct msg_egress_failed m = { .err = e };
	char vis[LIM_CRED_ID * 4];

	log_warnx("credential %s: %s",
	    log_vis(vis, sizeof(vis), id, strlen(id)), why);
	(void)strlcpy(m.cred, id, sizeof(m.cred));
	(void)strlcpy(m.text, why, sizeof(m.text));
	if (spawn != NULL)
		(void)chan_send(spawn->chan, MT_EGRESS_FAILED, &m);
}

static void
want(const char *id)
{
	char why[LIM_PATH + LIM_TEXT];
	struct super *s;
	struct cred *c;
	int n = 0;

	TAILQ_FOREACH(s, &supers, entry) {
		n += s->cred != NULL;
		if (s->cred == NULL || strcmp(cred_id(s->cred), id) != 0 ||
		    s->state == SUPER_ENDING || s->state == SUPER_DOWN)
			continue;
		/* Its LINK will come; or came and crossed this; or it has
		 * died, which spawn saw first. */
		s->cred->wanted = s->state == SUPER_READY;
		return;
	}
	if (n >= LIM_EGRESSES)
		fail(id, ERR_OVERLOADED, "too many are in use");
	else if ((c = cred_new(id, why, sizeof(why))) == NULL)
		fail(id, ERR_CREDENTIAL, why);
	else
		super_new(PROC_EGRESS, c);
}

int
cred_on_want(struct chan *ch, struct msg *m)
{
	const struct msg_egress_want *w = m->body;

	(void)ch;
	want(w->cred);
	return (0);
}

/* Between CONF_BEGIN and CONF_END, at set-up and after a change alike. */
void
cred_send(struct super *s)
{
	struct msg_generation g = { rows.generation };
	struct cred *c = s->cred;

	(void)chan_send(s->chan, MT_CONF_BEGIN, &g);
	(void)chan_send_fds(s->chan, MT_EGRESS_CRED, &c->m, c->fd, 2);
	(void)chan_send(s->chan, MT_CONF_END, &g);
	c->fd[0] = c->fd[1] = -1; /* given away */
}

void
cred_ended(struct super *s)
{
	if (!s->planned && !s->was_ready)
		fail(cred_id(s->cred), ERR_INTERNAL,
		    "olpd-egress ended before it was ready");
	else if (!s->planned && s->cred->wanted)
		want(cred_id(s->cred));
	cred_free(s->cred);
}

int
cred_on_idle(struct chan *ch, struct msg *m)
{
	struct super *s = chan_arg(ch), *spawn = super_ready(PROC_SPAWN);
	struct msg_egress_drop d = { s->instance };

	(void)m;
	s->cred->asked = 1;
	if (spawn != NULL)
		(void)chan_send(spawn->chan, MT_EGRESS_DROP, &d);
	else
		super_end(s); /* nobody can have a run with it */
	return (0);
}

int
cred_on_dropped(struct chan *ch, struct msg *m)
{
	const struct msg_egress_dropped *d = m->body;
	struct super *s = super_find(PROC_EGRESS, d->instance);

	(void)ch;
	if (s == NULL || !s->cred->asked)
		return (0); /* it died meanwhile */
	s->cred->asked = 0;
	if (d->unused)
		super_end(s);
	return (0);
}

static int
same_file(const struct stat *a, const struct stat *b)
{
	return (a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	    a->st_size == b->st_size &&
	    memcmp(&a->st_mtim, &b->st_mtim, sizeof(a->st_mtim)) == 0);
}

/*
 * One that is not configured any more, or for another place, is ended with
 * the runs that use it; a later run starts a fresh one.
 */
static void
renew(struct super *s)
{
	char why[LIM_PATH + LIM_TEXT] = "its configuration changed";
	struct cred *old = s->cred;
	struct cred *c = cred_new(cred_id(old), why, sizeof(why));

	if (c == NULL || memcmp(&c->m, &old->m, sizeof(c->m)) != 0) {
		log_info("credential %s: %s", cred_id(old), why);
		super_end(s);
	} else if (!same_file(&c->st[0], &old->st[0]) ||
	    !same_file(&c->st[1], &old->st[1])) {
		s->cred = c;
		c = old;
		if (s->state != SUPER_HELLO)
			cred_send(s);
	}
	if (c != NULL)
		cred_free(c);
}

void
cred_reload(void)
{
	struct super *s;

	TAILQ_FOREACH(s, &supers, entry)
		if (s->cred != NULL && s->state != SUPER_ENDING)
			renew(s);
}
