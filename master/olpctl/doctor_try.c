/* SPDX-License-Identifier: ISC */
/*
 * The doctor's own sandbox: namespaces as the master makes them for
 * worker-spawn and bwrap inside as worker-spawn runs it, with /usr/bin/true
 * as the client.  Works without a daemon.  What it starts is the first of a
 * process namespace and is gone when that is killed.
 */
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/conf/conf.h"
#include "doctor.h"

#define SERVICE_SPAWN 1 /* of the service ids */
#define CHILD_FAILED 97 /* its words are on the pipe */
#define WORDS 512

/* ---- in the child ---- */

static void __attribute__((noreturn)) die(const char *step)
{
	dprintf(STDERR_FILENO, "%s: %s\n", step, strerror(errno));
	_exit(CHILD_FAILED);
}

static void __attribute__((noreturn)) child(int gate, int out)
{
	static const char *const argv[] = { "bwrap", "--unshare-ipc",
		"--unshare-pid", "--unshare-net", "--unshare-uts",
		"--new-session", "--ro-bind", "/usr", "/usr", "--symlink",
		"usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
		"--symlink", "usr/bin", "/bin", "--proc", "/proc", "--dev",
		"/dev", "--tmpfs", "/tmp", "--", "/usr/bin/true", NULL };
	static const char *const env[] = { "PATH=/usr/bin", NULL };
	char go;
	int null;

	if ((null = open("/dev/null", O_RDWR)) == -1 ||
	    dup2(null, STDIN_FILENO) == -1 || dup2(null, STDOUT_FILENO) == -1 ||
	    dup2(out, STDERR_FILENO) == -1)
		_exit(CHILD_FAILED);
	if (read(gate, &go, 1) != 1)
		_exit(CHILD_FAILED); /* the maps could not be written; the
					parent tells */
	if (setresgid(0, 0, 0) == -1 || setresuid(0, 0, 0) == -1)
		die("becoming root of the namespace");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1)
		die("private mounts");
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		NULL) == -1)
		die("a fresh /proc");
	execve(DOC_BWRAP, (char *const *)(uintptr_t)argv,
	    (char *const *)(uintptr_t)env);
	die(DOC_BWRAP);
}

/* ---- in the parent ---- */

static int
put(pid_t pid, const char *name, const char *text)
{
	char path[64];
	ssize_t n;
	int fd, error;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	if ((fd = open(path, O_WRONLY | O_CLOEXEC)) == -1)
		return (-1);
	n = write(fd, text, strlen(text));
	error = errno;
	close(fd);
	errno = error;
	return (n == (ssize_t)strlen(text) ? 0 : -1);
}

static int
put_maps(const struct doctor *d, pid_t pid)
{
	char uid[32], gid[32];

	(void)snprintf(uid, sizeof(uid), "0 %u 1\n",
	    d->privileged ? d->conf->service_first + SERVICE_SPAWN
			  : (unsigned int)geteuid());
	(void)snprintf(gid, sizeof(gid), "0 %u 1\n",
	    d->privileged ? d->conf->service_first + SERVICE_SPAWN
			  : (unsigned int)getegid());
	if (!d->privileged && put(pid, "setgroups", "deny") == -1)
		return (-1);
	return (put(pid, "uid_map", uid) == -1 ? -1 : put(pid, "gid_map", gid));
}

/* The child's words up to EOF, in time. -1: it was not through. */
static int
hear(int fd, char *buf, size_t size)
{
	struct pollfd pfd = { fd, POLLIN, 0 };
	struct timespec begin, now;
	size_t n = 0;
	ssize_t r = 1;
	char rest[WORDS];

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (now = begin; r != 0 && now.tv_sec - begin.tv_sec < LIM_CTL_TRY_S;
	     clock_gettime(CLOCK_MONOTONIC, &now)) {
		if (poll(&pfd, 1, 1000) != 1)
			continue;
		r = n < size - 1 ? read(fd, buf + n, size - 1 - n)
				 : read(fd, rest, sizeof(rest));
		if (r > 0 && n < size - 1)
			n += (size_t)r;
	}
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return (r == 0 ? 0 : -1);
}

static void
judge(struct doctor *d, int status, int through, const char *words)
{
	static const char todo[] =
	    "no run can be made like this; the checks above that are not ok "
	    "name the cause";

	if (!through)
		doctor_say(d, "sandbox", DOC_FAIL, todo,
		    "bwrap did not end in %d s", LIM_CTL_TRY_S);
	else if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		doctor_say(d, "sandbox", DOC_OK, NULL,
		    "namespaces and bwrap work as olpd uses them");
	else
		doctor_say(d, "sandbox", DOC_FAIL, todo, "%s",
		    words[0] != '\0' ? words : "bwrap failed without a word");
}

static void
try_child(struct doctor *d, pid_t pid, int gate, int out)
{
	char words[WORDS];
	int status = 0, through = 1, error = 0;

	if (put_maps(d, pid) == -1 || write(gate, "", 1) != 1)
		error = errno;
	close(gate); /* without the byte the child ends */
	if (error == 0)
		through = hear(out, words, sizeof(words)) == 0;
	if (!through)
		kill(pid,
		    SIGKILL); /* not waited for yet, so it is still this one */
	(void)waitpid(pid, &status, 0);
	if (error != 0)
		doctor_say(d, "sandbox", DOC_FAIL,
		    "an outer container does not map these ids, or AppArmor "
		    "forbids it",
		    "id maps of a new user namespace: %s", strerror(error));
	else
		judge(d, status, through, words);
}

void
doctor_try(struct doctor *d)
{
	struct clone_args ca = { .exit_signal = SIGCHLD,
		.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
		    CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET };
	int gate[2], out[2];
	pid_t pid;

	if (access(DOC_BWRAP, X_OK) == -1)
		return; /* told by its own check */
	if (pipe2(gate, O_CLOEXEC) == -1)
		return;
	if (pipe2(out, O_CLOEXEC) == -1) {
		close(gate[0]);
		close(gate[1]);
		return;
	}
	if ((pid = (pid_t)syscall(SYS_clone3, &ca, sizeof(ca))) == 0) {
		close(gate[1]);
		child(gate[0], out[1]);
	}
	close(gate[0]);
	close(out[1]);
	if (pid != -1)
		try_child(d, pid, gate[1], out[0]);
	else {
		doctor_say(d, "sandbox", DOC_FAIL,
		    errno == ENOSPC ? "a limit in /proc/sys/user is used up"
				    : "the kernel or a container forbids new "
				      "user namespaces",
		    "clone3 with new namespaces: %s", strerror(errno));
		close(gate[1]);
	}
	close(out[0]);
}
