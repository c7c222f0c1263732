/* SPDX-License-Identifier: ISC */
/* The doctor's look at the kernel: what it has and what it was told to refuse.
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/conf/conf.h"
#include "common/log.h"
#include "doctor.h"

#define CAP_SYS_ADMIN_BIT 21
#define LANDLOCK_VERSION 1u /* landlock_create_ruleset(2)'s flag */
#define NOFILE_RUN 8        /* descriptors a run takes in the busiest worker */
#define NOFILE_BASE 256
#define NAMESPACES_FEW 64
#define INOTIFY_FEW 16

/* ---- versions and limits ---- */

static void
check_kernel(struct doctor *d)
{
	unsigned int major = 0, minor = 0, v;
	struct utsname u;

	if (uname(&u) == -1 || sscanf(u.release, "%u.%u", &major, &minor) < 1) {
		doctor_say(
		    d, "kernel", DOC_WARN, NULL, "its version is not known");
		return;
	}
	v = major * 1000 + minor;
	if (v < 5012)
		doctor_say(d, "kernel", DOC_FAIL,
		    "olpd needs Linux 5.12 (mount_setattr); take a newer one",
		    "%s", u.release);
	else if (v < 5014)
		doctor_say(d, "kernel", DOC_WARN,
		    "Linux 5.13 brings Landlock, 5.14 cgroup.kill", "%s",
		    u.release);
	else
		doctor_say(d, "kernel", DOC_OK, NULL, "%s", u.release);
}

static void
check_namespaces(struct doctor *d)
{
	static const char *const kind[] = { "user", "mnt", "pid", "net", "ipc",
		"uts" };
	char path[64], todo[96];
	long v, least = -1;
	size_t i;

	for (i = 0; i < sizeof(kind) / sizeof(kind[0]); i++) {
		(void)snprintf(path, sizeof(path),
		    "/proc/sys/user/max_%s_namespaces", kind[i]);
		if ((v = doctor_number(d, path, -1)) == -1)
			continue;
		if (least == -1 || v < least)
			least = v;
		if (v >= NAMESPACES_FEW)
			continue;
		(void)snprintf(todo, sizeof(todo),
		    "sysctl user.max_%s_namespaces=15000", kind[i]);
		doctor_say(d, "namespaces", v == 0 ? DOC_FAIL : DOC_WARN, todo,
		    "user.max_%s_namespaces is %ld", kind[i], v);
	}
	if (least == -1)
		doctor_say(d, "namespaces", DOC_FAIL,
		    "a kernel with CONFIG_USER_NS is needed",
		    "/proc/sys/user is not there");
	else if (least >= NAMESPACES_FEW)
		doctor_say(d, "namespaces", DOC_OK, NULL,
		    "at least %ld of each kind", least);
}

/* Root's olpd makes the one user namespace itself, so this stops only an
 * ordinary user's. */
static void
check_unprivileged(struct doctor *d)
{
	static const char path[] = "/proc/sys/kernel/unprivileged_userns_clone";
	long v = doctor_number(d, path, 1);

	if (v != 0)
		doctor_say(d, "userns", DOC_OK, NULL,
		    "ordinary users may make user namespaces");
	else if (d->privileged)
		doctor_say(d, "userns", DOC_OK, NULL,
		    "kernel.unprivileged_userns_clone is 0; olpd started by "
		    "root does not need it");
	else
		doctor_say(d, "userns", DOC_FAIL,
		    "sysctl kernel.unprivileged_userns_clone=1, or start olpd "
		    "as root",
		    "kernel.unprivileged_userns_clone is 0");
}

static void
check_apparmor(struct doctor *d)
{
	char *on = doctor_file(d, "/sys/module/apparmor/parameters/enabled");
	char *profiles =
	    doctor_file(d, "/sys/kernel/security/apparmor/profiles");
	long restricted = doctor_number(
	    d, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 0);

	if (on == NULL || on[0] != 'Y')
		doctor_say(d, "apparmor", DOC_OK, NULL, "not in use");
	else if (restricted != 0 && !d->privileged)
		doctor_say(d, "apparmor", DOC_FAIL,
		    "start olpd as root, or sysctl "
		    "kernel.apparmor_restrict_unprivileged_userns=0",
		    "kernel.apparmor_restrict_unprivileged_userns is %ld",
		    restricted);
	else if (profiles != NULL && doctor_has_word(profiles, "unpriv_bwrap"))
		doctor_say(d, "apparmor", DOC_OK,
		    "should runs fail at \"drop ids\", this profile has got "
		    "hold of bwrap",
		    "profile unpriv_bwrap is loaded; olpd runs bwrap under a "
		    "path it does not match");
	else
		doctor_say(d, "apparmor", DOC_OK, NULL, "in use%s",
		    restricted != 0
			? ", and keeps ordinary users from user namespaces"
			: "");
	free(on);
	free(profiles);
}

/* ---- where we run ---- */

static void
check_uid_map(struct doctor *d)
{
	char *map = doctor_file(d, "/proc/self/uid_map");
	unsigned long in, out, n;

	if (map != NULL && sscanf(map, "%lu %lu %lu", &in, &out, &n) == 3 &&
	    in == 0 && out == 0 && n == 4294967295UL)
		doctor_say(d, "container", DOC_OK, NULL,
		    "in the first user namespace");
	else
		doctor_say(d, "container", DOC_WARN,
		    "the uid-range and the service ids must be mapped in it, "
		    "and nesting allowed",
		    "inside a user namespace (a container)");
	free(map);
}

/* The value of a line "Name:\tvalue" of /proc/self/status. */
static unsigned long long
status_value(const char *status, const char *name, int base)
{
	const char *p = status != NULL ? strstr(status, name) : NULL;

	return (p != NULL ? strtoull(p + strlen(name), NULL, base) : 0);
}

static void
check_status(struct doctor *d)
{
	char *status = doctor_file(d, "/proc/self/status");
	unsigned long long caps = status_value(status, "CapEff:", 16);

	if (d->privileged && status != NULL && !(caps >> CAP_SYS_ADMIN_BIT & 1))
		doctor_say(d, "capabilities", DOC_FAIL,
		    "give the container CAP_SYS_ADMIN, or run olpd outside",
		    "root without CAP_SYS_ADMIN (%016llx)", caps);
	else
		doctor_say(d, "capabilities", DOC_OK, NULL,
		    d->privileged ? "root's"
				  : "an ordinary user's: runs share one uid");
	if (status_value(status, "Seccomp:", 10) != 0)
		doctor_say(d, "filter", DOC_WARN,
		    "its filter must allow clone3 with new namespaces, mount "
		    "and pivot_root",
		    "this shell runs under a seccomp filter (a container)");
	free(status);
}

/* Is the mount point one that hides a part of /proc? binfmt_misc is nothing's
 * cover. */
static int
hides_proc(const char *point)
{
	return (strncmp(point, "/proc/", 6) == 0 &&
	    strcmp(point, "/proc/sys/fs/binfmt_misc") != 0);
}

static void
check_proc(struct doctor *d)
{
	char *info = doctor_file(d, "/proc/self/mountinfo"), *line,
	     *rest = info;
	char point[256], first[256] = "";
	int n = 0;

	while ((line = strsep(&rest, "\n")) != NULL)
		if (sscanf(line, "%*s %*s %*s %*s %255s", point) == 1 &&
		    hides_proc(point) && n++ == 0)
			(void)snprintf(first, sizeof(first), "%s", point);
	free(info);
	if (n == 0)
		doctor_say(d, "proc", DOC_OK, NULL, "/proc is whole");
	else
		doctor_say(d, "proc", d->privileged ? DOC_OK : DOC_WARN,
		    d->privileged
			? "olpd mounts a fresh one for its runs"
			: "start olpd where /proc is whole, or as root",
		    "%d mounts cover parts of /proc, %s first", n, first);
}

/* ---- what bounds a run ---- */

static void
check_landlock(struct doctor *d)
{
	long abi =
	    syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION);

	if (abi > 0)
		doctor_say(d, "landlock", DOC_OK,
		    abi < 4 ? "its network rules come with ABI 4; the empty "
			      "network namespace stands "
			      "in for them"
			    : NULL,
		    "ABI %ld", abi);
	else
		doctor_say(d, "landlock",
		    d->conf->allow_partial ? DOC_WARN : DOC_FAIL,
		    errno == EOPNOTSUPP
			? "boot with landlock in the kernel's lsm= list"
			: "a kernel with CONFIG_SECURITY_LANDLOCK (5.13) is "
			  "needed",
		    "not there: %s", strerror(errno));
}

static void
check_seccomp(struct doctor *d)
{
	char *actions =
	    doctor_file(d, "/proc/sys/kernel/seccomp/actions_avail");

	if (actions != NULL && doctor_has_word(actions, "kill_process") &&
	    doctor_has_word(actions, "errno"))
		doctor_say(d, "seccomp", DOC_OK, NULL, "filters can be set");
	else
		doctor_say(d, "seccomp", DOC_FAIL,
		    "a kernel with CONFIG_SECCOMP_FILTER is needed",
		    "/proc/sys/kernel/seccomp/actions_avail: %s",
		    actions != NULL ? actions : strerror(errno));
	free(actions);
}

/* The mount point of cgroup2, or "". */
static void
cgroup_point(const struct doctor *d, char *point, size_t size)
{
	char *info = doctor_file(d, "/proc/self/mountinfo"), *line,
	     *rest = info, *type;
	char at[256];

	point[0] = '\0';
	while ((line = strsep(&rest, "\n")) != NULL) {
		if ((type = strstr(line, " - ")) == NULL ||
		    strncmp(type, " - cgroup2 ", 11) != 0)
			continue;
		if (sscanf(line, "%*s %*s %*s %*s %255s", at) == 1)
			(void)snprintf(point, size, "%s", at);
	}
	free(info);
}

static const char *
memory_todo(const struct doctor *d)
{
	char *model = doctor_file(d, "/proc/device-tree/model");
	int pi = model != NULL && strstr(model, "Raspberry Pi") != NULL;

	free(model);
	if (pi)
		return ("Raspberry Pi: add cgroup_enable=memory to the line in "
			"/boot/firmware/cmdline.txt and reboot");
	return (
	    "boot with cgroup_enable=memory, and with cgroup version 2 alone "
	    "(systemd.unified_cgroup_hierarchy=1); until then rlimits bound a "
	    "run");
}

static void
check_cgroup(struct doctor *d)
{
	char point[256], path[320], *controllers;

	cgroup_point(d, point, sizeof(point));
	if (point[0] == '\0') {
		doctor_say(d, "cgroup", DOC_WARN, memory_todo(d),
		    "no cgroup2 is mounted; limits=rlimit");
		return;
	}
	(void)snprintf(path, sizeof(path), "%s/cgroup.controllers", point);
	controllers = doctor_file(d, path);
	if (controllers == NULL || !doctor_has_word(controllers, "memory"))
		doctor_say(d, "cgroup", DOC_WARN, memory_todo(d),
		    "cgroup2 at %s has no memory controller (it has: %s)",
		    point,
		    controllers != NULL && controllers[0] != '\0' ? controllers
								  : "none");
	else
		doctor_say(d, "cgroup", DOC_OK, NULL, "cgroup2 at %s: %s",
		    point, controllers);
	free(controllers);
}

static void
check_files(struct doctor *d)
{
	unsigned long long need = NOFILE_BASE + d->conf->connections +
	    (unsigned long long)d->conf->runs * NOFILE_RUN;
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == -1)
		return;
	if (rl.rlim_max != RLIM_INFINITY && rl.rlim_max < need)
		doctor_say(d, "files", DOC_WARN,
		    "raise it (LimitNOFILE= in the unit, ulimit -n in a shell)",
		    "at most %llu descriptors, %llu wanted for the configured "
		    "connections and runs",
		    (unsigned long long)rl.rlim_max, need);
	else
		doctor_say(d, "files", DOC_OK, NULL,
		    "enough descriptors (%llu wanted)", need);
}

static void
check_small(struct doctor *d)
{
	long v;

	v = doctor_number(d, "/proc/sys/fs/inotify/max_user_instances", 0);
	if (v < INOTIFY_FEW)
		doctor_say(d, "inotify", DOC_WARN,
		    "sysctl fs.inotify.max_user_instances=128",
		    "fs.inotify.max_user_instances is %ld", v);
	else
		doctor_say(d, "inotify", DOC_OK, NULL, "%ld instances", v);
	v = doctor_number(d, "/proc/sys/dev/tty/legacy_tiocsti", -1);
	if (v == 1)
		doctor_say(d, "tiocsti", DOC_OK,
		    "sysctl dev.tty.legacy_tiocsti=0 closes it; runs have no "
		    "terminal of yours anyway",
		    "programs may push characters into their terminal");
	else
		doctor_say(d, "tiocsti", DOC_OK, NULL,
		    v == 0 ? "closed" : "no switch in this kernel");
}

static void
check_core(struct doctor *d)
{
	char *pattern = doctor_file(d, "/proc/sys/kernel/core_pattern");

	if (pattern != NULL && pattern[0] == '|')
		doctor_say(d, "cores", DOC_OK,
		    "a crashed client is handed to it; olpd's runs leave "
		    "nothing of their memory in it",
		    "core files go to a program: %.200s", pattern);
	else
		doctor_say(d, "cores", DOC_OK, NULL,
		    "core files are files; runs leave none");
	free(pattern);
}

void
doctor_kernel(struct doctor *d)
{
	check_kernel(d);
	check_namespaces(d);
	check_unprivileged(d);
	check_apparmor(d);
	check_uid_map(d);
	check_status(d);
	check_proc(d);
	check_landlock(d);
	check_seccomp(d);
	check_cgroup(d);
	check_files(d);
	check_small(d);
	check_core(d);
}
