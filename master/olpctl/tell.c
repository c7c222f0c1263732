/* SPDX-License-Identifier: ISC */
/*
 * The running daemon, over RUNTIME/control.sock: asking for a reload and
 * waiting until the master says that worker-spawn has confirmed it, and
 * asking for the status report's descriptor.  The master is believed when it
 * runs as root or as ourselves; nobody else is.
 */
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include <bsd/string.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/chan.h"
#include "master/olpctl/olpctl.h"

#define CONTROL_SOCK "control.sock"
#define INSTANCE_LOCK "olpd.lock" /* as in master/place.c */

static const struct timespec again = { 0, 50 * 1000 * 1000 };

/* One question and what came back. */
struct talk {
	struct told *told;
	int done;
	int ok;
	uint64_t dev, ino; /* of the keys.d the daemon has read */
	int fd;            /* the report's */
};

/* ---- the socket ---- */

static int
peer_trusted(int fd, const char *path)
{
	struct ucred u;
	socklen_t len = sizeof(u);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &u, &len) == -1) {
		warn("%s", path);
		return (-1);
	}
	if (u.uid == 0 || u.uid == geteuid())
		return (0);
	warnx("%s: whoever listens there runs as uid %u and is not believed",
	    path, (unsigned int)u.uid);
	return (-1);
}

/* A master that is stopped and has a full backlog must not hold us for ever. */
static int
socket_open(const struct sockaddr_un *sun)
{
	struct timeval tv = { LIM_CTL_WAIT_S, 0 };
	int fd, error;

	if ((fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) == -1)
		return (-1);
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) == 0 &&
	    connect(fd, (const struct sockaddr *)sun, sizeof(*sun)) == 0)
		return (fd);
	error = errno;
	close(fd);
	errno = error;
	return (-1);
}

/* ---- is one running? ---- */

/*
 * The master holds a lock on RUNTIME/olpd.lock.  /proc/locks is asked first:
 * taking the lock, be it for an instant, could make a master that starts just
 * then believe that another one runs.
 */
static int
lock_is_listed(ino_t ino)
{
	char line[256], kind[16];
	unsigned long long n;
	int found = 0;
	FILE *f;

	if ((f = fopen("/proc/locks", "re")) == NULL)
		return (1);
	while (!found && fgets(line, sizeof(line), f) != NULL)
		found = sscanf(line, "%*d: %15s %*s %*s %*d %*x:%*x:%llu", kind,
			    &n) == 2 &&
		    strcmp(kind, "FLOCK") == 0 && n == (unsigned long long)ino;
	fclose(f);
	return (found);
}

int
tell_is_running(const struct conf *c)
{
	struct stat st;
	char path[LIM_PATH + 16];
	int fd, held;

	(void)snprintf(
	    path, sizeof(path), "%s/%s", c->runtime_dir, INSTANCE_LOCK);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)) == -1)
		return (0);
	held = fstat(fd, &st) == 0 && lock_is_listed(st.st_ino) &&
	    flock(fd, LOCK_SH | LOCK_NB) == -1;
	close(fd);
	return (held);
}

static void
told_set(struct told *t, enum tell what, const char *text)
{
	t->what = what;
	(void)strlcpy(t->text, text, sizeof(t->text));
}

static int
is_absent(int error)
{
	return (error == ENOENT || error == ECONNREFUSED);
}

/* Connect; a master that runs but does not listen yet is given time. */
static int
control_connect(const struct conf *c, const struct sockaddr_un *sun)
{
	int i, fd, error;

	for (i = 0; (fd = socket_open(sun)) == -1 && is_absent(errno); i++) {
		error = errno;
		if (!tell_is_running(c) || i >= LIM_CTL_WAIT_S * 20) {
			errno = i < LIM_CTL_WAIT_S * 20 ? error : ETIMEDOUT;
			return (-1);
		}
		nanosleep(&again, NULL);
	}
	return (fd);
}

/* The connected socket, or -1 and told says why. */
static int
control_open(const struct ctl *ctl, struct told *t)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	char text[LIM_PATH];
	int fd, n;

	n = snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/%s",
	    ctl->conf->runtime_dir, CONTROL_SOCK);
	errno = ENAMETOOLONG;
	fd = n < 0 || (size_t)n >= sizeof(sun.sun_path)
	    ? -1
	    : control_connect(ctl->conf, &sun);
	if (fd == -1) {
		t->what = is_absent(errno)          ? TELL_NO_DAEMON
		    : ctl_code(errno) == CTL_DENIED ? TELL_DENIED
						    : TELL_UNCONFIRMED;
		(void)snprintf(text, sizeof(text), "%s: %s", sun.sun_path,
		    strerror(errno));
		told_set(t, t->what, text);
		return (-1);
	}
	if (peer_trusted(fd, sun.sun_path) == 0)
		return (fd);
	close(fd);
	told_set(t, TELL_UNCONFIRMED, "the control socket is somebody else's");
	return (-1);
}

/* ---- answers ---- */

static int
on_result(struct chan *c, struct msg *m)
{
	const struct msg_ctl_result *r = m->body;
	struct talk *talk = chan_arg(c);

	(void)strlcpy(talk->told->text, r->text, sizeof(talk->told->text));
	if (!r->last) {
		if (!r->ok)
			talk->told->faults++;
		warnx("olpd: %s", ctl_vis(r->text));
		return (0);
	}
	talk->done = 1;
	talk->ok = r->ok;
	talk->dev = r->keys_dev;
	talk->ino = r->keys_ino;
	return (0);
}

static int
on_status_fd(struct chan *c, struct msg *m)
{
	struct talk *talk = chan_arg(c);

	talk->done = talk->ok = 1;
	talk->fd = msg_take_fd(m, 0);
	return (0);
}

static void
on_gone(struct chan *c, int error, void *arg)
{
	(void)c;
	(void)error;
	(void)arg; /* chan_step() tells; this is for armed channels */
}

static const struct msg_handler from_master[] = {
	{ MT_CTL_RESULT, on_result, ST_ANY },
	{ MT_CTL_STATUS_FD, on_status_fd, ST_ANY },
};

static int
left_ms(const struct timespec *end)
{
	struct timespec now;
	int64_t ms;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ms = (int64_t)(end->tv_sec - now.tv_sec) * 1000 +
	    (end->tv_nsec - now.tv_nsec) / 1000000;
	return (ms > 0 ? (int)ms : 0);
}

/* Ask, and hear until the last answer. 0, or an errno: EPIPE when the master
 * hung up. */
static int
converse(
    int fd, uint32_t question, struct talk *talk, const struct timespec *end)
{
	const struct msg_empty nothing = { 0 };
	struct chan *c;
	int error = 0;

	talk->told->faults = 0;
	c = chan_new(NULL, fd, PROC_CTL, PROC_MASTER, from_master,
	    sizeof(from_master) / sizeof(from_master[0]), on_gone, talk);
	if (chan_send(c, question, &nothing) == -1)
		error = EPIPE;
	while (error == 0 && !talk->done)
		if (chan_step(c, left_ms(end)) == -1)
			error = errno;
	chan_free(c);
	return (error);
}

/*
 * A question and its answer; -1 and told says why.  A master that hangs up
 * without an answer was restarted, or had more olpctls than it hears at once:
 * it is asked again while there is time.
 */
static int
ask(const struct ctl *ctl, uint32_t question, struct talk *talk)
{
	struct timespec end;
	int fd, error;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += LIM_CTL_WAIT_S;
	do {
		if ((fd = control_open(ctl, talk->told)) == -1)
			return (-1);
		if ((error = converse(fd, question, talk, &end)) == 0)
			return (0);
		nanosleep(&again, NULL);
	} while (error == EPIPE && left_ms(&end) > 0);
	told_set(talk->told, TELL_UNCONFIRMED,
	    error == ETIMEDOUT   ? "it did not answer in time"
		: error == EPIPE ? "it hangs up without an answer"
				 : strerror(error));
	return (-1);
}

/* ---- questions ---- */

static int
same_keys(int keys, const struct talk *talk)
{
	struct stat st;

	return (keys == -1 ||
	    (fstat(keys, &st) == 0 && st.st_dev == talk->dev &&
		st.st_ino == talk->ino));
}

void
tell_reload(const struct ctl *ctl, int keys, struct told *t)
{
	struct talk talk = { .told = t, .fd = -1 };

	memset(t, 0, sizeof(*t));
	if (ask(ctl, MT_CTL_RELOAD, &talk) == -1)
		return;
	if (!talk.ok)
		t->what = TELL_UNCONFIRMED;
	else if (!same_keys(keys, &talk))
		told_set(t, TELL_UNCONFIRMED,
		    "it runs with keys of another directory");
	else
		t->what = TELL_CONFIRMED;
}

int
tell_status(const struct ctl *ctl, struct told *t)
{
	struct talk talk = { .told = t, .fd = -1 };

	memset(t, 0, sizeof(*t));
	if (ask(ctl, MT_CTL_STATUS, &talk) == -1)
		return (-1);
	t->what = talk.fd == -1 ? TELL_UNCONFIRMED : TELL_CONFIRMED;
	return (talk.fd);
}
