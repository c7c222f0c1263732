/* SPDX-License-Identifier: ISC */
/*
 * The functional probe: runs where a client runs and tries what a client
 * must not be able to.  It reports one line a try, "boundary.try=errno" when
 * it was refused and "boundary.try=OPEN" when not, "works.x=ok" for what a
 * client needs, and last "done=N", so that a report cut short is seen.
 * worker-spawn/posture.c judges.  Static.  It tries and undoes; nothing it
 * reaches is changed or sent on.
 *
 *   olp-probe hold SECONDS              be the neighbour: leave things about,
 * wait olp-probe try UID PORT LANDLOCK     try everything; the neighbour is UID
 */
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/provider/provider.h"

/* The neighbour's files, sockets and segment; nobody else's. */
#define HELD "olp-probe-held"
#define HELD_PORT 3129
#define HELD_SHM 0x6f6c7001

static unsigned int tries;

static void
line(const char *name, const char *value)
{
	(void)printf("%s=%s\n", name, value);
	tries++;
}

/* r as a system call gives it: -1 is a refusal. */
static void
refused(const char *name, long r)
{
	const char *e = strerrorname_np(errno);

	line(name, r != -1 ? "OPEN" : e != NULL ? e : "refused");
}

static void
refused_open(const char *name, const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);

	refused(name, fd);
	if (fd != -1)
		close(fd);
}

/* For what fails by itself too: only the filter's own answers are a refusal. */
static void
filtered(const char *name, long r)
{
	if (r == -1 && errno != EPERM && errno != ENOSYS)
		r = 0;
	refused(name, r);
}

static void
works(const char *name, int ok)
{
	const char *e = strerrorname_np(errno);

	line(name, ok ? "ok" : e != NULL ? e : "failed");
}

/* ---- in a child ---- */

/* For what would change us, or kill us: tried in a child of its own. */
static void
refused_in_child(const char *name, long (*f)(long), long arg)
{
	int status;
	pid_t pid;

	(void)fflush(stdout);
	if ((pid = fork()) == -1)
		exit(3); /* not tried is not refused: no report, it is made
			    again */
	if (pid == 0)
		_exit(f(arg) == -1 ? errno & 0xff : 0);
	if (waitpid(pid, &status, 0) == -1 ||
	    (WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
		line(name, "OPEN");
		return;
	}
	if (WIFSIGNALED(status)) {
		line(name, "KILLED");
		return;
	}
	errno = WEXITSTATUS(status);
	refused(name, -1);
}

static long
become_uid(long id)
{
	return (setresuid((uid_t)id, (uid_t)id, (uid_t)id));
}

static long
become_gid(long id)
{
	return (setresgid((gid_t)id, (gid_t)id, (gid_t)id));
}

static long
join_group(long id)
{
	gid_t g = (gid_t)id;

	return (setgroups(1, &g));
}

static long
leave_space(long flag)
{
	return (unshare((int)flag));
}

static long
clone_space(long flag)
{
	long pid = syscall(SYS_clone, flag | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return (pid);
}

static long
clone3_space(long flag)
{
	uint64_t args[11] = { (uint64_t)flag, 0, 0, 0, SIGCHLD };
	long pid = syscall(SYS_clone3, args, 64);

	if (pid == 0)
		_exit(0);
	return (pid);
}

#ifdef __x86_64__
/*
 * getuid by the 32-bit gate, then by the x32 table: both would pass a filter of
 * 64-bit numbers.
 */
static long
foreign_call(long which)
{
	long r;

	if (which == 0x80)
		__asm__ volatile("int $0x80"
				 : "=a"(r)
				 : "a"(199L)
				 : "memory", "r8", "r9", "r10", "r11");
	else
		r = syscall(0x40000000 + SYS_getuid);
	return (r < 0 ? -1 : r);
}

static void
try_foreign_calls(void)
{
	refused_in_child("seccomp.int80", foreign_call, 0x80);
	refused_in_child("seccomp.x32", foreign_call, 0);
}
#else
static void
try_foreign_calls(void)
{
}
#endif

/* ---- boundaries ---- */

static void
try_files(void)
{
	/* clang-format off */
	static const struct { const char *name, *path; int flags; } t[] = {
		{ "files.shadow", "/etc/shadow", O_RDONLY },
		{ "files.olpd_conf", "/etc/olpd", O_RDONLY },
		{ "files.olpd_state", "/var/lib/olpd", O_PATH },
		{ "files.olpd_bwrap", "/run/olpd/bwrap", O_PATH },
		{ "files.olpd_libexec", "/run/olpd/libexec", O_PATH },
		{ "files.olpd_provider", "/run/olpd/provider", O_PATH },
		{ "files.olpd_cgroups", "/run/olpd/cg", O_PATH },
		{ "files.olpd_control", "/run/olpd/control.sock", O_PATH },
		{ "files.root_home", "/root", O_PATH },
		{ "files.var", "/var", O_PATH },
		{ "files.boot", "/boot", O_PATH },
		{ "files.sys", "/sys", O_PATH },
		{ "files.cgroup", "/sys/fs/cgroup", O_PATH },
		{ "files.systemd", "/run/systemd", O_PATH },
		{ "files.programs", "/usr/bin", O_PATH },
		{ "files.shell", "/bin/sh", O_PATH },
		{ "files.parent_environ", "/proc/1/environ", O_RDONLY },
		{ "files.parent_root", "/proc/1/root/etc", O_PATH },
		{ "files.kcore", "/proc/kcore", O_RDONLY },
		{ "files.core_pattern", "/proc/sys/kernel/core_pattern", O_WRONLY },
		{ "files.sysrq", "/proc/sysrq-trigger", O_WRONLY },
		{ "files.kmsg", "/dev/kmsg", O_RDONLY },
		{ "files.mem", "/dev/mem", O_RDONLY },
		{ "files.make_root", "/" HELD, O_WRONLY | O_CREAT },
		{ "files.make_etc", "/etc/" HELD, O_WRONLY | O_CREAT },
		{ "files.make_run", "/run/olpd/" HELD, O_WRONLY | O_CREAT },
		{ "files.make_home", "/home/" HELD, O_WRONLY | O_CREAT },
		{ "files.make_dev", "/dev/" HELD, O_WRONLY | O_CREAT },
		{ "files.write_client", SANDBOX_PROGRAM, O_WRONLY },
		{ "files.write_shim", "/run/olp-shim", O_WRONLY },
		{ "files.write_passwd", "/etc/passwd", O_WRONLY },
	};
	/* clang-format on */
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		refused_open(t[i].name, t[i].path, t[i].flags);
	refused("files.device", mknod("/tmp/" HELD, S_IFBLK | 0600, 0x0800));
}

/* Is any process to be seen but bwrap's init and ourselves? */
static void
try_neighbour_process(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	long found = -1;
	int pid;

	while (d != NULL && (e = readdir(d)) != NULL) {
		pid = atoi(e->d_name);
		if (pid > 1 && pid != getpid())
			found = 0;
	}
	errno = ENOENT;
	refused("peer.process", found);
	if (d != NULL)
		closedir(d);
}

static long
connect_unix(const char *name)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	size_t n = strlen(name);
	int saved, s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	long r;

	memcpy(sun.sun_path + 1, name, n);
	r = connect(s, (struct sockaddr *)&sun,
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n));
	saved = errno;
	close(s);
	errno = saved;
	return (r);
}

/* No answer in time counts as got: a packet has left us. */
static long
connect_to(int family, const char *addr, uint16_t port)
{
	static const struct timeval patience = { 0, 300000 };
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6,
		.sin6_port = htons(port) };
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_port = htons(port) };
	int saved, s = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	long r;

	if (s == -1)
		return (-1);
	(void)setsockopt(
	    s, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (family == AF_INET) {
		(void)inet_pton(family, addr, &sin.sin_addr);
		r = connect(s, (struct sockaddr *)&sin, sizeof(sin));
	} else {
		(void)inet_pton(family, addr, &sin6.sin6_addr);
		r = connect(s, (struct sockaddr *)&sin6, sizeof(sin6));
	}
	saved = errno;
	close(s);
	errno = saved;
	return (r == -1 && errno == EINPROGRESS ? 0 : r);
}

static long
send_udp(const char *addr, uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_port = htons(port) };
	int saved, s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	long r;

	(void)inet_pton(AF_INET, addr, &sin.sin_addr);
	r = sendto(s, "x", 1, 0, (struct sockaddr *)&sin, sizeof(sin));
	saved = errno;
	close(s);
	errno = saved;
	return (r);
}

/* Our standard input ends when it has put everything in its place. */
static void
await_neighbour(void)
{
	char c;
	ssize_t n;

	do
		n = read(STDIN_FILENO, &c, 1);
	while (n > 0 || (n == -1 && errno == EINTR));
}

static void
try_neighbour(uid_t uid)
{
	await_neighbour();
	try_neighbour_process();
	refused_open("peer.home", "/run/olpd/home/" HELD, O_RDONLY);
	refused_open("peer.own_home", SANDBOX_HOME "/" HELD, O_RDONLY);
	refused_open("peer.tmp", "/tmp/" HELD, O_RDONLY);
	refused("peer.socket", connect_unix(HELD));
	refused("peer.tcp", connect_to(AF_INET, "127.0.0.1", HELD_PORT));
	refused("peer.shm", shmget(HELD_SHM, 1, 0));
	refused_in_child("ids.neighbour", become_uid, (long)uid);
}

/*
 * Addresses set aside for documentation: even an open network carries them
 * nowhere.
 */
static void
try_network(void)
{
	refused("net.tcp", connect_to(AF_INET, "198.51.100.7", 443));
	refused("net.tcp6", connect_to(AF_INET6, "2001:db8::7", 443));
	refused("net.udp", send_udp("198.51.100.7", 53));
	refused("net.loopback_ssh", connect_to(AF_INET, "127.0.0.1", 22));
	refused("net.loopback_olpd",
	    connect_to(AF_INET, "127.0.0.1", LIM_CONF_PORT));
	refused("net.loopback6", connect_to(AF_INET6, "::1", LIM_CONF_PORT));
}

static void
try_socket(const char *name, int family, int type, int protocol)
{
	int s = socket(family, type | SOCK_CLOEXEC, protocol);

	refused(name, s);
	if (s != -1)
		close(s);
}

static void
try_sockets(void)
{
	try_socket("sockets.raw", AF_INET, SOCK_RAW, IPPROTO_ICMP);
	try_socket("sockets.raw6", AF_INET6, SOCK_RAW, IPPROTO_ICMPV6);
	try_socket("sockets.packet", AF_PACKET, SOCK_RAW, 0);
	try_socket("sockets.uevent", AF_NETLINK, SOCK_RAW, 15);
	try_socket("sockets.netfilter", AF_NETLINK, SOCK_RAW, 12);
	try_socket("sockets.crypto", 38 /* AF_ALG */, SOCK_SEQPACKET, 0);
	try_socket("sockets.vsock", 40 /* AF_VSOCK */, SOCK_STREAM, 0);
}

static void
try_ids(void)
{
	refused_in_child("ids.root", become_uid, 0);
	refused_in_child("ids.uid_1000", become_uid, 1000);
	refused_in_child("ids.root_group", become_gid, 0);
	refused_in_child("ids.shadow_group", become_gid, 42);
	refused_in_child("ids.groups", join_group, 42);
}

static void
try_spaces(void)
{
	refused_in_child("spaces.user", leave_space, CLONE_NEWUSER);
	refused_in_child("spaces.user_clone", clone_space, CLONE_NEWUSER);
	refused_in_child("spaces.user_clone3", clone3_space, CLONE_NEWUSER);
	refused_in_child("spaces.mount", leave_space, CLONE_NEWNS);
	refused_in_child("spaces.net", leave_space, CLONE_NEWNET);
	refused_in_child("spaces.pid", leave_space, CLONE_NEWPID);
	refused("mount.tmpfs", mount("none", "/tmp", "tmpfs", 0, NULL));
	refused("mount.remount",
	    mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
	refused("mount.unmount", umount2("/proc", MNT_DETACH));
	refused("mount.fsopen", syscall(SYS_fsopen, "tmpfs", 0));
	refused("mount.open_tree", syscall(SYS_open_tree, AT_FDCWD, "/", 1));
}

static void
try_processes(void)
{
	char byte;
	struct iovec here = { &byte, 1 }, there = { &tries, 1 };
	int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);

	refused("signal.init", kill(1, 0));
	refused("signal.all", kill(-1, 0));
	refused("ptrace.attach", ptrace(PTRACE_ATTACH, 1, NULL, NULL));
	refused("ptrace.read", process_vm_readv(1, &here, 1, &there, 1, 0));
	filtered("ptrace.fd", syscall(SYS_pidfd_getfd, pidfd, 0, 0));
	if (pidfd != -1)
		close(pidfd);
}

static void
try_kernel(void)
{
	char buf[256] = "";

	filtered("kernel.keyctl", syscall(SYS_keyctl, 0, -3, 0));
	filtered("kernel.add_key",
	    syscall(SYS_add_key, "user", "olp-probe", "x", 1, -3));
	filtered("kernel.bpf", syscall(SYS_bpf, 0, buf, sizeof(buf)));
	filtered("kernel.io_uring", syscall(SYS_io_uring_setup, 1, buf));
	filtered(
	    "kernel.perf", syscall(SYS_perf_event_open, buf, 0, -1, -1, 0));
	filtered("kernel.userfaultfd", syscall(SYS_userfaultfd, 0));
	filtered(
	    "kernel.handle", syscall(SYS_open_by_handle_at, AT_FDCWD, buf, 0));
	filtered("kernel.hostname", sethostname("x", 1));
}

/* ---- ourselves ---- */

/* A line of /proc/self/status that begins so has this text after the tab. */
static int
status_says(const char *field, const char *want)
{
	char buf[256];
	size_t n = strlen(field);
	FILE *f = fopen("/proc/self/status", "re");
	int yes = 0;

	while (f != NULL && fgets(buf, sizeof(buf), f) != NULL) {
		buf[strcspn(buf, "\n")] = '\0';
		if (strncmp(buf, field, n) == 0 && buf[n] == ':')
			yes = strcmp(buf + n + 2, want) == 0;
	}
	if (f != NULL)
		fclose(f);
	return (yes);
}

static void
must(const char *name, int holds)
{
	line(name, holds ? "held" : "OPEN");
}

static void
try_self(void)
{
	static const char *const caps[] = { "CapInh", "CapPrm", "CapEff",
		"CapAmb" };
	int fd, open_fds = 0, none = 1;
	size_t i;

	for (fd = 3; fd < LIM_RUN_FILES; fd++)
		open_fds += fcntl(fd, F_GETFD) != -1;
	must("fds.only_three", open_fds == 0);
	for (i = 0; i < sizeof(caps) / sizeof(caps[0]); i++)
		none &= status_says(caps[i], "0000000000000000");
	must("caps.none", none);
	must("nnp.set", status_says("NoNewPrivs", "1"));
	must("seccomp.mode", status_says("Seccomp", "2"));
	/*
	 * The shim's own, beside the one that worker-spawn is under: EINVAL
	 * without it.
	 */
	filtered("seccomp.client", syscall(SYS_clone3, NULL, 0));
	must("groups.none", getgroups(0, NULL) == 0);
	must("ids.not_root",
	    getuid() != 0 && getuid() == geteuid() && getgid() != 0);
}

/* Our own file, so that nothing but Landlock refuses it. */
static void
try_landlock(int abi)
{
	if (abi > 0)
		refused_open("landlock.write", "/proc/self/comm", O_WRONLY);
}

static void
try_working(uint16_t port)
{
	int fd;

	works("works.home",
	    (fd = open(SANDBOX_CWD "/x", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
		 0600)) != -1 &&
		write(fd, "x", 1) == 1 && unlink(SANDBOX_CWD "/x") == 0);
	close(fd);
	works("works.tmp", mkdir("/tmp/x", 0700) == 0 && rmdir("/tmp/x") == 0);
	works("works.proc", access("/proc/self/status", R_OK) == 0);
	works("works.null", access("/dev/null", R_OK | W_OK) == 0);
	works("works.passwd", access("/etc/passwd", R_OK) == 0);
	works("works.listener",
	    port == 0 || connect_to(AF_INET, "127.0.0.1", port) == 0);
}

static int
try_all(uid_t neighbour, uint16_t port, int landlock)
{
	try_files();
	try_network();
	try_sockets();
	try_ids();
	try_spaces();
	try_processes();
	try_kernel();
	try_foreign_calls();
	try_self();
	try_landlock(landlock);
	try_neighbour(neighbour);
	try_working(port);
	(void)printf("done=%u\n", tries);
	return (fflush(stdout) == EOF);
}

/* ---- the neighbour ---- */

static int
hold_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd == -1)
		return (-1);
	close(fd);
	return (0);
}

static int
hold_sockets(void)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int u = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(sun.sun_path + 1, HELD, sizeof(HELD) - 1);
	if (bind(u, (struct sockaddr *)&sun,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) +
		    sizeof(HELD))) == -1 ||
	    listen(u, 1) == -1)
		return (-1);
	return (0);
}

/* worker-spawn ends us; the alarm is for when it cannot. */
static int
hold(unsigned int seconds)
{
	(void)alarm(seconds);
	if (hold_file(SANDBOX_HOME "/" HELD) == -1 ||
	    hold_file("/tmp/" HELD) == -1 || hold_sockets() == -1 ||
	    shmget(HELD_SHM, 1, IPC_CREAT | 0666) == -1) {
		perror("hold");
		return (1);
	}
	(void)puts("held");
	if (fflush(stdout) == EOF)
		return (1);
	for (;;)
		(void)pause();
}

int
main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "hold") == 0)
		return (hold((unsigned int)atoi(argv[2])));
	if (argc == 5 && strcmp(argv[1], "try") == 0)
		return (try_all((uid_t)strtoul(argv[2], NULL, 10),
		    (uint16_t)strtoul(argv[3], NULL, 10), atoi(argv[4])));
	(void)fprintf(
	    stderr, "usage: olp-probe hold SECONDS | try UID PORT LANDLOCK\n");
	return (2);
}
