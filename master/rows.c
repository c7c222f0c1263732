/* SPDX-License-Identifier: ISC */
/*
 * Holds the configuration in force and sends it.  Runs in the master.  Keys
 * go to worker-spawn alone.
 */
#include "master/rows.h"

#include <string.h>

#include "common/chan.h"
#include "common/conf/rows.h"
#include "master/cgroup.h"
#include "master/listen.h"
#include "master/nsroom.h"
#include "master/place.h"
#include "master/users.h"

struct rows rows = { .keys = TAILQ_HEAD_INITIALIZER(rows.keys) };

/* Make it the one in force; at a reload it may be refused.  0, or -1. */
static int
take(struct conf *next, struct conf_errors *errs)
{
	const char *what;

	if (rows.conf == NULL) {
		rows.conf = next;
		place_take(next);
		cgroup_take(next);
	} else if ((what = conf_fixed(rows.conf, next)) != NULL) {
		conf_error(errs, "%s: %s: a change needs a restart of olpd",
		    next->file, what);
		return (-1);
	}
	if (listen_plan(next, errs) == -1)
		return (-1);
	listen_commit();
	cgroup_limits(next);
	if (rows.conf != next)
		conf_free(rows.conf);
	rows.conf = next;
	return (0);
}

int
rows_load(const char *file, struct conf_errors *errs)
{
	int r = -1, first = rows.conf == NULL;
	struct conf *next = conf_load(file, errs);
	struct conf_keys keys;

	if (next != NULL && (r = take(next, errs)) == -1 && !first)
		conf_free(next);
	if (r == -1 && first)
		return (-1);
	if (stat(rows.conf->keys_dir, &rows.keys_dir) == -1)
		memset(&rows.keys_dir, 0, sizeof(rows.keys_dir));
	conf_load_keys(rows.conf, rows.conf->keys_dir, &keys, errs);
	conf_keys_free(&rows.keys);
	TAILQ_INIT(&rows.keys);
	TAILQ_CONCAT(&rows.keys, &keys, entry);
	rows.generation++;
	users_publish();
	return (r);
}

static void
send_providers(struct chan *ch)
{
	const struct conf_provider *p;
	const struct conf_model *o;
	struct msg_conf_provider v;
	struct msg_conf_model m;

	TAILQ_FOREACH(p, &rows.conf->providers, entry) {
		row_provider(p, &v);
		v.installed = *nsroom_program(p->name) != '\0';
		(void)chan_send(ch, MT_CONF_PROVIDER, &v);
	}
	TAILQ_FOREACH(o, &rows.conf->models, entry) {
		row_model(o, &m);
		(void)chan_send(ch, MT_CONF_MODEL, &m);
	}
	TAILQ_FOREACH(p, &rows.conf->providers, entry)
		if (*nsroom_program(p->name) != '\0' &&
		    row_own_model(rows.conf, p, &m))
			(void)chan_send(ch, MT_CONF_MODEL, &m);
}

void
rows_send(enum proc proc, struct chan *ch)
{
	struct msg_generation g = { rows.generation };
	const struct conf_key *k;
	union msg_any m;

	(void)chan_send(ch, MT_CONF_BEGIN, &g);
	if (proc == PROC_HTTP) {
		row_http(rows.conf, &m.m_CONF_HTTP);
		(void)chan_send(ch, MT_CONF_HTTP, &m);
		send_providers(ch);
		listen_send(ch);
	} else {
		row_spawn(rows.conf, &m.m_CONF_SPAWN);
		m.m_CONF_SPAWN.per_user = place.privileged;
		m.m_CONF_SPAWN.cgroup = cgroup.spawn[0] != '\0';
		(void)chan_send(ch, MT_CONF_SPAWN, &m);
		send_providers(ch);
		TAILQ_FOREACH(k, &rows.keys, entry) {
			row_key(k, &m.m_CONF_KEY);
			(void)chan_send(ch, MT_CONF_KEY, &m);
		}
	}
	(void)chan_send(ch, MT_CONF_END, &g);
}
