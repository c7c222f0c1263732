/* SPDX-License-Identifier: ISC */
/*
 * Takes as many as it gets of what the kernel counts for a user, or for the
 * whole machine, and keeps them.
 *   hog:KIND:N        up to N of them; "KIND=GOT errno=E "
 *   families          a socket of each protocol that loads or shares something
 */
#include "attack.h"

#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct sock_filter allow[] = { { BPF_RET | BPF_K, 0, 0,
    SECCOMP_RET_ALLOW } };
static struct sock_fprog program = { 1, allow };

static long
one_inotify(void)
{
	return (inotify_init1(IN_CLOEXEC));
}

static long
one_watch(void)
{
	static int in = -1, n;
	char name[64];
	int fd;

	if (in == -1)
		in = inotify_init1(IN_CLOEXEC);
	(void)snprintf(name, sizeof(name), "/tmp/watched-%d", n++);
	if ((fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) != -1)
		close(fd);
	return (inotify_add_watch(in, name, IN_MODIFY));
}

/* A queued signal's place. */
static long
one_timer(void)
{
	struct sigevent se = { .sigev_notify = SIGEV_SIGNAL,
		.sigev_signo = SIGUSR2 };
	int id;

	return (syscall(SYS_timer_create, CLOCK_MONOTONIC, &se, &id));
}

static long
one_aio(void)
{
	unsigned long ctx = 0;

	return (syscall(SYS_io_setup, 1, &ctx));
}

static long
one_pty(void)
{
	return (open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
}

/* The kernel compiles these; the room for their code is the machine's. */
static long
one_attached(int option)
{
	int error, s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (s == -1 ||
	    setsockopt(s, SOL_SOCKET, option, &program, sizeof(program)) != -1)
		return (s);
	error = errno;
	close(s);
	errno = error;
	return (-1);
}

static long
one_filter(void)
{
	return (one_attached(SO_ATTACH_FILTER));
}

static long
one_reuseport(void)
{
	return (one_attached(SO_ATTACH_REUSEPORT_CBPF));
}

static long
one_seccomp(void)
{
	return (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

static long
one_prctl(void)
{
	return (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0));
}

static long
one_udp(void)
{
	return (socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

/* A server of its own, whose unread bytes are the machine's memory. */
static long
one_server(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int error, s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (s == -1 || bind(s, (struct sockaddr *)&a, sizeof(a)) != -1)
		return (s);
	error = errno;
	close(s);
	errno = error;
	return (-1);
}

static const struct {
	const char *name;
	long (*one)(void);
} kinds[] = {
	{ "inotify", one_inotify },
	{ "watch", one_watch },
	{ "timer", one_timer },
	{ "aio", one_aio },
	{ "pty", one_pty },
	{ "filter", one_filter },
	{ "reuseport", one_reuseport },
	{ "seccomp", one_seccomp },
	{ "prctl", one_prctl },
	{ "udp", one_udp },
	{ "server", one_server },
};

static void
hog(const char *kind, long most)
{
	long n = 0;
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, kind) == 0) {
			errno = 0;
			while (n < most && kinds[i].one() != -1)
				n++;
			say("%s=%ld errno=%s ", kind, n,
			    n == most ? "0" : strerrorname_np(errno));
		}
}

static void
families(void)
{
	static const struct {
		const char *name;
		int family, type, protocol;
	} t[] = {
		{ "tcp", AF_INET, SOCK_STREAM, 0 },
		{ "tcp6", AF_INET6, SOCK_STREAM, IPPROTO_TCP },
		{ "unix", AF_UNIX, SOCK_STREAM, 0 },
		{ "udp", AF_INET, SOCK_DGRAM, 0 },
		{ "udp6", AF_INET6, SOCK_DGRAM, 0 },
		{ "udplite", AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE },
		{ "ping", AF_INET, SOCK_DGRAM, IPPROTO_ICMP },
		{ "mptcp", AF_INET, SOCK_STREAM, 262 },
		{ "smc", AF_INET, SOCK_STREAM, 256 },
		{ "sctp", AF_INET, SOCK_STREAM, IPPROTO_SCTP },
		{ "sctp-seq", AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP },
		{ "dccp", AF_INET, SOCK_DCCP, IPPROTO_DCCP },
		{ "l2tp", AF_INET, SOCK_DGRAM, 115 },
		{ "raw", AF_INET, SOCK_RAW, IPPROTO_ICMP },
		{ "packet", AF_PACKET, SOCK_DGRAM, 0 },
		{ "vsock", AF_VSOCK, SOCK_STREAM, 0 },
		{ "alg", AF_ALG, SOCK_SEQPACKET, 0 },
		{ "tipc", AF_TIPC, SOCK_SEQPACKET, 0 },
		{ "can", AF_CAN, SOCK_RAW, 1 },
		{ "bluetooth", AF_BLUETOOTH, SOCK_STREAM, 3 },
	};
	int pair[2], s;
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		s = socket(
		    t[i].family, t[i].type | SOCK_CLOEXEC, t[i].protocol);
		say("%s=%s ", t[i].name,
		    s == -1 ? strerrorname_np(errno) : "OPEN");
		if (s != -1)
			close(s);
	}
	say("tipc-pair=%s ",
	    socketpair(AF_TIPC, SOCK_SEQPACKET, 0, pair) == -1
		? strerrorname_np(errno)
		: "OPEN");
}

int
hog_word(const char *w)
{
	char kind[32];
	long n;

	if (sscanf(w, "hog:%31[^:]:%ld", kind, &n) == 2)
		hog(kind, n);
	else if (strcmp(w, "families") == 0)
		families();
	else
		return (0);
	return (1);
}
