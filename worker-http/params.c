/* SPDX-License-Identifier: ISC */
/*
 * The parameter table of chat requests.  Runs in worker-http.  Each known
 * parameter is honoured, ignored with a note in X-OLP-Ignored, or refused
 * with 400; one that is not in the table is refused.  The rule: what would
 * be answered wrongly is refused, what only steers is noted.
 */
#include "worker-http/params.h"

#include <event2/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/limits.h"
#include "common/log.h"
#include "common/provider/provider.h"
#include "worker-http/ir.h"
#include "worker-http/json.h"

enum how { HONOURED, IGNORED, REFUSED };

struct param {
	const char *name;
	enum how how;
	/* Called unless absent or null. 0, or -1 through bad(). NULL: ignored
	 * whatever it is. */
	int (*take)(
	    struct ir *, const struct param *, json_t *, struct ir_bad *);
	double lo, hi;    /* of numbers */
	const char *note; /* for people */
};

static int
wrong(struct ir_bad *bad, const struct param *p, const char *text)
{
	return (ir_fail(bad, ERR_BAD_REQUEST, p->name, "%s %s", p->name, text));
}

static int
refuse(struct ir_bad *bad, const struct param *p)
{
	return (ir_fail(bad, ERR_UNSUPPORTED, p->name,
	    "%s is not supported: %s", p->name, p->note));
}

/* Those with an effect */

static int
take_model(struct ir *ir, const struct param *p, json_t *v, struct ir_bad *bad)
{
	const char *s = json_string_value(v);

	if (s == NULL || *s == '\0' || strlen(s) != json_string_length(v))
		return (wrong(bad, p, "must be the name of a model"));
	ir->model = xstrdup(s);
	return (0);
}

static int
take_messages(
    struct ir *ir, const struct param *p, json_t *v, struct ir_bad *bad)
{
	(void)p;
	return (ir_take_messages(ir, v, bad));
}

static int
take_stream(struct ir *ir, const struct param *p, json_t *v, struct ir_bad *bad)
{
	if (!json_is_boolean(v))
		return (wrong(bad, p, "must be true or false"));
	ir->stream = json_is_true(v);
	return (0);
}

static int
take_stream_options(
    struct ir *ir, const struct param *p, json_t *v, struct ir_bad *bad)
{
	json_t *usage = json_object_get(v, "include_usage");
	const char *name;
	json_t *member;

	if (!json_is_object(v))
		return (wrong(bad, p, "must be an object"));
	if (!ir->stream)
		return (wrong(bad, p, "is only allowed when stream is true"));
	json_object_foreach(v, name, member)
	{
		if (strcmp(name, "include_obfuscation") == 0)
			ir_ignored(ir, "stream_options.include_obfuscation");
		else if (strcmp(name, "include_usage") != 0)
			return (ir_fail(bad, ERR_UNSUPPORTED, p->name,
			    "stream_options has a member that is not known"));
	}
	if (usage != NULL && !json_is_null(usage) && !json_is_boolean(usage))
		return (ir_fail(bad, ERR_BAD_REQUEST,
		    "stream_options.include_usage",
		    "stream_options.include_usage must be true or false"));
	ir->include_usage = json_is_true(usage);
	return (0);
}

static int
in_range(struct ir_bad *bad, const struct param *p, json_t *v)
{
	char text[96];
	double d;

	if (!json_is_number(v))
		return (wrong(bad, p, "must be a number"));
	d = json_number_value(v);
	if (d >= p->lo && d <= p->hi)
		return (0);
	(void)snprintf(
	    text, sizeof(text), "must be from %g to %g", p->lo, p->hi);
	return (wrong(bad, p, text));
}

static int
take_temperature(
    struct ir *ir, const struct param *p, json_t *v, struct ir_bad *bad)
{
	if (in_range(bad, p, v) == -1)
		return (-1);
	ir->has_temperature = 1;
	ir->temperature = json_number_value(v);
	return (0);
}

static int
take_top_p(struct ir *ir, const struct param *p, json_t *v, struct ir_bad *bad)
{
	if (in_range(bad, p, v) == -1)
		return (-1);
	ir->has_top_p = 1;
	ir->top_p = json_number_value(v);
	return (0);
}

/* max_tokens is the older name of max_completion_tokens. */
static int
take_max_tokens(
    struct ir *ir, const struct param *p, json_t *v, struct ir_bad *bad)
{
	json_int_t n = json_integer_value(v);

	if (!json_is_integer(v))
		return (wrong(bad, p, "must be a whole number"));
	if (n < 1 || n > LIM_IR_MAX_TOKENS)
		return (ir_fail(bad, ERR_BAD_REQUEST, p->name,
		    "%s must be from 1 to %d", p->name, LIM_IR_MAX_TOKENS));
	if (ir->max_tokens != 0 && ir->max_tokens != n)
		return (wrong(bad, p, "and max_completion_tokens differ"));
	ir->max_tokens = n;
	return (0);
}

static int
take_stop(struct ir *ir, const struct param *p, json_t *v, struct ir_bad *bad)
{
	size_t i, n = json_is_string(v) ? 1 : json_array_size(v);
	json_t *s;

	if ((!json_is_string(v) && !json_is_array(v)) || n > IR_STOP_MAX)
		return (
		    wrong(bad, p, "must be a string or an array of at most 4"));
	for (i = 0; i < n; i++) {
		s = json_is_string(v) ? v : json_array_get(v, i);
		if (!json_is_string(s) || json_string_length(s) == 0 ||
		    json_string_length(s) > LIM_IR_STOP ||
		    strlen(json_string_value(s)) != json_string_length(s))
			return (wrong(
			    bad, p, "must hold strings of 1 to 1024 bytes"));
		ir->stop[ir->nstop++] = xstrdup(json_string_value(s));
	}
	return (0);
}

/* Those of which only what changes nothing is allowed */

static int
take_n(struct ir *ir, const struct param *p, json_t *v, struct ir_bad *bad)
{
	(void)ir;
	if (!json_is_integer(v) || json_integer_value(v) < 1)
		return (wrong(bad, p, "must be 1"));
	return (json_integer_value(v) == 1 ? 0 : refuse(bad, p));
}

static int
take_empty_array(
    struct ir *ir, const struct param *p, json_t *v, struct ir_bad *bad)
{
	(void)ir;
	if (!json_is_array(v))
		return (wrong(bad, p, "must be an array"));
	return (json_array_size(v) == 0 ? 0 : refuse(bad, p));
}

/* tool_choice and function_call: without tools "none" and "auto" say the same.
 */
static int
take_choice(struct ir *ir, const struct param *p, json_t *v, struct ir_bad *bad)
{
	const char *s = json_string_value(v);

	(void)ir;
	if (s != NULL && (strcmp(s, "none") == 0 || strcmp(s, "auto") == 0))
		return (0);
	if (!json_is_string(v) && !json_is_object(v))
		return (wrong(bad, p, "must be a string or an object"));
	return (refuse(bad, p));
}

static int
take_format(struct ir *ir, const struct param *p, json_t *v, struct ir_bad *bad)
{
	const char *type = json_string_value(json_object_get(v, "type"));

	(void)ir;
	if (type == NULL)
		return (wrong(bad, p, "must be an object with a type"));
	return (strcmp(type, "text") == 0 ? 0 : refuse(bad, p));
}

static int
take_modalities(
    struct ir *ir, const struct param *p, json_t *v, struct ir_bad *bad)
{
	const char *s = json_string_value(json_array_get(v, 0));

	(void)ir;
	if (!json_is_array(v))
		return (wrong(bad, p, "must be an array"));
	if (json_array_size(v) == 1 && s != NULL && strcmp(s, "text") == 0)
		return (0);
	return (refuse(bad, p));
}

static int
take_false(struct ir *ir, const struct param *p, json_t *v, struct ir_bad *bad)
{
	(void)ir;
	if (!json_is_boolean(v))
		return (wrong(bad, p, "must be true or false"));
	return (json_is_false(v) ? 0 : refuse(bad, p));
}

static int
take_zero(struct ir *ir, const struct param *p, json_t *v, struct ir_bad *bad)
{
	(void)ir;
	if (!json_is_integer(v) || json_integer_value(v) < 0)
		return (wrong(bad, p, "must be a whole number"));
	return (json_integer_value(v) == 0 ? 0 : refuse(bad, p));
}

static int
take_never(struct ir *ir, const struct param *p, json_t *v, struct ir_bad *bad)
{
	(void)ir;
	(void)v;
	return (refuse(bad, p));
}

/* Those that are noted: checked, so that a mistake is told all the same */

static int
note_number(struct ir *ir, const struct param *p, json_t *v, struct ir_bad *bad)
{
	if (in_range(bad, p, v) == -1)
		return (-1);
	if (json_number_value(v) != 0)
		ir_ignored(ir, p->name);
	return (0);
}

static int
note_integer(
    struct ir *ir, const struct param *p, json_t *v, struct ir_bad *bad)
{
	if (!json_is_integer(v))
		return (wrong(bad, p, "must be a whole number"));
	ir_ignored(ir, p->name);
	return (0);
}

static int
note_string(struct ir *ir, const struct param *p, json_t *v, struct ir_bad *bad)
{
	if (!json_is_string(v))
		return (wrong(bad, p, "must be a string"));
	ir_ignored(ir, p->name);
	return (0);
}

static int
note_object(struct ir *ir, const struct param *p, json_t *v, struct ir_bad *bad)
{
	if (!json_is_object(v))
		return (wrong(bad, p, "must be an object"));
	if (json_object_size(v) > 0)
		ir_ignored(ir, p->name);
	return (0);
}

static int
note_bool(struct ir *ir, const struct param *p, json_t *v, struct ir_bad *bad)
{
	if (!json_is_boolean(v))
		return (wrong(bad, p, "must be true or false"));
	ir_ignored(ir, p->name);
	return (0);
}

static int
note_store(struct ir *ir, const struct param *p, json_t *v, struct ir_bad *bad)
{
	if (!json_is_boolean(v))
		return (wrong(bad, p, "must be true or false"));
	if (json_is_true(v))
		ir_ignored(ir, p->name);
	return (0);
}

static int
note_tier(struct ir *ir, const struct param *p, json_t *v, struct ir_bad *bad)
{
	const char *s = json_string_value(v);

	if (s == NULL)
		return (wrong(bad, p, "must be a string"));
	if (strcmp(s, "auto") != 0 && strcmp(s, "default") != 0)
		ir_ignored(ir, p->name);
	return (0);
}

/*
 * In the order in which they are read and shown: `stream` comes before what
 * depends on it.  clang-format off: a table.
 */
/* clang-format off */
static const struct param table[] = {
	{ "model", HONOURED, take_model, 0, 0, "a model this key may use, see /v1/models" },
	{ "messages", HONOURED, take_messages, 0, 0, "roles system, developer, user, assistant; text only" },
	{ "stream", HONOURED, take_stream, 0, 0, "" },
	{ "stream_options", HONOURED, take_stream_options, 0, 0, "include_usage" },
	{ "temperature", HONOURED, take_temperature, 0, 2, "noted where the provider's client has no way to set it" },
	{ "top_p", HONOURED, take_top_p, 0, 1, "noted where the provider's client has no way to set it" },
	{ "max_completion_tokens", HONOURED, take_max_tokens, 0, 0, "noted where the provider's client has no way to set it" },
	{ "max_tokens", HONOURED, take_max_tokens, 0, 0, "the older name of max_completion_tokens" },
	{ "stop", HONOURED, take_stop, 0, 0, "refused where the provider's client has no way to set it" },
	{ "n", REFUSED, take_n, 0, 0, "one answer is given; 1 is accepted" },
	{ "tools", REFUSED, take_empty_array, 0, 0, "tools cannot be carried; an empty array is accepted" },
	{ "tool_choice", REFUSED, take_choice, 0, 0, "a call cannot be forced; \"none\" and \"auto\" are accepted" },
	{ "parallel_tool_calls", IGNORED, note_bool, 0, 0, "there are no tool calls" },
	{ "functions", REFUSED, take_empty_array, 0, 0, "tools cannot be carried; an empty array is accepted" },
	{ "function_call", REFUSED, take_choice, 0, 0, "a call cannot be forced; \"none\" and \"auto\" are accepted" },
	{ "response_format", REFUSED, take_format, 0, 0, "no format can be promised; {\"type\":\"text\"} is accepted" },
	{ "modalities", REFUSED, take_modalities, 0, 0, "answers are text; [\"text\"] is accepted" },
	{ "audio", REFUSED, take_never, 0, 0, "answers are text" },
	{ "web_search_options", REFUSED, take_never, 0, 0, "clients have no network but their provider" },
	{ "logprobs", REFUSED, take_false, 0, 0, "the clients do not tell; false is accepted" },
	{ "top_logprobs", REFUSED, take_zero, 0, 0, "the clients do not tell; 0 is accepted" },
	{ "frequency_penalty", IGNORED, note_number, -2, 2, "" },
	{ "presence_penalty", IGNORED, note_number, -2, 2, "" },
	{ "repetition_penalty", IGNORED, note_number, 0, 100, "not OpenAI's; sent by common clients" },
	{ "min_p", IGNORED, note_number, 0, 1, "not OpenAI's; sent by common clients" },
	{ "top_k", IGNORED, note_integer, 0, 0, "not OpenAI's; sent by common clients" },
	{ "logit_bias", IGNORED, note_object, 0, 0, "" },
	{ "seed", IGNORED, note_integer, 0, 0, "" },
	{ "reasoning_effort", IGNORED, note_string, 0, 0, "" },
	{ "verbosity", IGNORED, note_string, 0, 0, "" },
	{ "prediction", IGNORED, note_object, 0, 0, "it would only save time" },
	{ "service_tier", IGNORED, note_tier, 0, 0, "" },
	{ "store", IGNORED, note_store, 0, 0, "nothing is stored" },
	{ "metadata", IGNORED, note_object, 0, 0, "nothing is stored" },
	{ "user", IGNORED, note_string, 0, 0, "the API key says who asks" },
	{ "safety_identifier", IGNORED, note_string, 0, 0, "the API key says who asks" },
	{ "prompt_cache_key", IGNORED, note_string, 0, 0, "" },
	{ "prompt_cache_retention", IGNORED, note_string, 0, 0, "" },
};
/* clang-format on */
#define NTABLE (sizeof(table) / sizeof(table[0]))

static const struct param *
find(const char *name)
{
	size_t i;

	for (i = 0; i < NTABLE; i++)
		if (strcmp(table[i].name, name) == 0)
			return (&table[i]);
	return (NULL);
}

const char *
params_named(const char *sentence)
{
	size_t i, n;

	for (i = 0; i < NTABLE; i++) {
		n = strlen(table[i].name);
		if (strncmp(sentence, table[i].name, n) == 0 &&
		    sentence[n] == ' ')
			return (table[i].name);
	}
	return ("messages");
}

int
params_take(struct ir *ir, json_t *root, struct ir_bad *bad)
{
	const char *name;
	json_t *v;
	json_t *member;
	size_t i;

	json_object_foreach(root, name, member) if (find(name) == NULL) return (
	    ir_fail(bad, ERR_UNSUPPORTED, name,
		"%.100s is not a known parameter", name));
	for (i = 0; i < NTABLE; i++) {
		v = json_object_get(root, table[i].name);
		if (v != NULL && !json_is_null(v) &&
		    table[i].take(ir, &table[i], v, bad) == -1)
			return (-1);
	}
	if (ir->model == NULL)
		return (
		    ir_fail(bad, ERR_BAD_REQUEST, "model", "model is missing"));
	if (TAILQ_EMPTY(&ir->messages))
		return (ir_fail(
		    bad, ERR_BAD_REQUEST, "messages", "messages is missing"));
	return (0);
}

int
params_fit(struct ir *ir, const struct provider_render *r, struct ir_bad *bad)
{
	if (ir->nstop > 0 && !r->stop)
		return (ir_fail(bad, ERR_UNSUPPORTED, "stop",
		    "stop is not supported by the provider of this model"));
	if (ir->has_temperature && !r->temperature) {
		ir->has_temperature = 0;
		ir_ignored(ir, "temperature");
	}
	if (ir->has_top_p && !r->top_p) {
		ir->has_top_p = 0;
		ir_ignored(ir, "top_p");
	}
	if (ir->max_tokens != 0 && !r->max_tokens) {
		ir->max_tokens = 0;
		ir_ignored(ir, "max_tokens");
	}
	return (0);
}

void
params_put(struct evbuffer *out)
{
	static const char *const words[] = { "honoured", "ignored", "refused" };
	size_t i;

	json_put(out, "\"parameters\":[");
	for (i = 0; i < NTABLE; i++) {
		json_put(out, i > 0 ? ",{" : "{");
		json_put_member(out, "name", table[i].name);
		json_put_member(out, "handling", words[table[i].how]);
		json_put_member(out, "note",
		    table[i].note[0] != '\0' ? table[i].note : NULL);
		json_put(out, "}");
	}
	json_put(out, "],\"unknown\":\"refused\"");
}
