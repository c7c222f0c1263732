/* SPDX-License-Identifier: ISC */
/*
 * POST /v1/chat/completions: OpenAI's chat completions, whole or as a
 * stream.  Runs in worker-http.  It only knows how requests and answers look;
 * what happens in between is job.c's.
 */
#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

#include "common/limits.h"
#include "common/log.h"
#include "common/provider/provider.h"
#include "worker-http/answer.h"
#include "worker-http/api.h"
#include "worker-http/ir.h"
#include "worker-http/job.h"
#include "worker-http/json.h"
#include "worker-http/params.h"
#include "worker-http/route.h"
#include "worker-http/sched.h"
#include "worker-http/sse.h"

static const char *
finish_reason(enum stop_reason s)
{
	switch (s) {
	case STOP_LENGTH:
		return ("length");
	case STOP_REFUSAL:
		return ("content_filter");
	case STOP_TOOL:
	case STOP_END:
		break;
	}
	return ("stop");
}

/* {"id":..,"object":..,"created":..,"model":.., */
static void
put_start(struct evbuffer *out, const struct job *j, const char *object)
{
	json_putf(out,
	    "{\"id\":\"chatcmpl-%s\",\"object\":\"%s\",\"created\":%llu,"
	    "\"model\":",
	    j->request_id, object, (unsigned long long)j->created);
	json_put_str(out, j->model);
	json_put(out, ",");
}

static void
put_usage(struct evbuffer *out, const struct job_usage *u)
{
	json_putf(out,
	    "\"usage\":{\"prompt_tokens\":%llu,\"completion_tokens\":%llu,"
	    "\"total_tokens\":%llu,"
	    "\"prompt_tokens_details\":{\"cached_tokens\":%llu}}",
	    (unsigned long long)u->prompt, (unsigned long long)u->completion,
	    (unsigned long long)(u->prompt + u->completion),
	    (unsigned long long)u->cached);
}

static void
chat_whole(struct job *j, struct evbuffer *out)
{
	put_start(out, j, "chat.completion");
	json_put(out,
	    "\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
	    "\"content\":\"");
	if (evbuffer_add_buffer(out, j->text) == -1)
		fatalx("chat: cannot append");
	json_putf(out,
	    "\",\"refusal\":null},\"logprobs\":null,\"finish_reason\":\"%s\"}]"
	    ",",
	    finish_reason(j->stop));
	put_usage(out, &j->usage);
	json_put(out, "}");
}

/* Streams: each frame is the same start, a delta, an end. */

static struct evbuffer *
frame_buffer(void)
{
	static struct evbuffer *b; /* always left empty */

	if (b == NULL && (b = evbuffer_new()) == NULL)
		fatalx("chat: no memory");
	return (b);
}

static void
frame_start(struct job *j)
{
	struct evbuffer *b = frame_buffer();
	size_t n;

	put_start(b, j, "chat.completion.chunk");
	if (j->include_usage) /* as OpenAI does: null in all frames but the last
			       */
		json_put(b, "\"usage\":null,");
	json_put(b, "\"choices\":[{\"index\":0,\"delta\":{");
	n = evbuffer_get_length(b);
	j->frame = xmalloc(n + 1);
	(void)evbuffer_remove(b, j->frame, n);
	j->frame[n] = '\0';
}

static void
frame_end(struct job *j, struct evbuffer *b, const char *reason)
{
	json_put(b, "},\"logprobs\":null,\"finish_reason\":");
	json_put_str(b, reason);
	json_put(b, "}]}");
	sse_data(&j->sse, b);
}

static void
chat_begin(struct job *j)
{
	struct evbuffer *b = frame_buffer();

	frame_start(j);
	json_put(b, j->frame);
	json_put(b, "\"role\":\"assistant\",\"content\":\"\"");
	frame_end(j, b, NULL);
}

static void
chat_text(struct job *j, const char *s, size_t len)
{
	struct evbuffer *b = frame_buffer();

	json_put(b, j->frame);
	json_put(b, "\"content\":");
	json_put_string(b, s, len);
	frame_end(j, b, NULL);
}

static void
chat_beat(struct job *j)
{
	chat_text(j, "", 0);
}

static void
chat_end(struct job *j)
{
	struct evbuffer *b = frame_buffer();

	json_put(b, j->frame);
	frame_end(j, b, finish_reason(j->stop));
	if (j->include_usage) {
		put_start(b, j, "chat.completion.chunk");
		json_put(b, "\"choices\":[],");
		put_usage(b, &j->usage);
		json_put(b, "}");
		sse_data(&j->sse, b);
	}
	sse_done(&j->sse);
}

/*
 * No finish_reason and no [DONE]; nor is the body ended as HTTP would have
 * it: the connection closes, so that nobody takes the part for the whole.
 */
static void
chat_fail(struct job *j, enum olp_err err, const char *message)
{
	struct evbuffer *b = frame_buffer();

	answer_error(b, err, message, NULL);
	sse_data(&j->sse, b);
}

static const struct job_format chat_format = {
	.begin = chat_begin,
	.text = chat_text,
	.beat = chat_beat,
	.end = chat_end,
	.fail = chat_fail,
	.whole = chat_whole,
};

static int
render(struct job *j, const struct ir *ir, const struct provider_render *r,
    struct ir_bad *bad)
{
	char err[LIM_TEXT] = "";

	j->rendered = xcalloc(1, sizeof(*j->rendered));
	if (r->render(ir, j->rendered, err, sizeof(err)) == 0)
		return (0);
	free(j->rendered);
	j->rendered = NULL;
	return (ir_fail(bad, ERR_BAD_REQUEST, params_named(err), "%s", err));
}

/* What the job keeps of the request: all but its text, which is rendered. */
static int
take(struct job *j, struct ir *ir, struct ir_bad *bad)
{
	const struct msg_conf_model *row;
	const struct provider_render *r;
	enum olp_err err;

	if ((row = route_find(j, ir->model, &err)) == NULL)
		return (ir_fail(bad, err, "model", "%s", err_text(err)));
	r = render_find(row->provider);
	if (params_fit(ir, r, bad) == -1)
		return (-1);
	memcpy(j->provider, row->provider, sizeof(j->provider));
	memcpy(j->provider_model, row->model, sizeof(j->provider_model));
	j->ignored = ir->ignored;
	ir->ignored = NULL;
	if (render(j, ir, r, bad) == -1)
		return (-1);
	j->format = &chat_format;
	j->stream = ir->stream;
	j->include_usage = ir->include_usage;
	j->model = ir->model;
	ir->model = NULL;
	return (0);
}

void
api_chat_start(struct job *j)
{
	struct evbuffer *body = job_body(j);
	size_t len = evbuffer_get_length(body);
	struct ir_bad bad;
	struct ir *ir;
	int r = -1;

	if ((ir = ir_from_chat(
		 (const char *)evbuffer_pullup(body, -1), len, &bad)) != NULL)
		r = take(j, ir, &bad);
	ir_free(ir);
	if (r == 0)
		sched_enqueue(j);
	else
		job_fail(j, bad.err, bad.text, bad.param);
}
