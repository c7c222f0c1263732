/* SPDX-License-Identifier: ISC */
/*
 * olpd-egress taken over, in its own cage: beyond its one port, what can it
 * reach?  Connects to loopback only, to a listener it made before the cage.
 */
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "common/chan.h"
#include "common/worker.h"
#include "tests/hostile/tries.h"
#include "worker-http/egress/cage.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

static uint16_t port;       /* the provider's */
static uint16_t other_port; /* somebody else listens there */
static pid_t other; /* a process of the same user, as another egress is */
static uint8_t secret[16] =
    "another's secret"; /* in its memory at this address */

#define TRY(name, expr)                                                        \
	static long name(void)                                                 \
	{                                                                      \
		return (expr);                                                 \
	}

static char *const nobody[] = { NULL };
static char stack[4096];

TRY(t_its_port, try_tcp("127.0.0.1", port))
TRY(t_other_port, try_tcp("127.0.0.1", other_port))
TRY(t_fastopen,
    try_fastopen(socket(AF_INET, SOCK_STREAM, 0), "127.0.0.1", other_port))
TRY(t_raw, socket(AF_INET, SOCK_RAW, 1))
TRY(t_sctp, socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP))
TRY(t_seqpacket, socket(AF_INET, SOCK_SEQPACKET, 0))
TRY(t_unix, socket(AF_UNIX, SOCK_STREAM, 0))
TRY(t_netlink, socket(AF_NETLINK, SOCK_RAW, 0))
TRY(t_vsock, socket(AF_VSOCK, SOCK_STREAM, 0))
TRY(t_bind,
    bind(socket(AF_INET, SOCK_STREAM, 0),
	(struct sockaddr *)&(struct sockaddr_in){ .sin_family = AF_INET }, 16))
TRY(t_listen, listen(socket(AF_INET, SOCK_STREAM, 0), 5))
TRY(t_exec, execve("/bin/sh", nobody, nobody))
TRY(t_open, open("/", O_RDONLY))
TRY(t_create, open("/x", O_CREAT | O_WRONLY, 0600))
TRY(t_fork, fork())
TRY(t_memfd, memfd_create("x", 0))
TRY(t_mmap_exec,
    mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
	MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
	? -1
	: 0)
TRY(t_kill, kill(other, SIGKILL))
TRY(t_tgkill, syscall(SYS_tgkill, other, other, SIGKILL))
TRY(t_ptrace, ptrace(PTRACE_ATTACH, other, NULL, NULL))
TRY(t_pidfd_open, syscall(SYS_pidfd_open, other, 0))
TRY(t_setuid, setuid(0))
TRY(t_unshare, unshare(CLONE_NEWUSER))
TRY(t_prctl, syscall(SYS_prctl, 4, 1, 0, 0, 0))

static long
t_mptcp(void)
{
	struct sockaddr_in s = { .sin_family = AF_INET,
		.sin_port = htons(other_port) };
	int fd = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);

	s.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return (fd == -1 ? -1 : connect(fd, (struct sockaddr *)&s, sizeof(s)));
}

static long
t_vm_readv(void)
{
	struct iovec here = { stack, sizeof(secret) },
		     there = { secret, sizeof(secret) };

	return (process_vm_readv(other, &here, 1, &there, 1, 0));
}

static long
t_proc_mem(void)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", other);
	return (open(path, O_RDONLY));
}

/* clang-format off */
static const struct try tries[] = {
	{ "its-port", t_its_port }, /* the one that is open */
	{ "other-port", t_other_port }, { "other-port-fastopen", t_fastopen }, { "other-port-mptcp", t_mptcp },
	{ "raw", t_raw }, { "sctp", t_sctp }, { "seqpacket", t_seqpacket }, { "unix", t_unix },
	{ "netlink", t_netlink }, { "vsock", t_vsock }, { "bind", t_bind }, { "listen", t_listen },
	{ "exec", t_exec }, { "open", t_open }, { "create", t_create }, { "fork", t_fork },
	{ "memfd", t_memfd }, { "mmap-exec", t_mmap_exec },
	{ "kill-egress", t_kill }, { "tgkill-egress", t_tgkill }, { "ptrace-egress", t_ptrace },
	{ "read-egress-memory", t_vm_readv }, { "proc-mem-egress", t_proc_mem },
	{ "pidfd-open", t_pidfd_open }, { "setuid-0", t_setuid }, { "unshare", t_unshare },
	{ "prctl", t_prctl },
};
/* clang-format on */

static int
on_cred(struct chan *c, struct msg *m)
{
	const struct msg_egress_cred *cred = m->body;

	(void)c;
	port = (uint16_t)cred->port;
	return (0);
}

static uint16_t
listen_somewhere(void)
{
	struct sockaddr_in s = { .sin_family = AF_INET };
	socklen_t len = sizeof(s);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	s.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)&s, sizeof(s)) == -1 ||
	    listen(fd, 16) == -1 ||
	    getsockname(fd, (struct sockaddr *)&s, &len) == -1)
		return (0);
	return (ntohs(s.sin_port));
}

static int
acquire(void)
{
	char text[16];

	other_port = listen_somewhere();
	if ((other = fork()) == 0) {
		cage_enter(&egress_cage, worker_place(), port);
		for (;;)
			(void)poll(NULL, 0, 1000);
	}
	(void)snprintf(text, sizeof(text), "%d", cage_landlock_abi());
	tries_say("landlock-abi", text);
	tries_run(tries, sizeof(tries) / sizeof(tries[0]), &egress_cage, port);
	tries_say("other-egress",
	    waitpid(other, NULL, WNOHANG) == 0 ? "alive" : "dead");
	(void)kill(other, SIGKILL);
	return (0);
}

static uint16_t
connect_port(void)
{
	return (port);
}

static void
link_up(const struct msg_link *l, int fd)
{
	(void)l;
	close(fd);
}

static const struct msg_handler from_master[] = {
	{ MT_EGRESS_CRED, on_cred, ST_ANY },
};

static const struct worker worker = {
	.proc = PROC_EGRESS,
	.cage = &egress_cage,
	.from_master = from_master,
	.nfrom_master = 1,
	.acquire = acquire,
	.connect_port = connect_port,
	.link = link_up,
};

int
main(int argc, char **argv)
{
	worker_main(argc, argv, &worker);
}
