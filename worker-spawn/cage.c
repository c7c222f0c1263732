/* SPDX-License-Identifier: ISC */
/* What olpd-spawn, root of its user namespace, may not do there, and keeps:
 * data. */
#include "worker-spawn/cage.h"

#include <linux/capability.h>
#include <seccomp.h>

/* clang-format off */
/*
 * Filters are inherited by every sandbox, so these are what no client needs
 * either.  adjtimex stays: it only reads without CAP_SYS_TIME.
 */
static const int calls[] = {
	SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd),
	SCMP_SYS(keyctl), SCMP_SYS(add_key), SCMP_SYS(request_key),
	SCMP_SYS(kexec_load), SCMP_SYS(kexec_file_load), SCMP_SYS(init_module),
	SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(reboot),
	SCMP_SYS(swapon), SCMP_SYS(swapoff), SCMP_SYS(acct), SCMP_SYS(syslog),
	SCMP_SYS(settimeofday), SCMP_SYS(clock_settime), SCMP_SYS(clock_adjtime),
	SCMP_SYS(quotactl), SCMP_SYS(fanotify_init), SCMP_SYS(vhangup),
	SCMP_SYS(iopl), SCMP_SYS(ioperm), SCMP_SYS(modify_ldt),
	SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev),
	SCMP_SYS(process_madvise), SCMP_SYS(pidfd_getfd), SCMP_SYS(kcmp),
	SCMP_SYS(move_pages), SCMP_SYS(migrate_pages), SCMP_SYS(setns),
	SCMP_SYS(open_by_handle_at), SCMP_SYS(name_to_handle_at), -1
};

/*
 * As if the kernel had no such call.  The new mount interface: newer bwraps
 * take the old one where it is absent, and fail where it is refused.
 */
static const int absent[] = {
	SCMP_SYS(open_tree), SCMP_SYS(move_mount), SCMP_SYS(mount_setattr),
	SCMP_SYS(fsopen), SCMP_SYS(fsconfig), SCMP_SYS(fsmount), SCMP_SYS(fspick),
	SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter),
	SCMP_SYS(io_uring_register), -1
};

#define CAP(c) (1ULL << (c))
struct cage spawn_cage = { /* acquire() may add one capability */
	.flags = CAGE_MAP_ROOT,
	.caps = CAP(CAP_SETUID) | CAP(CAP_SETGID) /* become a key's user */
	    | CAP(CAP_CHOWN)                      /* give it its home */
	    | CAP(CAP_DAC_OVERRIDE)               /* look into that home */
	    | CAP(CAP_SYS_ADMIN)                  /* namespaces and mounts */
	    | CAP(CAP_NET_ADMIN),                 /* bwrap brings up lo */
	.calls = calls,
	.soft = absent,
	.why = "no chroot and no Landlock: both break bwrap (a mount below them "
	       "is refused); the view made by the master holds nothing to be "
	       "kept from",
};
/* clang-format on */

void
spawn_cage_alone(void)
{
	spawn_cage.caps |= CAP(CAP_SETFCAP);
}
