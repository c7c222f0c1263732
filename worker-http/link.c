/* SPDX-License-Identifier: ISC */
/*
 * Links of worker-http.  It owns the channels to worker-spawn and to the
 * egress processes and their dispatch tables: a table is that peer's whole
 * power over us.
 */
#include "worker-http/link.h"

#include <bsd/sys/queue.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/chan.h"
#include "common/log.h"
#include "common/worker.h"
#include "worker-http/auth.h"
#include "worker-http/json.h"
#include "worker-http/out.h"
#include "worker-http/run.h"
#include "worker-http/sched.h"
#include "worker-http/status.h"

static const struct msg_handler from_spawn[] = {
	{ MT_AUTH_OK, auth_h_ok, ST_READY },
	{ MT_AUTH_NO, auth_h_no, ST_READY },
	{ MT_KEY_GONE, auth_h_key_gone, ST_READY },
	{ MT_RUN_STARTED, run_h_started, ST_READY },
	{ MT_RUN_FAILED, run_h_failed, ST_READY },
	{ MT_RUN_EXITED, run_h_exited, ST_READY },
	{ MT_POSTURE, status_h_posture, ST_READY },
	{ MT_POSTURE_PROVIDER, status_h_provider, ST_READY },
	{ MT_LOAD, status_h_load, ST_READY },
};

static const struct msg_handler from_egress[] = {
	{ MT_OUT_OPENED, out_h_opened, ST_READY },
	{ MT_OUT_REFUSED, out_h_refused, ST_READY },
	{ MT_OUT_CLOSED, out_h_closed, ST_READY },
};

struct egress {
	LIST_ENTRY(egress) entry;
	struct chan *chan;
	uint32_t instance;
	char cred[LIM_CRED_ID];
};

static struct {
	struct chan *spawn;
	LIST_HEAD(, egress) egress;
	uint32_t egress_max; /* the highest instance seen */
} self;

struct chan *
link_spawn(void)
{
	return (self.spawn);
}

static struct egress *
egress_find(uint32_t instance)
{
	struct egress *e;

	LIST_FOREACH(e, &self.egress, entry)
		if (e->instance == instance)
			return (e);
	return (NULL);
}

struct chan *
link_egress(uint32_t instance)
{
	struct egress *e = egress_find(instance);

	return (e == NULL ? NULL : e->chan);
}

int
link_egress_dead(uint32_t instance)
{
	return (instance <= self.egress_max && egress_find(instance) == NULL);
}

static void
spawn_gone(struct chan *c, int error, void *arg)
{
	(void)arg;
	log_debug("link to olpd-spawn is gone: %s",
	    error == 0 ? "EOF" : strerror(error));
	worker_link_gone(c, error);
	self.spawn = NULL;
	chan_free(c);
	status_spawn_gone();
	run_spawn_gone();
	auth_spawn_gone();
}

static void
egress_gone(struct chan *c, int error, void *arg)
{
	struct egress *e = arg;
	uint32_t instance = e->instance;

	log_debug("link to olpd-egress %u is gone: %s", instance,
	    error == 0 ? "EOF" : strerror(error));
	worker_link_gone(c, error);
	LIST_REMOVE(e, entry);
	chan_free(c);
	free(e);
	out_egress_gone(instance);
}

/*
 * A newer pair comes only when the process at the older one's other end is
 * gone, so its last words are here already: read them before it counts as
 * gone.
 */
static void
read_out(struct chan *c, chan_gone_cb *gone, void *arg)
{
	while (chan_step(c, 0) == 0)
		;
	gone(c, errno == EPROTO ? EPROTO : 0, arg);
}

static struct chan *
link_new(const struct msg_link *m, int fd, const struct msg_handler *table,
    size_t n, chan_gone_cb *gone, void *arg)
{
	struct chan *c;

	c = chan_new(worker_base(), fd, PROC_HTTP, (enum proc)m->peer, table, n,
	    gone, arg);
	chan_set_link(c, m);
	chan_set_state(c, ST_READY);
	chan_arm(c);
	return (c);
}

static void
spawn_take(const struct msg_link *m, int fd)
{
	if (self.spawn != NULL)
		read_out(self.spawn, spawn_gone, NULL);
	self.spawn = link_new(m, fd, from_spawn,
	    sizeof(from_spawn) / sizeof(from_spawn[0]), spawn_gone, NULL);
	auth_spawn_up();
	sched_pump();
}

static void
egress_take(const struct msg_link *m, int fd)
{
	struct egress *e = egress_find(m->instance);

	if (e != NULL)
		read_out(e->chan, egress_gone, e);
	e = xcalloc(1, sizeof(*e));
	e->instance = m->instance;
	memcpy(e->cred, m->cred, sizeof(e->cred));
	e->chan = link_new(m, fd, from_egress,
	    sizeof(from_egress) / sizeof(from_egress[0]), egress_gone, e);
	LIST_INSERT_HEAD(&self.egress, e, entry);
	if (m->instance > self.egress_max)
		self.egress_max = m->instance;
	out_egress_up(m->instance);
}

void
link_take(const struct msg_link *m, int fd)
{
	if (m->peer == PROC_SPAWN)
		spawn_take(m, fd);
	else if (m->peer == PROC_EGRESS && m->instance != 0)
		egress_take(m, fd);
	else {
		log_warnx("link to %s: not a peer of ours",
		    proc_name((enum proc)m->peer));
		close(fd);
	}
}

void
link_put(struct evbuffer *out)
{
	struct egress *e;
	int first = 1;

	json_put(out, "[");
	if (self.spawn != NULL) {
		json_putf(out, "{\"name\":\"olpd-spawn\",\"generation\":%llu}",
		    (unsigned long long)chan_generation(self.spawn));
		first = 0;
	}
	LIST_FOREACH(e, &self.egress, entry) {
		json_putf(out,
		    "%s{\"name\":\"olpd-egress\",\"instance\":%u,"
		    "\"generation\":%llu",
		    first ? "" : ",", e->instance,
		    (unsigned long long)chan_generation(e->chan));
		json_put(out, ",\"credential\":");
		json_put_str(out, e->cred);
		json_put(out, "}");
		first = 0;
	}
	json_put(out, "]");
}
