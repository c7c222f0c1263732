/* SPDX-License-Identifier: ISC */
/*
 * Who pays for what a user namespace's users have.  Runs in the master's
 * children alone: it changes the ids of the process it runs in.
 */
#include "common/host/ucount.h"

#include <sys/fsuid.h>
#include <sys/prctl.h>

#include <fcntl.h>
#include <linux/securebits.h>
#include <stdio.h>
#include <unistd.h>

#include "common/host/file.h"
#include "common/limits.h"

int
ucount_owner(uid_t uid)
{
	if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP) == -1 ||
	    setresuid((uid_t)-1, uid, (uid_t)-1) == -1)
		return (-1);
	(void)setfsuid(0); /* cgroups are root's */
	return (0);
}

int
ucount_bounds(void)
{
	static const struct {
		const char *file;
		int most;
	} t[] = {
		{ "/proc/sys/user/max_inotify_instances", LIM_KEY_INOTIFY },
		{ "/proc/sys/user/max_inotify_watches", LIM_KEY_WATCHES },
	};
	char text[16];
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		(void)snprintf(text, sizeof(text), "%d", t[i].most);
		if (file_put(AT_FDCWD, t[i].file, text) == -1)
			return (-1);
	}
	return (0);
}
