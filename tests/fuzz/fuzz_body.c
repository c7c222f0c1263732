/* SPDX-License-Identifier: ISC */
/*
 * The body checker of olpd-egress on any bytes: the verdict is the same
 * however they are cut, and what it takes for JSON is what jansson takes for
 * it.  The first byte picks rules and cut.
 */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "worker-http/egress/body.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static const char *const keys[] = { "model", "messages", "tools", "stream",
	NULL };
static const char *const fetched[] = { "url", NULL };
static const struct body_rules rules[] = { { NULL, NULL, 0, NULL },
	{ keys, "m", 1, fetched }, { keys, "m", 0, NULL } };

static int
verdict(const struct body_rules *r, const uint8_t *data, size_t len,
    size_t step, const char **why)
{
	struct body *b = body_new(r);
	size_t at = 0, n;
	int v = 0;

	while (at < len && v == 0) {
		n = step < len - at ? step : len - at;
		v = body_feed(b, data + at, n);
		at += n;
	}
	if (v == 0)
		v = body_end(b);
	*why = body_reason(b);
	body_free(b);
	return (v);
}

/* Where jansson is stricter than the grammar, or deeper than we go. */
static int
comparable(const json_error_t *e, const char *why)
{
	if (why != NULL && strcmp(why, "body: nested too deeply") == 0)
		return (0);
	return (json_error_code(e) != json_error_numeric_overflow &&
	    json_error_code(e) != json_error_null_byte_in_key);
}

static void
compare(const uint8_t *data, size_t len, int v, const char *why)
{
	json_error_t e = { 0 };
	json_t *j;
	int object;

	/* jansson 2.14 swallows a raw NUL after a number or a word. */
	if (memchr(data, '\0', len) != NULL) {
		if (v == 0)
			abort();
		return;
	}
	j = json_loadb((const char *)data, len, JSON_ALLOW_NUL, &e);
	object = json_is_object(j);
	if (j == NULL && !comparable(&e, why))
		return;
	if (j != NULL && why != NULL &&
	    strcmp(why, "body: nested too deeply") == 0)
		object = 0;
	if ((v == 0) != object)
		abort();
	json_decref(j);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct body_rules *r;
	const char *whole, *cut;
	size_t step;
	int v;

	if (len == 0)
		return (0);
	r = &rules[data[0] % 3];
	step = 1 + data[0] / 3U;
	data++;
	len--;
	v = verdict(r, data, len, len + 1, &whole);
	if (verdict(r, data, len, step, &cut) != v || whole != cut)
		abort();
	if (r->keys == NULL)
		compare(data, len, v, whole);
	return (0);
}
