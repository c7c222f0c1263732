/* SPDX-License-Identifier: ISC */
/*
 * Makes worker-spawn's user namespace and view.  As root: a short-lived
 * builder makes a mount namespace and the view in it, then clones
 * worker-spawn as a child of the master (CLONE_PARENT), so that no other
 * process remains and waiting for it works; the master writes the id maps,
 * which the kernel enforces from then on.  As an ordinary user: worker-spawn
 * maps its own id alone and builds the view itself.
 *
 * What is headed "in a child" never logs: what fails goes to the master.
 */
#include "master/nsroom.h"

#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <bsd/string.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/host/file.h"
#include "common/host/mounts.h"
#include "common/host/start.h"
#include "common/host/ucount.h"
#include "common/log.h"
#include "master/cgroup.h"
#include "master/place.h"
#include "master/rows.h"

#define ROOM_CLONE                                                             \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC |           \
	    CLONE_NEWUTS | CLONE_NEWNET)
#define PROC_FLAGS (MS_NOSUID | MS_NODEV | MS_NOEXEC)

struct nsroom {
	struct event *ev;
	int fd; /* the children hold the other end until they exec */
	nsroom_cb *cb;
	void *arg;
};

static struct program {
	char name[LIM_PROVIDER];
	char path[PATH_MAX];    /* resolved; "" when it cannot be had */
} programs[LIM_CONF_PROVIDERS]; /* as in the view */

/* ---- providers' programs ---- */

const char *
nsroom_program(const char *provider)
{
	size_t i;

	for (i = 0; i < LIM_CONF_PROVIDERS; i++)
		if (strcmp(programs[i].name, provider) == 0)
			return (programs[i].path);
	return ("");
}

const char *
nsroom_look(const struct conf *c, int take)
{
	static struct program next[LIM_CONF_PROVIDERS];
	const char *why, *differs = NULL;
	const struct conf_provider *p;
	struct program *g = next;

	memset(next, 0, sizeof(next));
	TAILQ_FOREACH(p, &c->providers, entry) {
		(void)strlcpy(g->name, p->name, sizeof(g->name));
		why = machine_program(
		    p, place.libexec, place.privileged, g->path);
		if (why != NULL && take)
			log_warnx("provider %s: %s%s%s", p->name, p->command,
			    p->command[0] == '\0' ? "" : ": ", why);
		if (strcmp(nsroom_program(p->name), g++->path) != 0)
			differs = p->name;
	}
	if (take)
		memcpy(programs, next, sizeof(next));
	return (differs);
}

/* ---- in a child: the view ---- */

static int report_fd;

static void __attribute__((noreturn, format(printf, 1, 2)))
die(const char *fmt, ...)
{
	char text[LIM_TEXT], *error = strerror(errno);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	dprintf(report_fd, "%s: %s", text, error);
	_exit(1);
}

static int
view_tree(void)
{
	static const char *const dirs[] = { "usr", "etc", "dev", "proc", "tmp",
		"run", "run/olpd", "run/olpd/libexec", "run/olpd/provider",
		"run/olpd/home", "run/olpd/tmp", "run/olpd/cg", NULL };
	static const char *const links[][2] = { { "usr/lib", "lib" },
		{ "usr/lib64", "lib64" }, { "usr/bin", "bin" },
		{ "usr/sbin", "sbin" } };
	static const char *const devs[] = { "/dev/null", "/dev/zero",
		"/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", NULL };
	int i, r = 0;

	for (i = 0; dirs[i] != NULL && r == 0; i++)
		r = mounts_mkdir(dirs[i]);
	for (i = 0; i < 4 && r == 0; i++)
		r = mounts_link(links[i][0], links[i][1]);
	if (r == 0)
		r = mounts_fs("tmpfs", "dev", MS_NOSUID | MS_NOEXEC,
		    "mode=0755,size=64k");
	for (i = 0; devs[i] != NULL && r == 0; i++)
		r = mounts_device(devs[i], devs[i] + 1);
	return (r == 0 ? mounts_read_only("dev") : -1);
}

static int
view_files(void)
{
	/* bwrap under a path of our own: AppArmor profiles attach to the
	 * other.  Where there is none worker-spawn says so at each run. */
	static const char *const files[][2] = { { "/etc/ld.so.cache",
						    "etc/ld.so.cache" },
		{ "/etc/localtime", "etc/localtime" },
		{ "/usr/bin/bwrap", "run/olpd/bwrap" } };
	char dst[64];
	int i, r = 0;

	for (i = 0; i < 3 && r == 0; i++)
		if (access(files[i][0], F_OK) == 0)
			r = mounts_file(files[i][0], files[i][1]);
	for (i = 0; i < LIM_CONF_PROVIDERS && r == 0; i++) {
		(void)snprintf(
		    dst, sizeof(dst), "run/olpd/provider/%s", programs[i].name);
		if (programs[i].path[0] != '\0')
			r = mounts_file(programs[i].path, dst);
	}
	return (r);
}

static void
view_build(void)
{
	/* Root's proc has no masks, so that worker-spawn may mount its own,
	 * which is then on top; and shows nobody's processes below that. */
	const char *hide = place.privileged ? "hidepid=2" : NULL;

	umask(022); /* who lives in here owns none of it */
	if (mounts_begin(place.view) == -1 || view_tree() == -1 ||
	    mounts_dir("/usr", "usr") == -1 ||
	    mounts_dir(place.libexec, "run/olpd/libexec") == -1 ||
	    view_files() == -1 ||
	    mounts_fs("proc", "proc", PROC_FLAGS, hide) == -1 ||
	    (cgroup.spawn[0] != '\0' &&
		mounts_bind(cgroup.spawn, "run/olpd/cg") == -1) ||
	    mounts_end() == -1)
		die("view: %s", mounts_failed());
}

/* ---- in a child: worker-spawn before its exec ---- */

static void __attribute__((noreturn)) become_spawn(int fd)
{
	/* Before the exec: that of an id without capabilities drops them. */
	if ((place.privileged && setgroups(0, NULL) == -1) ||
	    setresgid(0, 0, 0) == -1 || setresuid(0, 0, 0) == -1)
		die("become root of the user namespace");
	if (sethostname("olp", 3) == -1) /* of the sandboxes too */
		die("sethostname");
	start_exec("/run/olpd/libexec/olpd-spawn", fd);
	die("exec olpd-spawn");
}

static void __attribute__((noreturn)) build(int fd)
{
	pid_t pid;
	char c;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)alarm(LIM_ROOM_S); /* the end of one that hangs */
	if (unshare(CLONE_NEWNS) == -1)
		die("unshare");
	view_build();
	if (ucount_owner(place.id[1].uid) == -1)
		die("own the user namespace");
	pid = start_fork(ROOM_CLONE | CLONE_PARENT, cgroup.worker);
	if (pid == -1)
		die("clone worker-spawn");
	if (pid > 0)
		_exit(dprintf(report_fd, "%d", pid) > 0 ? 0 : 1);
	if (read(report_fd, &c, 1) != 1)
		_exit(1); /* the master gave up, or is dead */
	if (mounts_fs("proc", "/proc", PROC_FLAGS, NULL) == -1)
		die("%s", mounts_failed());
	if (ucount_bounds() == -1)
		die("bounds of each user");
	become_spawn(fd);
}

static void __attribute__((noreturn)) build_alone(int fd, uid_t uid, gid_t gid)
{
	char users[32], groups[32];

	(void)snprintf(users, sizeof(users), "0 %u 1", uid);
	(void)snprintf(groups, sizeof(groups), "0 %u 1", gid);
	/* These files are root's in a process that is not dumpable. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == -1 ||
	    file_put(AT_FDCWD, "/proc/self/setgroups", "deny") == -1 ||
	    file_put(AT_FDCWD, "/proc/self/uid_map", users) == -1 ||
	    file_put(AT_FDCWD, "/proc/self/gid_map", groups) == -1)
		die("map our own id");
	view_build();
	become_spawn(fd);
}

/* ---- in the master ---- */

/* Service id and key range: from here on the kernel refuses any other id. */
static int
map_ids(int pid)
{
	uint32_t lo = rows.conf->uid_lo, n = rows.conf->uid_hi - lo + 1;
	char path[64], map[128];
	int i, r = 0;

	for (i = 0; i < 2 && r == 0; i++) {
		(void)snprintf(map, sizeof(map), "0 %u 1\n%u %u %u\n",
		    i == 0 ? place.id[1].uid : place.id[1].gid, lo, lo, n);
		(void)snprintf(path, sizeof(path), "/proc/%d/%cid_map", pid,
		    i == 0 ? 'u' : 'g');
		r = file_put(AT_FDCWD, path, map);
	}
	return (r);
}

/* A pid, or what failed; nothing when all are another program, or dead. */
static void
room_cb(evutil_socket_t fd, short what, void *arg)
{
	struct nsroom *n = arg;
	char text[LIM_TEXT + 128];
	ssize_t got = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);
	int pid;

	(void)what;
	if (got <= 0) {
		event_del(n->ev);
		n->cb(n->arg, 0, NULL);
		return;
	}
	text[got] = '\0';
	if ((pid = atoi(text)) == 0)
		n->cb(n->arg, 0, text);
	else if (map_ids(pid) == -1 || send(fd, "x", 1, MSG_NOSIGNAL) != 1)
		n->cb(n->arg, pid, "its ids could not be mapped");
	else
		n->cb(n->arg, pid, NULL);
}

struct nsroom *
nsroom_new(
    struct event_base *base, int fd, pid_t *pid, nsroom_cb *cb, void *arg)
{
	struct nsroom *n = xcalloc(1, sizeof(*n));
	int sv[2], saved;
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) == -1)
		fatal("socketpair");
	*pid = start_fork(place.privileged ? 0 : ROOM_CLONE, -1);
	saved = errno;
	if (*pid == 0) {
		close(sv[0]); /* so that the master's death is seen */
		report_fd = sv[1];
		if (place.privileged)
			build(fd);
		build_alone(fd, uid, gid);
	}
	close(sv[1]);
	*n = (struct nsroom){ NULL, sv[0], cb, arg };
	n->ev = event_new(base, sv[0], EV_READ | EV_PERSIST, room_cb, n);
	if (n->ev == NULL || event_add(n->ev, NULL) == -1)
		fatalx("event_new");
	if (*pid == -1) {
		nsroom_free(n);
		errno = saved;
		return (NULL);
	}
	if (place.privileged)
		*pid = 0;
	return (n);
}

void
nsroom_free(struct nsroom *n)
{
	if (n == NULL)
		return;
	event_free(n->ev);
	close(n->fd);
	free(n);
}
