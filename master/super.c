/* SPDX-License-Identifier: ISC */
/*
 * One struct super per worker and its life as a small machine of states.
 * Runs in the master's loop and never waits: whatever takes time has a timer.
 * A worker that ends after it was ready and had lived is replaced at once,
 * any other after a pause that doubles.
 */
#include "master/super.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include <bsd/string.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/host/start.h"
#include "common/log.h"
#include "master/control.h"
#include "master/nsroom.h"
#include "master/place.h"
#include "master/rows.h"
#include "master/wire.h"

struct supers supers = TAILQ_HEAD_INITIALIZER(supers);
static struct event_base *base;
static super_news_cb *news;
static struct event *tick;
static int draining, drained;

static void start(struct super *);

struct super *
super_find(enum proc proc, uint32_t instance)
{
	struct super *s;

	TAILQ_FOREACH(s, &supers, entry)
		if (s->proc == proc && s->instance == instance)
			break;
	return (s);
}

struct super *
super_ready(enum proc proc)
{
	struct super *s = super_find(proc, 0);

	return (s != NULL && s->state == SUPER_READY ? s : NULL);
}

static int64_t
now_ms(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_MONOTONIC, &t) == -1)
		fatal("clock_gettime");
	return (t.tv_sec * 1000LL + t.tv_nsec / 1000000);
}

static void
timer(struct super *s, int ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	event_add(s->timer, &tv);
}

/* One line for each birth and death; what: "ready", "died: signal 9". */
static void
tell(const struct super *s, enum log_event ev, const char *status,
    const char *what)
{
	char restarts[16];
	struct log_field f[] = { { "OLP_WORKER", proc_name(s->proc) },
		{ "OLP_RESTARTS", restarts }, { "OLP_EXIT_STATUS", status },
		{ "OLP_REASON", s->why[0] == '\0' ? NULL : s->why } };

	(void)snprintf(restarts, sizeof(restarts), "%" PRIu32, s->restarts);
	log_event(ev, f, 4, "%s%s%s, pid %d: %s%s%s", proc_name(s->proc),
	    s->cred == NULL ? "" : " for ",
	    s->cred == NULL ? "" : cred_id(s->cred), s->pid, what,
	    s->why[0] == '\0' ? "" : ": ", s->why);
}

/* ---- end ---- */

static void
leave(struct super *s)
{
	chan_free(s->chan);
	s->chan = NULL;
	nsroom_free(s->room);
	s->room = NULL;
	wire_down(s);
	s->state = SUPER_ENDING;
}

void
super_kill(struct super *s, const char *why)
{
	if (s->state == SUPER_DOWN)
		return;
	if (why != NULL && s->why[0] == '\0')
		(void)strlcpy(s->why, why, sizeof(s->why));
	leave(s);
	if (s->pid > 0)
		(void)kill(s->pid, SIGKILL);
	timer(s, s->pid > 0 ? LIM_KILL_MS : 0);
}

void
super_end(struct super *s)
{
	s->planned = 1;
	if (s->state == SUPER_DOWN || s->state == SUPER_ENDING)
		return;
	leave(s);
	timer(s, LIM_KILL_MS);
}

/* Shorter where it had been ready: then it is rather being killed. */
static void
back_off(struct super *s)
{
	int most =
	    s->was_ready ? LIM_BACKOFF_READY_MS : LIM_BACKOFF_MAX_S * 1000;

	if (s->backoff == LIM_BACKOFF_MS)
		log_warnx("%s: fails again: pauses double, up to %d ms",
		    proc_name(s->proc), most);
	s->backoff = s->backoff == 0 ? LIM_BACKOFF_MS : s->backoff * 2;
	if (s->backoff > most)
		s->backoff = most;
	timer(s, s->backoff);
}

/* Its process is gone, and we saw it. */
static void
ended(struct super *s, int status)
{
	int lived = s->was_ready && now_ms() - s->born >= LIM_LIVED_MS;
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	int code = sig == 0 ? WEXITSTATUS(status) : 128 + sig;
	char num[16], what[96];

	(void)snprintf(num, sizeof(num), "%d", code);
	(void)snprintf(what, sizeof(what), "%s: %s %d%s",
	    s->planned ? "ended" : "died", sig == 0 ? "exit status" : "signal",
	    sig == 0 ? code : sig,
	    sig == SIGSYS ? ", a system call outside its list" : "");
	tell(s, s->planned ? EV_WORKER_ENDED : EV_WORKER_DIED, num, what);
	leave(s);
	event_del(s->timer);
	s->pid = 0;
	s->state = SUPER_DOWN;
	if (s->cred != NULL) {
		cred_ended(s);
		TAILQ_REMOVE(&supers, s, entry);
		event_free(s->timer);
		free(s);
	} else if (!draining) {
		s->restarts++;
		if (lived) {
			s->backoff = 0;
			start(s);
		} else
			back_off(s);
	}
	news();
}

void
super_reap(void)
{
	struct super *s;
	int status;
	pid_t pid;

	/* __WALL: a child of CLONE_PARENT may have no signal of its own.  One
	 * we do not know is the builder of a room. */
	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
		TAILQ_FOREACH(s, &supers, entry)
			if (s->pid == pid)
				break;
		if (s != NULL)
			ended(s, status);
	}
}

/* ---- messages ---- */

static void
gone(struct chan *c, int error, void *arg)
{
	(void)c;
	super_kill(arg,
	    error == EPROTO        ? "broke the protocol"
		: error == ENOBUFS ? "does not read its channel"
				   : NULL);
}

static int
on_hello(struct chan *c, struct msg *m)
{
	const struct msg_hello *h = m->body;
	struct super *s = chan_arg(c);
	struct msg_empty none = { 0 };
	struct msg_cage cage;
	int fd = log_journal_fd();

	if (s->state != SUPER_HELLO || h->proc != s->proc)
		return (-1);
	if (h->version != PROTO_VERSION) {
		super_kill(s, "is of another version: restart olpd");
		return (0);
	}
	s->state = SUPER_SETUP;
	if (fd != -1 && (fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)) != -1)
		(void)chan_send_fds(c, MT_LOG_FD, &none, &fd, 1);
	place_cage(s->proc, &cage);
	(void)chan_send(c, MT_CAGE, &cage);
	if (s->cred != NULL)
		cred_send(s);
	else
		rows_send(s->proc, c);
	return (0);
}

/* READY, and later CONF_ACK. */
static int
on_confirm(struct chan *c, struct msg *m)
{
	const struct msg_generation *g = m->body;
	struct super *s = chan_arg(c);

	if (g->generation < s->acked || g->generation > rows.generation ||
	    (m->type == MT_READY) != (s->state == SUPER_SETUP))
		return (-1);
	s->acked = g->generation;
	if (m->type == MT_READY) {
		s->state = SUPER_READY;
		s->was_ready = 1;
		chan_set_state(c, ST_READY);
		event_del(s->timer);
		tell(s, EV_WORKER_UP, NULL, "ready");
		wire_up(s);
	}
	news();
	return (0);
}

static int
on_pong(struct chan *c, struct msg *m)
{
	struct super *s = chan_arg(c);

	(void)m; /* even a late answer is one */
	s->pings = 0;
	return (0);
}

static int
on_peer_bad(struct chan *c, struct msg *m)
{
	const struct msg_peer_bad *b = m->body;
	char why[128], text[LIM_TEXT];
	struct super *peer;

	peer = wire_peer(chan_arg(c), b->peer, b->instance, b->generation);
	if (peer == NULL)
		return (0); /* replaced already */
	/* Nobody's service ends by the word of who has one credential. */
	if (chan_peer(c) == PROC_EGRESS)
		peer = chan_arg(c);
	(void)snprintf(why, sizeof(why), "%s says: %s", proc_name(chan_peer(c)),
	    log_vis(text, sizeof(text), b->text, strlen(b->text)));
	super_kill(peer, why);
	return (0);
}

/* What only http can judge; who asked for a reload waits for its word too. */
static int
on_conf_bad(struct chan *c, struct msg *m)
{
	const struct msg_conf_bad *b = m->body;
	char text[LIM_TEXT * 4 + 1];

	(void)c;
	(void)log_vis(text, sizeof(text), b->text, strlen(b->text));
	log_event(EV_CONF_REJECTED, NULL, 0, "%s", text);
	control_line(0, text);
	return (0);
}

static int
on_drained(struct chan *c, struct msg *m)
{
	(void)c;
	(void)m;
	drained = 1;
	news();
	return (0);
}

/* One table for all of them: who may send which is in MSG_LIST. */
static const struct msg_handler from_worker[] = {
	{ MT_HELLO, on_hello, ST_SETUP },
	{ MT_READY, on_confirm, ST_SETUP },
	{ MT_CONF_ACK, on_confirm, ST_READY },
	{ MT_CONF_BAD, on_conf_bad, ST_SETUP | ST_READY },
	{ MT_PONG, on_pong, ST_READY },
	{ MT_PEER_BAD, on_peer_bad, ST_READY },
	{ MT_DRAINED, on_drained, ST_READY },
	{ MT_EGRESS_WANT, cred_on_want, ST_READY },
	{ MT_EGRESS_DROPPED, cred_on_dropped, ST_READY },
	{ MT_EGRESS_IDLE, cred_on_idle, ST_READY },
};

/* ---- start ---- */

static void
room_cb(void *arg, pid_t pid, const char *text)
{
	struct super *s = arg;

	if (pid > 0)
		s->pid = pid;
	if (text != NULL)
		super_kill(s, text);
	else if (pid == 0 && s->state == SUPER_ROOM)
		super_kill(s, "its namespaces could not be made");
	else if (pid > 0) {
		s->state = SUPER_HELLO;
		timer(s, LIM_SETUP_S * 1000);
	}
}

static pid_t
start_plain(const struct super *s, int fd)
{
	char path[PATH_MAX + 16];
	pid_t pid;

	(void)snprintf(
	    path, sizeof(path), "%s/%s", place.libexec, proc_name(s->proc));
	if ((pid = start_fork(0, -1)) != 0)
		return (pid);
	start_exec(path, fd);
	dprintf(STDERR_FILENO, "<2>olpd: exec %s: %s\n", path, strerror(errno));
	_exit(1);
}

static void
start(struct super *s)
{
	static uint64_t births;
	int fd[2];

	s->birth = ++births;
	s->born = now_ms();
	s->acked = 0;
	s->was_ready = s->planned = 0;
	s->pings = 0;
	s->why[0] = '\0';
	s->state = s->proc == PROC_SPAWN ? SUPER_ROOM : SUPER_HELLO;
	timer(s, (s->proc == PROC_SPAWN ? LIM_ROOM_S : LIM_SETUP_S) * 1000);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) == -1) {
		super_kill(s, strerror(errno));
		return;
	}
	s->chan = chan_new(base, fd[0], PROC_MASTER, s->proc, from_worker,
	    sizeof(from_worker) / sizeof(from_worker[0]), gone, s);
	chan_arm(s->chan);
	if (s->proc != PROC_SPAWN)
		s->pid = start_plain(s, fd[1]);
	else {
		if (nsroom_look(rows.conf, 1) != NULL)
			super_rows(PROC_HTTP); /* what is installed changed */
		s->room = nsroom_new(base, fd[1], &s->pid, room_cb, s);
		if (s->pid > 0)
			room_cb(s, s->pid, NULL);
	}
	if (s->pid == -1) {
		s->pid = 0;
		super_kill(s, strerror(errno));
	}
	close(fd[1]);
}

/* The state took too long, or the pause is over. */
static void
timer_cb(evutil_socket_t fd, short what, void *arg)
{
	struct super *s = arg;
	int status = 0;

	(void)fd;
	(void)what;
	if (s->state == SUPER_DOWN)
		start(s);
	else if (s->state != SUPER_ENDING)
		super_kill(s, "was not ready in time");
	/* It never was, or died before we knew its number; or is slow. */
	else if (s->pid == 0 || waitpid(s->pid, &status, WNOHANG | __WALL) != 0)
		ended(s, status);
	else {
		(void)kill(s->pid, SIGKILL);
		timer(s, LIM_KILL_MS);
	}
}

void
super_new(enum proc proc, struct cred *cred)
{
	static uint32_t egresses;
	struct super *s = xcalloc(1, sizeof(*s));

	s->proc = proc;
	s->cred = cred;
	s->instance = proc == PROC_EGRESS ? ++egresses : 0;
	if ((s->timer = evtimer_new(base, timer_cb, s)) == NULL)
		fatalx("evtimer_new");
	TAILQ_INSERT_TAIL(&supers, s, entry);
	start(s);
}

/*
 * A missed answer makes the next pings come faster, so that one that was
 * stopped just after an answer is noticed within LIM_PING_S x LIM_PING_MISSES.
 */
static void
tick_cb(evutil_socket_t fd, short what, void *arg)
{
	struct timeval tv = { LIM_PING_S, 0 };
	struct msg_ping p;
	struct super *s;

	(void)fd;
	(void)what;
	(void)arg;
	TAILQ_FOREACH(s, &supers, entry) {
		if (s->state != SUPER_READY)
			continue;
		if (s->pings == LIM_PING_MISSES) {
			super_kill(s, "answers no ping");
			continue;
		}
		if (s->pings++ > 0)
			tv.tv_sec = LIM_PING_S / 2;
		p.serial = s->birth;
		(void)chan_send(s->chan, MT_PING, &p);
	}
	event_add(tick, &tv);
}

void
super_init(struct event_base *b, super_news_cb *cb)
{
	base = b;
	news = cb;
	if ((tick = evtimer_new(base, tick_cb, NULL)) == NULL)
		fatalx("evtimer_new");
	tick_cb(-1, 0, NULL);
}

void
super_rows(enum proc proc)
{
	struct super *s = super_find(proc, 0);

	if (s != NULL && (s->state == SUPER_SETUP || s->state == SUPER_READY))
		rows_send(proc, s->chan);
}

void
super_list(struct msg_status *st)
{
	const struct super *s;

	TAILQ_FOREACH(s, &supers, entry)
		if (st->workers_n < LIM_LIST)
			(void)snprintf(st->workers[st->workers_n++],
			    LIM_LIST_STR,
			    "%s %d %" PRIu64 " %" PRIu32 " %" PRId64,
			    proc_name(s->proc), s->pid, s->birth, s->restarts,
			    (now_ms() - s->born) / 1000);
}

/* ---- stop ---- */

void
super_drain(void)
{
	struct super *s = super_ready(PROC_HTTP);
	struct msg_empty none = { 0 };

	draining = 1;
	if (s != NULL)
		(void)chan_send(s->chan, MT_DRAIN, &none);
	TAILQ_FOREACH(s, &supers, entry)
		if (s->state == SUPER_DOWN)
			event_del(s->timer);
}

int
super_drained(void)
{
	return (drained || super_ready(PROC_HTTP) == NULL);
}
