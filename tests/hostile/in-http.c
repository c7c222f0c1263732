/* SPDX-License-Identifier: ISC */
/*
 * olpd-http taken over, in its own cage, with the descriptors it has: what
 * can it still reach?  Never serves anybody.
 */
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/chan.h"
#include "common/worker.h"
#include "tests/hostile/tries.h"
#include "worker-http/cage.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

static int listener = -1; /* ours by right: CONF_LISTEN */
static int spare = -1;    /* as the listener is once it is shut down */

/* A try is one expression of what a process may ask for. */
#define TRY(name, expr)                                                        \
	static long name(void)                                                 \
	{                                                                      \
		return (expr);                                                 \
	}

static char *const nobody[] = { NULL };
static char stack[4096];

TRY(t_socket, socket(AF_INET, SOCK_STREAM, 0))
TRY(t_socket_unix, socket(AF_UNIX, SOCK_STREAM, 0))
TRY(t_socketpair, socketpair(AF_UNIX, SOCK_STREAM, 0, (int[2]){ 0, 0 }))
TRY(t_connect,
    connect(listener,
	(struct sockaddr *)&(struct sockaddr_in){ .sin_family = AF_INET }, 16))
TRY(t_bind,
    bind(listener,
	(struct sockaddr *)&(struct sockaddr_in){ .sin_family = AF_INET }, 16))
TRY(t_listen, listen(listener, 5))
TRY(t_exec, execve("/bin/sh", nobody, nobody))
TRY(t_execveat, syscall(SYS_execveat, 3, "", nobody, nobody, AT_EMPTY_PATH))
TRY(t_open, open("/", O_RDONLY))
TRY(t_openat2,
    syscall(SYS_openat2, AT_FDCWD, "/", &(uint64_t[3]){ 0, 0, 0 }, 24))
TRY(t_creat, open("/x", O_CREAT | O_WRONLY, 0600))
TRY(t_stat, syscall(SYS_statx, AT_FDCWD, "/", 0, 0, stack))
TRY(t_unlink, unlink("/x"))
TRY(t_mkdir, mkdir("/x", 0700))
TRY(t_chroot, chroot("/"))
TRY(t_fork, fork())
TRY(t_thread, syscall(SYS_clone, CLONE_VM, stack + sizeof(stack), 0, 0, 0))
TRY(t_clone3, syscall(SYS_clone3, stack, 64))
TRY(t_unshare, unshare(CLONE_NEWUSER))
TRY(t_kill, kill(getppid(), 0))
TRY(t_tgkill_other, syscall(SYS_tgkill, 1, 1, SIGKILL))
TRY(t_sigqueue, syscall(SYS_rt_sigqueueinfo, 1, SIGKILL, stack))
TRY(t_ptrace, ptrace(PTRACE_ATTACH, 1, NULL, NULL))
TRY(t_vm_readv, process_vm_readv(1, NULL, 0, NULL, 0, 0))
TRY(t_pidfd_open, syscall(SYS_pidfd_open, 1, 0))
TRY(t_pidfd_getfd, syscall(SYS_pidfd_getfd, 3, 0, 0))
TRY(t_mmap_exec,
    mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
	MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
	? -1
	: 0)
TRY(t_mprotect_exec,
    mprotect((void *)((uintptr_t)stack & ~4095UL), 4096, PROT_READ | PROT_EXEC))
TRY(t_pkey, syscall(SYS_pkey_mprotect, stack, 4096, PROT_EXEC, -1))
TRY(t_personality, syscall(SYS_personality, 0x0400000))
TRY(t_prctl, syscall(SYS_prctl, 4, 1, 0, 0, 0))
TRY(t_setuid, setuid(0))
TRY(t_setgroups, syscall(SYS_setgroups, 0, NULL))
TRY(t_capset, syscall(SYS_capset, stack, stack))
TRY(t_setrlimit, syscall(SYS_prlimit64, 0, 7, stack, NULL))
TRY(t_mount, syscall(SYS_mount, "t", "/", "tmpfs", 0, NULL))
TRY(t_bpf, syscall(SYS_bpf, 0, stack, 64))
TRY(t_uring, syscall(SYS_io_uring_setup, 1, stack))
TRY(t_userfault, syscall(SYS_userfaultfd, 0))
TRY(t_setown, fcntl(listener, F_SETOWN, 1))
TRY(t_setsig, fcntl(listener, F_SETSIG, SIGKILL))
TRY(t_sti, ioctl(2, TIOCSTI, "x"))

/*
 * A listener that is shut down is a socket like any other again, and one
 * send with MSG_FASTOPEN connects it, past connect(2) and Landlock's hook.
 */
static long
t_fastopen(void)
{
	return (try_fastopen(spare, "127.0.0.1", 22));
}

static long
t_fastopen_msg(void)
{
	struct sockaddr_in s = { .sin_family = AF_INET, .sin_port = htons(22) };
	struct iovec iov = { stack, 1 };
	struct msghdr m = { .msg_name = &s,
		.msg_namelen = sizeof(s),
		.msg_iov = &iov,
		.msg_iovlen = 1 };

	s.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return (sendmsg(spare, &m, MSG_FASTOPEN));
}

/* The next worker gets the same listener. */
TRY(t_deaf, shutdown(listener, SHUT_RD))
TRY(t_filter,
    setsockopt(listener, SOL_SOCKET, SO_LOCK_FILTER, &(int){ 1 }, sizeof(int)))
TRY(t_device, setsockopt(listener, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3))

/* The channel was made by the master: the kernel gives a handle on it. */
static long
t_pidfd_signal(void)
{
	socklen_t len = sizeof(int);
	int fd = -1;

	if (getsockopt(3, SOL_SOCKET, SO_PEERPIDFD, &fd, &len) == -1)
		return (-1);
	return (syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0));
}

/* clang-format off */
static const struct try tries[] = {
	{ "socket", t_socket }, { "socket-unix", t_socket_unix }, { "socketpair", t_socketpair },
	{ "connect", t_connect }, { "bind", t_bind }, { "listen", t_listen },
	{ "listener-shutdown", t_deaf }, { "listener-filter", t_filter }, { "listener-device", t_device },
	{ "fastopen-sendto", t_fastopen }, { "fastopen-sendmsg", t_fastopen_msg },
	{ "exec", t_exec }, { "execveat", t_execveat },
	{ "open", t_open }, { "openat2", t_openat2 }, { "create", t_creat }, { "statx", t_stat },
	{ "unlink", t_unlink }, { "mkdir", t_mkdir }, { "chroot", t_chroot },
	{ "fork", t_fork }, { "thread", t_thread }, { "clone3", t_clone3 }, { "unshare", t_unshare },
	{ "kill-master", t_kill }, { "tgkill-other", t_tgkill_other }, { "sigqueue", t_sigqueue },
	{ "pidfd-of-master-signal", t_pidfd_signal },
	{ "ptrace", t_ptrace }, { "process-vm-readv", t_vm_readv },
	{ "pidfd-open", t_pidfd_open }, { "pidfd-getfd", t_pidfd_getfd },
	{ "mmap-exec", t_mmap_exec }, { "mprotect-exec", t_mprotect_exec }, { "pkey-mprotect", t_pkey },
	{ "personality", t_personality }, { "prctl", t_prctl }, { "setuid-0", t_setuid },
	{ "setgroups", t_setgroups }, { "capset", t_capset }, { "prlimit", t_setrlimit },
	{ "mount", t_mount }, { "bpf", t_bpf }, { "io-uring", t_uring }, { "userfaultfd", t_userfault },
	{ "fcntl-setown", t_setown }, { "fcntl-setsig", t_setsig }, { "ioctl-tiocsti", t_sti },
};
/* clang-format on */

static int
on_listen(struct chan *c, struct msg *m)
{
	(void)c;
	listener = msg_take_fd(m, 0);
	return (0);
}

/* Children of before the cage, each of which enters it by itself. */
static int
acquire(void)
{
	spare = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	tries_run(tries, sizeof(tries) / sizeof(tries[0]), &http_cage, 0);
	return (0);
}

static void
link_up(const struct msg_link *l, int fd)
{
	(void)l;
	close(fd);
}

static const struct msg_handler from_master[] = {
	{ MT_CONF_HTTP, tries_ignore, ST_ANY },
	{ MT_CONF_PROVIDER, tries_ignore, ST_ANY },
	{ MT_CONF_MODEL, tries_ignore, ST_ANY },
	{ MT_CONF_TLS, tries_ignore, ST_ANY },
	{ MT_CONF_LISTEN, on_listen, ST_ANY },
	{ MT_DRAIN, tries_ignore, ST_ANY },
	{ MT_STATUS_FD, tries_ignore, ST_ANY },
};

static const struct worker worker = {
	.proc = PROC_HTTP,
	.cage = &http_cage,
	.from_master = from_master,
	.nfrom_master = sizeof(from_master) / sizeof(from_master[0]),
	.acquire = acquire,
	.link = link_up,
};

int
main(int argc, char **argv)
{
	worker_main(argc, argv, &worker);
}
