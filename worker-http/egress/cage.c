/* SPDX-License-Identifier: ISC */
/*
 * What olpd-egress may still do with a credential in its memory: data, nothing
 * else.
 */
#include "worker-http/egress/cage.h"

#include <seccomp.h>

/*
 * pread64, mlock and sysinfo: a credential that is replaced is read, locked
 * and its CA store sorted in the cage.
 */
static const int calls[] = { SCMP_SYS(accept4), SCMP_SYS(pread64),
	SCMP_SYS(mlock), SCMP_SYS(sysinfo), -1 };

const struct cage egress_cage = {
	.flags = CAGE_CHROOT | CAGE_IDS | CAGE_LANDLOCK | CAGE_NO_EXEC_MAP |
	    CAGE_ALLOW,
	.calls = calls,
	.dial = 1,
	.why = "may connect, to one TCP port where Landlock has network rules; "
	       "all egress "
	       "processes share one uid, so no call that reaches another "
	       "process is listed",
};
