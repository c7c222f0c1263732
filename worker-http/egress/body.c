/* SPDX-License-Identifier: ISC */
/*
 * The incremental JSON checker of olpd-egress: a byte machine with one bit
 * of stack for each level.  The bytes are a hostile client's; they are never
 * copied but for one key, or the type of a source, at a time.
 */
#include "worker-http/egress/body.h"

#include <bsd/stdlib.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/limits.h"
#include "common/log.h"

enum state {
	B_VALUE,     /* a value begins here */
	B_FIRST,     /* after [: a value or ] */
	B_KEY_FIRST, /* after {: a key or } */
	B_KEY,       /* after a comma in an object */
	B_COLON,
	B_AFTER, /* after a value: comma or the container's end */
	B_END,   /* only blanks may follow */
	B_STRING,
	B_UTF8,   /* in a character of several bytes */
	B_ESCAPE, /* after a backslash */
	B_HEX,    /* after \u */
	B_LOW,    /* after a high surrogate: a backslash */
	B_LOW_U,  /* and its u */
	B_WORD,   /* in true, false or null */
	B_MINUS,
	B_ZERO,
	B_INT,
	B_POINT,
	B_FRACTION,
	B_EXP,
	B_EXP_SIGN,
	B_EXP_INT,
	B_BAD,
};

/* What becomes of a string's bytes. */
enum take { TAKE_NONE, TAKE_KEY, TAKE_MODEL, TAKE_TYPE };

/* What the value behind a key below the top level is to us. */
enum role { ROLE_NONE, ROLE_SOURCE, ROLE_TYPE, ROLE_INPUT };

#define NO_KEY (-1)

struct body {
	const struct body_rules *rules;
	enum state state;
	const char *reason;
	size_t depth;
	uint8_t stack[LIM_BODY_DEPTH / 8];  /* a bit is set for an object */
	uint8_t source[LIM_BODY_DEPTH / 8]; /* and for one that is a source */
	enum role role;                     /* of the value about to begin */
	size_t input; /* depth of a tool's input, which is free; 0: none */
	int in_key;   /* the string being read is a key */
	enum take take;
	char key[LIM_BODY_KEY]; /* a key, or the type of a source */
	size_t key_len;         /* one more than fits: it was too long */
	int key_index;          /* of the top-level value being read */
	int key_model, key_tools, key_stream; /* their places in rules->keys */
	uint64_t seen;                        /* top-level keys, by place */
	size_t model_at; /* bytes of the model that agreed */
	int model_differs;
	int empty_array;  /* the array just begun must be empty */
	const char *word; /* what of true, false or null is still to come */
	unsigned int hex, nhex, high;
	unsigned int more; /* continuation bytes of a character to come */
	uint8_t lo, hi;    /* bounds of the next of them */
};

static int step(struct body *, uint8_t);

static int
bad(struct body *b, const char *reason)
{
	b->state = B_BAD;
	b->reason = reason;
	return (-1);
}

static int
key_place(const struct body_rules *rules, const char *key)
{
	int i;

	for (i = 0; rules->keys != NULL && rules->keys[i] != NULL; i++)
		if (strcmp(rules->keys[i], key) == 0)
			return (i);
	return (NO_KEY);
}

struct body *
body_new(const struct body_rules *rules)
{
	struct body *b = xcalloc(1, sizeof(*b));
	size_t n = 0;

	while (rules->keys != NULL && rules->keys[n] != NULL)
		n++;
	if (n > LIM_BODY_KEYS)
		fatalx("body: %zu keys in a provider's table", n);
	b->rules = rules;
	b->state = B_VALUE;
	b->key_index = NO_KEY;
	b->key_model = key_place(rules, "model");
	b->key_tools = key_place(rules, "tools");
	b->key_stream = key_place(rules, "stream");
	return (b);
}

void
body_free(struct body *b)
{
	if (b == NULL)
		return;
	freezero(b, sizeof(*b));
}

const char *
body_reason(const struct body *b)
{
	return (b->reason);
}

/* Containers */

static void
mark(uint8_t *bits, size_t i, int on)
{
	uint8_t bit = (uint8_t)(1U << i % 8);

	if (on)
		bits[i / 8] |= bit;
	else
		bits[i / 8] &= (uint8_t)~bit;
}

/* Of the container we are in. */
static int
marked(const struct body *b, const uint8_t *bits)
{
	return (bits[(b->depth - 1) / 8] >> (b->depth - 1) % 8 & 1);
}

static int
push(struct body *b, int object)
{
	if (b->depth == LIM_BODY_DEPTH)
		return (bad(b, "body: nested too deeply"));
	mark(b->stack, b->depth, object);
	mark(b->source, b->depth, b->role == ROLE_SOURCE && b->input == 0);
	b->depth++;
	if (b->role == ROLE_INPUT && b->input == 0)
		b->input = b->depth;
	b->state = object ? B_KEY_FIRST : B_FIRST;
	return (0);
}

static void
value_done(struct body *b)
{
	b->state = b->depth == 0 ? B_END : B_AFTER;
}

static int
pop(struct body *b, int object)
{
	if (marked(b, b->stack) != object)
		return (bad(b, "body: not JSON: wrong bracket"));
	if (b->depth == b->input)
		b->input = 0;
	b->depth--;
	value_done(b);
	return (0);
}

/* Values */

/* The rules for the value of a top-level key, by its first byte. */
static int
check_first(struct body *b, uint8_t c)
{
	if (b->key_index == NO_KEY)
		return (0);
	if (b->key_index == b->key_model) {
		if (c != '"')
			return (bad(b, "body: model is not a string"));
		b->take = TAKE_MODEL;
	}
	if (b->key_index == b->key_tools && b->rules->no_tools) {
		if (c != '[')
			return (bad(b, "body: tools is not an empty array"));
		b->empty_array = 1;
	}
	if (b->key_index == b->key_stream && c != 't' && c != 'f')
		return (bad(b, "body: stream is not a boolean"));
	return (0);
}

static int
begin_number(struct body *b, uint8_t c)
{
	if (c == '-')
		b->state = B_MINUS;
	else if (c == '0')
		b->state = B_ZERO;
	else if (c >= '1' && c <= '9')
		b->state = B_INT;
	else
		return (bad(b, "body: not JSON: no value where one must be"));
	return (0);
}

static int
begin_word(struct body *b, const char *rest)
{
	b->word = rest;
	b->state = B_WORD;
	return (0);
}

static int
begin_value_of(struct body *b, uint8_t c)
{
	b->take = TAKE_NONE;
	if (b->depth == 0 && c != '{')
		return (bad(b, "body: not a JSON object"));
	if (b->depth == 1 && check_first(b, c) == -1)
		return (-1);
	switch (c) {
	case '{':
	case '[':
		return (push(b, c == '{'));
	case '"':
		b->in_key = 0;
		b->state = B_STRING;
		if (b->role == ROLE_TYPE) {
			b->take = TAKE_TYPE;
			b->key_len = 0;
		}
		return (0);
	case 't':
		return (begin_word(b, "rue"));
	case 'f':
		return (begin_word(b, "alse"));
	case 'n':
		return (begin_word(b, "ull"));
	default:
		return (begin_number(b, c));
	}
}

static int
begin_value(struct body *b, uint8_t c)
{
	int r = begin_value_of(b, c);

	b->role = ROLE_NONE;
	return (r);
}

static int
step_word(struct body *b, uint8_t c)
{
	if (c != (uint8_t)*b->word)
		return (bad(b, "body: not JSON: unknown word"));
	if (*++b->word == '\0')
		value_done(b);
	return (0);
}

static int
is_digit(uint8_t c)
{
	return (c >= '0' && c <= '9');
}

/* What a byte makes of a number that could also end before it. */
static enum state
number_next(enum state s, uint8_t c)
{
	if (is_digit(c) && s != B_ZERO)
		return (s);
	if (c == '.' && (s == B_ZERO || s == B_INT))
		return (B_POINT);
	if ((c == 'e' || c == 'E') && s != B_EXP_INT)
		return (B_EXP);
	return (B_AFTER);
}

static int
step_number(struct body *b, uint8_t c)
{
	switch ((int)b->state) {
	case B_ZERO:
	case B_INT:
	case B_FRACTION:
	case B_EXP_INT:
		b->state = number_next(b->state, c);
		return (b->state == B_AFTER ? step(b, c) : 0);
	case B_MINUS:
		if (!is_digit(c))
			return (bad(b, "body: not JSON: number"));
		b->state = c == '0' ? B_ZERO : B_INT;
		return (0);
	case B_EXP:
		if (c == '+' || c == '-') {
			b->state = B_EXP_SIGN;
			return (0);
		}
		break;
	}
	if (!is_digit(c))
		return (bad(b, "body: not JSON: number"));
	b->state = b->state == B_POINT ? B_FRACTION : B_EXP_INT;
	return (0);
}

/* Strings */

static void
take_byte(struct body *b, uint8_t c)
{
	const char *model = b->rules->model;

	if (b->take == TAKE_KEY || b->take == TAKE_TYPE) {
		if (b->key_len < sizeof(b->key))
			b->key[b->key_len] = (char)c;
		if (b->key_len <= sizeof(b->key))
			b->key_len++;
	} else if (b->take == TAKE_MODEL) {
		if (model[b->model_at] != '\0' &&
		    (uint8_t)model[b->model_at] == c)
			b->model_at++;
		else
			b->model_differs = 1;
	}
}

static void
take_char(struct body *b, unsigned int u)
{
	if (b->take == TAKE_NONE)
		return;
	if (u < 0x80) {
		take_byte(b, (uint8_t)u);
		return;
	}
	if (u < 0x800)
		take_byte(b, (uint8_t)(0xc0 | u >> 6));
	else {
		if (u < 0x10000)
			take_byte(b, (uint8_t)(0xe0 | u >> 12));
		else {
			take_byte(b, (uint8_t)(0xf0 | u >> 18));
			take_byte(b, (uint8_t)(0x80 | (u >> 12 & 0x3f)));
		}
		take_byte(b, (uint8_t)(0x80 | (u >> 6 & 0x3f)));
	}
	take_byte(b, (uint8_t)(0x80 | (u & 0x3f)));
}

static int
key_is(const struct body *b, const char *word)
{
	return (strlen(word) == b->key_len &&
	    memcmp(word, b->key, b->key_len) == 0);
}

static void
end_inner_key(struct body *b)
{
	b->role = ROLE_NONE;
	if (key_is(b, "source"))
		b->role = ROLE_SOURCE;
	else if (key_is(b, "input"))
		b->role = ROLE_INPUT;
	else if (key_is(b, "type") && marked(b, b->source))
		b->role = ROLE_TYPE;
}

static int
end_key(struct body *b)
{
	int i;

	b->state = B_COLON;
	if (b->take != TAKE_KEY)
		return (0);
	if (b->depth > 1) {
		end_inner_key(b);
		return (0);
	}
	b->key_index = NO_KEY;
	for (i = 0; b->rules->keys[i] != NULL; i++)
		if (key_is(b, b->rules->keys[i]))
			b->key_index = i;
	if (b->key_index == NO_KEY)
		return (bad(b, "body: a top-level key that is not allowed"));
	if (b->seen >> b->key_index & 1)
		return (bad(b, "body: a top-level key twice"));
	b->seen |= (uint64_t)1 << b->key_index;
	return (0);
}

/* Of a source: does the provider fetch it from somewhere? */
static int
end_type(struct body *b)
{
	const char *const *f = b->rules->fetched;

	for (; f != NULL && *f != NULL; f++)
		if (key_is(b, *f))
			return (bad(
			    b, "body: a source that the provider would fetch"));
	return (0);
}

static int
end_string(struct body *b)
{
	if (b->in_key)
		return (end_key(b));
	if (b->take == TAKE_MODEL &&
	    (b->model_differs || b->rules->model[b->model_at] != '\0'))
		return (bad(b, "body: model is not the run's"));
	if (b->take == TAKE_TYPE && end_type(b) == -1)
		return (-1);
	value_done(b);
	return (0);
}

static int
begin_key(struct body *b, uint8_t c)
{
	if (c != '"')
		return (bad(b, "body: not JSON: no key where one must be"));
	b->in_key = 1;
	b->take = b->rules->keys != NULL ? TAKE_KEY : TAKE_NONE;
	b->key_len = 0;
	b->state = B_STRING;
	return (0);
}

/*
 * The first byte of a character that is not ASCII, by table 3-7 of the Unicode
 * standard.
 */
static int
begin_utf8(struct body *b, uint8_t c)
{
	if (c < 0xc2 || c > 0xf4)
		return (bad(b, "body: not UTF-8"));
	b->more = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
	b->lo = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
	b->hi = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
	b->state = B_UTF8;
	take_byte(b, c);
	return (0);
}

static int
step_utf8(struct body *b, uint8_t c)
{
	if (c < b->lo || c > b->hi)
		return (bad(b, "body: not UTF-8"));
	b->lo = 0x80;
	b->hi = 0xbf;
	if (--b->more == 0)
		b->state = B_STRING;
	take_byte(b, c);
	return (0);
}

static int
step_string(struct body *b, uint8_t c)
{
	if (c == '"')
		return (end_string(b));
	if (c == '\\') {
		b->state = B_ESCAPE;
		return (0);
	}
	if (c < 0x20)
		return (bad(b, "body: not JSON: control byte in a string"));
	if (c >= 0x80)
		return (begin_utf8(b, c));
	take_byte(b, c);
	return (0);
}

static int
step_escape(struct body *b, uint8_t c)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *p;

	if (c == 'u') {
		b->hex = b->nhex = 0;
		b->state = B_HEX;
		return (0);
	}
	if (c == '\0' || (p = strchr(from, c)) == NULL)
		return (bad(b, "body: not JSON: escape"));
	take_byte(b, (uint8_t)to[p - from]);
	b->state = B_STRING;
	return (0);
}

/* Four digits are there. */
static int
end_hex(struct body *b)
{
	unsigned int u = b->hex;
	int low = u >= 0xdc00 && u <= 0xdfff;

	if (low != (b->high != 0))
		return (bad(b, "body: not JSON: half a surrogate pair"));
	if (u >= 0xd800 && u <= 0xdbff) {
		b->high = u;
		b->state = B_LOW;
		return (0);
	}
	if (low)
		u = 0x10000 + ((b->high - 0xd800) << 10) + (u - 0xdc00);
	b->high = 0;
	b->state = B_STRING;
	take_char(b, u);
	return (0);
}

static int
step_hex(struct body *b, uint8_t c)
{
	unsigned int digit;

	if (is_digit(c))
		digit = c - '0';
	else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		digit = (c | 0x20) - 'a' + 10U;
	else
		return (bad(b, "body: not JSON: escape"));
	b->hex = b->hex << 4 | digit;
	return (++b->nhex == 4 ? end_hex(b) : 0);
}

static int
step_low(struct body *b, uint8_t c)
{
	if (c != (b->state == B_LOW ? '\\' : 'u'))
		return (bad(b, "body: not JSON: half a surrogate pair"));
	b->hex = b->nhex = 0;
	b->state = b->state == B_LOW ? B_LOW_U : B_HEX;
	return (0);
}

/* Between tokens */

static int
step_after(struct body *b, uint8_t c)
{
	switch (c) {
	case ',':
		b->state = marked(b, b->stack) ? B_KEY : B_VALUE;
		return (0);
	case '}':
	case ']':
		return (pop(b, c == '}'));
	default:
		return (
		    bad(b, "body: not JSON: no comma or end after a value"));
	}
}

static int
step_first(struct body *b, uint8_t c)
{
	int empty = b->empty_array;

	b->empty_array = 0;
	if (c == ']')
		return (pop(b, 0));
	if (empty)
		return (bad(b, "body: tools where none are allowed"));
	return (begin_value(b, c));
}

static int
step_between(struct body *b, uint8_t c)
{
	if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
		return (0);
	switch ((int)b->state) {
	case B_VALUE:
		return (begin_value(b, c));
	case B_FIRST:
		return (step_first(b, c));
	case B_KEY_FIRST:
		return (c == '}' ? pop(b, 1) : begin_key(b, c));
	case B_KEY:
		return (begin_key(b, c));
	case B_COLON:
		if (c != ':')
			return (bad(b, "body: not JSON: no colon after a key"));
		b->state = B_VALUE;
		return (0);
	case B_AFTER:
		return (step_after(b, c));
	default:
		return (bad(b, "body: bytes after the object"));
	}
}

static int
step(struct body *b, uint8_t c)
{
	switch (b->state) {
	case B_STRING:
		return (step_string(b, c));
	case B_UTF8:
		return (step_utf8(b, c));
	case B_ESCAPE:
		return (step_escape(b, c));
	case B_HEX:
		return (step_hex(b, c));
	case B_LOW:
	case B_LOW_U:
		return (step_low(b, c));
	case B_WORD:
		return (step_word(b, c));
	case B_MINUS:
	case B_ZERO:
	case B_INT:
	case B_POINT:
	case B_FRACTION:
	case B_EXP:
	case B_EXP_SIGN:
	case B_EXP_INT:
		return (step_number(b, c));
	case B_BAD:
		return (-1);
	case B_VALUE:
	case B_FIRST:
	case B_KEY_FIRST:
	case B_KEY:
	case B_COLON:
	case B_AFTER:
	case B_END:
		break;
	}
	return (step_between(b, c));
}

/* How many bytes from p on are plain text of a string nobody looks at. */
static size_t
plain(const uint8_t *p, size_t len)
{
	size_t i = 0;

	while (i < len && p[i] >= 0x20 && p[i] < 0x80 && p[i] != '"' &&
	    p[i] != '\\')
		i++;
	return (i);
}

int
body_feed(struct body *b, const void *data, size_t len)
{
	const uint8_t *p = data, *end = p + len;

	if (b->state == B_BAD)
		return (-1);
	while (p < end) {
		if (b->state == B_STRING && b->take == TAKE_NONE)
			p += plain(p, (size_t)(end - p));
		if (p < end && step(b, *p++) == -1)
			return (-1);
	}
	return (0);
}

int
body_end(struct body *b)
{
	if (b->state == B_BAD)
		return (-1);
	if (b->state != B_END)
		return (bad(b, "body: not JSON: ends too early"));
	if (b->key_model != NO_KEY && !(b->seen >> b->key_model & 1))
		return (bad(b, "body: names no model"));
	return (0);
}
