/* SPDX-License-Identifier: ISC */
/*
 * GET /v1/models, /v1/models/{id} and /v1/olp/parameters: what the asking
 * key may use.  Runs in worker-http.
 */
#include <event2/buffer.h>
#include <string.h>

#include "common/log.h"
#include "common/provider/provider.h"
#include "proto/msg.h"
#include "worker-http/api.h"
#include "worker-http/head.h"
#include "worker-http/job.h"
#include "worker-http/json.h"
#include "worker-http/params.h"
#include "worker-http/route.h"
#include "worker-http/status.h"

static struct evbuffer *
buffer(void)
{
	struct evbuffer *b = evbuffer_new();

	if (b == NULL)
		fatalx("models: no memory");
	return (b);
}

/* What the provider's client honours of the parameters that not all do. */
static void
put_parameters(struct evbuffer *out, const struct provider_render *r)
{
	const struct {
		const char *name;
		int yes;
	} p[] = {
		{ "temperature", r->temperature },
		{ "top_p", r->top_p },
		{ "max_completion_tokens", r->max_tokens },
		{ "stop", r->stop },
	};
	const char *sep = "";
	size_t i;

	json_put(out, ",\"parameters\":[");
	for (i = 0; i < sizeof(p) / sizeof(p[0]); i++) {
		if (!p[i].yes)
			continue;
		json_put(out, sep);
		json_put_str(out, p[i].name);
		sep = ",";
	}
	json_put(out, "]");
}

/* "olp" is ours: a member that no client of OpenAI's minds. */
static void
put_model(struct evbuffer *out, const struct msg_conf_model *row)
{
	const struct provider_render *r = render_find(row->provider);

	json_put(out, "{");
	json_put_member(out, "id", row->name);
	json_put(out, ",\"object\":\"model\",\"created\":0");
	json_put_member(out, "owned_by", row->provider);
	json_put(out, ",\"olp\":{");
	json_put_member(out, "provider", row->provider);
	json_put_member(out, "model", row->model);
	json_put(out, ",\"stream\":true,\"tools\":false,\"images\":false");
	if (r != NULL)
		put_parameters(out, r);
	json_put_member(out, "enforcement", status_enforcement(row->provider));
	json_put_member(out, "status", status_provider(row->provider));
	json_put(out, "}}");
}

void
api_models_list(struct job *j)
{
	const struct msg_conf_model *row;
	struct evbuffer *b = buffer();
	const char *sep = "";
	size_t i = 0;

	json_put(b, "{\"object\":\"list\",\"data\":[");
	while ((row = route_next(j, &i)) != NULL) {
		json_put(b, sep);
		put_model(b, row);
		sep = ",";
	}
	json_put(b, "]}");
	job_answer_json(j, 200, b);
}

void
api_models_one(struct job *j)
{
	const struct msg_conf_model *row = NULL;
	struct evbuffer *b;
	char name[LIM_MODEL];
	enum olp_err err = ERR_MODEL_UNKNOWN;

	if (head_decode(j->arg, name, sizeof(name)) == 0)
		row = route_find(j, name, &err);
	if (row == NULL) {
		job_fail(j, err, NULL, "model");
		return;
	}
	b = buffer();
	put_model(b, row);
	job_answer_json(j, 200, b);
}

void
api_models_parameters(struct job *j)
{
	struct evbuffer *b = buffer();

	json_put(b, "{");
	params_put(b);
	json_put(b, "}");
	job_answer_json(j, 200, b);
}
