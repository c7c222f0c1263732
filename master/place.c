/* SPDX-License-Identifier: ISC */
/* Settles where and as whom.  Runs in the master before anything is started. */
#include "master/place.h"

#include <sys/file.h>

#include <bsd/string.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/host/file.h"
#include "common/log.h"

#define UIDS_LOCK                                                              \
	"/run/olpd-uids.lock" /* one for all instances of a machine            \
			       */

struct place place;

static void
sub_take(char buf[PLACE_PATH], const char *dir, const char *name, mode_t mode)
{
	(void)snprintf(buf, PLACE_PATH, "%s/%s", dir, name);
	file_dir(buf, mode);
}

/* No two instances that run share a number of a key. */
static void
lock_uids(const struct conf *c)
{
	off_t other[2];

	if (file_lock_range(UIDS_LOCK, c->uid_lo, c->uid_hi, other) == -1)
		fatalx("uid-range %" PRIu32 " to %" PRIu32
		       ": overlaps %jd to %jd, of an olpd that runs",
		    c->uid_lo, c->uid_hi, (intmax_t)other[0],
		    (intmax_t)other[1]);
}

void
place_take(const struct conf *c)
{
	/* Passable: a group may be allowed to a socket in there. */
	mode_t mode = geteuid() == 0 ? 0711 : 0700;
	char buf[PLACE_PATH];

	if (machine_libexec(place.libexec) == -1)
		fatal("olpd's programs: %s", place.libexec);
	file_dir(c->runtime_dir, mode);
	(void)snprintf(buf, sizeof(buf), "%s/olpd.lock", c->runtime_dir);
	if (flock(file_lock(buf), LOCK_EX | LOCK_NB) == -1)
		fatalx("runtime directory %s: another olpd is running in it",
		    c->runtime_dir);
	file_dir(c->state_dir, mode);
	sub_take(place.view, c->runtime_dir, "view", 0700);
	if (geteuid() != 0)
		return;
	place.privileged = 1;
	if (machine_ids(c, place.id, buf, sizeof(buf)) == -1)
		fatalx("%s", buf);
	if (machine_taken(c->uid_lo, c->uid_hi, buf, sizeof(buf)))
		fatalx("uid-range: %s", buf);
	lock_uids(c);
	sub_take(place.cgroup, c->runtime_dir, "cgroup", 0700);
	sub_take(place.http_root, c->state_dir, "http", 0755);
	sub_take(place.egress_root, c->state_dir, "egress", 0755);
}

void
place_cage(enum proc proc, struct msg_cage *m)
{
	int http = proc == PROC_HTTP;

	*m = (struct msg_cage){ .privileged = place.privileged };
	if (proc == PROC_SPAWN || !place.privileged)
		return; /* root of its own namespace; or stays who it is */
	(void)strlcpy(m->root, http ? place.http_root : place.egress_root,
	    sizeof(m->root));
	m->uid = place.id[http ? 0 : 2].uid;
	m->gid = place.id[http ? 0 : 2].gid;
}
