/* SPDX-License-Identifier: ISC */
/* News for worker-http.  Runs in worker-spawn; decides nothing. */
#include "worker-spawn/tell.h"

#include <bsd/string.h>
#include <event2/event.h>
#include <string.h>

#include "common/chan.h"
#include "common/provider/provider.h"
#include "worker-spawn/admit.h"
#include "worker-spawn/rows.h"
#include "worker-spawn/run.h"
#include "worker-spawn/spawn.h"

void
tell_posture(struct spawn *sp)
{
	struct msg_posture m;
	struct msg_posture_provider mp;
	const struct msg_conf_provider *row;
	size_t i;

	if (sp->http == NULL)
		return;
	posture_message(&sp->posture, &m);
	(void)chan_send(sp->http, MT_POSTURE, &m);
	for (i = 0; i < sp->rows->nproviders; i++) {
		row = &sp->rows->providers[i];
		posture_provider(&sp->posture, launch_find(row->name),
		    admit_provider(sp, row), &mp);
		(void)chan_send(sp->http, MT_POSTURE_PROVIDER, &mp);
	}
}

void
tell_load(struct spawn *sp)
{
	struct msg_load m = { .running = 0 };
	struct run_count n;

	if (sp->http == NULL)
		return;
	run_count(sp, NULL, NULL, &n);
	m.running = (uint32_t)(n.all - n.stuck);
	m.stuck = (uint32_t)n.stuck;
	m.memory = n.memory;
	(void)chan_send(sp->http, MT_LOAD, &m);
}

void
tell_load_cb(int fd, short what, void *sp)
{
	(void)fd;
	(void)what;
	tell_load(sp);
}

void
tell_load_soon(struct spawn *sp)
{
	static const struct timeval soon = { 0, LIM_LOAD_MS * 1000 };

	if (!event_pending(sp->load_soon, EV_TIMEOUT, NULL))
		event_add(sp->load_soon, &soon);
}

void
tell_key_gone(struct spawn *sp, const char *key_id)
{
	struct msg_key_gone m;

	if (sp->http == NULL)
		return;
	memset(&m, 0, sizeof(m));
	(void)strlcpy(m.key_id, key_id, sizeof(m.key_id));
	(void)chan_send(sp->http, MT_KEY_GONE, &m);
}
