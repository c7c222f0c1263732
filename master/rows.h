/* SPDX-License-Identifier: ISC */
/* The configuration in force, and how it reaches the workers: as rows. */
#ifndef OLP_ROWS_H
#define OLP_ROWS_H

#include <sys/stat.h>

#include "common/conf/conf.h"
#include "proto/msg.h"

struct chan;

/* Read by all of the master, written by rows.c alone. */
extern struct rows {
	struct conf *conf;
	struct conf_keys keys;
	struct stat
	    keys_dir; /* the keys.d that was read; zeros: there is none */
	uint64_t generation; /* grows by one a load */
} rows;

/*
 * Read olpd.conf and keys.d and make them the ones in force, under a new
 * generation.  What was wrong is added to errs.  -1: olpd.conf is refused.
 * At a reload the old one then stays, while keys.d is read and in force all
 * the same: a mistake in olpd.conf keeps no revoked key alive.  The first
 * time the place is taken too (place.h, cgroup.h); after -1 rows.conf is
 * NULL when it was the text, else what it asks for cannot be had.
 */
int rows_load(const char *file, struct conf_errors *);
/* CONF_BEGIN, all rows for that worker, CONF_END. */
void rows_send(enum proc, struct chan *);

#endif
