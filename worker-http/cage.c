/* SPDX-License-Identifier: ISC */
/* What olpd-http may still do once it reads foreign bytes: data, nothing else.
 */
#include "worker-http/cage.h"

#include <seccomp.h>

static const int calls[] = { SCMP_SYS(accept4), SCMP_SYS(memfd_create),
	SCMP_SYS(timerfd_settime), -1 };

/* Libraries try these and do without. */
static const int soft[] = { SCMP_SYS(uname), SCMP_SYS(prctl), SCMP_SYS(sysinfo),
	SCMP_SYS(sched_getaffinity), SCMP_SYS(newfstatat), SCMP_SYS(readlink),
	SCMP_SYS(access), SCMP_SYS(getcwd), -1 };

const struct cage http_cage = {
	.flags = CAGE_CHROOT | CAGE_IDS | CAGE_LANDLOCK | CAGE_NO_EXEC_MAP |
	    CAGE_ALLOW,
	.calls = calls,
	.soft = soft,
	.why = "leaves out nothing: it listens on sockets it was handed",
};
