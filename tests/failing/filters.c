/* SPDX-License-Identifier: ISC */
/* Does this machine's kernel load a filter?  Exits 0 when it has; a kernel
 * that never answers is the other case. */
#include <sys/prctl.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

int
main(void)
{
	struct sock_filter allow = { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW };
	struct sock_fprog program = { 1, &allow };

	return (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == -1);
}
