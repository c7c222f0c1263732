/* SPDX-License-Identifier: ISC */
/*
 * The providers whose clients' output can be read, and what their parsers
 * share.  Linked into worker-http.  Reads bytes that a client wrote: any are
 * possible.
 */
#include "common/provider/parse.h"

#include <string.h>

extern const struct provider_parse claude_parse; /* claude_parse.c */
extern const struct provider_parse demo_parse;   /* demo_parse.c */

const struct provider_parse *const parse_table[] = { &claude_parse, &demo_parse,
	NULL };

enum olp_err
provider_status(int64_t status)
{
	switch (status) {
	case 400:
	case 413:
	case 422:
		return (ERR_PROVIDER_REQUEST);
	case 401:
	case 402:
	case 403:
		return (ERR_PROVIDER_AUTH);
	case 404:
		return (ERR_MODEL_UNKNOWN);
	case 429:
		return (ERR_PROVIDER_LIMIT);
	case 529:
		return (ERR_PROVIDER_OVERLOADED);
	default:
		return (status <= 0 || (status >= 200 && status <= 299)
			? ERR_OK
			: ERR_PROVIDER);
	}
}

const struct provider_parse *
parse_find(const char *name)
{
	size_t i;

	for (i = 0; parse_table[i] != NULL; i++)
		if (strcmp(parse_table[i]->name, name) == 0)
			return (parse_table[i]);
	return (NULL);
}

static int
give(struct answer *a, const struct chunk *c)
{
	int r;

	if (a->done)
		return (0);
	if (c->kind == CHUNK_STOP || c->kind == CHUNK_FAIL)
		a->done = 1;
	if ((r = a->cb(a->arg, c)) != 0)
		a->done = 1;
	return (r);
}

int
answer_fail_retry(
    struct answer *a, enum olp_err err, const char *text, uint32_t retry_s)
{
	struct chunk c = { .kind = CHUNK_FAIL, .err = err, .retry_s = retry_s };

	c.text = text != NULL ? text : "";
	c.len = strnlen(c.text, LIM_TEXT - 1);
	return (give(a, &c));
}

int
answer_fail(struct answer *a, enum olp_err err, const char *text)
{
	return (answer_fail_retry(a, err, text, 0));
}

int
answer_start(struct answer *a, const char *model)
{
	struct chunk c = {
		.kind = CHUNK_START, .text = model, .len = strlen(model)
	};

	if (a->started)
		return (answer_fail(
		    a, ERR_PROVIDER_CUT, "the answer began a second time"));
	a->started = 1;
	return (give(a, &c));
}

int
answer_text(struct answer *a, const char *text, size_t len)
{
	struct chunk c = { .kind = CHUNK_TEXT, .text = text, .len = len };

	if (!a->started)
		return (answer_fail(
		    a, ERR_CLIENT_ODD, "text before the answer's start"));
	if (len == 0)
		return (0);
	a->text = 1;
	return (give(a, &c));
}

int
answer_usage(struct answer *a, int64_t in_tokens, int64_t out_tokens)
{
	struct chunk c = { .kind = CHUNK_USAGE,
		.in_tokens = in_tokens,
		.out_tokens = out_tokens };

	if (!a->started)
		return (0);
	a->in_tokens = in_tokens;
	a->out_tokens = out_tokens;
	return (give(a, &c));
}

int
answer_stop(struct answer *a, enum stop_reason stop)
{
	struct chunk c = { .kind = CHUNK_STOP, .stop = stop };

	if (!a->started)
		return (answer_fail(
		    a, ERR_CLIENT_ODD, "an end before the answer's start"));
	if (stop == STOP_END && !a->text)
		return (answer_fail(a, ERR_PROVIDER, "the answer is empty"));
	c.in_tokens = a->in_tokens;
	c.out_tokens = a->out_tokens;
	return (give(a, &c));
}

/* Looked at before it is parsed: what 16 MB of "[]," become takes 1.2 GB. */
static int
is_crowded(const char *s, size_t len)
{
	size_t i, n = 0;
	int string = 0;

	for (i = 0; i < len && n <= LIM_PARSE_VALUES; i++) {
		if (string && s[i] == '\\')
			i++;
		else if (s[i] == '"')
			string = !string;
		else if (!string)
			n += s[i] == ',' || s[i] == '[' || s[i] == '{';
	}
	return (n > LIM_PARSE_VALUES);
}

json_t *
answer_line(struct answer *a, const char *line, size_t len, int *r)
{
	json_t *root;

	*r = 0;
	if (a->done)
		return (NULL);
	if (is_crowded(line, len)) {
		*r = answer_fail(a, ERR_CLIENT_ODD,
		    "a line of the client's has too many values");
		return (NULL);
	}
	root = json_loadb(
	    line, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	if (json_is_object(root))
		return (root);
	json_decref(root);
	if (len > 0 && line[strspn(line, " \t")] == '{')
		*r = answer_fail(
		    a, ERR_CLIENT_ODD, "a line of the client's is broken JSON");
	else if (len > 0 && ++a->noise > LIM_PARSE_NOISE)
		*r = answer_fail(
		    a, ERR_CLIENT_ODD, "too many lines that are no JSON");
	return (NULL);
}

const char *
json_text(const json_t *o, const char *name)
{
	const char *s = json_string_value(json_object_get(o, name));

	return (s != NULL ? s : "");
}

int64_t
json_count(const json_t *o, const char *name, int64_t otherwise)
{
	const json_t *v = json_object_get(o, name);
	json_int_t n = json_integer_value(v);

	if (!json_is_integer(v) || n < 0 || n > LIM_PARSE_TOKENS)
		return (otherwise);
	return (n);
}
