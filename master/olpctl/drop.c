/* SPDX-License-Identifier: ISC */
/*
 * Giving up rights before bytes that a taken-over worker-http may have
 * chosen are parsed.  There is no way back: what needs rights is done before.
 */
#include <sys/prctl.h>

#include <err.h>
#include <errno.h>
#include <grp.h>
#include <unistd.h>

#include "master/olpctl/olpctl.h"

#define ID_NOBODY 65534
#define SERVICE_TUI 3 /* of the service ids: the one that holds nothing */

static int dropped;

static int
become(uid_t id)
{
	return (setgroups(0, NULL) == -1 || setresgid(id, id, id) == -1 ||
		    setresuid(id, id, id) == -1
		? -1
		: 0);
}

/* Root is gone when it cannot be had back. */
static int
is_dropped(void)
{
	uid_t r, e, s;

	if (getresuid(&r, &e, &s) == -1 || r == 0 || e != r || s != r)
		return (0);
	return (setuid(0) == -1 && seteuid(0) == -1);
}

int
drop_rights(const struct conf *c)
{
	/* In a container the numbers beyond its map cannot be had; nobody's is
	 * mapped as a rule. */
	if (geteuid() == 0 && become(c->service_first + SERVICE_TUI) == -1 &&
	    become(ID_NOBODY) == -1) {
		warn("giving up root's rights: uid %u and %d",
		    (unsigned int)c->service_first + SERVICE_TUI, ID_NOBODY);
		return (-1);
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1) {
		warn("no_new_privs");
		return (-1);
	}
	if (is_dropped()) {
		dropped = 1;
		return (0);
	}
	warnx("rights could not be given up");
	return (-1);
}

int
drop_done(void)
{
	return (dropped);
}
