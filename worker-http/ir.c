/* SPDX-License-Identifier: ISC */
/*
 * Makes struct ir from the JSON of a chat request.  Runs in worker-http on
 * a caller's bytes; it owns nothing beyond the result.  It must never guess:
 * what cannot be carried is refused and named, what is left out is noted.
 */
#include "worker-http/ir.h"

#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "worker-http/json.h"
#include "worker-http/params.h"

int
ir_fail(struct ir_bad *bad, enum olp_err err, const char *param,
    const char *fmt, ...)
{
	va_list ap;

	bad->err = err;
	(void)strlcpy(bad->param, param, sizeof(bad->param));
	va_start(ap, fmt);
	(void)vsnprintf(bad->text, sizeof(bad->text), fmt, ap);
	va_end(ap);
	return (-1);
}

void
ir_ignored(struct ir *ir, const char *name)
{
	const char *at = ir->ignored;
	size_t len = strlen(name);
	char *all;

	for (; at != NULL && (at = strstr(at, name)) != NULL; at += len)
		if ((at == ir->ignored || at[-1] == ' ') &&
		    (at[len] == '\0' || at[len] == ','))
			return;
	if (ir->ignored == NULL) {
		ir->ignored = xstrdup(name);
		return;
	}
	(void)xasprintf(&all, "%s, %s", ir->ignored, name);
	free(ir->ignored);
	ir->ignored = all;
}

static void
message_free(struct ir_message *m)
{
	freezero(m->text, m->len);
	free(m);
}

void
ir_free(struct ir *ir)
{
	struct ir_message *m;
	size_t i;

	if (ir == NULL)
		return;
	while ((m = TAILQ_FIRST(&ir->messages)) != NULL) {
		TAILQ_REMOVE(&ir->messages, m, entry);
		message_free(m);
	}
	for (i = 0; i < ir->nstop; i++)
		free(ir->stop[i]);
	freezero(ir->system, ir->system_len);
	free(ir->model);
	free(ir->ignored);
	free(ir);
}

/* Text put together from pieces. */
struct text {
	char *s; /* has a NUL behind it */
	size_t len;
};

static void
text_add(struct text *t, const char *s, size_t len)
{
	t->s = xreallocarray(t->s, t->len + len + 1, 1);
	memcpy(t->s + t->len, s, len);
	t->len += len;
	t->s[t->len] = '\0';
}

/* Pieces that come one after the other are kept apart by `sep`. */
static void
text_join(struct text *t, json_t *str, const char *sep)
{
	if (json_string_length(str) == 0)
		return;
	if (t->len > 0)
		text_add(t, sep, strlen(sep));
	text_add(t, json_string_value(str), json_string_length(str));
}

/* Where we are, for errors. */
struct place {
	struct ir_bad *bad;
	size_t msg, part;
};

static int
fail_at(struct place *at, enum olp_err err, const char *what, const char *text)
{
	char param[LIM_IR_PARAM];

	(void)snprintf(param, sizeof(param), "messages[%zu]%s%s", at->msg,
	    what[0] != '\0' ? "." : "", what);
	return (ir_fail(at->bad, err, param, "%s %s", param, text));
}

static int
fail_part(
    struct place *at, enum olp_err err, const char *what, const char *text)
{
	char path[48];

	(void)snprintf(path, sizeof(path), "content[%zu]%s%s", at->part,
	    what[0] != '\0' ? "." : "", what);
	return (fail_at(at, err, path, text));
}

static int
take_part(struct place *at, json_t *part, struct text *out)
{
	static const char *const media[] = { "image_url", "input_image",
		"input_audio", "file" };
	const char *type = json_string_value(json_object_get(part, "type"));
	json_t *str;
	size_t i;

	if (!json_is_object(part))
		return (
		    fail_part(at, ERR_BAD_REQUEST, "", "must be an object"));
	if (type == NULL)
		return (
		    fail_part(at, ERR_BAD_REQUEST, "type", "must be a string"));
	for (i = 0; i < sizeof(media) / sizeof(media[0]); i++)
		if (strcmp(type, media[i]) == 0)
			return (fail_part(at, ERR_UNSUPPORTED, media[i],
			    "is not supported: only text can be sent"));
	if (strcmp(type, "text") != 0 && strcmp(type, "refusal") != 0)
		return (fail_part(at, ERR_BAD_REQUEST, "type",
		    "is not a known kind of content"));
	if (!json_is_string(str = json_object_get(part, type)))
		return (
		    fail_part(at, ERR_BAD_REQUEST, type, "must be a string"));
	text_join(out, str, "\n");
	return (0);
}

static int
take_content(
    struct place *at, json_t *content, int may_be_null, struct text *out)
{
	size_t n = json_array_size(content);

	if (content == NULL || json_is_null(content))
		return (may_be_null
			? 0
			: fail_at(at, ERR_BAD_REQUEST, "content",
			      "must be a string or an array of parts"));
	if (json_is_string(content)) {
		text_join(out, content, "");
		return (0);
	}
	if (!json_is_array(content))
		return (fail_at(at, ERR_BAD_REQUEST, "content",
		    "must be a string or an array of parts"));
	if (n > LIM_IR_PARTS)
		return (fail_at(
		    at, ERR_BAD_REQUEST, "content", "has too many parts"));
	for (at->part = 0; at->part < n; at->part++)
		if (take_part(at, json_array_get(content, at->part), out) == -1)
			return (-1);
	return (0);
}

static int
is_nothing(json_t *v)
{
	return (v == NULL || json_is_null(v) ||
	    (json_is_array(v) && json_array_size(v) == 0));
}

/* Members of a message beside role and content. */
static int
take_members(struct place *at, struct ir *ir, json_t *m)
{
	/* "refusal" is read by take_assistant(); "annotations" is what answers
	 * carry. */
	static const char *const known[] = { "role", "content", "refusal",
		"annotations" };
	static const char *const calls[] = { "tool_calls", "function_call",
		"audio" };
	const char *name;
	json_t *v;
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!is_nothing(json_object_get(m, calls[i])))
			return (fail_at(
			    at, ERR_UNSUPPORTED, calls[i], "is not supported"));
	if (!is_nothing(json_object_get(m, "name")))
		ir_ignored(ir, "messages[].name");
	json_object_foreach(m, name, v)
	{
		for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			if (strcmp(name, known[i]) == 0)
				break;
		if (i == sizeof(known) / sizeof(known[0]) &&
		    strcmp(name, "name") != 0 && !is_nothing(v))
			ir_ignored(ir, "messages[].(unknown)");
	}
	return (0);
}

static void
add_message(struct ir *ir, enum ir_role role, struct text *t)
{
	struct ir_message *m;

	if (t->len == 0) {
		free(t->s); /* providers refuse empty blocks */
		return;
	}
	m = xcalloc(1, sizeof(*m));
	m->role = role;
	m->text = t->s;
	m->len = t->len;
	TAILQ_INSERT_TAIL(&ir->messages, m, entry);
	ir->nmessages++;
}

static void
add_system(struct ir *ir, struct text *t)
{
	struct text all = { ir->system, ir->system_len };

	if (t->len > 0) {
		if (all.len > 0)
			text_add(&all, "\n\n", 2);
		text_add(&all, t->s, t->len);
		ir->system = all.s;
		ir->system_len = all.len;
	}
	freezero(t->s, t->len);
}

static int
take_message(struct place *at, struct ir *ir, json_t *m)
{
	const char *role = json_string_value(json_object_get(m, "role"));
	struct text t = { NULL, 0 };
	int assistant;

	if (!json_is_object(m))
		return (fail_at(at, ERR_BAD_REQUEST, "", "must be an object"));
	if (role == NULL)
		return (
		    fail_at(at, ERR_BAD_REQUEST, "role", "must be a string"));
	if (strcmp(role, "tool") == 0 || strcmp(role, "function") == 0)
		return (fail_at(at, ERR_UNSUPPORTED, "role",
		    "is not supported: tools are not"));
	assistant = strcmp(role, "assistant") == 0;
	if (!assistant && strcmp(role, "user") != 0 &&
	    strcmp(role, "system") != 0 && strcmp(role, "developer") != 0)
		return (fail_at(at, ERR_BAD_REQUEST, "role",
		    "must be system, developer, user or assistant"));
	if (take_members(at, ir, m) == -1)
		return (-1);
	if (take_content(at, json_object_get(m, "content"), assistant, &t) ==
	    -1) {
		freezero(t.s, t.len);
		return (-1);
	}
	if (assistant && t.len == 0)
		text_join(&t, json_object_get(m, "refusal"), "");
	if (assistant || strcmp(role, "user") == 0)
		add_message(ir, assistant ? IR_ASSISTANT : IR_USER, &t);
	else
		add_system(ir, &t);
	return (0);
}

int
ir_take_messages(struct ir *ir, json_t *v, struct ir_bad *bad)
{
	struct place at = { bad, 0, 0 };
	size_t n = json_array_size(v);
	struct ir_message *last;

	if (!json_is_array(v))
		return (ir_fail(bad, ERR_BAD_REQUEST, "messages",
		    "messages must be an array"));
	if (n > LIM_IR_MESSAGES)
		return (ir_fail(bad, ERR_BAD_REQUEST, "messages",
		    "messages has more than %d", LIM_IR_MESSAGES));
	for (at.msg = 0; at.msg < n; at.msg++)
		if (take_message(&at, ir, json_array_get(v, at.msg)) == -1)
			return (-1);
	if ((last = TAILQ_LAST(&ir->messages, ir_messages)) == NULL)
		return (ir_fail(bad, ERR_BAD_REQUEST, "messages",
		    "messages holds no text of a user"));
	if (last->role != IR_USER)
		return (ir_fail(bad, ERR_BAD_REQUEST, "messages",
		    "the last of messages with any text must be a user's"));
	return (0);
}

static json_t *
load(const char *body, size_t len, struct ir_bad *bad)
{
	struct json_odd odd;
	json_error_t e;
	json_t *root;
	char *near;

	if (len == 0) {
		(void)ir_fail(bad, ERR_BAD_REQUEST, "", "the body is empty");
		return (NULL);
	}
	if (json_look(body, len, &odd) == -1) {
		(void)ir_fail(bad, ERR_BAD_REQUEST, odd.key, "%s %s",
		    odd.key[0] != '\0' ? odd.key : "the body", odd.why);
		return (NULL);
	}
	if ((root = json_loadb(body, len,
		 JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &e)) == NULL) {
		if ((near = strstr(e.text, " near ")) != NULL)
			*near = '\0';
		(void)ir_fail(bad, ERR_BAD_JSON, "",
		    "the body is not valid JSON: %s (line %d, column %d)",
		    e.text, e.line, e.column);
		return (NULL);
	}
	if (!json_is_object(root)) {
		(void)ir_fail(
		    bad, ERR_BAD_REQUEST, "", "the body must be a JSON object");
		json_decref(root);
		return (NULL);
	}
	return (root);
}

struct ir *
ir_from_chat(const char *body, size_t len, struct ir_bad *bad)
{
	struct ir *ir;
	json_t *root;

	if ((root = load(body, len, bad)) == NULL)
		return (NULL);
	ir = xcalloc(1, sizeof(*ir));
	TAILQ_INIT(&ir->messages);
	if (params_take(ir, root, bad) == -1) {
		ir_free(ir);
		ir = NULL;
	}
	json_decref(root);
	return (ir);
}
