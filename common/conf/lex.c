/* SPDX-License-Identifier: ISC */
/*
 * Bytes to tokens.  A newline is a token, "\" before one joins lines, "#"
 * starts a comment, "$name" is what the macro stands for.  Tokens must be
 * apart: "a"b is an error and not two words.  No I/O here, and no word of
 * the grammar is known here.
 */
#include "common/conf/lex.h"

#include <bsd/string.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"

#define SHOWN_MAX                                                              \
	40 /* a longer word in an error message is counted, not shown */

void
lex_init(struct lex *l, char *buf, size_t len, const struct macros *m)
{
	l->buf = buf;
	l->len = len;
	l->pos = 0;
	l->line = 1;
	l->macros = m;
}

void
lex_clear(struct lex *l)
{
	free(l->buf);
	l->buf = NULL;
	l->len = l->pos = 0;
}

/* The byte `ahead` of the next one, or -1 at the end. */
static int
peek(const struct lex *l, size_t ahead)
{
	if (ahead >= l->len - l->pos)
		return (-1);
	return ((unsigned char)l->buf[l->pos + ahead]);
}

static void __attribute__((format(printf, 2, 3)))
bad(struct token *t, const char *fmt, ...)
{
	va_list ap;

	t->kind = TOK_BAD;
	va_start(ap, fmt);
	(void)vsnprintf(t->text, sizeof(t->text), fmt, ap);
	va_end(ap);
}

static int
is_word(int c)
{
	return (c > ' ' && c < 0x7f && strchr("{},\"#=$\\", c) == NULL);
}

static int
is_name(int c)
{
	return (c != -1 && c < 0x80 && (isalnum(c) || c == '_'));
}

/* Does another word or string begin here? */
static int
is_begin(const struct lex *l)
{
	int c = peek(l, 0);

	return (c == '"' || c == '$' || is_word(c));
}

static void
skip_blank(struct lex *l)
{
	int c;

	for (;;) {
		c = peek(l, 0);
		if (c == '\\' && peek(l, 1) == '\n') {
			l->line++;
			l->pos += 2;
		} else if (c == '#') {
			while ((c = peek(l, 0)) != -1 && c != '\n')
				l->pos++;
		} else if (c == ' ' || c == '\t')
			l->pos++;
		else
			return;
	}
}

/* One more byte of a token's text, or the complaint that it is full. */
static void
put(struct token *t, size_t *n, int c)
{
	if (*n + 1 >= sizeof(t->text)) {
		bad(t, "a word or string is longer than %zu bytes",
		    sizeof(t->text) - 1);
		return;
	}
	t->text[(*n)++] = (char)c;
	t->text[*n] = '\0';
}

static void
unprintable(struct token *t, int c)
{
	if (c > ' ' && c < 0x7f)
		bad(t, "%c cannot stand here", c);
	else
		bad(t, "byte 0x%02x cannot stand here", (unsigned int)c);
}

/*
 * A faulty string is read to its end, so that what follows it is not taken for
 * something else.
 */
static void
lex_string(struct lex *l, struct token *t)
{
	size_t n = 0;
	int c;

	t->kind = TOK_STRING;
	for (l->pos++; (c = peek(l, 0)) != '"'; l->pos++) {
		if (c == -1 || c == '\n') {
			bad(t, "unterminated string");
			return;
		}
		if (c == '\\' && (peek(l, 1) == '"' || peek(l, 1) == '\\')) {
			l->pos++;
			c = peek(l, 0);
		} else if (c == '\\' && t->kind != TOK_BAD)
			bad(t, "in a string \\ stands before \" or \\ only");
		else if ((c < ' ' || c == 0x7f) && t->kind != TOK_BAD)
			unprintable(t, c);
		if (t->kind != TOK_BAD)
			put(t, &n, c);
	}
	l->pos++;
}

static void
lex_word(struct lex *l, struct token *t)
{
	size_t n = 0;

	t->kind = TOK_WORD;
	for (; is_word(peek(l, 0)); l->pos++)
		if (t->kind != TOK_BAD)
			put(t, &n, peek(l, 0));
}

static void
lex_macro(struct lex *l, struct token *t)
{
	char name[LIM_CONF_MACRO_NAME];
	const char *value;
	size_t n = 0;

	for (l->pos++; is_name(peek(l, 0)); l->pos++)
		if (n + 1 < sizeof(name))
			name[n++] = (char)peek(l, 0);
		else
			bad(t, "a macro name is longer than %zu bytes",
			    sizeof(name) - 1);
	name[n] = '\0';
	if (t->kind == TOK_BAD)
		return;
	if (n == 0)
		bad(t, "expected a macro name after $");
	else if ((value = macro_find(l->macros, name)) == NULL)
		bad(t, "undefined macro $%s", name);
	else {
		t->kind = TOK_WORD;
		t->from_macro = 1;
		(void)strlcpy(t->text, value, sizeof(t->text));
	}
}

static int
lex_mark(struct lex *l, struct token *t, int c)
{
	static const struct {
		int c;
		enum tok_kind kind;
	} mark[] = {
		{ '{', TOK_LBRACE },
		{ '}', TOK_RBRACE },
		{ ',', TOK_COMMA },
		{ '=', TOK_EQUAL },
		{ '\n', TOK_NEWLINE },
	};
	size_t i;

	for (i = 0; i < sizeof(mark) / sizeof(mark[0]); i++) {
		if (mark[i].c != c)
			continue;
		t->kind = mark[i].kind;
		l->pos++;
		if (c == '\n')
			l->line++;
		return (1);
	}
	return (0);
}

void
lex_next(struct lex *l, struct token *t)
{
	int c;

	skip_blank(l);
	t->line = l->line;
	t->kind = TOK_EOF;
	t->from_macro = 0;
	t->text[0] = '\0';
	if ((c = peek(l, 0)) == -1 || lex_mark(l, t, c))
		return;
	if (c == '"')
		lex_string(l, t);
	else if (c == '$')
		lex_macro(l, t);
	else if (is_word(c))
		lex_word(l, t);
	else {
		unprintable(t, c);
		l->pos++;
	}
	if (t->kind != TOK_BAD && is_begin(l))
		bad(t, "a word or string runs into the next one");
}

char *
lex_describe(char *buf, size_t size, const struct token *t, int hush)
{
	char shown[4 * SHOWN_MAX + 1];
	const char *s = t->text;
	size_t n = strlen(s);

	switch (t->kind) {
	case TOK_WORD:
	case TOK_STRING:
		if (n == 0)
			(void)strlcpy(buf, "an empty string", size);
		else if (hush || n > SHOWN_MAX || strncmp(s, "olp_", 4) == 0 ||
		    strncmp(s, "sk-", 3) == 0)
			(void)snprintf(buf, size, "a word of %zu byte%s", n,
			    n == 1 ? "" : "s");
		else
			(void)snprintf(buf, size, "\"%s\"",
			    log_vis(shown, sizeof(shown), s, n));
		break;
	case TOK_LBRACE:
		(void)strlcpy(buf, "{", size);
		break;
	case TOK_RBRACE:
		(void)strlcpy(buf, "}", size);
		break;
	case TOK_COMMA:
		(void)strlcpy(buf, "a comma", size);
		break;
	case TOK_EQUAL:
		(void)strlcpy(buf, "=", size);
		break;
	case TOK_NEWLINE:
		(void)strlcpy(buf, "end of line", size);
		break;
	case TOK_EOF:
		(void)strlcpy(buf, "end of file", size);
		break;
	case TOK_BAD:
		(void)strlcpy(buf, s, size);
		break;
	}
	return (buf);
}

int
macro_add(struct macros *m, const char *name, const char *value)
{
	const char *p = name;

	errno = EINVAL;
	if (isdigit((unsigned char)*p) || strlen(name) >= LIM_CONF_MACRO_NAME)
		return (-1);
	for (; *p != '\0'; p++)
		if (!is_name((unsigned char)*p))
			return (-1);
	if (macro_find(m, name) != NULL) {
		errno = EEXIST;
		return (-1);
	}
	if (m->n == LIM_CONF_MACROS) {
		errno = ENOSPC;
		return (-1);
	}
	(void)strlcpy(m->list[m->n].name, name, LIM_CONF_MACRO_NAME);
	m->list[m->n++].value = xstrdup(value);
	return (0);
}

const char *
macro_find(const struct macros *m, const char *name)
{
	size_t i;

	for (i = 0; i < m->n; i++)
		if (strcmp(m->list[i].name, name) == 0)
			return (m->list[i].value);
	return (NULL);
}

void
macros_clear(struct macros *m)
{
	while (m->n > 0)
		free(m->list[--m->n].value);
}
