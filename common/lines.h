/* SPDX-License-Identifier: ISC */
/*
 * Lines out of a pipe, in bounded memory: a line over the limit is skipped
 * and counted, what follows it is still seen.  A last line without newline
 * is given at lines_end().
 */
#ifndef OLP_LINES_H
#define OLP_LINES_H

#include <stddef.h>
#include <stdint.h>

struct lines;

/* line has no newline and a NUL after it. Non-zero stops the feeding: the rest of the data is dropped. */
typedef int lines_cb(void *arg, char *line, size_t len);

struct lines *lines_new(size_t max, lines_cb *, void *arg);
void lines_free(struct lines *);
/* What the callback returned last. */
int lines_feed(struct lines *, const char *data, size_t len);
int lines_end(struct lines *);
uint64_t lines_skipped(const struct lines *); /* bytes of lines that were too long */

#endif
