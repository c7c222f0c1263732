/* SPDX-License-Identifier: ISC */
/*
 * Giving up rights, by data, and proving that they are gone.  Linked into
 * the workers only.  Every failure is fatal: a worker that is not caged as
 * its profile says must not read a byte.
 */
#include "common/cage.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/netlink.h>
#include <linux/securebits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/log.h"
#include "proto/msg.h"

const int cage_common_calls[] = { SCMP_SYS(read), SCMP_SYS(write),
	SCMP_SYS(readv), SCMP_SYS(writev), SCMP_SYS(close), SCMP_SYS(recvmsg),
	SCMP_SYS(recvfrom), SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait),
	SCMP_SYS(epoll_ctl), SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(fstat),
	SCMP_SYS(lseek), SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap),
	SCMP_SYS(madvise), SCMP_SYS(futex), SCMP_SYS(getrandom),
	SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep),
	SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(getpid),
	SCMP_SYS(gettid), SCMP_SYS(getuid), SCMP_SYS(geteuid),
	SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigaction), SCMP_SYS(sched_yield), SCMP_SYS(exit_group),
	SCMP_SYS(exit), SCMP_SYS(restart_syscall), SCMP_SYS(getsockname),
	SCMP_SYS(getpeername), SCMP_SYS(getsockopt),
	SCMP_SYS(sigaltstack), /* sanitizers put theirs away at exit */
	-1 };

/* fcntl(2) can also ask for signals to others; only these are anybody's. */
static const int fcntl_ok[] = { F_GETFL, F_SETFL, F_GETFD, F_SETFD,
	F_DUPFD_CLOEXEC, F_ADD_SEALS, F_GET_SEALS };

/*
 * All that is set in a cage.  Listeners are shared with the master and
 * outlive their worker: an option it does not set anew (a filter that drops
 * all, and the lock on it) would break them for its successor.
 */
static const int sockopts[][2] = { { SOL_SOCKET, SO_KEEPALIVE },
	{ SOL_SOCKET, SO_SNDBUF }, { IPPROTO_TCP, TCP_NODELAY },
	{ IPPROTO_TCP, TCP_KEEPIDLE }, { IPPROTO_TCP, TCP_KEEPINTVL },
	{ IPPROTO_TCP, TCP_KEEPCNT } };

int
cage_landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
	    LANDLOCK_CREATE_RULESET_VERSION);

	return (abi < 0 ? 0 : (int)abi);
}

/* The header of Debian 12 knows ABI 1; the sizes and bits of later ones are the
 * kernel's interface. */
struct ruleset {
	uint64_t fs, net, scoped;
};
struct net_rule {
	uint64_t access, port;
};

static void
landlock_enter(int dial, uint16_t port)
{
	int abi = cage_landlock_abi();
	struct ruleset rs = { .fs = (1ULL << 13) - 1 };
	struct net_rule nr = { 2, port };
	int fd;

	if (abi == 0) {
		log_warnx("landlock: not in this kernel: chroot, ids and "
			  "seccomp remain");
		return;
	}
	if (abi >= 2)
		rs.fs |= 1ULL << 13; /* refer */
	if (abi >= 3)
		rs.fs |= 1ULL << 14; /* truncate */
	if (abi >= 5)
		rs.fs |= 1ULL << 15; /* ioctl on devices */
	if (abi >= 4)
		rs.net = dial && port == 0 ? 1 : 3; /* bind, connect */
	if (abi >= 6)
		rs.scoped = 3; /* abstract sockets, signals */
	fd = (int)syscall(SYS_landlock_create_ruleset, &rs,
	    abi >= 6       ? 24
		: abi >= 4 ? 16
			   : 8,
	    0);
	if (fd == -1)
		fatal("landlock_create_ruleset");
	if (dial && port != 0 && abi >= 4 &&
	    syscall(SYS_landlock_add_rule, fd, 2, &nr, 0) == -1)
		fatal("landlock_add_rule");
	if (syscall(SYS_landlock_restrict_self, fd, 0) == -1)
		fatal("landlock_restrict_self");
	close(fd);
	if (open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) != -1 ||
	    errno != EACCES)
		fatalx("landlock: the root directory can still be read");
}

static void
caps_set(uint64_t keep)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = {
		{ (uint32_t)keep, (uint32_t)keep, 0 },
		{ (uint32_t)(keep >> 32), (uint32_t)(keep >> 32), 0 },
	};
	int c;

	/* Refused where we have no right to it any more; no_new_privs makes the
	 * bounding set moot there. */
	for (c = 0; c <= 63; c++)
		if (!(keep >> c & 1))
			(void)prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &h, d) == -1)
		fatal("capset");
	if (syscall(SYS_capget, &h, d) == -1)
		fatal("capget");
	if (d[0].permitted != (uint32_t)keep ||
	    d[1].permitted != (uint32_t)(keep >> 32))
		fatalx("capset: more capabilities than asked for");
}

static void
ids_set(const struct msg_cage *place)
{
	uid_t r, e, s;

	if (setgroups(0, NULL) == -1 ||
	    setresgid(place->gid, place->gid, place->gid) == -1 ||
	    setresuid(place->uid, place->uid, place->uid) == -1)
		fatal("become uid %u", place->uid);
	if (getresuid(&r, &e, &s) == -1 || r != place->uid || e != place->uid ||
	    s != place->uid)
		fatalx("become uid %u: not all ids changed", place->uid);
	if (place->uid == 0 || setresuid(0, 0, 0) != -1 ||
	    setresgid(0, 0, 0) != -1 || getgroups(0, NULL) != 0)
		fatalx("become uid %u: root can be had back", place->uid);
}

static void
rule(scmp_filter_ctx ctx, uint32_t action, int call, unsigned int n,
    const struct scmp_arg_cmp *a)
{
	int r = seccomp_rule_add_array(ctx, action, call, n, a);

	/* EDOM: a call this architecture does not have. */
	if (r != 0 && r != -EDOM && r != -EFAULT)
		fatalx("seccomp rule for call %d: error %d", call, -r);
}

static void
rule_values(
    scmp_filter_ctx ctx, int call, unsigned int arg, const int *v, size_t n)
{
	struct scmp_arg_cmp a = { arg, SCMP_CMP_EQ, 0, 0 };
	size_t i;

	for (i = 0; i < n; i++) {
		a.datum_a = (scmp_datum_t)v[i];
		rule(ctx, SCMP_ACT_ALLOW, call, 1, &a);
	}
}

/* Two arguments compared each. */
static void
rule_pair(scmp_filter_ctx ctx, int call, unsigned int arg, scmp_datum_t a,
    unsigned int other, scmp_datum_t b)
{
	struct scmp_arg_cmp c[2] = { { arg, SCMP_CMP_EQ, a, 0 },
		{ other, SCMP_CMP_EQ, b, 0 } };

	rule(ctx, SCMP_ACT_ALLOW, call, 2, c);
}

/*
 * Sockets that are there already.  A send with MSG_FASTOPEN connects, past
 * connect(2), its Landlock hook and a filter that has no connect; and a
 * listener whose reading side is shut down is a socket to connect again,
 * and deaf for the next worker too.  Signals: only to ourselves.
 */
static void
rules_sockets(scmp_filter_ctx ctx)
{
	struct scmp_arg_cmp plain = { 0, SCMP_CMP_MASKED_EQ, MSG_FASTOPEN, 0 };
	static const int halves[] = { SHUT_WR };
	const int self[] = { getpid() };
	size_t i;

	plain.arg = 3;
	rule(ctx, SCMP_ACT_ALLOW, SCMP_SYS(sendto), 1, &plain);
	plain.arg = 2;
	rule(ctx, SCMP_ACT_ALLOW, SCMP_SYS(sendmsg), 1, &plain);
	rule_values(ctx, SCMP_SYS(shutdown), 1, halves, 1);
	rule_values(ctx, SCMP_SYS(tgkill), 0, self, 1);
	for (i = 0; i < sizeof(sockopts) / sizeof(sockopts[0]); i++)
		rule_pair(ctx, SCMP_SYS(setsockopt), 1,
		    (scmp_datum_t)sockopts[i][0], 2,
		    (scmp_datum_t)sockopts[i][1]);
}

/*
 * TCP and UDP and no other: Landlock's port counts for TCP alone, and MPTCP
 * or SCTP would reach any.
 */
static void
rules_dial(scmp_filter_ctx ctx)
{
	static const int families[] = { AF_INET, AF_INET6 };
	static const int kinds[][2] = { { SOCK_STREAM, 0 },
		{ SOCK_STREAM, IPPROTO_TCP }, { SOCK_DGRAM, 0 },
		{ SOCK_DGRAM, IPPROTO_UDP } };
	struct scmp_arg_cmp c[3] = { { 0, SCMP_CMP_EQ, 0, 0 },
		{ 1, SCMP_CMP_MASKED_EQ, 0xf, 0 }, { 2, SCMP_CMP_EQ, 0, 0 } };
	size_t i;

	for (i = 0; i < 8; i++) {
		c[0].datum_a = (scmp_datum_t)families[i / 4];
		c[1].datum_b = (scmp_datum_t)kinds[i % 4][0];
		c[2].datum_a = (scmp_datum_t)kinds[i % 4][1];
		rule(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socket), 3, c);
	}
	rule(ctx, SCMP_ACT_ALLOW, SCMP_SYS(connect), 0, NULL);
	/* Not for who has a listener of the master's: see sockopts. */
	rule_pair(ctx, SCMP_SYS(setsockopt), 1, SOL_SOCKET, 2, SO_RCVBUF);
}

static void
rules_allow(scmp_filter_ctx ctx, const struct cage *cage)
{
	struct scmp_arg_cmp noexec = { 2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0 };
	static const int ioctls[] = { FIONREAD, FIONBIO };
	unsigned int nexec = cage->flags & CAGE_NO_EXEC_MAP ? 1 : 0;
	const int *c;

	for (c = cage_common_calls; *c != -1; c++)
		rule(ctx, SCMP_ACT_ALLOW, *c, 0, NULL);
	for (c = cage->calls; c != NULL && *c != -1; c++)
		rule(ctx, SCMP_ACT_ALLOW, *c, 0, NULL);
	for (c = cage->soft; c != NULL && *c != -1; c++)
		rule(ctx, SCMP_ACT_ERRNO(EPERM), *c, 0, NULL);
	rule(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), nexec, &noexec);
	rule(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), nexec, &noexec);
	rule_values(ctx, SCMP_SYS(ioctl), 1, ioctls, 2);
	rule_values(ctx, SCMP_SYS(fcntl), 1, fcntl_ok,
	    sizeof(fcntl_ok) / sizeof(fcntl_ok[0]));
	rules_sockets(ctx);
	rule(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(openat), 0, NULL);
	rule(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(open), 0, NULL);
	if (cage->dial)
		rules_dial(ctx);
	else
		rule(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 0, NULL);
}

/*
 * In a list of what is refused, sockets are part of it: of the families
 * only UNIX, INET, INET6 and NETLINK's ROUTE are left (bwrap brings up lo by
 * it), and no raw INET.  One comparison per argument and rule: libseccomp
 * has no "not in".
 */
static void
rules_deny_sockets(scmp_filter_ctx ctx)
{
	struct scmp_arg_cmp a[2] = { { 0, SCMP_CMP_EQ, 0, 0 },
		{ 0, SCMP_CMP_EQ, 0, 0 } };
	int family;

	for (family = 0; family < AF_NETLINK; family++) {
		if (family == AF_UNIX || family == AF_INET ||
		    family == AF_INET6)
			continue;
		a[0].datum_a = (scmp_datum_t)family;
		rule(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1, a);
	}
	a[0] = (struct scmp_arg_cmp){ 0, SCMP_CMP_GT, AF_NETLINK, 0 };
	rule(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1, a);
	a[0] = (struct scmp_arg_cmp){ 0, SCMP_CMP_EQ, AF_NETLINK, 0 };
	a[1] = (struct scmp_arg_cmp){ 2, SCMP_CMP_NE, NETLINK_ROUTE, 0 };
	rule(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 2, a);
	a[1] = (struct scmp_arg_cmp){ 1, SCMP_CMP_MASKED_EQ, 0xf, SOCK_RAW };
	a[0].datum_a = AF_INET;
	rule(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 2, a);
	a[0].datum_a = AF_INET6;
	rule(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 2, a);
}

static void
seccomp_enter(const struct cage *cage)
{
	int allow = (cage->flags & CAGE_ALLOW) != 0;
	scmp_filter_ctx ctx;
	const int *c;
	int r;

	if ((ctx = seccomp_init(
		 allow ? SCMP_ACT_KILL_PROCESS : SCMP_ACT_ALLOW)) == NULL)
		fatalx("seccomp_init");
	if (seccomp_attr_set(
		ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) != 0)
		fatalx("seccomp: bad architecture action");
	if (allow)
		rules_allow(ctx, cage);
	else {
		for (c = cage->calls; *c != -1; c++)
			rule(ctx, SCMP_ACT_ERRNO(EPERM), *c, 0, NULL);
		for (c = cage->soft; c != NULL && *c != -1; c++)
			rule(ctx, SCMP_ACT_ERRNO(ENOSYS), *c, 0, NULL);
		rules_deny_sockets(ctx);
	}
	if ((r = seccomp_load(ctx)) != 0)
		fatalx("seccomp_load: error %d", -r);
	seccomp_release(ctx);
	errno = 0;
	if (allow ? open("/", O_RDONLY | O_CLOEXEC) != -1
		  : socket(AF_PACKET, SOCK_DGRAM, 0) != -1)
		fatalx("seccomp: what is refused still works");
	if (errno != EPERM)
		fatal("seccomp: the filter does not answer");
}

static void
map_root(const struct cage *cage)
{
	uid_t r, e, s;

	if (getresuid(&r, &e, &s) == -1 || r != 0 || e != 0 || s != 0)
		fatalx("not root of our own user namespace");
	if (prctl(PR_SET_SECUREBITS,
		SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED) == -1)
		fatal("securebits");
	caps_set(cage->caps);
}

void
cage_enter(const struct cage *cage, const struct msg_cage *place,
    uint16_t connect_port)
{
	if (place->privileged && cage->flags & CAGE_CHROOT)
		if (chroot(place->root) == -1 || chdir("/") == -1)
			fatal("chroot %s", place->root);
	if (place->privileged && cage->flags & CAGE_IDS)
		ids_set(place);
	if (cage->flags & CAGE_MAP_ROOT)
		map_root(cage);
	else
		caps_set(0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		fatal("no_new_privs");
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		fatal("dumpable");
	/* Cleared by the change of ids, so set now: nothing outlives the
	 * master. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1)
		fatal("pdeathsig");
	if (cage->flags & CAGE_LANDLOCK)
		landlock_enter(cage->dial, connect_port);
	seccomp_enter(cage);
}
