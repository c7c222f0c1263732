/* SPDX-License-Identifier: ISC */
/*
 * The parser's machinery: errors, tokens, blocks, includes, and the values
 * that more than one directive takes.  Recursive descent; a faulty statement
 * is recorded and left at its newline or closing brace, so that one reading
 * tells all errors.  Runs in the master and in olpctl; sees no byte that a
 * caller or a client wrote.
 */
#include "common/conf/parse.h"

#include <arpa/inet.h>
#include <bsd/string.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/conf/units.h"
#include "common/log.h"

#define CHOICES_TEXT 256

static const char *const *known_providers;

void
conf_set_known_providers(const char *const *names)
{
	known_providers = names;
}

/* ---- errors ---- */

/* One line is one line: names of files can hold anything. */
static void
error_add(struct conf_errors *e, char *line)
{
	char *c;

	for (c = line; *c != '\0'; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	if (e->n < LIM_CONF_ERRORS) {
		e->line = xreallocarray(
		    e->line, LIM_CONF_ERRORS + 1, sizeof(*e->line));
		e->line[e->n++] = line;
		return;
	}
	free(line);
	if (e->more++ > 0)
		free(e->line[--e->n]);
	xasprintf(&e->line[e->n++], "%zu more errors are not shown", e->more);
}

static void __attribute__((format(printf, 5, 0)))
error_v(struct conf_errors *e, const char *file, unsigned int line,
    const char *what, const char *fmt, va_list ap)
{
	char *text, *whole;

	if (vasprintf(&text, fmt, ap) == -1)
		fatal("vasprintf");
	xasprintf(&whole, "%s:%u: %s%s%s", file, line, what != NULL ? what : "",
	    what != NULL ? ": " : "", text);
	free(text);
	error_add(e, whole);
}

void
conf_error(struct conf_errors *e, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) == -1)
		fatal("vasprintf");
	va_end(ap);
	error_add(e, text);
}

int
p_error(struct parser *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	error_v(p->errs, p->src->file, p->tok.line, p->what, fmt, ap);
	va_end(ap);
	return (-1);
}

int
p_error_at(struct parser *p, const struct conf_where *at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	error_v(p->errs, at->file, at->line, p->what, fmt, ap);
	va_end(ap);
	return (-1);
}

/* "expected X, got Y". Silent where the lexer has complained of Y already. */
int
p_expected(struct parser *p, const char *fmt, ...)
{
	char what[CHOICES_TEXT], got[CHOICES_TEXT];
	va_list ap;

	if (p->tok.kind == TOK_BAD)
		return (-1);
	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return (p_error(p, "expected %s, got %s", what,
	    lex_describe(got, sizeof(got), &p->tok, p->hush)));
}

void
p_where(const struct parser *p, struct conf_where *at)
{
	(void)strlcpy(at->file, p->src->file, sizeof(at->file));
	at->line = p->tok.line;
}

void
conf_errors_free(struct conf_errors *e)
{
	while (e->n > 0)
		free(e->line[--e->n]);
	free(e->line);
	e->line = NULL;
	e->more = 0;
}

/* ---- tokens ---- */

void
p_next(struct parser *p)
{
	const char *what = p->what;

	lex_next(&p->src->lex, &p->tok);
	if (p->tok.kind == TOK_BAD) {
		p->what = NULL;
		p_error(p, "%s", p->tok.text);
		p->what = what;
	}
}

int
p_is(const struct parser *p, const char *word)
{
	return (p->tok.kind == TOK_WORD && strcmp(p->tok.text, word) == 0);
}

int
p_is_value(const struct parser *p)
{
	return (p->tok.kind == TOK_WORD || p->tok.kind == TOK_STRING);
}

static int
is_end(const struct parser *p)
{
	return (p->tok.kind == TOK_NEWLINE || p->tok.kind == TOK_EOF);
}

int
p_take(struct parser *p, const char *word)
{
	if (!p_is(p, word))
		return (0);
	p_next(p);
	return (1);
}

int
p_expect(struct parser *p, const char *word)
{
	return (p_take(p, word) ? 0 : p_expected(p, "%s", word));
}

int
p_comma(struct parser *p)
{
	if (p->tok.kind != TOK_COMMA)
		return (0);
	do
		p_next(p);
	while (p->tok.kind == TOK_NEWLINE);
	return (1);
}

/* A word or string that may not be empty; kind names it in messages. */
int
p_value(struct parser *p, char *buf, size_t size, const char *kind)
{
	if (!p_is_value(p) || p->tok.text[0] == '\0')
		return (p_expected(p, "%s", kind));
	if (strlcpy(buf, p->tok.text, size) >= size)
		return (
		    p_error(p, "%s is longer than %zu bytes", kind, size - 1));
	p_next(p);
	return (0);
}

/* ---- values ---- */

int
p_number(struct parser *p, uint64_t lo, uint64_t hi, uint32_t *out)
{
	uint64_t v;

	if (!p_is_value(p) || unit_number(p->tok.text, &v) == -1 || v < lo ||
	    v > hi)
		return (p_expected(
		    p, "a number from %" PRIu64 " to %" PRIu64, lo, hi));
	*out = (uint32_t)v;
	p_next(p);
	return (0);
}

static void *
field(void *obj, const struct word *w)
{
	return ((char *)obj + w->off);
}

int
p_set_u32(struct parser *p, const struct word *w, void *obj)
{
	return (p_number(p, w->lo, w->hi, field(obj, w)));
}

int
p_set_size(struct parser *p, const struct word *w, void *obj)
{
	char lo[UNIT_TEXT], hi[UNIT_TEXT];
	uint64_t v;

	if (!p_is_value(p) || unit_size(p->tok.text, &v) == -1 || v < w->lo ||
	    v > w->hi)
		return (p_expected(p, "a size from %s to %s",
		    unit_size_text(lo, w->lo), unit_size_text(hi, w->hi)));
	*(uint64_t *)field(obj, w) = v;
	p_next(p);
	return (0);
}

int
p_set_seconds(struct parser *p, const struct word *w, void *obj)
{
	char lo[UNIT_TEXT], hi[UNIT_TEXT];
	uint64_t v;

	if (!p_is_value(p) || unit_seconds(p->tok.text, &v) == -1 ||
	    v < w->lo || v > w->hi)
		return (p_expected(p, "a time from %s to %s",
		    unit_seconds_text(lo, w->lo),
		    unit_seconds_text(hi, w->hi)));
	*(uint32_t *)field(obj, w) = (uint32_t)v;
	p_next(p);
	return (0);
}

int
p_set_flag(struct parser *p, const struct word *w, void *obj)
{
	(void)p;
	*(int *)field(obj, w) = 1;
	return (0);
}

int
p_set_path(struct parser *p, const struct word *w, void *obj)
{
	return (p_path(p, field(obj, w), LIM_PATH));
}

static int
has_dotdot(const char *s)
{
	const char *p;

	for (p = s; (p = strstr(p, "/..")) != NULL; p += 3)
		if (p[3] == '/' || p[3] == '\0')
			return (1);
	return (0);
}

int
p_path(struct parser *p, char *buf, size_t size)
{
	if (!p_is_value(p) || p->tok.text[0] != '/' || has_dotdot(p->tok.text))
		return (p_expected(p, "an absolute path without .."));
	return (p_value(p, buf, size, "a path"));
}

int
p_port(struct parser *p, uint16_t *port)
{
	uint32_t v;

	if (p_expect(p, "port") == -1 || p_number(p, 1, 65535, &v) == -1)
		return (-1);
	*port = (uint16_t)v;
	return (0);
}

/*
 * A literal IPv4 or IPv6 address without port; text gets it in its usual form.
 */
int
p_address(struct parser *p, struct sockaddr_storage *ss, char *text,
    size_t size, const char *kind)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };

	memset(ss, 0, sizeof(*ss));
	if (p_is_value(p) &&
	    inet_pton(AF_INET, p->tok.text, &sin.sin_addr) == 1) {
		memcpy(ss, &sin, sizeof(sin));
		inet_ntop(AF_INET, &sin.sin_addr, text, (socklen_t)size);
	} else if (p_is_value(p) &&
	    inet_pton(AF_INET6, p->tok.text, &sin6.sin6_addr) == 1) {
		memcpy(ss, &sin6, sizeof(sin6));
		inet_ntop(AF_INET6, &sin6.sin6_addr, text, (socklen_t)size);
	} else
		return (p_expected(p, "%s", kind));
	p_next(p);
	return (0);
}

static void
known_text(char *buf, size_t size)
{
	size_t i;

	buf[0] = '\0';
	for (i = 0; known_providers[i] != NULL; i++) {
		if (i > 0)
			(void)strlcat(buf,
			    known_providers[i + 1] == NULL ? " or " : ", ",
			    size);
		(void)strlcat(buf, known_providers[i], size);
	}
}

int
p_provider_name(struct parser *p, char *buf, size_t size)
{
	char names[CHOICES_TEXT];
	size_t i;

	if (!p_is_value(p) || p->tok.text[0] == '\0' ||
	    strspn(p->tok.text, "abcdefghijklmnopqrstuvwxyz0123456789-") !=
		strlen(p->tok.text))
		return (p_expected(p, "a provider's name"));
	if (known_providers != NULL) {
		for (i = 0; known_providers[i] != NULL; i++)
			if (strcmp(known_providers[i], p->tok.text) == 0)
				break;
		if (known_providers[i] == NULL) {
			known_text(names, sizeof(names));
			return (p_expected(p, "a known provider (%s)", names));
		}
	}
	return (p_value(p, buf, size, "a provider's name"));
}

/* It becomes an argument of a client, so it never begins with a dash. */
int
p_model_name(struct parser *p, char *buf, size_t size)
{
	static const char rest[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "0123456789._:/@+[]-";

	if (!p_is_value(p) || p->tok.text[0] == '\0' || p->tok.text[0] == '-' ||
	    strspn(p->tok.text, rest) != strlen(p->tok.text))
		return (p_expected(p, "a model's name"));
	return (p_value(p, buf, size, "a model's name"));
}

int
p_credential(struct parser *p, struct conf_cred *c)
{
	struct conf_cred cred = { 0 };

	p->hush = 1;
	p_where(p, &cred.at);
	if (p_take(p, "api-key"))
		cred.kind = CRED_API_KEY;
	else if (p_take(p, "oauth-token"))
		cred.kind = CRED_OAUTH_TOKEN;
	else
		return (p_expected(p, "api-key or oauth-token"));
	if (p_expect(p, "file") == -1 ||
	    p_file(p, FILE_SECRET_LATER, cred.file, sizeof(cred.file)) == -1)
		return (-1);
	*c = cred;
	return (0);
}

/* ---- words and blocks ---- */

int
p_once(struct parser *p, const char *what)
{
	struct seen *s = p->seen;
	size_t i;

	for (i = 0; i < s->n; i++)
		if (strcmp(s->list[i].what, what) == 0)
			return (p_error(p, "already set at %s:%u",
			    s->list[i].at.file, s->list[i].at.line));
	if (s->n == SEEN_MAX)
		fatalx("conf: more than %d words in a block", SEEN_MAX);
	s->list[s->n].what = what;
	p_where(p, &s->list[s->n++].at);
	return (0);
}

static const struct word *
find_word(const struct word *w, const struct token *t)
{
	if (t->kind != TOK_WORD || t->from_macro)
		return (NULL);
	for (; w->name != NULL; w++)
		if (strcmp(w->name, t->text) == 0)
			return (w);
	return (NULL);
}

static const char *
called(const struct word *w)
{
	return (w->what != NULL ? w->what : w->name);
}

static int
run_word(struct parser *p, const struct word *w, void *obj)
{
	p->what = called(w);
	if (!w->many && p_once(p, called(w)) == -1)
		return (-1);
	return (w->parse(p, w, obj));
}

/* One of the words, again after each comma: limit runs 2, queue 8 */
int
p_choices(struct parser *p, const struct word *table, void *obj)
{
	char names[CHOICES_TEXT] = "";
	const char *what = p->what;
	const struct word *w;

	for (w = table; w->name != NULL; w++) {
		if (w != table)
			(void)strlcat(names, w[1].name == NULL ? " or " : ", ",
			    sizeof(names));
		(void)strlcat(names, w->name, sizeof(names));
	}
	do {
		p->what = what;
		if ((w = find_word(table, &p->tok)) == NULL)
			return (p_expected(p, "%s", names));
		p_next(p);
		if (run_word(p, w, obj) == -1)
			return (-1);
	} while (p_comma(p));
	return (0);
}

/*
 * name = value, to the end of its line, so that no token after it was read
 * before it holds.
 */
static int
macro_define(struct parser *p, const char *name)
{
	p->what = "macro";
	if (p->is_key)
		return (p_error(p, "a key file has none"));
	p_next(p);
	if (!p_is_value(p))
		return (p_expected(p, "a value"));
	if (macro_add(&p->macros, name, p->tok.text) == -1) {
		if (errno == EEXIST)
			return (p_error(p, "$%s is defined already", name));
		if (errno == ENOSPC)
			return (p_error(p, "more than %d", LIM_CONF_MACROS));
		return (p_error(p,
		    "a name has letters, digits and _, at most %d, no digit "
		    "first",
		    LIM_CONF_MACRO_NAME - 1));
	}
	p_next(p);
	return (is_end(p) ? 0 : p_expected(p, "end of line"));
}

static int
unknown_word(struct parser *p, const struct token *t)
{
	char text[CHOICES_TEXT];
	const char *s;

	p->what = p->block;
	s = lex_describe(text, sizeof(text), t, 0);
	return (p_error(
	    p, "unknown word %s", strncmp(s, "a word ", 7) == 0 ? s + 7 : s));
}

/* fresh: nothing stands before it on its line. */
static int
statement(struct parser *p, const struct word *table, void *obj, int fresh)
{
	const struct word *w;
	struct token t;

	w = find_word(table, &p->tok);
	if (w == NULL && !fresh)
		return (p_expected(p, "end of line"));
	p->what = p->block;
	p->hush = 0;
	if (p->tok.kind != TOK_WORD || p->tok.from_macro)
		return (p_expected(p, "a directive"));
	t = p->tok;
	p_next(p);
	if (p->block == NULL && p->tok.kind == TOK_EQUAL) {
		if (w == NULL)
			return (macro_define(p, t.text));
		p->what = "macro";
		return (p_error(p, "%s is a directive's name", t.text));
	}
	if (w == NULL)
		return (unknown_word(p, &t));
	return (run_word(p, w, obj));
}

/*
 * To the newline or closing brace that ends the faulty statement; blocks in
 * between are passed over.
 */
static void
recover(struct parser *p)
{
	unsigned int depth = 0;

	for (; p->tok.kind != TOK_EOF; lex_next(&p->src->lex, &p->tok)) {
		if (p->tok.kind == TOK_LBRACE)
			depth++;
		else if (depth == 0 &&
		    (p->tok.kind == TOK_NEWLINE ||
			(p->tok.kind == TOK_RBRACE && p->block != NULL)))
			return;
		else if (depth > 0 && p->tok.kind == TOK_RBRACE)
			depth--;
	}
}

/* Statements to the end of the file, or to the brace that ends the block. */
int
p_words(struct parser *p, const struct word *table, void *obj)
{
	int fresh = 1;

	while (p->tok.kind != TOK_EOF &&
	    !(p->block != NULL && p->tok.kind == TOK_RBRACE)) {
		if (p->tok.kind == TOK_NEWLINE) {
			fresh = 1;
			p->what = NULL;
			p->hush = 0;
			p_next(p);
			continue;
		}
		if (statement(p, table, obj, fresh) == -1)
			recover(p);
		fresh = 0;
	}
	return (0);
}

/*
 * The opening brace, on this line or the next.  1 when there is none but what
 * follows belongs inside: the block is read as if it were there.
 */
static int
open_brace(struct parser *p, const struct word *table)
{
	struct token head = p->tok;
	struct token next;

	while (p->tok.kind == TOK_NEWLINE)
		p_next(p);
	if (p->tok.kind == TOK_LBRACE) {
		p_next(p);
		return (0);
	}
	next = p->tok;
	p->tok = head;
	p_expected(p, "{");
	p->tok = next;
	return (find_word(table, &next) != NULL ? 1 : -1);
}

int
p_block(
    struct parser *p, const char *block, const struct word *table, void *obj)
{
	struct seen *outer = p->seen;
	struct conf_where head;
	struct seen *seen;
	int r;

	p_where(p, &head);
	if ((r = open_brace(p, table)) == -1)
		/*
		 * On a later line already: that line is not to be passed over.
		 */
		return (p->tok.line == head.line ? -1 : 0);
	p->seen = seen = xcalloc(1, sizeof(*seen));
	p->block = block;
	p_words(p, table, obj);
	p->what = block;
	p->block = NULL;
	p->seen = outer;
	free(seen);
	if (p->tok.kind != TOK_RBRACE)
		return (p_expected(
		    p, "} that ends the block of line %u", head.line));
	p_next(p);
	return (0);
}

/* ---- files ---- */

static int
open_failed(struct parser *p, const char *file, const char *why)
{
	if (p->src != NULL)
		return (p_error(p, "%s: %s", file, why));
	conf_error(p->errs, "%s: %s", file, why);
	return (-1);
}

static int
is_loop(const struct parser *p, const struct stat *st)
{
	const struct source *s;

	for (s = p->src; s != NULL; s = s->parent)
		if (s->dev == st->st_dev && s->ino == st->st_ino)
			return (1);
	return (0);
}

/* Make the text the innermost source and read its first token. Takes buf. */
static void
push(
    struct parser *p, struct source *s, const char *file, char *buf, size_t len)
{
	(void)strlcpy(s->file, file, sizeof(s->file));
	s->depth = p->src != NULL ? p->src->depth + 1 : 0;
	s->parent = p->src;
	lex_init(&s->lex, buf, len, &p->macros);
	p->src = s;
	p_next(p);
}

int
p_open(struct parser *p, struct source *s, int dirfd, const char *name,
    const char *file, int secret)
{
	char text[LIM_TEXT], *buf = NULL;
	const char *why = NULL;
	struct stat st;
	size_t len = 0;
	int fd;

	fd = openat(dirfd, name,
	    O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK |
		(secret ? O_NOFOLLOW : 0));
	if (fd == -1)
		return (open_failed(p, file,
		    errno == ELOOP && secret
			? "a symbolic link, not a regular file"
			: strerror(errno)));
	if (fstat(fd, &st) == -1)
		why = strerror(errno);
	else if (secret)
		why = file_verdict(
		    &st, FILE_SECRET, geteuid(), text, sizeof(text));
	else if (!S_ISREG(st.st_mode))
		why = "not a regular file";
	else if ((st.st_mode & S_IWOTH) != 0)
		why = "others can write to it";
	else if (is_loop(p, &st))
		why = "it includes itself";
	if (why == NULL)
		buf = file_slurp(fd, &len, &why);
	close(fd);
	if (buf == NULL)
		return (open_failed(p, file, why));
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	push(p, s, file, buf, len);
	return (0);
}

void
p_push(struct parser *p, struct source *s, const char *file, const char *text,
    size_t len)
{
	char *buf = xmalloc(len);

	if (len > 0)
		memcpy(buf, text, len);
	push(p, s, file, buf, len);
}

void
p_close(struct parser *p)
{
	lex_clear(&p->src->lex);
	p->src = p->src->parent;
}

static int
by_name(const void *a, const void *b)
{
	return (strcmp(*(char *const *)a, *(char *const *)b));
}

static int
include_file(struct parser *p, const char *file, struct conf *c)
{
	struct token after = p->tok;
	struct source *s;
	int r;

	if (p->src->depth + 1 >= LIM_CONF_DEPTH)
		return (p_error(p, "more than %d files deep", LIM_CONF_DEPTH));
	if (++p->files > LIM_CONF_FILES)
		return (p_error(p, "more than %d files", LIM_CONF_FILES));
	if (strlen(file) >= LIM_PATH)
		return (
		    p_error(p, "a path is longer than %d bytes", LIM_PATH - 1));
	s = xcalloc(1, sizeof(*s));
	if ((r = p_open(p, s, AT_FDCWD, file, file, 0)) == 0) {
		p_words(p, conf_words, c);
		p_close(p);
	}
	free(s);
	p->tok = after;
	p->what = "include";
	return (r);
}

/* The pattern of an include, beside the file that names it unless absolute. */
static char *
beside(const char *file, const char *name)
{
	const char *slash = strrchr(file, '/');
	char *path;

	if (name[0] == '/' || slash == NULL)
		return (xstrdup(name));
	xasprintf(&path, "%.*s/%s", (int)(slash - file), file, name);
	return (path);
}

int
p_include(struct parser *p, const struct word *w, void *obj)
{
	char pattern[LIM_PATH], *path;
	glob_t g;
	size_t i;
	int r;

	(void)w;
	if (p->no_include)
		return (p_error(p, "this text has no file"));
	if (p_value(p, pattern, sizeof(pattern), "a path") == -1)
		return (-1);
	if (!is_end(p))
		return (p_expected(p, "end of line"));
	path = beside(p->src->file, pattern);
	/* Sorted here by bytes: glob(3) sorts by the locale. */
	r = glob(path, GLOB_NOSORT | GLOB_ERR, NULL, &g);
	free(path);
	if (r == GLOB_NOMATCH)
		return (p_error(p, "%s matches nothing", pattern));
	if (r != 0)
		return (p_error(
		    p, "%s cannot be searched: %s", pattern, strerror(errno)));
	qsort(g.gl_pathv, g.gl_pathc, sizeof(*g.gl_pathv), by_name);
	for (i = 0;
	     i < g.gl_pathc && (r = include_file(p, g.gl_pathv[i], obj)) == 0;
	     i++)
		continue;
	globfree(&g);
	return (r);
}
