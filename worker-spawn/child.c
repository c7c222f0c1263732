/* SPDX-License-Identifier: ISC */
/*
 * clone3, and what follows until waitpid.  Runs in worker-spawn, the part in
 * the new process in inside.c.  A run's process namespace is made around
 * bwrap, so that one SIGKILL through its pidfd ends all of it whatever state
 * bwrap is in (its own --die-with-parent was measured to leak), and waitpid
 * means that nothing is left.  It never blocks, and never reads what a
 * client wrote: descriptor 2 of bwrap and shim is a pipe that no client has.
 */
#include "worker-spawn/child.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "worker-spawn/cgroup.h"
#include "worker-spawn/inside.h"
#include "worker-spawn/sandbox.h"

#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif

struct child {
	const struct child_ops *ops;
	void *arg;
	struct cgroups *groups;
	struct cgroup group;
	pid_t pid;
	int pidfd, gate, ctl, diag;
	struct event *dead, *report, *say, *late;
	unsigned int packets;
	int ready;    /* "G": set up, about to execute */
	int ran;      /* and closed by exec */
	int failed;   /* errno of the step in end.detail, 0: none */
	int not_exec; /* errno of the client's exec */
	int killed;
	char said[LIM_RUN_DIAG + 1]; /* by bwrap and shim */
	size_t nsaid;
	struct child_end end;
};

int
child_no_room(int error)
{
	/* The kernel's own number when no room for filters' code is left. */
	static const int enotsupp = 524;

	return (error == EAGAIN || error == ENOMEM || error == EMFILE ||
	    error == ENFILE || error == ENOSPC || error == enotsupp);
}

pid_t
child_pid(const struct child *c)
{
	return (c->pid);
}

static void
event_drop(struct event **ev)
{
	if (*ev != NULL)
		event_free(*ev);
	*ev = NULL;
}

static void
fd_drop(int *fd)
{
	if (*fd != -1)
		close(*fd);
	*fd = -1;
}

void
child_free(struct child *c)
{
	if (c == NULL)
		return;
	event_drop(&c->dead);
	event_drop(&c->report);
	event_drop(&c->say);
	event_drop(&c->late);
	fd_drop(&c->pidfd);
	fd_drop(&c->gate);
	fd_drop(&c->ctl);
	fd_drop(&c->diag);
	free(c);
}

/* ---- what the shim says ---- */

static void
step_failed(struct child *c, const char *text, size_t len)
{
	const char *colon = memrchr(text, ':', len);

	if (c->failed != 0 || colon == NULL)
		return;
	c->failed = atoi(colon + 1);
	if (c->failed == 0)
		c->failed = EIO;
	(void)snprintf(c->end.detail, sizeof(c->end.detail), "%.*s: %s",
	    (int)(colon - text), text, strerror(c->failed));
}

/* The descriptor did not fit into our table: such a client reaches nobody. */
static void
listener_lost(struct child *c)
{
	c->failed = EMFILE;
	(void)snprintf(c->end.detail, sizeof(c->end.detail),
	    "take the listener: %s", strerror(c->failed));
	child_kill(c);
}

static void
packet(struct child *c, char *buf, size_t len, int fd)
{
	buf[len] = '\0';
	if (buf[0] == 'L' && c->ops->listener != NULL) {
		if (fd != -1)
			c->ops->listener(c->arg, fd);
		else
			listener_lost(c);
		return;
	}
	if (fd != -1)
		close(fd);
	if (buf[0] == 'F')
		step_failed(c, buf + 1, len - 1);
	else if (buf[0] == 'G')
		c->ready = 1;
	else if (buf[0] == 'X')
		c->not_exec = atoi(buf + 1);
}

/* -1 nothing there, 0 the end, 1 a packet. */
static int
receive(struct child *c)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} cm;
	char buf[LIM_TEXT];
	struct iovec iov = { buf, sizeof(buf) - 1 };
	struct msghdr mh = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = cm.buf,
		.msg_controllen = sizeof(cm.buf) };
	struct cmsghdr *h;
	ssize_t n;
	int fd = -1;

	if ((n = recvmsg(c->ctl, &mh, MSG_CMSG_CLOEXEC | MSG_DONTWAIT)) == -1)
		return (errno == EAGAIN || errno == EINTR ? -1 : 0);
	h = CMSG_FIRSTHDR(&mh);
	if (h != NULL && h->cmsg_level == SOL_SOCKET &&
	    h->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(h), sizeof(fd));
	if (n == 0 || ++c->packets > LIM_RUN_PACKETS) {
		if (fd != -1)
			close(fd);
		return (0);
	}
	packet(c, buf, (size_t)n, fd);
	return (1);
}

static void
report_cb(evutil_socket_t fd, short what, void *arg)
{
	struct child *c = arg;
	int r;

	(void)fd;
	(void)what;
	while ((r = receive(c)) == 1)
		;
	if (r == -1)
		return;
	event_drop(&c->report);
	fd_drop(&c->ctl);
	/* Closed by a successful exec, or by an end before it. */
	c->ran = c->ready && c->failed == 0 && c->not_exec == 0;
	if (!c->ran)
		return;      /* dead_cb() comes */
	event_drop(&c->say); /* bwrap holds the pipe on, with no more to say */
	if (!c->killed)
		event_del(c->late);
}

/* As read(2). What is not kept is read, so that a full pipe stops nobody. */
static ssize_t
hear(struct child *c)
{
	char rest[512];
	ssize_t n;

	if (c->nsaid == LIM_RUN_DIAG)
		return (read(c->diag, rest, sizeof(rest)));
	if ((n = read(c->diag, c->said + c->nsaid, LIM_RUN_DIAG - c->nsaid)) >
	    0)
		c->nsaid += (size_t)n;
	return (n);
}

static void
say_cb(evutil_socket_t fd, short what, void *arg)
{
	struct child *c = arg;

	(void)fd;
	(void)what;
	if (hear(c) == 0)
		event_drop(&c->say);
}

/* ---- the end ---- */

/*
 * bwrap's own failures are text only: its first line, on a pipe of its own.
 * The errno it ends with is worth knowing where it means that there is no
 * room now.
 */
static void
bwrap_failed(struct child *c)
{
	static const int room[] = { EAGAIN, ENOMEM, EMFILE, ENFILE, ENOSPC };
	size_t len = strcspn(c->said, "\n"), n, i;

	if (len == 0) {
		c->failed = EIO;
		(void)strlcpy(c->end.detail, "bwrap: ended without a word",
		    sizeof(c->end.detail));
		return;
	}
	c->said[len] = '\0';
	(void)log_vis(c->end.detail, sizeof(c->end.detail), c->said, len);
	c->failed = EPERM;
	for (i = 0; i < sizeof(room) / sizeof(room[0]); i++) {
		n = strlen(strerror(room[i]));
		if (len >= n &&
		    strcmp(c->said + len - n, strerror(room[i])) == 0)
			c->failed = room[i];
	}
}

/* Why there was no client, by what the runner told, never by an exit status. */
static void
judge_failure(struct child *c, int status)
{
	struct child_end *e = &c->end;

	if (e->out_of_memory) {
		e->err = ERR_OOM;
		return;
	}
	if (c->not_exec != 0) {
		e->err = child_no_room(c->not_exec) ? ERR_OVERLOADED
						    : ERR_NOT_INSTALLED;
		(void)snprintf(e->detail, sizeof(e->detail),
		    "exec of the client: %s", strerror(c->not_exec));
		return;
	}
	/* Who killed it knows why, unless it had failed already: its asker
	 * sees the pipes close before we see it dead, and asks for its end. */
	if (c->killed && c->failed == 0 && c->nsaid == 0 && WIFSIGNALED(status))
		return;
	if (c->failed == 0)
		bwrap_failed(c);
	e->err = child_no_room(c->failed) ? ERR_OVERLOADED : ERR_SANDBOX;
}

static void
judge(struct child *c, int status)
{
	struct child_end *e = &c->end;

	e->ran = c->ran;
	e->out_of_memory = cgroup_out_of_memory(&c->group);
	if (WIFSIGNALED(status)) {
		e->signal = WTERMSIG(status);
		e->status = 128 + e->signal;
	} else {
		e->status = WEXITSTATUS(status);
		/* As bwrap tells of a client that a signal ended. */
		e->signal = e->status > 128 && e->status <= 128 + SIGRTMAX
		    ? e->status - 128
		    : 0;
	}
	if (!e->ran)
		judge_failure(c, status);
}

/* The namespace's first process is dead, so all of it is. */
static void
dead_cb(evutil_socket_t fd, short what, void *arg)
{
	struct child *c = arg;
	int status;
	pid_t pid;

	(void)fd;
	(void)what;
	if ((pid = waitpid(c->pid, &status, WNOHANG)) == 0)
		return;
	if (pid == -1)
		fatal("waitpid %ld", (long)c->pid);
	/* What it had said before comes first; all who could speak are gone. */
	if (c->ctl != -1)
		report_cb(c->ctl, EV_READ, c);
	while (!c->ran && hear(c) > 0)
		;
	event_drop(&c->dead);
	event_drop(&c->late);
	judge(c, status);
	cgroup_end(c->groups, &c->group);
	c->ops->gone(c->arg, &c->end);
}

/* Too late to begin, or too late to be dead. */
static void
late_cb(evutil_socket_t fd, short what, void *arg)
{
	struct child *c = arg;

	(void)fd;
	(void)what;
	if (c->killed) {
		c->ops->stuck(c->arg);
		return;
	}
	c->failed = ETIMEDOUT;
	(void)strlcpy(
	    c->end.detail, "not begun in time", sizeof(c->end.detail));
	child_kill(c);
}

void
child_kill(struct child *c)
{
	static const struct timeval stuck = { LIM_RUN_STUCK_S, 0 };

	if (c->killed)
		return;
	c->killed = 1;
	if (syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0) == -1 &&
	    errno != ESRCH)
		log_warn("child %ld: kill", (long)c->pid);
	event_add(c->late, &stuck);
}

/* ---- the start ---- */

static int
pair(int a[2], int kind)
{
	switch (kind) {
	case 'p':
		return (pipe2(a, O_CLOEXEC));
	default:
		return (
		    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, a));
	}
}

enum { P_GATE, P_CTL, P_OUT, P_ERR, P_DIAG, P_MAX };

static void
pairs_close(int p[P_MAX][2])
{
	int i, saved = errno;

	for (i = 0; i < P_MAX; i++) {
		fd_drop(&p[i][0]);
		fd_drop(&p[i][1]);
	}
	errno = saved;
}

static int
pairs_open(int p[P_MAX][2])
{
	int i;

	for (i = 0; i < P_MAX; i++)
		p[i][0] = p[i][1] = -1;
	for (i = 0; i < P_MAX; i++)
		if (pair(p[i], i == P_CTL ? 's' : 'p') == -1) {
			pairs_close(p);
			return (-1);
		}
	return (0);
}

static void
become_inside(const struct child_spec *spec, int p[P_MAX][2])
{
	struct inside in = { .spec = spec,
		.gate = p[P_GATE][0],
		.ctl = p[P_CTL][1],
		.out = p[P_OUT][1],
		.err = p[P_ERR][1],
		.diag = p[P_DIAG][1] };

	close(p[P_GATE][1]); /* else the gate would never close */
	inside_main(&in);
}

/* 0 in the new process. */
static pid_t
clone_child(struct child *c)
{
	struct clone_args ca;

	memset(&ca, 0, sizeof(ca));
	ca.flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_PIDFD;
	ca.pidfd = (uint64_t)(uintptr_t)&c->pidfd;
	ca.exit_signal = SIGCHLD;
	if (c->group.fd != -1) {
		ca.flags |= CLONE_INTO_CGROUP;
		ca.cgroup = (uint64_t)c->group.fd;
	}
	return ((pid_t)syscall(SYS_clone3, &ca, sizeof(ca)));
}

static struct event *
watch(struct event_base *base, int fd, event_callback_fn cb, struct child *c)
{
	struct event *ev =
	    event_new(base, fd, fd == -1 ? 0 : EV_READ | EV_PERSIST, cb, c);

	if (ev == NULL || (fd != -1 && event_add(ev, NULL) == -1))
		fatalx("child: event_new");
	return (ev);
}

static struct child *
child_new(struct event_base *base, struct cgroups *groups,
    const struct child_ops *ops, void *arg, int p[P_MAX][2])
{
	struct child *c = xcalloc(1, sizeof(*c));

	c->ops = ops;
	c->arg = arg;
	c->groups = groups;
	c->group.fd = c->pidfd = -1;
	c->gate = p[P_GATE][1];
	c->ctl = p[P_CTL][0];
	c->diag = p[P_DIAG][0];
	p[P_GATE][1] = p[P_CTL][0] = p[P_DIAG][0] = -1;
	(void)fcntl(c->diag, F_SETFL, O_NONBLOCK);
	c->report = watch(base, c->ctl, report_cb, c);
	c->say = watch(base, c->diag, say_cb, c);
	c->late = watch(base, -1, late_cb, c);
	return (c);
}

struct child *
child_start(struct event_base *base, struct cgroups *groups,
    const struct child_spec *spec, const struct child_ops *ops, void *arg,
    int *out, int *err, const char **step)
{
	struct child *c;
	int p[P_MAX][2], saved;

	*step = "pipes";
	if (pairs_open(p) == -1)
		return (NULL);
	c = child_new(base, groups, ops, arg, p);
	*step = "cgroup";
	if (cgroup_make(groups, &c->group, spec->memory, LIM_RUN_TASKS) == -1)
		goto fail;
	*step = "clone3";
	if ((c->pid = clone_child(c)) == -1)
		goto fail;
	if (c->pid == 0) {
		p[P_GATE][1] = c->gate;
		become_inside(spec, p); /* never returns */
	}
	c->dead = watch(base, c->pidfd, dead_cb, c);
	*out = p[P_OUT][0];
	*err = p[P_ERR][0];
	p[P_OUT][0] = p[P_ERR][0] = -1;
	pairs_close(p);
	return (c);
fail:
	saved = errno;
	pairs_close(p);
	cgroup_end(groups, &c->group);
	child_free(c);
	errno = saved;
	return (NULL);
}

void
child_go(struct child *c)
{
	static const struct timeval limit = { LIM_RUN_EXEC_S, 0 };

	if (write(c->gate, "g", 1) != 1)
		log_warn("child %ld: gate",
		    (long)c->pid); /* dead already: dead_cb() comes */
	fd_drop(&c->gate);
	event_add(c->late, &limit);
}
