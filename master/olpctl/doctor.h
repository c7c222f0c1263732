/* SPDX-License-Identifier: ISC */
/*
 * The doctor: checks of this machine and of what olpd.conf names.  Each says
 * what it saw and, where that is not as it should be, what to do.  Files are
 * read below d->root, so that tests can show it other machines.
 */
#ifndef OLPCTL_DOCTOR_H
#define OLPCTL_DOCTOR_H

#include <stddef.h>
#include <stdint.h>

#include "common/limits.h"

struct conf;
struct conf_errors;

enum verdict { DOC_OK, DOC_WARN, DOC_FAIL };

struct check {
	const char *name; /* a constant */
	enum verdict result;
	char seen[LIM_TEXT];
	char todo[LIM_TEXT]; /* "": nothing; with DOC_OK a note */
};

struct doctor {
	const char *root; /* "" or a directory that stands for / */
	int privileged;   /* run as root: the daemon is taken to be, too */
	const struct conf *conf;
	int conf_good;
	struct check check[LIM_CTL_CHECKS];
	size_t n;
};

#define DOC_FMT(n) __attribute__((format(printf, n, n + 1)))
/* Add a line. todo may be NULL. */
void doctor_say(struct doctor *, const char *name, enum verdict,
    const char *todo, const char *fmt, ...) DOC_FMT(5);

/* A file below root, at most LIM_CTL_FILE bytes, without its last newline; NULL
 * with errno. The caller frees. */
char *doctor_file(const struct doctor *, const char *path);
/* The number a file begins with; `none` where there is no such file. */
long doctor_number(const struct doctor *, const char *path, long none);
/* Does a file hold the word, between anything but letters, digits, _ and -? */
int doctor_has_word(const char *text, const char *word);

/* doctor_kernel.c, doctor_host.c, doctor_olpd.c, doctor_try.c */
void doctor_kernel(struct doctor *);
void doctor_host(struct doctor *);
void doctor_olpd(struct doctor *, const struct conf_errors *);
void doctor_try(struct doctor *);

/* doctor_host.c: is block device MAJOR:MINOR, or all that it stands on,
 * encrypted? */
int doctor_encrypted(
    const struct doctor *, unsigned int major, unsigned int minor);

#define DOC_BWRAP "/usr/bin/bwrap" /* as in master/nsroom.c */
#define DOC_ID_NOBODY 65534

#endif
