/* SPDX-License-Identifier: ISC */
/*
 * A request as the `claude` client reads it.  Linked into worker-http.
 *
 * One user message goes in by standard input, byte for byte.  Several turns
 * go in as a transcript whose last row the client answers as if it had just
 * been typed (claude_launch.c), so that they reach the model as the messages
 * they are.  The rules for both were measured with claude 2.1.332; what
 * deviates from the request is this alone:
 *  - "\n" goes before a last text that the client would take for one of its
 *    commands or for its note of an interruption;
 *  - blank messages are left out: providers refuse them, and the client
 *    drops those of the assistant, "(no content)" among them.
 * Several user messages in a row become the parts of one row, since the
 * client would join rows and add a newline.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/provider/ir.h"
#include "common/provider/provider.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

static int refuse(char *, size_t, const char *, ...)
    __attribute__((format(printf, 3, 4)));

/* Always -1. */
static int
refuse(char *err, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(err, size, fmt, ap);
	va_end(ap);
	return (-1);
}

/* Texts */

/* Bytes of the blank at s, as JavaScript's trim() has them, in UTF-8; or 0. */
static size_t
blank_at(const char *s, size_t len)
{
	static const char *const blanks[] = { "\t", "\n", "\v", "\f", "\r", " ",
		"\xc2\xa0", "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x81",
		"\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85",
		"\xe2\x80\x86", "\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89",
		"\xe2\x80\x8a", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf",
		"\xe2\x81\x9f", "\xe3\x80\x80", "\xef\xbb\xbf" };
	size_t i, n;

	for (i = 0; i < N(blanks); i++) {
		n = strlen(blanks[i]);
		if (n <= len && memcmp(s, blanks[i], n) == 0)
			return (n);
	}
	return (0);
}

/* How many blank bytes a text begins with. */
static size_t
blanks(const char *s, size_t len)
{
	size_t n, at = 0;

	while (at < len && (n = blank_at(s + at, len - at)) > 0)
		at += n;
	return (at);
}

static int
is_blank(const char *s, size_t len)
{
	return (blanks(s, len) == len);
}

/* word, with nothing but blanks around it. */
static int
is_only(const char *s, size_t len, const char *word)
{
	size_t from = blanks(s, len), n = strlen(word);

	return (len - from >= n && memcmp(s + from, word, n) == 0 &&
	    is_blank(s + from + n, len - from - n));
}

/* Is left out of what the client is given. */
static int
is_dropped(const struct ir_message *m)
{
	return (is_blank(m->text, m->len) ||
	    (m->role == IR_ASSISTANT &&
		is_only(m->text, m->len, "(no content)")));
}

/* A last text that the client would not send as it is. */
static int
is_special(const struct ir_message *m)
{
	static const char *const notes[] = { "[Request interrupted by user]",
		"[Request interrupted by user for tool use]" };
	size_t i;

	if (m->len > 0 && m->text[0] == '/')
		return (1);
	for (i = 0; i < N(notes); i++)
		if (m->len == strlen(notes[i]) &&
		    memcmp(m->text, notes[i], m->len) == 0)
			return (1);
	return (0);
}

/* Files in memory: their only failure is a lack of it */

static FILE *
mem_open(char **buf, size_t *len)
{
	FILE *f;

	if ((f = open_memstream(buf, len)) == NULL)
		fatal("open_memstream");
	return (f);
}

static void
mem_close(FILE *f)
{
	int failed = ferror(f);

	if (fclose(f) == EOF || failed)
		fatal("open_memstream");
}

/* The transcript */

/* 0, or -1 when it is no UTF-8. */
static int
put_text(FILE *f, const char *s, size_t len)
{
	json_t *text = json_stringn(s, len);
	int r;

	if (text == NULL)
		return (-1);
	(void)fputs("{\"type\":\"text\",\"text\":", f);
	r = json_dumpf(text, f, JSON_ENCODE_ANY | JSON_COMPACT);
	(void)fputc('}', f);
	json_decref(text);
	return (r);
}

static int
put_last_text(FILE *f, const struct ir_message *m)
{
	char *text;
	int r;

	if (!is_special(m))
		return (put_text(f, m->text, m->len));
	text = xmalloc(m->len + 1);
	text[0] = '\n';
	memcpy(text + 1, m->text, m->len);
	r = put_text(f, text, m->len + 1);
	free(text);
	return (r);
}

/* Rows are chained; without uuid and parentUuid only the last one arrives. */
static void
put_row_start(FILE *f, const char *role, unsigned int row)
{
	(void)fprintf(f,
	    "{\"type\":\"%s\",\"uuid\":\"00000000-0000-4000-8000-%012u\",",
	    role, row);
	if (row == 1)
		(void)fputs("\"parentUuid\":null,", f);
	else
		(void)fprintf(f,
		    "\"parentUuid\":\"00000000-0000-4000-8000-%012u\",",
		    row - 1);
	(void)fprintf(f, "\"message\":{\"role\":\"%s\",\"content\":[", role);
}

static const struct ir_message *
next_kept(const struct ir_message *m)
{
	while (m != NULL && is_dropped(m))
		m = TAILQ_NEXT(m, entry);
	return (m);
}

static int
put_transcript(FILE *f, const struct ir *ir)
{
	const struct ir_message *m, *next, *before = NULL;
	unsigned int row = 0;

	for (m = next_kept(TAILQ_FIRST(&ir->messages)); m != NULL;
	     before = m, m = next) {
		next = next_kept(TAILQ_NEXT(m, entry));
		if (before != NULL && before->role == IR_USER &&
		    m->role == IR_USER)
			(void)fputc(',', f);
		else
			put_row_start(f,
			    m->role == IR_USER ? "user" : "assistant", ++row);
		if ((next == NULL ? put_last_text(f, m)
				  : put_text(f, m->text, m->len)) == -1)
			return (-1);
		if (next == NULL || m->role == IR_ASSISTANT ||
		    next->role == IR_ASSISTANT)
			(void)fputs("]}}\n", f);
	}
	return (0);
}

static int
render_transcript(
    const struct ir *ir, struct rendered *r, char *err, size_t size)
{
	FILE *f = mem_open(&r->input, &r->input_len);
	int ret;

	ret = put_transcript(f, ir);
	mem_close(f);
	r->input_kind = INPUT_TRANSCRIPT;
	return (
	    ret == 0 ? 0 : refuse(err, size, "a message is not valid UTF-8"));
}

/* On standard input only "/" is special. */
static int
render_single(
    const struct ir_message *m, struct rendered *r, char *err, size_t size)
{
	size_t prefix = m->text[0] == '/' ? 1 : 0;

	if (m->len > LIM_CLAUDE_STDIN - prefix)
		return (refuse(err, size, "the message is over %d bytes",
		    LIM_CLAUDE_STDIN));
	r->input_kind = INPUT_BYTES;
	r->input_len = m->len + prefix;
	r->input = xmalloc(r->input_len);
	r->input[0] = '\n';
	memcpy(r->input + prefix, m->text, m->len);
	return (0);
}

static int
render_input(const struct ir *ir, struct rendered *r, char *err, size_t size)
{
	const struct ir_message *m,
	    *last = TAILQ_LAST(&ir->messages, ir_messages);
	size_t kept = 0;

	if (last == NULL || last->role != IR_USER)
		return (
		    refuse(err, size, "the last message is not the user's"));
	if (is_dropped(last))
		return (refuse(err, size, "the last message is empty"));
	TAILQ_FOREACH(m, &ir->messages, entry)
		if (!is_dropped(m))
			kept++;
	if (kept == 1)
		return (render_single(last, r, err, size));
	return (render_transcript(ir, r, err, size));
}

/* Settings */

/* CLAUDE_CODE_EXTRA_BODY: goes into the body as it is. NULL: nothing does. */
static json_t *
extra_body(const struct ir *ir)
{
	json_t *o = json_object(), *stops = json_array();
	size_t i;

	if (ir->has_temperature)
		(void)json_object_set_new(
		    o, "temperature", json_real(ir->temperature));
	if (ir->has_top_p)
		(void)json_object_set_new(o, "top_p", json_real(ir->top_p));
	for (i = 0; i < ir->nstop; i++)
		(void)json_array_append_new(stops, json_string(ir->stop[i]));
	if (ir->nstop > 0)
		(void)json_object_set(o, "stop_sequences", stops);
	json_decref(stops);
	if (json_object_size(o) > 0)
		return (o);
	json_decref(o);
	return (NULL);
}

static void
set_env(json_t *env, const char *name, const char *value)
{
	if (json_object_set_new(env, name, json_string(value)) == -1)
		fatalx("claude: settings: no memory");
}

static void
set_extra_body(json_t *env, const struct ir *ir)
{
	json_t *extra = extra_body(ir);
	char *text;

	if (extra == NULL)
		return;
	if ((text = json_dumps(extra, JSON_COMPACT)) == NULL)
		fatalx("claude: settings: no memory");
	set_env(env, "CLAUDE_CODE_EXTRA_BODY", text);
	free(text);
	json_decref(extra);
}

/*
 * The provider takes no temperature or top_p beside thinking, and a small
 * max_tokens would be thought away: for older models the client asks for
 * max_tokens - 1 tokens of thinking, and for 1024 where that is more than
 * max_tokens, which the provider refuses.
 */
static int
without_thinking(const struct ir *ir)
{
	return (ir->has_temperature || ir->has_top_p ||
	    (ir->max_tokens > 0 && ir->max_tokens < LIM_CLAUDE_THINKING));
}

static void
render_settings(const struct ir *ir, struct rendered *r)
{
	json_t *env = json_object(), *root = json_object();
	char n[24];

	set_extra_body(env, ir);
	if (ir->max_tokens > 0) {
		(void)snprintf(n, sizeof(n), "%" PRId64, ir->max_tokens);
		set_env(env, "CLAUDE_CODE_MAX_OUTPUT_TOKENS", n);
	}
	if (without_thinking(ir))
		set_env(env, "CLAUDE_CODE_DISABLE_THINKING", "1");
	if (json_object_size(env) > 0) {
		if (json_object_set(root, "env", env) == -1 ||
		    (r->settings = json_dumps(root, JSON_COMPACT)) == NULL)
			fatalx("claude: settings: no memory");
		r->settings_len = strlen(r->settings);
	}
	json_decref(env);
	json_decref(root);
}

/* A blank one is none: the provider refuses it. */
static void
render_system(const struct ir *ir, struct rendered *r)
{
	if (ir->system == NULL || is_blank(ir->system, ir->system_len))
		return;
	r->system = xmalloc(ir->system_len);
	memcpy(r->system, ir->system, ir->system_len);
	r->system_len = ir->system_len;
}

static int
claude_make(const struct ir *ir, struct rendered *r, char *err, size_t size)
{
	memset(r, 0, sizeof(*r));
	if (ir->has_temperature && ir->temperature > 1)
		return (refuse(err, size,
		    "temperature must be from 0 to 1 for this model"));
	if (render_input(ir, r, err, size) == -1) {
		rendered_free(r);
		return (-1);
	}
	render_system(ir, r);
	render_settings(ir, r);
	return (0);
}

extern const struct provider_render claude_render;
const struct provider_render claude_render = {
	.name = "claude",
	.temperature = 1,
	.top_p = 1,
	.max_tokens = 1,
	.stop = 1,
	.render = claude_make,
};
