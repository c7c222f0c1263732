/* SPDX-License-Identifier: ISC */
/*
 * The parser's machinery, private to common/conf.  The words of the grammar
 * are tables of struct word: global.c, listen.c and provider.c for olpd.conf,
 * keys.c for a key block.
 *
 * Functions that return int give 0, or -1 when they have already recorded the
 * error; the caller then only returns -1 too.  The statement loop goes on
 * after the next newline or closing brace.
 */
#ifndef OLP_CONF_PARSE_H
#define OLP_CONF_PARSE_H

#include <sys/stat.h>
#include <sys/types.h>

#include <stddef.h>
#include <stdint.h>

#include "common/conf/conf.h"
#include "common/conf/lex.h"

#define SEEN_MAX 32 /* words of one block that may stand once */

/* What a block has said already, to find duplicates. */
struct seen {
	struct {
		const char *what; /* static text */
		struct conf_where at;
	} list[SEEN_MAX];
	size_t n;
};

/* A file being read; includes nest. */
struct source {
	struct source *parent;
	char file[LIM_PATH];
	struct lex lex;
	dev_t dev;
	ino_t ino;
	unsigned int depth;
};

struct parser {
	struct source *src; /* the innermost; NULL: errors are about no file */
	struct token tok;   /* the next one, not yet taken */
	struct conf_errors *errs;
	const struct conf *env; /* for a key: range, providers; may be NULL */
	const char *what;   /* the directive at hand, for messages; or NULL */
	struct seen *seen;  /* of the block at hand */
	const char *block;  /* "provider" ...; NULL outside */
	int hush;           /* show no word in messages: it may be a secret */
	unsigned int files; /* read so far */
	int no_include;     /* text without a file */
	int is_key;         /* a key file: one block, no macros */
	/* For the checks at the end; line 0: not written. */
	struct conf_where range_at, ids_at, budget_at, state_at, runtime_at;
	struct macros macros;
};

/* A word that begins a directive, or one of the choices after it. */
struct word {
	const char *name;
	const char *what; /* how messages call it; NULL: name */
	int many;         /* may stand more than once */
	int (*parse)(struct parser *, const struct word *, void *obj);
	size_t off;      /* of the field in obj, for p_set_* */
	uint64_t lo, hi; /* its bounds */
};

/* Errors: "file:line: what: text". */
int p_error(struct parser *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
int p_error_at(struct parser *, const struct conf_where *, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int p_expected(struct parser *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void p_where(const struct parser *, struct conf_where *);

/* Tokens. */
void p_next(struct parser *);
int p_is(const struct parser *, const char *word);
int p_is_value(const struct parser *);
/* 1: it stood there and was taken. */
int p_take(struct parser *, const char *word);
int p_expect(struct parser *, const char *word);
int p_comma(struct parser *); /* 1: a comma and any newlines were taken */
int p_value(struct parser *, char *buf, size_t size, const char *kind);
int p_number(struct parser *, uint64_t lo, uint64_t hi, uint32_t *);
int p_path(struct parser *, char *buf, size_t size);
int p_port(struct parser *, uint16_t *); /* "port N" */
int p_address(struct parser *, struct sockaddr_storage *, char *text,
    size_t size, const char *kind);
int p_once(struct parser *, const char *what);
int p_block(struct parser *, const char *block, const struct word *, void *obj);
int p_words(struct parser *, const struct word *, void *obj);
int p_choices(struct parser *, const struct word *, void *obj);

/* For tables: put one value into a field of obj. */
int p_set_u32(struct parser *, const struct word *, void *obj);
int p_set_size(struct parser *, const struct word *, void *obj);
int p_set_seconds(struct parser *, const struct word *, void *obj);
int p_set_path(struct parser *, const struct word *, void *obj);
int p_set_flag(struct parser *, const struct word *, void *obj);

/* Shared pieces of grammar. */
int p_provider_name(struct parser *, char *buf, size_t size);
int p_model_name(struct parser *, char *buf, size_t size);
int p_credential(struct parser *, struct conf_cred *);
int p_include(struct parser *, const struct word *, void *conf);
int p_listen(struct parser *, const struct word *, void *conf);
int p_provider(struct parser *, const struct word *, void *conf);
int p_model(struct parser *, const struct word *, void *conf);

/* The words of olpd.conf (global.c). */
extern const struct word conf_words[];

/* Files that the configuration names (files.c). */
enum file_need {
	FILE_SECRET_LATER, /* a secret that may come later: missing is fine */
	FILE_SECRET,       /* mode 0640 at most */
	FILE_PUBLIC        /* others may read, not write */
};
int p_file(struct parser *, enum file_need, char *buf, size_t size);
/* Why this will not do, or NULL. buf is room for the text. */
const char *file_verdict(
    const struct stat *, enum file_need, uid_t self, char *buf, size_t size);
/*
 * The whole of an open file; NULL and *why when it cannot be had. The caller
 * frees.
 */
char *file_slurp(int fd, size_t *len, const char **why);

/*
 * file: how messages call it. secret: no symbolic link, and nothing for
 * others.
 */
int p_open(struct parser *, struct source *, int dirfd, const char *name,
    const char *file, int secret);
void p_push(struct parser *, struct source *, const char *file,
    const char *text, size_t len);
void p_close(struct parser *);

#endif
