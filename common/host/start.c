/* SPDX-License-Identifier: ISC */
/*
 * Fork and exec of our own programs.  Runs in the master and, after the
 * fork, in the child until it is another program.  Must never let a
 * descriptor, a signal handler or a variable of the master through.
 */
#include "common/host/start.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <bsd/string.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/limits.h"
#include "common/log.h"

#define CHANNEL_FD 3

static char *env[8];

void
start_init(void)
{
	static const char *const pass[] = { "TZ", "ASAN_OPTIONS",
		"UBSAN_OPTIONS", "LSAN_OPTIONS", "LLVM_PROFILE_FILE" };
	struct rlimit rl;
	sigset_t none;
	const char *v;
	size_t i, n = 0;
	int fd;

	/* Whoever started us may have blocked what stops us. */
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	umask(077);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	do
		fd = open("/dev/null", O_RDWR);
	while (fd != -1 && fd <= STDERR_FILENO);
	(void)close(fd);
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
		rl.rlim_cur =
		    rl.rlim_max > LIM_NOFILE ? LIM_NOFILE : rl.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &rl);
	}
	env[n++] = xstrdup("PATH=/usr/bin:/bin");
	env[n++] = xstrdup("LANG=C.UTF-8");
	for (i = 0; i < sizeof(pass) / sizeof(pass[0]); i++)
		if ((v = getenv(pass[i])) != NULL)
			xasprintf(&env[n++], "%s=%s", pass[i], v);
}

pid_t
start_fork(uint64_t flags, int cgroup)
{
	/* With CLONE_PARENT no signal may be named: a sibling inherits it. */
	struct clone_args ca = { .flags = flags,
		.exit_signal = flags & CLONE_PARENT ? 0 : SIGCHLD };
	sigset_t all, old;
	pid_t pid;
	int i;

	if (cgroup != -1) {
		ca.flags |= CLONE_INTO_CGROUP;
		ca.cgroup = (uint64_t)cgroup;
	}
	/* A signal for the child must not wake the parent's loop, with which
	 * it still shares the handlers' pipe. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	pid = (pid_t)syscall(SYS_clone3, &ca, sizeof(ca));
	if (pid == 0) {
		for (i = 1; i < NSIG; i++)
			(void)signal(i, SIG_DFL);
		sigemptyset(&old);
		/* While we may: clients shall not depend on who started us. */
		(void)setpriority(PRIO_PROCESS, 0, 0);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	return (pid);
}

void
start_exec(const char *path, int fd)
{
	char name[32], verbose[] = "-v", *argv[3] = { name, NULL, NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), r;

	(void)strlcpy(name, strrchr(path, '/') + 1, sizeof(name));
	if (log_verbose())
		argv[1] = verbose;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1 || dup2(null, 0) == -1 ||
	    dup2(2, 1) == -1)
		return;
	r = fd == CHANNEL_FD ? fcntl(fd, F_SETFD, 0) : dup2(fd, CHANNEL_FD);
	/* On exec, so that a failure of it can still be told. */
	if (r != -1 &&
	    syscall(SYS_close_range, CHANNEL_FD + 1, ~0U,
		1U << 2 /* CLOSE_RANGE_CLOEXEC */) == 0)
		execve(path, argv, env);
}
