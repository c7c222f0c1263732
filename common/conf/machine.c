/* SPDX-License-Identifier: ISC */
/*
 * Looks at the machine for what the configuration asks of it.  Runs in the
 * master and in olpctl.  Changes nothing.
 */
#include "common/conf/machine.h"

#include <sys/stat.h>

#include <bsd/string.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int
machine_libexec(char path[PATH_MAX])
{
	char buf[PATH_MAX + 32], *slash;
	ssize_t n = readlink("/proc/self/exe", buf, PATH_MAX - 1);

	buf[n > 0 ? n : 0] = '\0';
	if ((slash = strrchr(buf, '/')) == NULL)
		slash = buf;
	(void)strlcpy(slash, "/../libexec/olpd", 32);
	if (realpath(buf, path) != NULL)
		return (0);
	(void)strlcpy(path, buf, PATH_MAX);
	return (-1);
}

const char *
machine_program(const struct conf_provider *p, const char *libexec,
    int privileged, char path[PATH_MAX])
{
	mode_t x = privileged ? S_IXOTH : S_IXUSR | S_IXGRP | S_IXOTH;
	char named[PATH_MAX + LIM_PROVIDER + 8], real[PATH_MAX];
	struct stat st;

	path[0] = '\0';
	(void)snprintf(named, sizeof(named), "%s/olp-%s", libexec, p->name);
	if (p->command[0] != '\0')
		(void)strlcpy(named, p->command, sizeof(named));
	if (realpath(named, real) == NULL || stat(real, &st) == -1)
		return (p->command[0] != '\0'
			? strerror(errno)
			: "no command is configured, and olpd ships none");
	if (!S_ISREG(st.st_mode) || (st.st_mode & x) == 0)
		return ("not a file that a client's user may execute");
	(void)strlcpy(path, real, PATH_MAX);
	return (NULL);
}

/*
 * Not by getpwuid(3): a directory service may be slow, away, or hold the very
 * names that olpd publishes for these numbers.
 */
int
machine_taken(uint32_t lo, uint32_t hi, char *why, size_t size)
{
	FILE *users = fopen("/etc/passwd", "re");
	FILE *groups = fopen("/etc/group", "re");
	struct passwd *pw;
	struct group *gr;
	int taken = 0;

	while (!taken && users != NULL && (pw = fgetpwent(users)) != NULL)
		if ((taken = pw->pw_uid >= lo && pw->pw_uid <= hi))
			(void)snprintf(why, size,
			    "uid %u is user %s's in /etc/passwd", pw->pw_uid,
			    pw->pw_name);
	while (!taken && groups != NULL && (gr = fgetgrent(groups)) != NULL)
		if ((taken = gr->gr_gid >= lo && gr->gr_gid <= hi))
			(void)snprintf(why, size,
			    "gid %u is group %s's in /etc/group", gr->gr_gid,
			    gr->gr_name);
	if (users != NULL)
		fclose(users);
	if (groups != NULL)
		fclose(groups);
	return (taken);
}

int
machine_ids(const struct conf *c, struct machine_id id[LIM_CONF_SERVICE_IDS],
    char *why, size_t size)
{
	static const char *const name[LIM_CONF_SERVICE_IDS] = { "_olpd-http",
		"_olpd-spawn", "_olpd-egress", "_olpd-tui" };
	uint32_t i, first = c->service_first;
	struct passwd *pw;
	int n;

	for (i = 0; i < LIM_CONF_SERVICE_IDS; i++) {
		if ((pw = getpwnam(name[i])) == NULL)
			break;
		id[i] = (struct machine_id){ pw->pw_uid, pw->pw_gid };
		if (pw->pw_uid == 0 || pw->pw_gid == 0 ||
		    (pw->pw_uid >= c->uid_lo && pw->pw_uid <= c->uid_hi)) {
			(void)snprintf(why, size,
			    "user %s: uid %u, gid %u: not fit for a worker",
			    name[i], pw->pw_uid, pw->pw_gid);
			return (-1);
		}
	}
	if (i == LIM_CONF_SERVICE_IDS)
		return (0);
	n = snprintf(why, size, "service-ids: ");
	if (machine_taken(first, first + LIM_CONF_SERVICE_IDS - 1, why + n,
		size - (size_t)n))
		return (-1);
	for (i = 0; i < LIM_CONF_SERVICE_IDS; i++)
		id[i] = (struct machine_id){ first + i, first + i };
	return (0);
}
