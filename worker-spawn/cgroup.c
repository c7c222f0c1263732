/* SPDX-License-Identifier: ISC */
/*
 * cgroup2 leaves for runs.  Runs in worker-spawn, which owns the folder and
 * its cgroup.procs and nothing above: limits of all runs together are the
 * master's.  It must never wait for a cgroup to become empty.
 */
#include "worker-spawn/cgroup.h"

#include <sys/stat.h>

#include <bsd/string.h>
#include <bsd/sys/queue.h>
#include <dirent.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/limits.h"
#include "common/log.h"

#define PREFIX "run-"

/* A cgroup that was not empty when it was to be removed. */
struct left {
	TAILQ_ENTRY(left) entry;
	char name[32];
	unsigned int tries;
};

struct cgroups {
	int dir; /* -1: none */
	enum cgroup_level level;
	uint64_t serial;
	TAILQ_HEAD(, left) left;
	struct event *again;
};

const char *
cgroup_level_name(enum cgroup_level level)
{
	switch (level) {
	case CGROUP_LIMITS:
		return ("cgroup");
	case CGROUP_KILL:
		return ("kill");
	case CGROUP_NONE:
		break;
	}
	return ("rlimit");
}

enum cgroup_level
cgroups_level(const struct cgroups *g)
{
	return (g->level);
}

static int
put(int dir, const char *file, const char *value)
{
	int saved, fd = openat(dir, file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n;

	if (fd == -1)
		return (-1);
	n = write(fd, value, strlen(value));
	saved = errno;
	close(fd);
	errno = saved;
	return (n == -1 ? -1 : 0);
}

static int
open_leaf(const struct cgroups *g, const char *name)
{
	return (openat(
	    g->dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/* 0: gone. -1: not empty yet, or not ours. */
static int
try_remove(const struct cgroups *g, const char *name)
{
	int fd = open_leaf(g, name);

	if (fd != -1) {
		(void)put(fd, "cgroup.kill", "1");
		close(fd);
	}
	if (unlinkat(g->dir, name, AT_REMOVEDIR) == -1 && errno != ENOENT)
		return (-1);
	return (0);
}

static void
arm(struct cgroups *g)
{
	static const struct timeval soon = { 0, 50000 };

	if (!TAILQ_EMPTY(&g->left))
		event_add(g->again, &soon);
}

static void
again_cb(evutil_socket_t fd, short what, void *arg)
{
	struct cgroups *g = arg;
	struct left *l, *next;

	(void)fd;
	(void)what;
	for (l = TAILQ_FIRST(&g->left); l != NULL; l = next) {
		next = TAILQ_NEXT(l, entry);
		if (try_remove(g, l->name) == -1 &&
		    ++l->tries < LIM_CGROUP_TRIES)
			continue;
		if (l->tries == LIM_CGROUP_TRIES)
			log_warnx("cgroup %s: still not empty: left to the "
				  "next start",
			    l->name);
		TAILQ_REMOVE(&g->left, l, entry);
		free(l);
	}
	arm(g);
}

static void
remove_soon(struct cgroups *g, const char *name)
{
	struct left *l;

	if (try_remove(g, name) == 0)
		return;
	l = xcalloc(1, sizeof(*l));
	(void)strlcpy(l->name, name, sizeof(l->name));
	TAILQ_INSERT_TAIL(&g->left, l, entry);
	arm(g);
}

/*
 * What a worker-spawn that died has left. Nobody but us makes folders here; the
 * master's has another name.
 */
static void
clean(struct cgroups *g)
{
	int fd = openat(g->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *e;
	DIR *d;

	if (fd == -1 || (d = fdopendir(fd)) == NULL) {
		log_warn("cgroups: list");
		if (fd != -1)
			close(fd);
		return;
	}
	while ((e = readdir(d)) != NULL)
		if (strncmp(e->d_name, PREFIX, sizeof(PREFIX) - 1) == 0 &&
		    strlen(e->d_name) < sizeof(((struct left *)NULL)->name))
			remove_soon(g, e->d_name);
	closedir(d);
}

/* A new leaf under a name that no dead one still has. */
static int
make_leaf(struct cgroups *g, struct cgroup *c)
{
	unsigned int tries;

	for (tries = 0; tries < LIM_CGROUP_TRIES; tries++) {
		(void)snprintf(
		    c->name, sizeof(c->name), PREFIX "%" PRIu64, ++g->serial);
		if (mkdirat(g->dir, c->name, 0755) == 0) {
			if ((c->fd = open_leaf(g, c->name)) != -1)
				return (0);
			(void)unlinkat(g->dir, c->name, AT_REMOVEDIR);
			return (-1);
		}
		if (errno != EEXIST)
			return (-1);
	}
	return (-1);
}

static int
set_limits(int fd, uint64_t memory, uint32_t tasks)
{
	char value[32];

	(void)snprintf(value, sizeof(value), "%" PRIu32, tasks);
	if (put(fd, "pids.max", value) == -1)
		return (-1);
	if (memory == 0)
		(void)strlcpy(value, "max", sizeof(value));
	else
		(void)snprintf(value, sizeof(value), "%" PRIu64, memory);
	if (put(fd, "memory.max", value) == -1 ||
	    put(fd, "memory.oom.group", "1") == -1)
		return (-1);
	/*
	 * Missing without swap accounting, and without the cpu controller:
	 * neither is a bound we promise.
	 */
	(void)put(fd, "memory.swap.max", "0");
	(void)put(fd, "cpu.weight", "50"); /* below worker-spawn's own 100 */
	return (0);
}

/* What a leaf can have, tried on one. */
static enum cgroup_level
find_level(struct cgroups *g)
{
	enum cgroup_level level = CGROUP_NONE;
	struct cgroup c = { .fd = -1 };

	if (make_leaf(g, &c) == -1) {
		log_warn("cgroups: cannot make one: rlimits only");
		return (CGROUP_NONE);
	}
	if (put(c.fd, "cgroup.kill", "1") == 0)
		level = set_limits(c.fd, 0, LIM_RUN_TASKS) == 0 ? CGROUP_LIMITS
								: CGROUP_KILL;
	close(c.fd);
	(void)try_remove(g, c.name);
	return (level);
}

struct cgroups *
cgroups_open(struct event_base *base, const char *path, int there)
{
	struct cgroups *g = xcalloc(1, sizeof(*g));

	TAILQ_INIT(&g->left);
	g->dir = -1;
	if ((g->again = event_new(base, -1, 0, again_cb, g)) == NULL)
		fatalx("cgroups: event_new");
	if (!there)
		return (g);
	if ((g->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1) {
		log_warn("cgroups: open %s", path);
		return (g);
	}
	clean(g);
	g->level = find_level(g);
	return (g);
}

void
cgroups_close(struct cgroups *g)
{
	struct left *l;

	if (g == NULL)
		return;
	while ((l = TAILQ_FIRST(&g->left)) != NULL) {
		TAILQ_REMOVE(&g->left, l, entry);
		free(l);
	}
	event_free(g->again);
	if (g->dir != -1)
		close(g->dir);
	free(g);
}

int
cgroup_make(
    struct cgroups *g, struct cgroup *c, uint64_t memory, uint32_t tasks)
{
	int saved;

	c->fd = -1;
	if (g->level == CGROUP_NONE)
		return (0);
	if (make_leaf(g, c) == -1)
		return (-1);
	if (g->level == CGROUP_LIMITS &&
	    set_limits(c->fd, memory, tasks) == -1) {
		saved = errno;
		cgroup_end(g, c);
		errno = saved;
		return (-1);
	}
	return (0);
}

int
cgroup_out_of_memory(const struct cgroup *c)
{
	char buf[512], *p;
	ssize_t n;
	int fd;

	if (c->fd == -1 ||
	    (fd = openat(c->fd, "memory.events",
		 O_RDONLY | O_CLOEXEC | O_NOFOLLOW)) == -1)
		return (0);
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n <= 0)
		return (0);
	buf[n] = '\0';
	return ((p = strstr(buf, "\noom_kill ")) != NULL &&
	    strtoul(p + 10, NULL, 10) > 0);
}

void
cgroup_end(struct cgroups *g, struct cgroup *c)
{
	if (c->fd == -1)
		return;
	close(c->fd);
	c->fd = -1;
	remove_soon(g, c->name);
}
