/* SPDX-License-Identifier: ISC */
/*
 * Reads what `claude -p --output-format stream-json --verbose
 * --include-partial-messages` prints: one JSON object a line.  Linked into
 * worker-http.
 *
 * The client repairs answers behind its caller's back: it tries again, goes
 * on after a cut, after max_tokens and after an empty answer.  One run is
 * one model request, so the first sign of any of these ends the answer here:
 * with the stop reason of the first message, or as a failure.  Text that the
 * client itself made (model "<synthetic>") is never an answer.
 *
 * Nothing here must ever make a whole answer of a part: the only ways to
 * CHUNK_STOP are a stop reason of the model's own, and a result line that
 * says so where the client gave no partial messages.
 */
#include "common/provider/provider.h"

#include <bsd/string.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/log.h"
#include "common/provider/parse.h"

#define SYNTHETIC "<synthetic>"
#define N(a) (sizeof(a) / sizeof((a)[0]))

struct claude {
	struct answer a;
	int inited;        /* system/init was seen, and in order */
	int partial;       /* stream events were seen */
	char error[32];    /* of the last synthetic message: "rate_limit" ... */
	int no_connection; /* that one was about the connection */
	int64_t resets_at; /* when a limit that refused us ends, seconds since
			      1970; 0: not told */
	int64_t in, cache_write, cache_read, out; /* tokens */
	char *whole; /* an answer without partial messages */
	size_t whole_len;
	char *model; /* that gave it */
};

/* A line, or an event of one. */
typedef int taker(struct claude *, const json_t *);
struct kind {
	const char *name;
	taker *take;
};

static void *
claude_new(void)
{
	return (xcalloc(1, sizeof(struct claude)));
}

static void
claude_free(void *state)
{
	struct claude *c = state;

	if (c == NULL)
		return;
	free(c->whole);
	free(c->model);
	free(c);
}

static int
dispatch(struct claude *c, const struct kind *kinds, size_t n, const char *name,
    const json_t *o)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return (kinds[i].take(c, o));
	return (0);
}

/* Failures */

/* What the client's own word for the provider's answer says. */
static enum olp_err
word_err(const char *word)
{
	static const struct {
		const char *word;
		enum olp_err err;
	} words[] = {
		{ "authentication_failed", ERR_PROVIDER_AUTH },
		{ "billing_error", ERR_PROVIDER_AUTH },
		{ "rate_limit", ERR_PROVIDER_LIMIT },
		{ "overloaded", ERR_PROVIDER_OVERLOADED },
		{ "invalid_request", ERR_PROVIDER_REQUEST },
		{ "model_not_found", ERR_MODEL_UNKNOWN },
		{ "server_error", ERR_PROVIDER },
		/* the provider's, in an error event */
		{ "authentication_error", ERR_PROVIDER_AUTH },
		{ "permission_error", ERR_PROVIDER_AUTH },
		{ "rate_limit_error", ERR_PROVIDER_LIMIT },
		{ "overloaded_error", ERR_PROVIDER_OVERLOADED },
		{ "invalid_request_error", ERR_PROVIDER_REQUEST },
	};
	size_t i;

	for (i = 0; i < N(words); i++)
		if (strcmp(words[i].word, word) == 0)
			return (words[i].err);
	return (ERR_OK);
}

/* Seconds until the limit that refused us ends. */
static uint32_t
retry_after(const struct claude *c)
{
	int64_t left = c->resets_at - (int64_t)time(NULL);

	if (c->resets_at == 0 || left < 1)
		return (0);
	return (left < LIM_OUT_RETRY_S ? (uint32_t)left : LIM_OUT_RETRY_S);
}

static int
fail(struct claude *c, enum olp_err err, const char *text)
{
	return (answer_fail_retry(
	    &c->a, err, text, err == ERR_PROVIDER_LIMIT ? retry_after(c) : 0));
}

static int
odd(struct claude *c, const char *text)
{
	return (fail(c, ERR_CLIENT_ODD, text));
}

/* Of a sub-agent, which a run without tools has not. */
static int
is_foreign(const json_t *line)
{
	const json_t *parent = json_object_get(line, "parent_tool_use_id");

	return (parent != NULL && !json_is_null(parent));
}

/* system */

static int
is_empty_array(const json_t *v)
{
	return (json_is_array(v) && json_array_size(v) == 0);
}

static int
take_init(struct claude *c, const json_t *line)
{
	if (!is_empty_array(json_object_get(line, "tools")))
		return (odd(c, "system/init: the client has tools"));
	if (!is_empty_array(json_object_get(line, "mcp_servers")))
		return (odd(c, "system/init: the client has MCP servers"));
	c->inited = 1;
	return (0);
}

/* A second request would be refused: what the first one met is the answer. */
static int
take_retry(struct claude *c, const json_t *line)
{
	enum olp_err err = provider_status(json_count(line, "error_status", 0));

	if (c->a.started || err == ERR_OK)
		err = ERR_PROVIDER_CUT;
	return (fail(c, err, json_text(line, "error")));
}

static int
take_status(struct claude *c, const json_t *line)
{
	if (strcmp(json_text(line, "status"), "compacting") == 0)
		return (fail(
		    c, ERR_CONTEXT_LENGTH, "the client begins to summarise"));
	return (0);
}

static int
take_compacted(struct claude *c, const json_t *line)
{
	(void)line;
	return (odd(c, "the client has changed the conversation"));
}

static int
take_system(struct claude *c, const json_t *line)
{
	static const struct kind kinds[] = {
		{ "init", take_init },
		{ "api_retry", take_retry },
		{ "status", take_status },
		{ "compact_boundary", take_compacted },
	};

	return (dispatch(c, kinds, N(kinds), json_text(line, "subtype"), line));
}

/* stream_event */

/* Running totals; what came before stays where a figure is missing. */
static int
take_usage(struct claude *c, const json_t *usage)
{
	c->in = json_count(usage, "input_tokens", c->in);
	c->cache_write =
	    json_count(usage, "cache_creation_input_tokens", c->cache_write);
	c->cache_read =
	    json_count(usage, "cache_read_input_tokens", c->cache_read);
	c->out = json_count(usage, "output_tokens", c->out);
	return (answer_usage(
	    &c->a, c->in + c->cache_write + c->cache_read, c->out));
}

static int
take_stop_reason(struct claude *c, const char *reason)
{
	static const struct {
		const char *reason;
		enum stop_reason stop;
	} stops[] = {
		{ "end_turn", STOP_END },
		{ "stop_sequence", STOP_END },
		{ "max_tokens", STOP_LENGTH },
		{ "model_context_window_exceeded", STOP_LENGTH },
		{ "refusal", STOP_REFUSAL },
	};
	size_t i;

	for (i = 0; i < N(stops); i++)
		if (strcmp(stops[i].reason, reason) == 0)
			return (answer_stop(&c->a, stops[i].stop));
	if (strcmp(reason, "tool_use") == 0)
		return (odd(c, "the model calls a tool where there is none"));
	return (odd(c, "a stop reason that is not known"));
}

static int
take_message_start(struct claude *c, const json_t *event)
{
	const json_t *message = json_object_get(event, "message");
	const char *model = json_text(message, "model");
	int r;

	if (strcmp(model, SYNTHETIC) == 0)
		return (odd(c, "a message of the client's own"));
	if ((r = answer_start(&c->a, model)) != 0 || c->a.done)
		return (r);
	return (take_usage(c, json_object_get(message, "usage")));
}

static int
take_text(struct claude *c, const json_t *text)
{
	if (!json_is_string(text))
		return (odd(c, "a text that is none"));
	return (answer_text(
	    &c->a, json_string_value(text), json_string_length(text)));
}

static int
take_block_start(struct claude *c, const json_t *event)
{
	const json_t *block = json_object_get(event, "content_block");
	const char *type = json_text(block, "type");

	if (strcmp(type, "text") == 0)
		return (take_text(c, json_object_get(block, "text")));
	if (strcmp(type, "thinking") == 0 ||
	    strcmp(type, "redacted_thinking") == 0)
		return (0);
	return (odd(c, "the model gives a block that is no text"));
}

static int
take_block_delta(struct claude *c, const json_t *event)
{
	const json_t *delta = json_object_get(event, "delta");
	const char *type = json_text(delta, "type");

	if (strcmp(type, "text_delta") == 0)
		return (take_text(c, json_object_get(delta, "text")));
	if (strcmp(type, "input_json_delta") == 0)
		return (odd(c, "the model calls a tool where there is none"));
	return (0);
}

static int
take_message_delta(struct claude *c, const json_t *event)
{
	const char *reason =
	    json_text(json_object_get(event, "delta"), "stop_reason");
	int r;

	if ((r = take_usage(c, json_object_get(event, "usage"))) != 0 ||
	    c->a.done)
		return (r);
	return (*reason != '\0' ? take_stop_reason(c, reason) : 0);
}

/* The client closes a message that broke off, and would begin another. */
static int
take_message_stop(struct claude *c, const json_t *event)
{
	(void)event;
	return (fail(
	    c, ERR_PROVIDER_CUT, "the message ended without a stop reason"));
}

static int
take_error(struct claude *c, const json_t *event)
{
	const json_t *error = json_object_get(event, "error");
	enum olp_err err = word_err(json_text(error, "type"));

	return (fail(c, err != ERR_OK ? err : ERR_PROVIDER_CUT,
	    json_text(error, "message")));
}

static int
take_stream_event(struct claude *c, const json_t *line)
{
	static const struct kind kinds[] = {
		{ "message_start", take_message_start },
		{ "content_block_start", take_block_start },
		{ "content_block_delta", take_block_delta },
		{ "message_delta", take_message_delta },
		{ "message_stop", take_message_stop },
		{ "error", take_error },
	};
	const json_t *event = json_object_get(line, "event");

	if (!c->inited)
		return (odd(c, "a message before system/init"));
	if (is_foreign(line))
		return (odd(c, "a message of a sub-agent"));
	c->partial = 1;
	return (dispatch(c, kinds, N(kinds), json_text(event, "type"), event));
}

/* assistant: whole blocks, kept in case that no partial messages come */

static void
take_synthetic(struct claude *c, const json_t *line)
{
	(void)strlcpy(c->error, json_text(line, "error"), sizeof(c->error));
	c->no_connection =
	    strcmp(json_text(line, "api_error"), "connection_failed") == 0;
}

static int
keep_block(struct claude *c, const json_t *block)
{
	const char *type = json_text(block, "type");
	const json_t *text = json_object_get(block, "text");
	size_t len = json_string_length(text);

	if (strcmp(type, "thinking") == 0 ||
	    strcmp(type, "redacted_thinking") == 0)
		return (0);
	if (strcmp(type, "text") != 0 || !json_is_string(text))
		return (odd(c, "the model gives a block that is no text"));
	if (len > LIM_CLAUDE_WHOLE - c->whole_len)
		return (fail(
		    c, ERR_CLIENT_ODD, "an answer in one piece is too long"));
	if (len == 0)
		return (0);
	c->whole = xreallocarray(c->whole, c->whole_len + len, 1);
	memcpy(c->whole + c->whole_len, json_string_value(text), len);
	c->whole_len += len;
	return (0);
}

static int
take_assistant(struct claude *c, const json_t *line)
{
	const json_t *message = json_object_get(line, "message");
	const json_t *content = json_object_get(message, "content");
	size_t i;
	int r = 0;

	if (!c->inited)
		return (odd(c, "a message before system/init"));
	if (is_foreign(line))
		return (odd(c, "a message of a sub-agent"));
	if (strcmp(json_text(message, "model"), SYNTHETIC) == 0) {
		take_synthetic(c, line);
		return (0);
	}
	if (c->partial)
		return (0);
	free(c->model);
	c->model = xstrdup(json_text(message, "model"));
	for (i = 0; i < json_array_size(content) && r == 0 && !c->a.done; i++)
		r = keep_block(c, json_array_get(content, i));
	return (r);
}

/* user: what the client says to the model by itself */

static int
take_user(struct claude *c, const json_t *line)
{
	if (json_is_true(json_object_get(line, "isSynthetic")))
		return (fail(
		    c, ERR_PROVIDER_CUT, "the client asks the model to go on"));
	return (0);
}

static int
take_rate_limit(struct claude *c, const json_t *line)
{
	const json_t *info = json_object_get(line, "rate_limit_info");

	if (strcmp(json_text(info, "status"), "rejected") == 0)
		c->resets_at = json_count(info, "resetsAt", 0);
	return (0);
}

/* result: the end of the run, if nothing before was the end of the answer */

/* No partial messages came: the text, once the client says it is whole. */
static int
give_whole(struct claude *c, const json_t *line)
{
	int r;

	if (c->model == NULL)
		return (fail(c, ERR_CLIENT, "a result without an answer"));
	if ((r = answer_start(&c->a, c->model)) != 0 ||
	    (r = answer_text(&c->a, c->whole, c->whole_len)) != 0 ||
	    (r = take_usage(c, json_object_get(line, "usage"))) != 0)
		return (r);
	return (take_stop_reason(c, json_text(line, "stop_reason")));
}

static int
fail_result(struct claude *c, const json_t *line)
{
	const char *reason = json_text(line, "terminal_reason");
	const char *text = json_text(line, "result");
	enum olp_err err =
	    provider_status(json_count(line, "api_error_status", 0));

	if (strcmp(json_text(line, "subtype"), "error_max_turns") == 0)
		return (odd(c, "the client wanted a second turn"));
	if (strcmp(json_text(line, "stop_reason"), "refusal") == 0 &&
	    c->model != NULL)
		return (give_whole(c, line));
	if (strcmp(reason, "prompt_too_long") == 0 ||
	    strcmp(reason, "blocking_limit") == 0)
		return (fail(c, ERR_CONTEXT_LENGTH, text));
	if (err != ERR_OK)
		return (fail(c, err, text));
	if (c->a.started || c->whole_len > 0)
		return (fail(c, ERR_PROVIDER_CUT, text));
	if (c->no_connection)
		return (fail(c, ERR_UNREACHABLE, text));
	if ((err = word_err(c->error)) != ERR_OK)
		return (fail(c, err, text));
	return (fail(c, ERR_CLIENT, text));
}

static int
take_result(struct claude *c, const json_t *line)
{
	const json_t *turns = json_object_get(line, "num_turns");

	if (!json_is_false(json_object_get(line, "is_error")))
		return (fail_result(c, line));
	if (!c->inited)
		return (odd(c, "a result before system/init"));
	if (!json_is_integer(turns) || json_integer_value(turns) == 0)
		return (odd(c, "the client answered by itself"));
	if (json_integer_value(turns) != 1 || c->a.started)
		return (fail(
		    c, ERR_PROVIDER_CUT, "a result without a stop reason"));
	return (give_whole(c, line));
}

static int
claude_line(void *state, char *text, size_t len, chunk_cb *cb, void *arg)
{
	static const struct kind kinds[] = {
		{ "stream_event", take_stream_event },
		{ "system", take_system },
		{ "assistant", take_assistant },
		{ "user", take_user },
		{ "rate_limit_event", take_rate_limit },
		{ "result", take_result },
	};
	struct claude *c = state;
	json_t *line;
	int r;

	c->a.cb = cb;
	c->a.arg = arg;
	if ((line = answer_line(&c->a, text, len, &r)) != NULL) {
		r = dispatch(c, kinds, N(kinds), json_text(line, "type"), line);
		json_decref(line);
	}
	return (r);
}

static int
claude_end(void *state, chunk_cb *cb, void *arg)
{
	struct claude *c = state;

	c->a.cb = cb;
	c->a.arg = arg;
	return (fail(c, ERR_CLIENT, "the client ended before its answer did"));
}

extern const struct provider_parse claude_parse;
const struct provider_parse claude_parse = {
	.name = "claude",
	.new = claude_new,
	.free = claude_free,
	.line = claude_line,
	.end = claude_end,
};
