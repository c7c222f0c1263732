/* SPDX-License-Identifier: ISC */
/*
 * Makes and removes the instance's cgroups.  Runs in the master, as root
 * only.  It mounts cgroup2 once more, in a mount namespace of its own, so
 * that /sys/fs/cgroup may be read-only for everybody.  It must never touch
 * those of another instance that runs: their names hold the locked key range.
 */
#include "master/cgroup.h"

#include <sys/mount.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "common/host/cgfs.h"
#include "common/host/file.h"
#include "common/log.h"
#include "master/place.h"

struct cgroup cgroup = { "", -1 };
static int unit = -1, spawn = -1; /* UNIT, UNIT/spawn */
static int parent = -1;           /* of UNIT where that is ours to remove */
static char name[64];             /* of UNIT in there */

/*
 * UNIT is the cgroup we were started in when it is ours alone, as in a
 * systemd service; then we go down to UNIT/master, for only leaves may hold
 * processes.  Else it is one of our own below.
 */
static int
unit_take(const struct conf *c, int own)
{
	int fd, r;

	if (cgfs_alone(own)) {
		unit = own;
		if ((fd = cgfs_open(own, "master")) == -1)
			return (-1);
		r = file_put(fd, "cgroup.procs", "0");
		close(fd);
		return (r);
	}
	(void)snprintf(name, sizeof(name), "olpd-%s%s%" PRIu32, c->instance,
	    c->instance[0] == '\0' ? "" : "-", c->uid_lo);
	cgfs_controllers(own);
	parent = own;
	unit = cgfs_open(own, name);
	return (unit == -1 ? -1 : 0);
}

/* For CLONE_INTO_CGROUP worker-spawn must own cgroup.procs and, chowned
 * last, the directory; nothing else. */
static int
spawn_take(void)
{
	uid_t uid = place.id[1].uid;
	gid_t gid = place.id[1].gid;

	if (cgfs_remove(unit, "spawn") == -1) /* of an earlier life of ours */
		return (-1);
	cgfs_controllers(unit);
	if ((spawn = cgfs_open(unit, "spawn")) == -1)
		return (-1);
	cgfs_controllers(spawn);
	if ((cgroup.worker = cgfs_open(spawn, "worker")) == -1 ||
	    fchmod(spawn, 0755) == -1 ||
	    fchownat(spawn, "cgroup.procs", uid, gid, 0) == -1)
		return (-1);
	return (fchown(spawn, uid, gid));
}

void
cgroup_limits(const struct conf *c)
{
	/* Room for all homes, so that a run is ended for its own memory alone.
	 */
	uint64_t memory =
	    c->memory_budget + LIM_ALL_RUNS_EXTRA + 2 * c->home_bytes * c->runs;
	char text[32];

	if (cgroup.spawn[0] == '\0')
		return;
	(void)snprintf(
	    text, sizeof(text), "%" PRIu32, c->runs * LIM_ALL_RUNS_PIDS);
	(void)file_put(spawn, "pids.max", text);
	(void)snprintf(text, sizeof(text), "%" PRIu64, memory);
	(void)file_put(
	    spawn, "memory.max", c->memory_budget == 0 ? "max" : text);
}

void
cgroup_take(const struct conf *c)
{
	char path[PATH_MAX / 2] = "";
	int own;

	if (!place.privileged)
		return;
	if (unshare(CLONE_NEWNS) == -1 ||
	    mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == -1 ||
	    mount("cgroup2", place.cgroup, "cgroup2",
		MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == -1 ||
	    cgfs_own(place.cgroup, path, sizeof(path)) == -1 ||
	    (own = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1 ||
	    unit_take(c, own) == -1 || spawn_take() == -1) {
		log_warn("cgroups: none, resource limits alone: %s", path);
		if (cgroup.worker != -1)
			close(cgroup.worker);
		cgroup.worker = -1;
		return;
	}
	(void)snprintf(cgroup.spawn, sizeof(cgroup.spawn), "%s%s%s/spawn", path,
	    name[0] == '\0' ? "" : "/", name);
	log_info("cgroups: %s", cgroup.spawn);
}

void
cgroup_release(void)
{
	if (cgroup.spawn[0] == '\0')
		return;
	if (cgfs_remove(unit, "spawn") == -1 ||
	    (parent != -1 && cgfs_remove(parent, name) == -1))
		log_warn("cgroups: remove %s", cgroup.spawn);
}
