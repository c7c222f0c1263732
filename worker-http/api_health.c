/* SPDX-License-Identifier: ISC */
/*
 * GET /health and /ready.  Runs in worker-http.  Who sends no key learns
 * only that we live, and whether a run could be made.
 */
#include <event2/buffer.h>

#include "common/log.h"
#include "worker-http/api.h"
#include "worker-http/job.h"
#include "worker-http/json.h"
#include "worker-http/server.h"
#include "worker-http/status.h"

static void
answer(struct job *j, int status, const char *json)
{
	struct evbuffer *b = evbuffer_new();

	if (b == NULL)
		fatalx("health: no memory");
	if (json != NULL)
		json_put(b, json);
	else
		status_put(b);
	job_answer_json(j, status, b);
}

void
api_health(struct job *j)
{
	answer(j, 200, j->owner ? NULL : "{\"status\":\"ok\"}");
}

void
api_ready(struct job *j)
{
	if (status_ready() && !server_draining())
		answer(j, 200, "{\"status\":\"ready\"}");
	else
		answer(j, 503, "{\"status\":\"not_ready\"}");
}
