/* SPDX-License-Identifier: ISC */
/*
 * A directory in which files are only ever replaced whole: temporary file,
 * fsync, rename, fsync of the directory.  What kill -9 leaves behind is the
 * old file or the new one, and at most a hidden temporary file that the next
 * writer removes.  Functions give 0, or -1 with errno and have told it.
 */
#ifndef OLPCTL_STORE_H
#define OLPCTL_STORE_H

#include <sys/types.h>

#include <stddef.h>

#include "common/limits.h"

struct store {
	int dir;  /* -1: not open */
	int lock; /* -1: not locked */
	char path[LIM_PATH];
};

/*
 * Open it; made with `mode` where it is missing (0: then that is ENOENT).
 * Refused when it is not ours or root's, or others can write to it.
 */
int store_open(struct store *, const char *path, mode_t mode);
/* One writer at a time, by flock(2) on PATH/.lock; waits at most
 * LIM_CTL_LOCK_S. */
int store_lock(struct store *);
void store_close(struct store *);

/* Needs the lock, or that of the directory which stands for it. */
int store_put(
    struct store *, const char *name, const void *buf, size_t len, mode_t);
int store_remove(struct store *, const char *name);
/* 1 there, 0 not, -1 told. */
int store_has(struct store *, const char *name);
/* A small file as a string; NULL with errno, told unless it is ENOENT. The
 * caller frees. */
char *store_get(struct store *, const char *name, size_t max);

struct names {
	char **v; /* in the order of bytes */
	size_t n;
};
/* The files that end in suffix and do not begin with a dot. 0, or -1 (told). */
int store_list(struct store *, const char *suffix, struct names *);
void names_free(struct names *);

#endif
