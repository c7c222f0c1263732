/* SPDX-License-Identifier: ISC */
/*
 * What a hostile client tries from inside a sandbox.  Each try is a row: a
 * name and a function that gives -1 and errno when it was refused.
 */
#include "attack.h"

#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long
opens(const char *path, int flags)
{
	return (open(path, flags | O_CLOEXEC, 0600));
}

static long
connects(int family, const char *addr, int port)
{
	struct sockaddr_in6 s6 = { .sin6_family = AF_INET6,
		.sin6_port = htons((uint16_t)port) };
	struct sockaddr_in s4 = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)port) };
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd == -1)
		return (-1);
	if (family == AF_INET) {
		(void)inet_pton(AF_INET, addr, &s4.sin_addr);
		return (connect(fd, (struct sockaddr *)&s4, sizeof(s4)));
	}
	(void)inet_pton(AF_INET6, addr, &s6.sin6_addr);
	return (connect(fd, (struct sockaddr *)&s6, sizeof(s6)));
}

static long
udp(void)
{
	struct sockaddr_in s = { .sin_family = AF_INET, .sin_port = htons(53) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)inet_pton(AF_INET, "192.0.2.1", &s.sin_addr);
	return (fd == -1
		? -1
		: sendto(fd, "x", 1, 0, (struct sockaddr *)&s, sizeof(s)));
}

static long
abstract_socket(void)
{
	struct sockaddr_un s = { .sun_family = AF_UNIX,
		.sun_path = "\0/tmp/.X11-unix/X0" };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return (fd == -1 ? -1 : connect(fd, (struct sockaddr *)&s, sizeof(s)));
}

static long
one_group(void)
{
	gid_t g = 42;

	return (setgroups(1, &g));
}

static long
clone3_user(void)
{
	unsigned long a[11] = { CLONE_NEWUSER, 0, 0, 0, SIGCHLD };

	return (syscall(SYS_clone3, a, 64));
}

static long
suid_file(void)
{
	char *const none[] = { NULL };
	struct stat st;

	/* Making one is harmless as long as it is not honoured. */
	if (opens("/tmp/suid", O_CREAT | O_RDWR) == -1 ||
	    chmod("/tmp/suid", 04755) == -1 || stat("/tmp/suid", &st) == -1 ||
	    st.st_uid != getuid())
		return (-1);
	return (execve("/tmp/suid", none, none));
}

static long
other_keys_file(void)
{
	/* A sandbox may be anywhere; another key's never is in our view. */
	return (opens("/run/olpd/home", O_RDONLY | O_DIRECTORY));
}

static long
shm_host(void)
{
	struct stat st;

	return (stat("/dev/shm/olpd-test-mark", &st));
}

static long
write_exec_sh(void)
{
	char *const argv[] = { NULL };

	return (execve("/bin/sh", argv, argv));
}

static const struct {
	const char *name;
	long (*f)(void);
} functions[] = {
	{ "udp-out", udp },
	{ "abstract-socket", abstract_socket },
	{ "setgroups", one_group },
	{ "clone3-newuser", clone3_user },
	{ "suid-file", suid_file },
	{ "other-home", other_keys_file },
	{ "host-shm", shm_host },
	{ "exec-sh", write_exec_sh },
};

static const struct {
	const char *name, *path;
	int flags;
} files[] = {
	{ "shadow", "/etc/shadow", O_RDONLY },
	{ "passwd-write", "/etc/passwd", O_WRONLY },
	{ "etc-create", "/etc/x", O_CREAT | O_WRONLY },
	{ "usr-create", "/usr/lib/x", O_CREAT | O_WRONLY },
	{ "root-create", "/x", O_CREAT | O_WRONLY },
	{ "client-write", "/opt/client", O_WRONLY },
	{ "etc-olpd", "/etc/olpd/olpd.conf", O_RDONLY },
	{ "keys", "/etc/olpd/keys.d", O_RDONLY },
	{ "var", "/var", O_PATH },
	{ "var-lib-olpd", "/var/lib/olpd", O_PATH },
	{ "home", "/home/nobody", O_PATH },
	{ "root-home", "/root", O_PATH },
	{ "run-systemd", "/run/systemd", O_PATH },
	{ "run-olpd-control", "/run/olpd/control.sock", O_PATH },
	{ "sys", "/sys", O_PATH },
	{ "cgroup", "/sys/fs/cgroup", O_PATH },
	{ "kmsg", "/dev/kmsg", O_RDONLY },
	{ "mem", "/dev/mem", O_RDONLY },
	{ "sda", "/dev/sda", O_RDONLY },
	{ "proc-1-environ", "/proc/1/environ", O_RDONLY },
	{ "proc-1-root", "/proc/1/root/etc", O_PATH },
	{ "proc-1-fd", "/proc/1/fd/3", O_RDONLY },
	{ "core-pattern", "/proc/sys/kernel/core_pattern", O_WRONLY },
	{ "sysrq", "/proc/sysrq-trigger", O_WRONLY },
	{ "proc-kcore", "/proc/kcore", O_RDONLY },
};

static void
tell(const char *name, long r)
{
	say("%s=%s ", name, r == -1 ? strerrorname_np(errno) : "OPEN");
}

static void
try_files(void)
{
	size_t i;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		tell(files[i].name, opens(files[i].path, files[i].flags));
	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		tell(functions[i].name, functions[i].f());
}

static void
try_network(void)
{
	tell("tcp-out", connects(AF_INET, "192.0.2.1", 443));
	tell("tcp-lo-22", connects(AF_INET, "127.0.0.1", 22));
	tell("tcp-lo-4567", connects(AF_INET, "127.0.0.1", 4567));
	tell("tcp6-lo", connects(AF_INET6, "::1", 3128));
	tell("tcp6-out", connects(AF_INET6, "2001:db8::1", 443));
	tell("raw", socket(AF_INET, SOCK_RAW, 1));
	tell("raw6", socket(AF_INET6, SOCK_RAW, 58));
	tell("packet", socket(AF_PACKET, SOCK_RAW, 0));
	tell("vsock", socket(AF_VSOCK, SOCK_STREAM, 0));
	tell("alg", socket(AF_ALG, SOCK_SEQPACKET, 0));
	tell("netlink-audit", socket(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT));
	tell("netlink-netfilter",
	    socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER));
}

static void
try_privilege(void)
{
	tell("setuid-0", setresuid(0, 0, 0));
	tell("setuid-other",
	    setresuid(getuid() + 1, getuid() + 1, getuid() + 1));
	tell("setgid-0", setresgid(0, 0, 0));
	tell("unshare-user", unshare(CLONE_NEWUSER));
	tell("unshare-mount", unshare(CLONE_NEWNS));
	tell("unshare-net", unshare(CLONE_NEWNET));
	tell("mount", mount("t", "/tmp", "tmpfs", 0, NULL));
	tell("umount", umount2("/home/olp", MNT_DETACH));
	tell("chroot", chroot("/tmp"));
	tell("pivot-root", syscall(SYS_pivot_root, "/tmp", "/tmp"));
	tell("fsopen", syscall(SYS_fsopen, "proc", 0));
	tell("open-tree", syscall(SYS_open_tree, AT_FDCWD, "/", 1));
	tell("ptrace-1", ptrace(PTRACE_ATTACH, 1, NULL, NULL));
	tell("kill-1", kill(1, 0));
	tell("process-vm-readv",
	    syscall(SYS_process_vm_readv, 1, NULL, 0, NULL, 0, 0));
	tell("pidfd-getfd", syscall(SYS_pidfd_getfd, 0, 0, 0));
	tell("keyctl", syscall(SYS_keyctl, 0, -3, 1));
	tell("add-key", syscall(SYS_add_key, "user", "x", "y", 1, -3));
	tell("bpf", syscall(SYS_bpf, 0, NULL, 0));
	tell("perf", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
	tell("userfaultfd", syscall(SYS_userfaultfd, 0));
	tell("io-uring", syscall(SYS_io_uring_setup, 1, NULL));
	tell("open-by-handle",
	    syscall(SYS_open_by_handle_at, AT_FDCWD, NULL, 0));
	tell("setns", setns(0, CLONE_NEWNS));
	tell("mknod", mknod("/tmp/dev", S_IFBLK | 0600, 0));
	tell("sethostname", sethostname("x", 1));
	tell("reboot", syscall(SYS_reboot, 0, 0, 0, NULL));
	tell("nice-below", setpriority(0, 0, -5));
}

void
attack_all(void)
{
	try_files();
	try_network();
	try_privilege();
}

static char tag[64];

void
attack_tag(const char *text)
{
	(void)snprintf(tag, sizeof(tag), "%.60s", text);
}

int
attack_request(const char *model)
{
	struct sockaddr_in s = { .sin_family = AF_INET,
		.sin_port = htons(3128) };
	const char *key = getenv("ANTHROPIC_API_KEY");
	char body[512], req[2048], ans[4096];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), status = 0;
	ssize_t n;

	s.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd == -1 || connect(fd, (struct sockaddr *)&s, sizeof(s)) == -1)
		return (-errno);
	(void)snprintf(body, sizeof(body),
	    "{\"model\":\"%s\",\"max_tokens\":10,\"tools\":[],\"stream\":true,"
	    "\"messages\":[{\"role\":\"user\",\"content\":\"[[say:fromfake]]%"
	    "s\"}]}",
	    model, tag);
	n = snprintf(req, sizeof(req),
	    "POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:3128\r\nx-api-key: "
	    "%s\r\n"
	    "anthropic-version: 2023-06-01\r\nContent-Type: "
	    "application/json\r\n"
	    "Content-Length: %zu\r\n\r\n%s",
	    key == NULL ? "none" : key, strlen(body), body);
	(void)!write(fd, req, (size_t)n);
	if ((n = read(fd, ans, sizeof(ans) - 1)) > 0) {
		ans[n] = '\0';
		(void)sscanf(ans, "HTTP/1.1 %d", &status);
		while (read(fd, ans, sizeof(ans)) > 0 && status == 200)
			continue;
	}
	close(fd);
	return (status);
}

void
attack_http(int n, const char *model)
{
	while (n-- > 0)
		say("status=%d ", attack_request(model));
}
