/* SPDX-License-Identifier: ISC */
/*
 * userdb records: NAME.user and NAME.group, and links NUMBER.user and
 * NUMBER.group to them.  All by rename: a reader sees all or nothing.
 */
#include "common/host/userdb.h"

#include <sys/stat.h>

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define USERDB "/run/userdb"

int
userdb_open(void)
{
	if (mkdir(USERDB, 0755) == 0 && chmod(USERDB, 0755) == -1)
		return (-1);
	return (open(USERDB, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

static int
put(int dir, const char *name, const char *kind, uint32_t number,
    const char *text)
{
	char file[128], link[64], temp[32];
	int fd, r = -1;

	/* Two instances may write at once. */
	(void)snprintf(temp, sizeof(temp), ".olp-%d", (int)getpid());
	(void)snprintf(file, sizeof(file), "%s.%s", name, kind);
	(void)snprintf(link, sizeof(link), "%" PRIu32 ".%s", number, kind);
	(void)unlinkat(dir, temp, 0);
	fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd == -1)
		return (-1);
	if (write(fd, text, strlen(text)) == (ssize_t)strlen(text) &&
	    fchmod(fd, 0644) == 0) /* whatever the umask is */
		r = renameat(dir, temp, dir, file);
	close(fd);
	if (r == -1 || symlinkat(file, dir, temp) == -1)
		return (-1);
	return (renameat(dir, temp, dir, link));
}

int
userdb_put(int dir, const char *name, uint32_t number, const char *real)
{
	char user[512], group[256];

	(void)snprintf(user, sizeof(user),
	    "{\"userName\":\"%s\",\"uid\":%" PRIu32 ",\"gid\":%" PRIu32
	    ",\"realName\":\"%s\",\"homeDirectory\":\"/nonexistent\","
	    "\"shell\":\"/usr/sbin/nologin\",\"disposition\":\"system\","
	    "\"locked\":true,\"service\":\"olpd\"}\n",
	    name, number, number, real);
	(void)snprintf(group, sizeof(group),
	    "{\"groupName\":\"%s\",\"gid\":%" PRIu32
	    ",\"disposition\":\"system\",\"service\":\"olpd\"}\n",
	    name, number);
	if (put(dir, name, "user", number, user) == -1)
		return (-1);
	return (put(dir, name, "group", number, group));
}

/* Is it NUMBER.user or NUMBER.group of the range? */
static int
is_link(const char *name, uint32_t lo, uint32_t hi, uint32_t *number)
{
	char *end;
	unsigned long v = strtoul(name, &end, 10);

	*number = (uint32_t)v;
	return (v >= lo && v <= hi &&
	    (strcmp(end, ".user") == 0 || strcmp(end, ".group") == 0));
}

void
userdb_sweep(int dir, const char *prefix, uint32_t lo, uint32_t hi,
    int (*keep)(uint32_t, const void *), const void *arg)
{
	char target[128];
	struct dirent *e;
	uint32_t number;
	ssize_t n;
	DIR *d;

	if ((d = opendir(USERDB)) == NULL)
		return;
	while ((e = readdir(d)) != NULL) {
		if (!is_link(e->d_name, lo, hi, &number) || keep(number, arg))
			continue;
		n = readlinkat(dir, e->d_name, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		if (strncmp(target, prefix, strlen(prefix)) != 0 ||
		    strchr(target, '/') != NULL)
			continue;
		(void)unlinkat(dir, target, 0);
		(void)unlinkat(dir, e->d_name, 0);
	}
	closedir(d);
}
