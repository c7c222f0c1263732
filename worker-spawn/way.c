/* SPDX-License-Identifier: ISC */
/*
 * Which egress process has which credential.  Runs in worker-spawn.  A run
 * is told the egress it begins with and keeps it; one that died is not
 * replaced under it: worker-http decides what becomes of such a run.
 */
#include "worker-spawn/way.h"

#include <bsd/string.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/chan.h"
#include "common/log.h"
#include "common/worker.h"
#include "worker-spawn/run.h"
#include "worker-spawn/spawn.h"

static void
way_free(struct way *w)
{
	TAILQ_REMOVE(&w->sp->ways, w, entry);
	chan_free(w->chan);
	free(w);
}

static void
way_gone(struct chan *c, int error, void *arg)
{
	worker_link_gone(c, error);
	way_free(arg);
}

void
way_link(struct spawn *sp, const struct msg_link *m, int fd)
{
	struct way *w, *other;
	size_t n = 0;

	TAILQ_FOREACH(other, &sp->ways, entry)
		n++;
	if (n >= LIM_EGRESS_LINKS) {
		log_warnx("credential %s: too many egress processes", m->cred);
		close(fd);
		return;
	}
	w = xcalloc(1, sizeof(*w));
	w->sp = sp;
	w->instance = m->instance;
	(void)strlcpy(w->cred, m->cred, sizeof(w->cred));
	/* Nothing is expected from egress: its table is empty. */
	w->chan = chan_new(
	    sp->base, fd, PROC_SPAWN, PROC_EGRESS, NULL, 0, way_gone, w);
	chan_set_link(w->chan, m);
	chan_set_state(w->chan, ST_READY);
	TAILQ_INSERT_HEAD(&sp->ways, w, entry);
	chan_arm(w->chan);
	run_way_ready(sp, w);
}

struct way *
way_find(const struct spawn *sp, const char *cred)
{
	struct way *w;

	TAILQ_FOREACH(w, &sp->ways, entry)
		if (strcmp(w->cred, cred) == 0)
			return (w);
	return (NULL);
}

struct way *
way_of(const struct spawn *sp, uint32_t instance)
{
	struct way *w;

	TAILQ_FOREACH(w, &sp->ways, entry)
		if (w->instance == instance)
			return (w);
	return (NULL);
}

void
way_drop(struct spawn *sp, uint32_t instance)
{
	struct msg_egress_dropped m = { .instance = instance };
	struct way *w = way_of(sp, instance);

	m.unused = !run_uses_way(sp, instance);
	if (w != NULL && m.unused)
		way_free(w); /* the next run asks for a new one */
	(void)chan_send(worker_master(), MT_EGRESS_DROPPED, &m);
}
