/* SPDX-License-Identifier: ISC */
/*
 * What a client began with, as it sees it itself: signals, limits, ids,
 * descriptors, and processes of its own.
 *
 *   begin             all of it, as "name=value " deltas
 *   forks:N           N processes that live at once, then end
 *   alloc-many:N:MB   that much memory in each of N processes at once
 */
#include "attack.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name;
	int what;
} limits[] = {
	{ "core", RLIMIT_CORE },
	{ "nproc", RLIMIT_NPROC },
	{ "nofile", RLIMIT_NOFILE },
	{ "fsize", RLIMIT_FSIZE },
	{ "data", RLIMIT_DATA },
	{ "stack", RLIMIT_STACK },
	{ "nice", RLIMIT_NICE },
	{ "rtprio", RLIMIT_RTPRIO },
	{ "msgqueue", RLIMIT_MSGQUEUE },
	{ "memlock", RLIMIT_MEMLOCK },
};

static void
show_line(const char *text, const char *name, const char *as)
{
	const char *at = strstr(text, name);
	char value[128];
	size_t n;

	if (at == NULL) {
		say("%s=? ", as);
		return;
	}
	at += strlen(name);
	at += strspn(at, "\t ");
	n = strcspn(at, "\n");
	(void)snprintf(value, sizeof(value), "%.*s", (int)n, at);
	for (n = strlen(value); n > 0 && value[n - 1] == ' '; n--)
		value[n - 1] = '\0';
	for (n = 0; value[n] != '\0'; n++)
		if (value[n] == '\t' || value[n] == ' ')
			value[n] = ',';
	say("%s=%s ", as, value[0] == '\0' ? "none" : value);
}

static void
show_file(const char *path, const char *as)
{
	char buf[64] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd == -1 ? -1 : read(fd, buf, sizeof(buf) - 1);

	if (n < 0)
		(void)snprintf(buf, sizeof(buf), "%s", strerrorname_np(errno));
	buf[strcspn(buf, "\n")] = '\0';
	say("%s=%s ", as, buf);
	if (fd != -1)
		close(fd);
}

static void
show_status(void)
{
	static const char *const lines[][2] = { { "\nSigBlk:", "sigblk" },
		{ "\nSigIgn:", "sigign" }, { "\nSigCgt:", "sigcgt" },
		{ "\nUmask:", "umask" }, { "\nGroups:", "groups" },
		{ "\nNoNewPrivs:", "nnp" }, { "\nSeccomp:", "seccomp" },
		{ "\nCapEff:", "capeff" }, { "\nCapPrm:", "capprm" },
		{ "\nCapInh:", "capinh" }, { "\nCapAmb:", "capamb" },
		{ "\nUid:", "uids" }, { "\nGid:", "gids" } };
	static char text[8192];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd == -1 ? -1 : read(fd, text, sizeof(text) - 1);
	size_t i;

	text[n < 0 ? 0 : n] = '\0';
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		show_line(text, lines[i][0], lines[i][1]);
	if (fd != -1)
		close(fd);
}

static void
show_limits(void)
{
	struct rlimit rl;
	size_t i;

	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (getrlimit(limits[i].what, &rl) == -1)
			continue;
		say("rl-%s=%ld,%ld ", limits[i].name, (long)rl.rlim_cur,
		    (long)rl.rlim_max);
	}
}

static const char *
kind(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == -1)
		return (strerrorname_np(errno));
	return (S_ISFIFO(st.st_mode)   ? "pipe"
		: S_ISREG(st.st_mode)  ? "file"
		: S_ISCHR(st.st_mode)  ? "device"
		: S_ISSOCK(st.st_mode) ? "socket"
				       : "other");
}

static void
show_begin(void)
{
	int fd, tty = open("/dev/tty", O_RDWR | O_CLOEXEC);

	say("tty=%s ", tty == -1 ? strerrorname_np(errno) : "OPEN");
	show_status();
	show_limits();
	errno = 0;
	say("nice=%d ", getpriority(PRIO_PROCESS, 0));
	show_file("/proc/self/oom_score_adj", "oom");
	show_file("/proc/self/coredump_filter", "corefilter");
	say("dumpable=%d ", prctl(PR_GET_DUMPABLE));
	say("sid=%s ",
	    getsid(0) == getpid() || getsid(0) == 0 || getsid(0) == 1
		? "own"
		: "shared");
	for (fd = 0; fd < 3; fd++)
		say("fd%d=%s,%s ", fd, kind(fd),
		    fcntl(fd, F_GETFL) & O_NONBLOCK ? "nonblock" : "block");
	say("in-write=%s ",
	    write(0, "x", 1) == -1 ? strerrorname_np(errno) : "OPEN");
	say("pdeathsig=");
	fd = -1;
	(void)prctl(PR_GET_PDEATHSIG, &fd);
	say("%d ", fd);
}

/* All alive at once: each waits until the pipe closes. */
static void
forks(int n)
{
	int made = 0, p[2], error = 0;
	char c;

	if (pipe(p) == -1)
		return;
	for (; made < n; made++) {
		pid_t pid = fork();

		if (pid == -1) {
			error = errno;
			break;
		}
		if (pid == 0) {
			close(p[1]);
			(void)!read(p[0], &c, 1);
			_exit(0);
		}
	}
	usleep(1500000);
	close(p[1]);
	close(p[0]);
	while (wait(NULL) > 0)
		continue;
	say("forks=%d errno=%s ", made,
	    error == 0 ? "0" : strerrorname_np(error));
}

static void
alloc_many(int n, int mb)
{
	char *p;

	for (; n > 0; n--)
		if (fork() == 0) {
			if ((p = malloc((size_t)mb << 20)) != NULL)
				explicit_bzero(p, (size_t)mb << 20);
			(void)pause();
			_exit(0);
		}
	while (wait(NULL) > 0)
		continue;
}

int
self_word(const char *w)
{
	int n, mb;

	if (strcmp(w, "begin") == 0)
		show_begin();
	else if (strncmp(w, "forks:", 6) == 0)
		forks(atoi(w + 6));
	else if (sscanf(w, "alloc-many:%d:%d", &n, &mb) == 2)
		alloc_many(n, mb);
	else
		return (0);
	return (1);
}
