/* SPDX-License-Identifier: ISC */
/*
 * The last step into a sandbox: bwrap's command, which becomes the client.
 * It runs inside the finished mount, pid, ipc, uts and network namespaces,
 * as root of worker-spawn's user namespace with two capabilities left, and
 * gives up what is left: descriptors, ids, limits, capabilities, files
 * (Landlock), system calls (seccomp).  A step that fails ends it before the
 * client exists; worker-spawn hears of it on a socket of its own.  It must
 * never read a byte of the client's or the tenant's.  Static; no library.
 *
 * Packets on the control socket: "L" and the listener's descriptor,
 * "Fstep:errno" a step failed, "G" all is set, "Xerrno" the client cannot be
 * executed.  It closes by exec.
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/provider/provider.h"
#include "worker-spawn/shim/filter.h"

#define EXIT_SHIM 126 /* nobody goes by it: the control socket tells */

/* The figures on the command line, in the order of worker-spawn/sandbox.c. */
enum {
	A_UID,
	A_CHANGE_IDS,
	A_PORT,
	A_CTL,
	A_ERR,
	A_LANDLOCK,
	A_TASKS,
	A_FILES,
	A_FSIZE,
	A_DATA,
	A_MAX
};
static uint64_t arg[A_MAX];

static int
tell(const char *text, int fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} cm;
	struct iovec iov = { (void *)(uintptr_t)text, strlen(text) };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd != -1) {
		memset(&cm, 0, sizeof(cm));
		mh.msg_control = cm.buf;
		mh.msg_controllen = sizeof(cm.buf);
		cm.align.cmsg_level = SOL_SOCKET;
		cm.align.cmsg_type = SCM_RIGHTS;
		cm.align.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&cm.align), &fd, sizeof(int));
	}
	return (sendmsg((int)arg[A_CTL], &mh, MSG_NOSIGNAL) == -1 ? -1 : 0);
}

static void __attribute__((noreturn)) fail(const char *step)
{
	char buf[128];

	(void)snprintf(buf, sizeof(buf), "F%s:%d", step, errno);
	(void)tell(buf, -1);
	_exit(EXIT_SHIM);
}

static void
arguments(int argc, char **argv)
{
	char *end;
	int i;

	if (argc < A_MAX + 2)
		_exit(EXIT_SHIM);
	for (i = 0; i < A_MAX; i++) {
		errno = 0;
		arg[i] = strtoull(argv[i + 1], &end, 10);
		if (errno != 0 || *end != '\0' || argv[i + 1][0] < '0' ||
		    argv[i + 1][0] > '9')
			_exit(EXIT_SHIM);
	}
}

/* A socket belongs to the namespace it was made in, whoever accepts on it. */
static void
listener(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)arg[A_PORT]),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	int s;

	if (arg[A_PORT] == 0)
		return;
	if ((s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) == -1 ||
	    bind(s, (struct sockaddr *)&sin, sizeof(sin)) == -1 ||
	    listen(s, 64) == -1)
		fail("listener");
	if (tell("L", s) == -1)
		fail("pass listener");
	close(s);
}

static void
close_gap(unsigned int from, unsigned int to)
{
	if (from <= to && syscall(SYS_close_range, from, to, 0) == -1)
		fail("close descriptors");
}

/* All but 0, 1, 2 and ours, which exec closes; bwrap leaves its own open. */
static void
descriptors(void)
{
	unsigned int ctl = (unsigned int)arg[A_CTL];
	unsigned int err = (unsigned int)arg[A_ERR];
	unsigned int low = ctl < err ? ctl : err, high = ctl < err ? err : ctl;

	close_gap(3, low - 1);
	close_gap(low + 1, high - 1);
	close_gap(high + 1, ~0U);
	if (fcntl((int)low, F_SETFD, FD_CLOEXEC) == -1 ||
	    fcntl((int)high, F_SETFD, FD_CLOEXEC) == -1)
		fail("close on exec");
}

static void
limit(int what, uint64_t value, const char *step)
{
	struct rlimit rl = { value, value };
	struct rlimit old;

	if (getrlimit(what, &old) == 0 && old.rlim_max < value)
		rl.rlim_cur = rl.rlim_max = old.rlim_max; /* stricter already */
	if (setrlimit(what, &rl) == -1)
		fail(step);
}

/* Nothing that olpd was started with: where it was given more, a client is not.
 */
static void
usual_limits(void)
{
	struct rlimit rl;

	limit(RLIMIT_CORE, 0, "limit cores");
	limit(RLIMIT_NICE, 0, "limit nice");
	limit(RLIMIT_RTPRIO, 0, "limit real time");
	limit(RLIMIT_MSGQUEUE, LIM_RUN_MSGQUEUE, "limit queues");
	limit(RLIMIT_SIGPENDING, LIM_RUN_SIGPENDING, "limit pending signals");
	limit(RLIMIT_MEMLOCK, LIM_RUN_MEMLOCK, "limit locked memory");
	/* Without one, memory is laid out the old way, easier to guess. */
	if (getrlimit(RLIMIT_STACK, &rl) == -1)
		fail("limit stack");
	if (rl.rlim_cur > LIM_RUN_STACK)
		rl.rlim_cur = LIM_RUN_STACK;
	if (setrlimit(RLIMIT_STACK, &rl) == -1)
		fail("limit stack");
}

/* Limits after ids: NPROC counts what the id has, which was worker-spawn's. */
static void
ids_and_limits(void)
{
	uid_t id = (uid_t)arg[A_UID], r, e, s;

	if (arg[A_CHANGE_IDS] == 1 &&
	    (setgroups(0, NULL) == -1 || setresgid(id, id, id) == -1 ||
		setresuid(id, id, id) == -1))
		fail("drop ids");
	if (getresuid(&r, &e, &s) == -1 || r != id || e != id || s != id ||
	    getgid() != id) {
		errno = EPERM;
		fail("check ids");
	}
	limit(RLIMIT_NPROC, arg[A_TASKS], "limit processes");
	limit(RLIMIT_NOFILE, arg[A_FILES], "limit descriptors");
	limit(RLIMIT_FSIZE, arg[A_FSIZE], "limit file size");
	limit(RLIMIT_DATA, arg[A_DATA], "limit memory");
	usual_limits();
}

static void
capabilities(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2];
	int c;

	/* Refused without SETPCAP; no_new_privs makes the set moot anyway. */
	for (c = 0; c < 64; c++)
		(void)prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
	memset(d, 0, sizeof(d));
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == -1 ||
	    syscall(SYS_capset, &h, d) == -1 ||
	    syscall(SYS_capget, &h, d) == -1)
		fail("drop capabilities");
	if ((d[0].permitted | d[0].effective | d[0].inheritable |
		d[1].permitted | d[1].effective | d[1].inheritable) != 0) {
		errno = EPERM;
		fail("check capabilities");
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		fail("no_new_privs");
}

/* Beyond ABI 1 Debian 12's header names nothing; the numbers are the kernel's.
 */
#define LL_READ                                                                \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |           \
	    LANDLOCK_ACCESS_FS_READ_DIR)
#define LL_DEVICES                                                             \
	(LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK)
#define LL_FILE_ONLY_ABI3 (1ULL << 14)
#define LL_BIND 1ULL
#define LL_CONNECT 2ULL
#define LL_SCOPES 3ULL
#define LL_RULE_NET 2

struct ll_ruleset {
	uint64_t fs, net, scoped;
};
struct ll_net {
	uint64_t access, port;
};

static void
landlock_path(int ruleset, const char *path, uint64_t access)
{
	struct landlock_path_beneath_attr pb;

	memset(&pb, 0, sizeof(pb));
	pb.allowed_access = access;
	if ((pb.parent_fd = open(path, O_PATH | O_CLOEXEC)) == -1)
		fail("landlock: open");
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH,
		&pb, 0) == -1)
		fail("landlock: path rule");
	close(pb.parent_fd);
}

static void
landlock(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
	    LANDLOCK_CREATE_RULESET_VERSION);
	struct ll_ruleset rs = { .fs = (1ULL << 13) - 1 };
	struct ll_net net = { LL_CONNECT, arg[A_PORT] };
	size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
	uint64_t write;
	int fd;

	if (abi < (long)arg[A_LANDLOCK]) {
		errno = ENOTSUP;
		fail("landlock: less than the kernel had");
	}
	if (arg[A_LANDLOCK] == 0)
		return; /* no such kernel: the probe has judged the rest */
	rs.fs |= abi >= 2 ? 1ULL << 13 : 0;
	rs.fs |= abi >= 3 ? LL_FILE_ONLY_ABI3 : 0;
	rs.net = abi >= 4 ? LL_BIND | LL_CONNECT : 0; /* no server of its own */
	rs.scoped = abi >= 6 ? LL_SCOPES : 0;
	if ((fd = (int)syscall(SYS_landlock_create_ruleset, &rs, size, 0)) ==
	    -1)
		fail("landlock: create");
	write = rs.fs & ~(uint64_t)LL_DEVICES;
	landlock_path(fd, "/", LL_READ);
	landlock_path(fd, SANDBOX_HOME, write);
	landlock_path(fd, "/tmp", write);
	landlock_path(fd, "/dev",
	    LL_READ | LANDLOCK_ACCESS_FS_WRITE_FILE |
		(rs.fs & LL_FILE_ONLY_ABI3));
	if (rs.net != 0 && arg[A_PORT] != 0 &&
	    syscall(SYS_landlock_add_rule, fd, LL_RULE_NET, &net, 0) == -1)
		fail("landlock: port rule");
	if (syscall(SYS_landlock_restrict_self, fd, 0) == -1)
		fail("landlock: restrict");
	close(fd);
}

/* bwrap leaves its own PWD in an environment that is the provider's alone. */
static char **
environment(char **envp)
{
	char **from, **to = envp;

	for (from = envp; *from != NULL; from++)
		if (strncmp(*from, "PWD=", 4) != 0)
			*to++ = *from;
	*to = NULL;
	return (envp);
}

int
main(int argc, char **argv, char **envp)
{
	char buf[32];

	arguments(argc, argv);
	listener();
	descriptors();
	ids_and_limits();
	capabilities();
	if (chdir(SANDBOX_CWD) == -1)
		fail("chdir");
	landlock();
	if (filter_load() == -1)
		fail("seccomp");
	/* From here on standard error is the client's: no word of ours. */
	if (dup2((int)arg[A_ERR], STDERR_FILENO) == -1)
		fail("standard error");
	if (tell("G", -1) == -1)
		_exit(EXIT_SHIM);
	execve(argv[A_MAX + 1], argv + A_MAX + 1, environment(envp));
	(void)snprintf(buf, sizeof(buf), "X%d", errno);
	(void)tell(buf, -1);
	_exit(EXIT_SHIM);
}
