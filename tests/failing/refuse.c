/* SPDX-License-Identifier: ISC */
/*
 * Executes another program under a seccomp filter that answers one system
 * call itself: with an errno, or with success although nothing was done.
 * Tests put it in the place of a program of olpd's and write what it shall
 * do into the file itself, since what is executed there gets no word of
 * theirs.  Everything below inherits the filter.
 *
 * The text is "CALL ERRNO PROGRAM", blanks to its end: CALL as below, ERRNO
 * 0 for a success that is none, CALL "none" for no filter, PROGRAM what is
 * executed with our arguments.
 */
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile char text[256] = "REFUSE-WHAT";

#define ANY UINT32_MAX
static const struct {
	const char *name;
	uint32_t nr;
	int arg;        /* index of the argument to look at */
	uint32_t value; /* which it must have, ANY: whatever it is */
	int bit;        /* it is enough that it has this bit */
} calls[] = {
	{ "mount", SYS_mount, 0, ANY, 0 },
	{ "pivot_root", SYS_pivot_root, 0, ANY, 0 },
	{ "umount", SYS_umount2, 0, ANY, 0 },
	{ "clone", SYS_clone, 0, ANY, 0 },
	{ "clone3", SYS_clone3, 0, ANY, 0 },
	{ "newpid", SYS_clone, 0, CLONE_NEWPID, 1 },
	{ "newnet", SYS_clone, 0, CLONE_NEWNET, 1 },
	{ "newipc", SYS_clone, 0, CLONE_NEWIPC, 1 },
	{ "unshare", SYS_unshare, 0, ANY, 0 },
	{ "sethostname", SYS_sethostname, 0, ANY, 0 },
	{ "setsid", SYS_setsid, 0, ANY, 0 },
	{ "socket", SYS_socket, 0, 2 /* AF_INET */, 0 },
	{ "netlink", SYS_socket, 0, 16 /* AF_NETLINK */, 0 },
	{ "bind", SYS_bind, 0, ANY, 0 },
	{ "listen", SYS_listen, 0, ANY, 0 },
	{ "sendmsg", SYS_sendmsg, 0, ANY, 0 },
	{ "close_range", SYS_close_range, 0, ANY, 0 },
	{ "setgroups", SYS_setgroups, 0, ANY, 0 },
	{ "setresgid", SYS_setresgid, 0, ANY, 0 },
	{ "setresuid", SYS_setresuid, 0, ANY, 0 },
	{ "nproc", SYS_prlimit64, 1, RLIMIT_NPROC, 0 },
	{ "core", SYS_prlimit64, 1, RLIMIT_CORE, 0 },
	{ "capset", SYS_capset, 0, ANY, 0 },
	{ "ambient", SYS_prctl, 0, PR_CAP_AMBIENT, 0 },
	{ "nnp", SYS_prctl, 0, PR_SET_NO_NEW_PRIVS, 0 },
	{ "seccomp", SYS_prctl, 0, PR_SET_SECCOMP, 0 },
	{ "seccomp2", SYS_seccomp, 0, ANY, 0 },
	{ "landlock_create", SYS_landlock_create_ruleset, 0, ANY, 0 },
	{ "landlock_rule", SYS_landlock_add_rule, 0, ANY, 0 },
	{ "landlock_self", SYS_landlock_restrict_self, 0, ANY, 0 },
	{ "memfd_create", SYS_memfd_create, 0, ANY, 0 },
	{ "dup2", SYS_dup3, 0, ANY, 0 },
	{ "chdir", SYS_chdir, 0, ANY, 0 },
	{ "pidfd_send_signal", SYS_pidfd_send_signal, 0, ANY, 0 },
};

static void
filter(const char *name, int error)
{
	struct sock_filter code[8];
	struct sock_fprog prog = { 0, code };
	size_t i;
	unsigned short n = 0;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, name) == 0)
			break;
	if (i == sizeof(calls) / sizeof(calls[0])) {
		dprintf(2, "refuse: no call %s\n", name);
		_exit(125);
	}
	code[n++] = (struct sock_filter){ BPF_LD | BPF_W | BPF_ABS, 0, 0,
		offsetof(struct seccomp_data, nr) };
	code[n++] = (struct sock_filter){ BPF_JMP | BPF_JEQ | BPF_K, 0,
		calls[i].value == ANY ? 1 : 3, calls[i].nr };
	if (calls[i].value != ANY) {
		code[n++] =
		    (struct sock_filter){ BPF_LD | BPF_W | BPF_ABS, 0, 0,
			    (uint32_t)(offsetof(struct seccomp_data, args) +
				8 * (size_t)calls[i].arg) };
		code[n++] = (struct sock_filter){
			(uint16_t)(BPF_JMP | BPF_K |
			    (calls[i].bit ? BPF_JSET : BPF_JEQ)),
			0, 1, calls[i].value
		};
	}
	code[n++] = (struct sock_filter){ BPF_RET | BPF_K, 0, 0,
		SECCOMP_RET_ERRNO | (uint32_t)error };
	code[n++] =
	    (struct sock_filter){ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW };
	prog.len = n;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == -1 &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) ==
		    -1)) {
		dprintf(2, "refuse: seccomp: %s\n", strerror(errno));
		_exit(125);
	}
}

int
main(int argc, char **argv, char **envp)
{
	char copy[sizeof(text)], name[64], program[128];
	int error;
	size_t i;

	(void)argc;
	for (i = 0; i < sizeof(text); i++)
		copy[i] = text[i];
	copy[sizeof(copy) - 1] = '\0';
	if (sscanf(copy, "%63s %d %127s", name, &error, program) != 3) {
		dprintf(2, "refuse: not told what to do\n");
		return (125);
	}
	if (strcmp(name, "none") != 0)
		filter(name, error);
	execve(program, argv, envp);
	dprintf(2, "refuse: %s: %s\n", program, strerror(errno));
	return (125);
}
