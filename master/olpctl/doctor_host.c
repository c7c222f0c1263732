/* SPDX-License-Identifier: ISC */
/* The doctor's look at the system: bubblewrap, swap, clock, journal, users. */
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/timex.h>
#include <sys/wait.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/conf/conf.h"
#include "common/log.h"
#include "doctor.h"

#define DEVICES_DEEP 6 /* a file on LVM on RAID on dm-crypt and so on */
#define VERSION_TEXT 64

/* ---- bubblewrap ---- */

static void
version_child(int out)
{
	static const char *const argv[] = { DOC_BWRAP, "--version", NULL };
	static const char *const env[] = { NULL };

	if (geteuid() == 0 &&
	    (setgroups(0, NULL) == -1 ||
		setresgid(DOC_ID_NOBODY, DOC_ID_NOBODY, DOC_ID_NOBODY) == -1 ||
		setresuid(DOC_ID_NOBODY, DOC_ID_NOBODY, DOC_ID_NOBODY) == -1))
		_exit(1);
	if (dup2(out, STDOUT_FILENO) == -1)
		_exit(1);
	execve(argv[0], (char *const *)(uintptr_t)argv,
	    (char *const *)(uintptr_t)env);
	_exit(1);
}

/* What "bwrap --version" says, "" when it says nothing. */
static void
bwrap_version(char *buf, size_t size)
{
	ssize_t n = 0;
	pid_t pid;
	int p[2];

	buf[0] = '\0';
	if (pipe2(p, O_CLOEXEC) == -1)
		return;
	if ((pid = fork()) == 0)
		version_child(p[1]);
	close(p[1]);
	if (pid != -1) {
		n = read(p[0], buf, size - 1);
		(void)waitpid(pid, NULL, 0);
	}
	close(p[0]);
	buf[n > 0 ? n : 0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
}

static void
check_bwrap(struct doctor *d)
{
	unsigned int major = 0, minor = 0;
	char text[VERSION_TEXT];
	struct stat st;

	if (stat(DOC_BWRAP, &st) == -1) {
		doctor_say(d, "bubblewrap", DOC_FAIL, "apt install bubblewrap",
		    "%s: %s", DOC_BWRAP, strerror(errno));
		return;
	}
	bwrap_version(text, sizeof(text));
	if (sscanf(text, "bubblewrap %u.%u", &major, &minor) != 2)
		doctor_say(d, "bubblewrap", DOC_FAIL,
		    "apt install --reinstall bubblewrap", "%s does not run",
		    DOC_BWRAP);
	else if (major * 1000 + minor < 8)
		doctor_say(d, "bubblewrap", DOC_WARN,
		    "0.8.0 is the oldest that olpd is tested with", "%s", text);
	else if ((st.st_mode & S_ISUID) != 0)
		doctor_say(d, "bubblewrap", DOC_WARN,
		    "chmod u-s " DOC_BWRAP "; olpd needs no set-uid bit on it",
		    "%s, set-uid", text);
	else
		doctor_say(d, "bubblewrap", DOC_OK, NULL, "%s", text);
}

/* ---- swap ---- */

static int
read_device(const struct doctor *d, const char *path, unsigned int *major,
    unsigned int *minor)
{
	char *text = doctor_file(d, path);
	int r;

	r = text != NULL && sscanf(text, "%u:%u", major, minor) == 2 ? 0 : -1;
	free(text);
	return (r);
}

static int encrypted(const struct doctor *, unsigned int, unsigned int, int);

/* All devices that this one stands on, at least one. */
static int
slaves_encrypted(const struct doctor *d, const char *dir, int deep)
{
	unsigned int major, minor;
	char *path, *full;
	struct dirent *e;
	int n = 0, all = 1;
	DIR *dp;

	xasprintf(&full, "%s%s", d->root, dir);
	dp = opendir(full);
	free(full);
	while (dp != NULL && (e = readdir(dp)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		n++;
		xasprintf(&path, "%s/%s/dev", dir, e->d_name);
		if (read_device(d, path, &major, &minor) == -1 ||
		    !encrypted(d, major, minor, deep + 1))
			all = 0;
		free(path);
	}
	if (dp != NULL)
		closedir(dp);
	return (n > 0 && all);
}

static int
encrypted(
    const struct doctor *d, unsigned int major, unsigned int minor, int deep)
{
	char path[128], *uuid;
	int r;

	if (deep > DEVICES_DEEP)
		return (0);
	(void)snprintf(
	    path, sizeof(path), "/sys/dev/block/%u:%u/dm/uuid", major, minor);
	if ((uuid = doctor_file(d, path)) != NULL) {
		r = strncmp(uuid, "CRYPT-", 6) == 0;
		free(uuid);
		if (r)
			return (1);
	}
	(void)snprintf(
	    path, sizeof(path), "/sys/dev/block/%u:%u/slaves", major, minor);
	return (slaves_encrypted(d, path, deep));
}

int
doctor_encrypted(const struct doctor *d, unsigned int major, unsigned int minor)
{
	return (encrypted(d, major, minor, 0));
}

/* zram is memory; a partition is its device, a file the one it lies on. */
static int
swap_is_safe(const struct doctor *d, const char *path)
{
	struct stat st;
	dev_t dev;

	if (strncmp(path, "/dev/zram", strlen("/dev/zram")) == 0)
		return (1);
	if (stat(path, &st) == -1)
		return (0);
	dev = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
	return (doctor_encrypted(d, major(dev), minor(dev)));
}

static void
check_swap(struct doctor *d)
{
	char *swaps = doctor_file(d, "/proc/swaps"), *rest = swaps, *line;
	char path[256];
	int n = 0, bad = 0;

	(void)strsep(&rest, "\n"); /* the heading */
	while ((line = strsep(&rest, "\n")) != NULL) {
		if (sscanf(line, "%255s", path) != 1)
			continue;
		n++;
		if (!swap_is_safe(d, path) && bad++ == 0)
			doctor_say(d, "swap", DOC_WARN,
			    "prompts and answers may be written to disk: "
			    "encrypt it, use zram, or "
			    "swapoff -a",
			    "%s is not encrypted", path);
	}
	free(swaps);
	if (bad == 0)
		doctor_say(d, "swap", DOC_OK, NULL,
		    n == 0 ? "none" : "in memory or encrypted");
}

/* ---- clock, names, journal ---- */

static void
check_clock(struct doctor *d)
{
	struct timex tx = { 0 };
	int state = adjtimex(&tx);

	if (state == -1 || state == TIME_ERROR || (tx.status & STA_UNSYNC) != 0)
		doctor_say(d, "clock", DOC_WARN,
		    "keys with hours or an expiry are refused while it is "
		    "wrong: timedatectl set-ntp "
		    "true",
		    "not synchronised");
	else
		doctor_say(d, "clock", DOC_OK, NULL, "synchronised");
}

static int
nss_has_systemd(char *text)
{
	char *line;

	while ((line = strsep(&text, "\n")) != NULL) {
		line[strcspn(line, "#")] = '\0';
		if (strncmp(line, "passwd:", 7) == 0)
			return (doctor_has_word(line, "systemd"));
	}
	return (0);
}

static void
check_names(struct doctor *d)
{
	char *text = doctor_file(d, "/etc/nsswitch.conf");

	if (text != NULL && nss_has_systemd(text))
		doctor_say(d, "names", DOC_OK, NULL,
		    "ps and ls show keys' users by name");
	else
		doctor_say(d, "names", DOC_OK,
		    "apt install libnss-systemd, and ps and ls show keys' "
		    "users by name",
		    "no systemd in the passwd line of /etc/nsswitch.conf");
	free(text);
}

static int
exists(const struct doctor *d, const char *path)
{
	char *full;
	int r;

	xasprintf(&full, "%s%s", d->root, path);
	r = access(full, F_OK) == 0;
	free(full);
	return (r);
}

static void
check_journal(struct doctor *d)
{
	if (!exists(d, "/run/systemd/journal/socket"))
		doctor_say(d, "journal", DOC_WARN,
		    "keep olpd's standard error instead",
		    "journald is not running");
	else if (!exists(d, "/var/log/journal"))
		doctor_say(d, "journal", DOC_WARN,
		    "mkdir /var/log/journal && systemctl restart "
		    "systemd-journald",
		    "it is lost at every start of the machine");
	else
		doctor_say(d, "journal", DOC_OK, NULL, "kept on disk");
}

/* ---- numbers ---- */

struct range {
	const char *what; /* as olpd.conf calls it */
	unsigned long lo, hi;
	int found;
};

static void
taken(struct doctor *d, struct range *r, const char *file, const char *name,
    unsigned long id)
{
	char todo[96];

	if (r->found++ > 0)
		return; /* one is enough to choose another range */
	(void)snprintf(todo, sizeof(todo),
	    "choose another %s in olpd.conf, free of other users", r->what);
	doctor_say(d, "numbers", DOC_FAIL, todo,
	    "%s %lu to %lu: %lu is %.64s's in %s", r->what, r->lo, r->hi, id,
	    name, file);
}

/* name:x:ID: */
static void
look_entries(struct doctor *d, struct range *r, const char *file)
{
	char *text = doctor_file(d, file), *rest = text, *line, *name, *id;
	unsigned long v;

	while ((line = strsep(&rest, "\n")) != NULL) {
		name = strsep(&line, ":");
		(void)strsep(&line, ":");
		if ((id = strsep(&line, ":")) == NULL ||
		    !isdigit((unsigned char)*id))
			continue;
		v = strtoul(id, NULL, 10);
		if (v >= r->lo && v <= r->hi)
			taken(d, r, file, name, v);
	}
	free(text);
}

/* name:FIRST:COUNT */
static void
look_subids(struct doctor *d, struct range *r, const char *file)
{
	char *text = doctor_file(d, file), *rest = text, *line, *name, *first;
	unsigned long lo, n;

	while ((line = strsep(&rest, "\n")) != NULL) {
		name = strsep(&line, ":");
		first = strsep(&line, ":");
		if (first == NULL || line == NULL ||
		    !isdigit((unsigned char)*first))
			continue;
		lo = strtoul(first, NULL, 10);
		n = strtoul(line, NULL, 10);
		if (n > 0 && lo <= r->hi && lo + n > r->lo)
			taken(d, r, file, name, lo > r->lo ? lo : r->lo);
	}
	free(text);
}

static void
check_numbers(struct doctor *d)
{
	struct range r[] = {
		{ "uid-range", d->conf->uid_lo, d->conf->uid_hi, 0 },
		{ "service-ids", d->conf->service_first,
		    d->conf->service_first + LIM_CONF_SERVICE_IDS - 1, 0 },
	};
	size_t i;

	if (!d->privileged) {
		doctor_say(d, "numbers", DOC_OK, NULL,
		    "not used by an ordinary user's olpd");
		return;
	}
	for (i = 0; i < sizeof(r) / sizeof(r[0]); i++) {
		look_entries(d, &r[i], "/etc/passwd");
		look_entries(d, &r[i], "/etc/group");
		look_subids(d, &r[i], "/etc/subuid");
		look_subids(d, &r[i], "/etc/subgid");
		if (r[i].found == 0)
			doctor_say(d, "numbers", DOC_OK, NULL,
			    "%s %lu to %lu is nobody else's", r[i].what,
			    r[i].lo, r[i].hi);
	}
}

/* All four, or none: then service-ids is used. */
static void
check_users(struct doctor *d)
{
	static const char *const name[] = { "_olpd-http", "_olpd-spawn",
		"_olpd-egress", "_olpd-tui" };
	char *text = doctor_file(d, "/etc/passwd");
	size_t i, n = 0;

	for (i = 0; text != NULL && i < sizeof(name) / sizeof(name[0]); i++)
		n += (size_t)doctor_has_word(text, name[i]);
	free(text);
	if (!d->privileged)
		return;
	if (n == 0)
		doctor_say(d, "users", DOC_OK, NULL,
		    "the service users are not installed; service-ids is used");
	else if (n < sizeof(name) / sizeof(name[0]))
		doctor_say(d, "users", DOC_WARN,
		    "systemd-sysusers makes the rest",
		    "%zu of 4 service users are there; service-ids is used", n);
	else
		doctor_say(
		    d, "users", DOC_OK, NULL, "the service users are there");
}

void
doctor_host(struct doctor *d)
{
	check_bwrap(d);
	check_swap(d);
	check_clock(d);
	check_names(d);
	check_journal(d);
	check_numbers(d);
	check_users(d);
}
