/* SPDX-License-Identifier: ISC */
/*
 * olpd-spawn taken over: root of its user namespace, in the room that the
 * master made, in its own cage.  What it may do is tried too ("own-..."), or
 * a refusal would prove nothing.
 */
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "common/chan.h"
#include "common/worker.h"
#include "tests/hostile/tries.h"
#include "worker-spawn/cage.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
#define PLACE "/run/olpd/tmp" /* an empty mount point of the view */

static uint16_t olpd_port;
static unsigned int service, lo, hi; /* as /proc/self/uid_map has it */

#define TRY(name, expr)                                                        \
	static long name(void)                                                 \
	{                                                                      \
		return (expr);                                                 \
	}

static char buf[4096];

static void
read_map(void)
{
	unsigned int a, b, n;
	FILE *f = fopen("/proc/self/uid_map", "re");

	while (f != NULL && fscanf(f, "%u %u %u", &a, &b, &n) == 3)
		if (a == 0)
			service = b;
		else {
			lo = a;
			hi = a + n - 1;
		}
	if (f != NULL)
		(void)fclose(f);
}

/* ---- ids ---- */

static long
become(unsigned int id)
{
	if (setresgid(id, id, id) == 0)
		return (0);
	return (setresuid(id, id, id));
}

static long
owns(unsigned int id)
{
	int fd = memfd_create("x", 0);

	if (fchown(fd, id, (gid_t)-1) == 0)
		return (0);
	return (fchown(fd, (uid_t)-1, id));
}

static long
group(unsigned int id)
{
	gid_t g = id;

	return (setgroups(1, &g));
}

#define ID(tag, id)                                                            \
	TRY(b_##tag, become(id))                                               \
	TRY(o_##tag, owns(id))                                                 \
	TRY(g_##tag, group(id))
ID(own, lo + 2)
ID(below, lo - 1)
ID(above, hi + 1)
ID(user, 1000)
ID(http, service - 1)
ID(service, service)
ID(egress, service + 1)
ID(tui, service + 2)
ID(shadow, 42)
ID(nobody, 65534)
ID(last, 4294967294U)

/* A namespace below ours, mapping more than we have. */
static long
nested(const char *map)
{
	char path[64];
	int gate[2], fd;
	long r = -1;
	pid_t pid;

	if (pipe(gate) == -1 || (pid = fork()) == -1)
		return (-1);
	if (pid == 0) {
		(void)!write(gate[1], "x", unshare(CLONE_NEWUSER) == 0);
		(void)pause();
		_exit(0);
	}
	if (read(gate[0], buf, 1) == 1) {
		(void)snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
		if ((fd = open(path, O_WRONLY)) != -1)
			r = write(fd, map, strlen(map));
	}
	fd = errno;
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	errno = fd;
	return (r);
}

static long
nested_own(void)
{
	(void)snprintf(buf, sizeof(buf), "0 %u 1", lo + 2);
	return (nested(strdup(buf)));
}

static long
nested_over(void)
{
	(void)snprintf(buf, sizeof(buf), "0 %u %u", lo, hi - lo + 2);
	return (nested(strdup(buf)));
}

TRY(nested_1000, nested("0 1000 1"))
TRY(nested_all, nested("0 0 4294967295"))

static long
own_map(void)
{
	int fd = open("/proc/self/uid_map", O_WRONLY);

	return (fd == -1 ? -1 : write(fd, "0 0 4294967295", 14));
}

/* ---- files ---- */

TRY(f_shadow, open("/etc/shadow", O_RDONLY))
TRY(f_passwd, open("/etc/passwd", O_RDONLY))
TRY(f_olpd, open("/etc/olpd", O_PATH))
TRY(f_var, open("/var", O_PATH))
TRY(f_root, open("/root", O_PATH))
TRY(f_home, open("/home", O_PATH))
TRY(f_sys, open("/sys", O_PATH))
TRY(f_systemd, open("/run/systemd", O_PATH))
TRY(f_dotdot, open("/../../../etc/shadow", O_RDONLY))
TRY(f_proc_root, open("/proc/1/root/etc/shadow", O_RDONLY))
TRY(w_root, open("/x", O_CREAT | O_WRONLY, 0600))
TRY(w_etc, open("/etc/x", O_CREAT | O_WRONLY, 0600))
TRY(w_usr, open("/usr/x", O_CREAT | O_WRONLY, 0600))
TRY(w_libexec, open("/run/olpd/libexec/x", O_CREAT | O_WRONLY, 0600))
TRY(w_self, open("/run/olpd/libexec/olpd-spawn", O_WRONLY))
TRY(w_shim, open("/run/olpd/libexec/olp-shim", O_WRONLY))
TRY(w_bwrap, open("/run/olpd/bwrap", O_WRONLY))
TRY(w_dev, open("/dev/x", O_CREAT | O_WRONLY, 0600))
TRY(w_core, open("/proc/sys/kernel/core_pattern", O_WRONLY))
TRY(w_modprobe, open("/proc/sys/kernel/modprobe", O_WRONLY))
TRY(w_sysrq, open("/proc/sysrq-trigger", O_WRONLY))
TRY(f_kcore, open("/proc/kcore", O_RDONLY))
TRY(f_kmsg, open("/dev/kmsg", O_RDONLY))
TRY(f_mem, open("/dev/mem", O_RDONLY))
TRY(c_usr, chmod("/usr", 0777))
TRY(c_libexec, chmod("/run/olpd/libexec/olp-shim", 04755))
TRY(k_block, mknod(PLACE "/b", S_IFBLK | 0600, makedev(8, 0)))

static long
block_in_tmpfs(void)
{
	return (mount("t", PLACE, "tmpfs", 0, NULL) == -1
		? -2
		: mknod(PLACE "/b", S_IFBLK | 0600, makedev(259, 0)));
}

/* ---- mounts ---- */

#define REMOUNT (MS_REMOUNT | MS_BIND)
TRY(m_own, mount("t", PLACE, "tmpfs", MS_NOSUID | MS_NODEV, NULL))
TRY(m_block, mount("/dev/vda", PLACE, "ext4", 0, NULL))
TRY(m_ext4, mount("/dev/zero", PLACE, "ext4", 0, NULL))
TRY(m_devtmpfs, mount("d", PLACE, "devtmpfs", 0, NULL))
TRY(m_sysfs, mount("s", PLACE, "sysfs", 0, NULL))
TRY(m_debugfs, mount("d", PLACE, "debugfs", 0, NULL))
TRY(m_securityfs, mount("d", PLACE, "securityfs", 0, NULL))
TRY(m_nfs, mount("127.0.0.1:/", PLACE, "nfs", 0, NULL))
TRY(m_usr_rw, mount(NULL, "/usr", NULL, REMOUNT, NULL))
TRY(m_libexec_rw, mount(NULL, "/run/olpd/libexec", NULL, REMOUNT, NULL))
TRY(m_bwrap_rw, mount(NULL, "/run/olpd/bwrap", NULL, REMOUNT, NULL))
TRY(m_root_rw, mount(NULL, "/", NULL, REMOUNT, NULL))
TRY(m_usr_off, umount2("/usr", MNT_DETACH))
TRY(m_root_off, umount2("/", MNT_DETACH))
TRY(m_libexec_off, umount2("/run/olpd/libexec", MNT_DETACH))
TRY(m_open_tree, syscall(SYS_open_tree, AT_FDCWD, "/", 1))
TRY(m_fsopen, syscall(SYS_fsopen, "ext4", 0))
TRY(m_setns, setns(3, 0))
TRY(m_handle, syscall(SYS_open_by_handle_at, AT_FDCWD, buf, O_RDONLY))

/* Below our proc lies the one the view was built with: the host's processes. */
static long
host_proc(long (*f)(void))
{
	return (umount2("/proc", MNT_DETACH) == -1 ? -2 : f());
}

/* Its own are there, by the numbers the host has for them; in NSpid those have
 * two. */
static long
see_host(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	char path[300], text[2048], *at;
	int fd, n;

	while (d != NULL && (e = readdir(d)) != NULL) {
		(void)snprintf(
		    path, sizeof(path), "/proc/%s/status", e->d_name);
		if (e->d_name[0] < '0' || e->d_name[0] > '9' ||
		    (fd = open(path, O_RDONLY)) == -1)
			continue;
		text[read(fd, text, sizeof(text) - 1)] = '\0';
		close(fd);
		if ((at = strstr(text, "NSpid:")) != NULL &&
		    sscanf(at, "NSpid: %*d %d", &n) != 1)
			return (0);
	}
	errno = ENOENT;
	return (-1);
}

TRY(host_environ, open("/proc/1/environ", O_RDONLY))
TRY(host_core, open("/proc/sys/kernel/core_pattern", O_WRONLY))
TRY(p_list, host_proc(see_host))
TRY(p_environ, host_proc(host_environ))
TRY(p_core, host_proc(host_core))

static long
escape_chroot(void)
{
	int fd = open("/", O_RDONLY | O_DIRECTORY), i;

	if (mount("t", PLACE, "tmpfs", 0, NULL) == -1 ||
	    syscall(SYS_chroot, PLACE) == -1 || fchdir(fd) == -1)
		return (-1);
	for (i = 0; i < 32; i++)
		(void)!chdir("..");
	return (open("etc/shadow", O_RDONLY));
}

/* ---- cgroups: no further than what was given ---- */

static long
cgroup_file(const char *path)
{
	if (unshare(CLONE_NEWCGROUP) == -1)
		return (-1);
	if (mount("c", PLACE, "cgroup2", 0, NULL) == -1)
		return (-1);
	return (open(path, O_WRONLY));
}

TRY(cg_up, cgroup_file(PLACE "/../cgroup.procs"))
TRY(cg_max, cgroup_file(PLACE "/memory.max"))
TRY(cg_bind_up, open("/run/olpd/cg/../cgroup.procs", O_WRONLY))
TRY(cg_bind_max, open("/run/olpd/cg/memory.max", O_WRONLY))
TRY(cg_v1, mount("c", PLACE, "cgroup", 0, "memory"))

/* ---- network ---- */

static void
lo_up(void)
{
	struct ifreq ifr = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	ifr.ifr_flags = IFF_UP;
	(void)ioctl(fd, SIOCSIFFLAGS, &ifr);
	close(fd);
}

/* Where the host's olpd-http listens: the harness has the port in its
 * instance's name. */
static long
host_port(void)
{
	lo_up(); /* ours to do: NET_ADMIN over our own, empty, network */
	return (try_tcp("127.0.0.1", olpd_port));
}

static long
unix_to(const char *path, size_t len)
{
	struct sockaddr_un s = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(s.sun_path, path, len);
	return (connect(fd, (struct sockaddr *)&s,
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)));
}

TRY(n_out, try_tcp("192.0.2.1", 443))
TRY(n_host, host_port())
TRY(n_systemd, unix_to("/run/systemd/private", 20))
TRY(n_dbus, unix_to("/run/dbus/system_bus_socket", 27))
TRY(n_control, unix_to("/run/olpd/control.sock", 22))
TRY(n_abstract, unix_to("\0/tmp/.X11-unix/X0", 18))
TRY(n_raw, socket(AF_INET, SOCK_RAW, 1))
TRY(n_packet, socket(AF_PACKET, SOCK_RAW, 0))
TRY(n_vsock, socket(AF_VSOCK, SOCK_STREAM, 0))
TRY(n_alg, socket(AF_ALG, SOCK_SEQPACKET, 0))
TRY(n_netfilter, socket(AF_NETLINK, SOCK_RAW, 12))
TRY(n_audit, socket(AF_NETLINK, SOCK_RAW, 9))
TRY(n_uevent, socket(AF_NETLINK, SOCK_RAW, 15))

/* ---- others ---- */

static long
signal_any(void)
{
	pid_t pid;

	/* Itself and init of this namespace, which is the worker, left out. */
	for (pid = 2; pid < 65536; pid++)
		if (pid != getpid() && kill(pid, 0) == 0)
			return (0);
	errno = ESRCH;
	return (-1);
}

static int
master_pidfd(void)
{
	socklen_t len = sizeof(int);
	int fd = -1;

	return (
	    getsockopt(3, SOL_SOCKET, SO_PEERPIDFD, &fd, &len) == -1 ? -1 : fd);
}

static long
master_signal(void)
{
	int fd = master_pidfd();

	return (fd == -1 ? -1 : syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0));
}

static long
master_setns(void)
{
	int fd = master_pidfd();

	return (fd == -1 ? -1 : setns(fd, CLONE_NEWNS | CLONE_NEWNET));
}

/* PIDFD_GET_MNT_NAMESPACE and _NET_, since Linux 6.11. */
static long
master_ns(void)
{
	int fd = master_pidfd();

	if (fd == -1)
		return (-1);
	return (
	    ioctl(fd, _IO(0xFF, 3), 0) == -1 ? ioctl(fd, _IO(0xFF, 4), 0) : 0);
}

static long
terminal(void)
{
	int fd = open("/dev/tty", O_RDWR);

	return (fd == -1 ? -1 : ioctl(fd, TIOCSTI, "x"));
}

TRY(s_ptrace, ptrace(PTRACE_ATTACH, 1, NULL, NULL))
TRY(s_vm, syscall(SYS_process_vm_readv, 1, NULL, 0, NULL, 0, 0))
TRY(s_getfd, syscall(SYS_pidfd_getfd, master_pidfd(), 0, 0))
TRY(s_clock, clock_settime(CLOCK_REALTIME, &(struct timespec){ 1, 0 }))
TRY(s_settime, settimeofday(&(struct timeval){ 1, 0 }, NULL))
TRY(s_adjtime, syscall(SYS_adjtimex, &(struct timex){ .modes = ADJ_OFFSET }))
TRY(s_reboot, syscall(SYS_reboot, 0xfee1dead, 1, RB_DISABLE_CAD, NULL))
TRY(s_module, syscall(SYS_init_module, buf, 16, ""))
TRY(s_finit, syscall(SYS_finit_module, 0, "", 0))
TRY(s_kexec, syscall(SYS_kexec_load, 0, 0, NULL, 0))
TRY(s_swap, syscall(SYS_swapoff, "/swap"))
TRY(s_syslog, syscall(SYS_syslog, 3, buf, sizeof(buf)))
TRY(s_bpf, syscall(SYS_bpf, 0, buf, 64))
TRY(s_perf, syscall(SYS_perf_event_open, buf, 0, -1, -1, 0))
TRY(s_keyctl, syscall(SYS_keyctl, 0, -3, 1))
TRY(s_uring, syscall(SYS_io_uring_setup, 1, buf))
TRY(s_iopl, syscall(SYS_iopl, 3))
TRY(s_nice, nice(-5) == -1 ? -1 : 0)
TRY(s_rt,
    sched_setscheduler(
	0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 }))
TRY(s_oom,
    open("/proc/1/oom_score_adj", O_RDONLY) == -1
	? -1
	: write(open("/proc/self/oom_score_adj", O_WRONLY), "-1000", 5))
TRY(s_mknod_tun, mknod(PLACE "/tun", S_IFCHR | 0600, makedev(10, 200)))
TRY(s_x32, syscall(0x40000000 + 39))

#define IDS(tag)                                                               \
	{ "become-" #tag, b_##tag }, { "chown-to-" #tag, o_##tag },            \
	{                                                                      \
		"setgroups-" #tag, g_##tag                                     \
	}
/* clang-format off */
static const struct try tries[] = {
	IDS(own), IDS(below), IDS(above), IDS(user), IDS(http), IDS(service), IDS(egress), IDS(tui),
	IDS(shadow), IDS(nobody), IDS(last),
	{ "userns-own", nested_own }, { "userns-over", nested_over }, { "userns-1000", nested_1000 },
	{ "userns-all", nested_all }, { "uid_map-again", own_map },
	{ "etc-shadow", f_shadow }, { "etc-passwd", f_passwd }, { "etc-olpd", f_olpd }, { "var", f_var },
	{ "root-home", f_root }, { "home", f_home }, { "sys", f_sys }, { "run-systemd", f_systemd },
	{ "dotdot-shadow", f_dotdot }, { "proc-root-shadow", f_proc_root }, { "chroot-escape", escape_chroot },
	{ "write-root", w_root }, { "write-etc", w_etc }, { "write-usr", w_usr }, { "write-libexec", w_libexec },
	{ "write-olpd-spawn", w_self }, { "write-olp-shim", w_shim }, { "write-bwrap", w_bwrap },
	{ "write-dev", w_dev }, { "write-core_pattern", w_core }, { "write-modprobe", w_modprobe },
	{ "write-sysrq", w_sysrq }, { "kcore", f_kcore }, { "kmsg", f_kmsg }, { "mem", f_mem },
	{ "chmod-usr", c_usr }, { "chmod-shim", c_libexec }, { "mknod-block", k_block },
	{ "mknod-block-tmpfs", block_in_tmpfs }, { "mknod-tun", s_mknod_tun },
	{ "mount-own", m_own }, { "mount-vda", m_block }, { "mount-ext4", m_ext4 },
	{ "mount-devtmpfs", m_devtmpfs }, { "mount-sysfs", m_sysfs }, { "mount-debugfs", m_debugfs },
	{ "mount-securityfs", m_securityfs }, { "mount-nfs", m_nfs },
	{ "remount-usr-rw", m_usr_rw }, { "remount-libexec-rw", m_libexec_rw },
	{ "remount-bwrap-rw", m_bwrap_rw }, { "remount-root-rw", m_root_rw },
	{ "umount-usr", m_usr_off }, { "umount-root", m_root_off }, { "umount-libexec", m_libexec_off },
	{ "open_tree", m_open_tree }, { "fsopen", m_fsopen }, { "setns", m_setns }, { "open-by-handle", m_handle },
	{ "host-proc-list", p_list }, { "host-proc-environ", p_environ }, { "host-proc-core_pattern", p_core },
	{ "cgroup-above", cg_up }, { "cgroup-limit", cg_max }, { "cgroup-bind-above", cg_bind_up },
	{ "cgroup-bind-limit", cg_bind_max }, { "cgroup-v1", cg_v1 },
	{ "tcp-out", n_out }, { "tcp-host-olpd", n_host },
	{ "unix-systemd", n_systemd }, { "unix-dbus", n_dbus }, { "unix-control", n_control },
	{ "unix-abstract", n_abstract }, { "raw", n_raw }, { "packet", n_packet }, { "vsock", n_vsock },
	{ "alg", n_alg }, { "netlink-netfilter", n_netfilter }, { "netlink-audit", n_audit },
	{ "netlink-uevent", n_uevent },
	{ "signal-any-pid", signal_any }, { "pidfd-of-master-signal", master_signal },
	{ "pidfd-of-master-setns", master_setns }, { "pidfd-of-master-namespace", master_ns },
	{ "pidfd-getfd", s_getfd }, { "ptrace", s_ptrace }, { "process-vm-readv", s_vm },
	{ "clock", s_clock }, { "settimeofday", s_settime }, { "adjtimex", s_adjtime },
	{ "reboot", s_reboot }, { "init-module", s_module }, { "finit-module", s_finit },
	{ "kexec", s_kexec }, { "swapoff", s_swap }, { "syslog", s_syslog }, { "bpf", s_bpf },
	{ "perf", s_perf }, { "keyctl", s_keyctl }, { "io-uring", s_uring }, { "iopl", s_iopl },
	{ "nice-below", s_nice }, { "realtime", s_rt }, { "oom-immune", s_oom },
	{ "x32-call", s_x32 }, { "terminal-input", terminal },
};
/* clang-format on */

static void
start(void)
{
	read_map();
	tries_run(tries, sizeof(tries) / sizeof(tries[0]), NULL, 0);
}

static void
link_up(const struct msg_link *l, int fd)
{
	(void)l;
	close(fd);
}

static int
on_conf(struct chan *c, struct msg *m)
{
	const struct msg_conf_spawn *conf = m->body;

	(void)c;
	return (sscanf(conf->instance, "t%hu", &olpd_port) == 1 ? 0 : -1);
}

static const struct msg_handler from_master[] = {
	{ MT_CONF_SPAWN, on_conf, ST_ANY },
	{ MT_CONF_PROVIDER, tries_ignore, ST_ANY },
	{ MT_CONF_MODEL, tries_ignore, ST_ANY },
	{ MT_CONF_KEY, tries_ignore, ST_ANY },
	{ MT_EGRESS_FAILED, tries_ignore, ST_ANY },
	{ MT_EGRESS_DROP, tries_ignore, ST_ANY },
};

static const struct worker worker = {
	.proc = PROC_SPAWN,
	.cage = &spawn_cage,
	.from_master = from_master,
	.nfrom_master = sizeof(from_master) / sizeof(from_master[0]),
	.start = start,
	.link = link_up,
};

int
main(int argc, char **argv)
{
	worker_main(argc, argv, &worker);
}
