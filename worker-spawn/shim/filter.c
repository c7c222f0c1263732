/* SPDX-License-Identifier: ISC */
/*
 * The client's system call filter, as BPF by hand: the shim is static and
 * libseccomp is not needed for one list.  Linked into olp-shim.  A list of
 * what is refused: a client may use what its runtime likes, but nothing that
 * reaches for kernel interfaces with a history of ways out.  Numbers come
 * from the compiler's headers, so x86-64 and arm64 are both right; those
 * that Debian 12's headers lack are the same on all architectures.
 */
#include "worker-spawn/shim/filter.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "the filter is not written for this architecture"
#endif

#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif

#define TIOCSTI_NR 0x5412   /* pushes input into a terminal */
#define TIOCLINUX_NR 0x541c /* the same on a console */
#define NEW_SPACES                                                             \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |         \
	    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

/* clang-format off */
static const int refused[] = { /* with EPERM */
	/* looking into and writing to other processes */
	SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev,
	SYS_process_madvise, SYS_pidfd_getfd, SYS_kcmp, SYS_move_pages,
	SYS_migrate_pages,
	/* mounts and roots, the old interface and the new */
	SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_setns,
	SYS_open_tree, SYS_open_tree_attr, SYS_move_mount, SYS_fsopen,
	SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr,
	SYS_open_by_handle_at, SYS_name_to_handle_at, SYS_quotactl,
	SYS_quotactl_fd, SYS_fanotify_init,
	/* programs and keys in the kernel */
	SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_add_key,
	SYS_request_key, SYS_keyctl,
	/* the machine */
	SYS_kexec_load, SYS_kexec_file_load, SYS_init_module, SYS_finit_module,
	SYS_delete_module, SYS_reboot, SYS_swapon, SYS_swapoff, SYS_acct,
	SYS_syslog, SYS_vhangup, SYS_settimeofday, SYS_clock_settime,
	SYS_sethostname, SYS_setdomainname,
#ifdef __x86_64__
	SYS_iopl, SYS_ioperm, SYS_modify_ldt,
#endif
	/* programs of its own: their code counts against one limit of the
	 * machine, and where that is reached nobody's filter loads any more */
	SYS_seccomp,
};

static const int absent[] = { /* with ENOSYS: libraries take the older way */
	SYS_clone3, /* its flags are in memory, where no filter can read them */
	SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
	SYS_io_setup, /* fs.aio-max-nr is one number for the machine */
};
/* clang-format on */

#define ROOM 256
static struct sock_filter code[ROOM];
static unsigned short len;

static void
put(uint16_t op, uint8_t jt, uint8_t jf, uint32_t k)
{
	if (len < ROOM)
		code[len] = (struct sock_filter){ op, jt, jf, k };
	len++;
}

static void
load(size_t off)
{
	put(BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)off);
}

static void
answer(uint32_t what)
{
	put(BPF_RET | BPF_K, 0, 0, what);
}

/* The accumulator holds the call's number, before and after. */
static void
refuse(const int *list, size_t n, int error)
{
	size_t i;

	for (i = 0; i < n; i++) {
		put(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)list[i]);
		answer(SECCOMP_RET_ERRNO | (uint32_t)error);
	}
}

/* Calls of another architecture's numbering would slip past every line below.
 */
static void
native_only(void)
{
	load(offsetof(struct seccomp_data, arch));
	put(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCH);
	answer(SECCOMP_RET_KILL_PROCESS);
	load(offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
	put(BPF_JMP | BPF_JGE | BPF_K, 0, 1, 0x40000000); /* x32 */
	answer(SECCOMP_RET_KILL_PROCESS);
#endif
}

/* clone(2) and unshare(2) have their flags in the first argument. */
static void
no_namespaces(void)
{
	put(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_clone);
	put(BPF_JMP | BPF_JEQ | BPF_K, 0, 4, SYS_unshare);
	load(offsetof(struct seccomp_data, args[0]));
	put(BPF_JMP | BPF_JSET | BPF_K, 0, 1, NEW_SPACES);
	answer(SECCOMP_RET_ERRNO | EPERM);
	answer(SECCOMP_RET_ALLOW);
}

static void
no_terminal_input(void)
{
	put(BPF_JMP | BPF_JEQ | BPF_K, 0, 5, SYS_ioctl);
	load(offsetof(struct seccomp_data, args[1]));
	put(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, TIOCSTI_NR);
	put(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, TIOCLINUX_NR);
	answer(SECCOMP_RET_ERRNO | EPERM);
	answer(SECCOMP_RET_ALLOW);
}

/*
 * Families UNIX, INET and INET6 with TCP alone, and NETLINK's ROUTE
 * (getifaddrs(3)).  The memory of UDP is one sum for the whole machine, which
 * unread datagrams on an own loopback fill; other protocols load modules.
 */
static void
few_sockets(void)
{
	put(BPF_JMP | BPF_JEQ | BPF_K, 0, 16, SYS_socket);
	load(offsetof(struct seccomp_data, args[0]));
	put(BPF_JMP | BPF_JEQ | BPF_K, 11, 0, AF_UNIX);
	put(BPF_JMP | BPF_JEQ | BPF_K, 4, 0, AF_INET);
	put(BPF_JMP | BPF_JEQ | BPF_K, 3, 0, AF_INET6);
	put(BPF_JMP | BPF_JEQ | BPF_K, 0, 9, AF_NETLINK);
	load(offsetof(struct seccomp_data, args[2]));
	put(BPF_JMP | BPF_JEQ | BPF_K, 6, 8, NETLINK_ROUTE);
	load(offsetof(struct seccomp_data, args[1]));
	put(BPF_ALU | BPF_AND | BPF_K, 0, 0, 0xf);
	put(BPF_JMP | BPF_JEQ | BPF_K, 0, 5, SOCK_STREAM);
	load(offsetof(struct seccomp_data, args[2]));
	put(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 0);
	put(BPF_JMP | BPF_JEQ | BPF_K, 0, 2, IPPROTO_TCP);
	answer(SECCOMP_RET_ALLOW);
	answer(SECCOMP_RET_ERRNO | EAFNOSUPPORT);
	answer(SECCOMP_RET_ERRNO | EPERM);
}

/* SO_ATTACH_FILTER, SO_ATTACH_BPF, and the two of SO_REUSEPORT. */
static void
no_socket_programs(void)
{
	put(BPF_JMP | BPF_JEQ | BPF_K, 0, 9, SYS_setsockopt);
	load(offsetof(struct seccomp_data, args[1]));
	put(BPF_JMP | BPF_JEQ | BPF_K, 0, 5, SOL_SOCKET);
	load(offsetof(struct seccomp_data, args[2]));
	put(BPF_JMP | BPF_JEQ | BPF_K, 4, 0, SO_ATTACH_FILTER);
	put(BPF_JMP | BPF_JEQ | BPF_K, 3, 0, SO_ATTACH_BPF);
	put(BPF_JMP | BPF_JEQ | BPF_K, 2, 0, SO_ATTACH_REUSEPORT_CBPF);
	put(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SO_ATTACH_REUSEPORT_EBPF);
	answer(SECCOMP_RET_ALLOW);
	answer(SECCOMP_RET_ERRNO | EPERM);
}

static void
no_seccomp_programs(void)
{
	put(BPF_JMP | BPF_JEQ | BPF_K, 0, 4, SYS_prctl);
	load(offsetof(struct seccomp_data, args[0]));
	put(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, PR_SET_SECCOMP);
	answer(SECCOMP_RET_ERRNO | EPERM);
	answer(SECCOMP_RET_ALLOW);
}

int
filter_load(void)
{
	struct sock_fprog prog = { 0, code };

	len = 0;
	native_only();
	refuse(absent, sizeof(absent) / sizeof(absent[0]), ENOSYS);
	refuse(refused, sizeof(refused) / sizeof(refused[0]), EPERM);
	no_namespaces();
	no_terminal_input();
	few_sockets();
	no_socket_programs();
	no_seccomp_programs();
	answer(SECCOMP_RET_ALLOW);
	if (len > ROOM) {
		errno = ENOBUFS;
		return (-1);
	}
	prog.len = len;
	return (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0));
}
