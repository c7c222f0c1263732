/* SPDX-License-Identifier: ISC */
/*
 * The text of one configuration file as tokens, and the macros that stand in
 * it.  Private to common/conf.
 */
#ifndef OLP_CONF_LEX_H
#define OLP_CONF_LEX_H

#include <stddef.h>

#include "common/limits.h"

enum tok_kind {
	TOK_WORD,   /* bare, or what a macro stands for */
	TOK_STRING, /* quoted, escapes resolved */
	TOK_LBRACE,
	TOK_RBRACE,
	TOK_COMMA,
	TOK_EQUAL,
	TOK_NEWLINE,
	TOK_EOF,
	TOK_BAD /* no token: text is the complaint */
};

struct token {
	enum tok_kind kind;
	unsigned int line; /* where it begins; a newline ends that line */
	int from_macro;
	char text[LIM_CONF_TOKEN]; /* never holds a control character */
};

struct macro {
	char name[LIM_CONF_MACRO_NAME];
	char *value;
};
struct macros {
	struct macro list[LIM_CONF_MACROS];
	size_t n;
};

struct lex {
	char *buf; /* owned */
	size_t len;
	size_t pos;
	unsigned int line;
	const struct macros *macros; /* borrowed */
};

/* Takes buf, which came from malloc(3). */
void lex_init(struct lex *, char *buf, size_t len, const struct macros *);
void lex_clear(struct lex *);
void lex_next(struct lex *, struct token *);

/*
 * A token for an error message: "word", end of line.  What looks like a
 * secret is counted, not shown, and so is everything when hush is set.
 */
char *lex_describe(char *buf, size_t size, const struct token *, int hush);

/*
 * 0, or -1: there is one of that name, or no room (errno EEXIST, ENOSPC), or
 * the name is none (EINVAL).
 */
int macro_add(struct macros *, const char *name, const char *value);
const char *macro_find(const struct macros *, const char *name);
void macros_clear(struct macros *);

#endif
