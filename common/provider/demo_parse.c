/* SPDX-License-Identifier: ISC */
/*
 * Reads what olpd's own client without an account prints (worker-spawn/demo),
 * one JSON object a line, in this order:
 *
 *	{"type":"start","model":M}
 *	{"type":"text","text":T}                    any number
 *	{"type":"usage","in":N,"out":N}             at most one
 *	{"type":"stop","reason":"end"|"length"|"refusal"}
 *
 * or {"type":"error","message":T} at any place instead of the rest.  A type
 * that is not known is passed over.  Linked into worker-http.
 */
#include "common/provider/provider.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/provider/parse.h"

static void *
demo_new(void)
{
	return (xcalloc(1, sizeof(struct answer)));
}

static int
take_stop(struct answer *a, const char *reason)
{
	if (strcmp(reason, "end") == 0)
		return (answer_stop(a, STOP_END));
	if (strcmp(reason, "length") == 0)
		return (answer_stop(a, STOP_LENGTH));
	if (strcmp(reason, "refusal") == 0)
		return (answer_stop(a, STOP_REFUSAL));
	return (answer_fail(
	    a, ERR_CLIENT_ODD, "a reason to stop that is not known"));
}

static int
take(struct answer *a, const json_t *root)
{
	const char *type = json_text(root, "type");
	const json_t *text = json_object_get(root, "text");

	if (strcmp(type, "start") == 0)
		return (answer_start(a, json_text(root, "model")));
	if (strcmp(type, "text") == 0 && json_is_string(text))
		return (answer_text(
		    a, json_string_value(text), json_string_length(text)));
	if (strcmp(type, "usage") == 0)
		return (answer_usage(
		    a, json_count(root, "in", 0), json_count(root, "out", 0)));
	if (strcmp(type, "stop") == 0)
		return (take_stop(a, json_text(root, "reason")));
	if (strcmp(type, "error") == 0)
		return (answer_fail(a, ERR_CLIENT, json_text(root, "message")));
	return (0);
}

static int
demo_line(void *state, char *line, size_t len, chunk_cb *cb, void *arg)
{
	struct answer *a = state;
	json_t *root;
	int r;

	a->cb = cb;
	a->arg = arg;
	if ((root = answer_line(a, line, len, &r)) != NULL) {
		r = take(a, root);
		json_decref(root);
	}
	return (r);
}

static int
demo_end(void *state, chunk_cb *cb, void *arg)
{
	struct answer *a = state;

	a->cb = cb;
	a->arg = arg;
	return (answer_fail(
	    a, ERR_CLIENT, "the client ended before its answer did"));
}

extern const struct provider_parse demo_parse;
const struct provider_parse demo_parse = {
	.name = "demo",
	.new = demo_new,
	.free = free,
	.line = demo_line,
	.end = demo_end,
};
