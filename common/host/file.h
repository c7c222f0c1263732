/* SPDX-License-Identifier: ISC */
/* Directories, lock files and the small files of /proc and /sys. */
#ifndef OLP_HOST_FILE_H
#define OLP_HOST_FILE_H

#include <sys/types.h>

/*
 * Make the directory with that mode, or take one that is ours and that
 * nobody else may write to; no symbolic link.  Fatal with the reason.
 */
void file_dir(const char *path, mode_t mode);

/* A file to lock, made if it is not there: regular, ours, mode 0600.  Fatal
 * with the reason. */
int file_lock(const char *path);

/*
 * Lock bytes lo to hi of such a file until the process ends.  The lock
 * belongs to the open file, not to the process, so that a fork cannot lose
 * it.  -1: somebody holds some of them; other is what.
 */
int file_lock_range(const char *path, off_t lo, off_t hi, off_t other[2]);

/* Write text to a file that is there.  0, or -1 with errno. */
int file_put(int dir, const char *name, const char *text);

#endif
