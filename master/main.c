/* SPDX-License-Identifier: ISC */
/*
 * olpd, the master: options, start, reload, stop.  Runs as root, or as the
 * user that started it.  It reads its configuration, opens files and
 * sockets, and starts, watches and wires the workers.  It must never read a
 * byte that a caller or a client wrote.
 */

#include <event2/event.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/conf/conf.h"
#include "common/host/start.h"
#include "common/journal.h"
#include "common/log.h"
#include "common/provider/names.h"
#include "master/cgroup.h"
#include "master/control.h"
#include "master/listen.h"
#include "master/nsroom.h"
#include "master/rows.h"
#include "master/super.h"
#include "master/users.h"
#include "master/wire.h"

#define EXIT_CONFIG 78 /* EX_CONFIG; systemd does not restart on it */

static struct {
	const char *file;
	struct event *timer; /* of a reload, or of the stop */
	struct event *dog;   /* WATCHDOG=1 ... */
	int64_t dog_usec;    /* ... so often */
	int ready;           /* it was said */
	int refused;         /* olpd.conf, at the last reload */
	enum { RUNS, DRAINS, ENDS } phase;
} mm = { .file = "/etc/olpd/olpd.conf" };

static void
arm(struct event *ev, int64_t usec)
{
	struct timeval tv = { usec / 1000000, usec % 1000000 };

	event_add(ev, &tv);
}

/* ---- reload ---- */

/* Load; what there is to say goes to the journal and to whoever asked. */
static int
load(void)
{
	struct conf_errors errs = { 0 };
	int r = rows_load(mm.file, &errs);
	size_t i;

	for (i = 0; i < errs.n; i++) {
		log_event(EV_CONF_REJECTED, NULL, 0, "%s", errs.line[i]);
		control_line(0, errs.line[i]);
	}
	conf_errors_free(&errs);
	return (r);
}

static void
reload(void)
{
	char text[LIM_TEXT];
	const char *name;

	if (mm.phase != RUNS)
		return; /* who asked sees us go */
	mm.refused = load() == -1;
	if ((name = nsroom_look(rows.conf, 0)) != NULL) {
		(void)snprintf(text, sizeof(text),
		    "provider %s: its program is taken up by a restart", name);
		log_warnx("%s", text);
		control_line(1, text);
	}
	log_event(EV_CONF_LOADED, NULL, 0, "%s: generation %" PRIu64 "%s",
	    mm.file, rows.generation, mm.refused ? ", of the keys alone" : "");
	super_rows(PROC_SPAWN);
	super_rows(PROC_HTTP);
	cred_reload();
	arm(mm.timer, LIM_RELOAD_S * 1000000LL);
}

/* ---- stop ---- */

static void __attribute__((noreturn)) finish(int code)
{
	control_close();
	listen_close();
	users_clear();
	cgroup_release();
	log_event(EV_STOPPED, NULL, 0, "olpd: stopped");
	exit(code);
}

/* Drained, or told to hurry, or one more worker is gone. */
static void
stop_next(void)
{
	struct super *s;

	if (mm.phase == DRAINS) {
		mm.phase = ENDS;
		arm(mm.timer, LIM_STOP_S * 1000000LL);
		TAILQ_FOREACH(s, &supers, entry)
			super_end(s);
	}
	TAILQ_FOREACH(s, &supers, entry)
		if (s->state != SUPER_DOWN)
			return;
	finish(0);
}

static void
stop(void)
{
	if (mm.phase == RUNS) {
		mm.phase = DRAINS;
		log_info("olpd: stopping");
		(void)notify_send("STOPPING=1");
		super_drain();
		listen_close();
		arm(mm.timer, rows.conf->stop_timeout_s * 1000000LL);
		if (!super_drained())
			return;
	}
	stop_next();
}

/* ---- events ---- */

static void
news(void)
{
	struct super *http = super_ready(PROC_HTTP);
	struct super *spawn = super_ready(PROC_SPAWN);

	if (mm.phase == ENDS || (mm.phase == DRAINS && super_drained()))
		stop_next();
	if (mm.phase != RUNS)
		return;
	(void)notify_send(http != NULL && spawn != NULL
		? "READY=1\nSTATUS=ready"
		: "STATUS=waiting for a worker");
	if (http != NULL && spawn != NULL && !mm.ready) {
		mm.ready = 1;
		log_event(EV_STARTED, NULL, 0, "olpd: ready");
	}
	if (spawn != NULL && (http == NULL || http->acked >= spawn->acked))
		control_confirmed(spawn->acked, 1,
		    mm.refused ? "keys are in force, olpd.conf is as it was"
			       : "in force");
}

/* The time for a reload is over, or for a stop. */
static void
timer_cb(evutil_socket_t fd, short what, void *arg)
{
	struct super *spawn = super_ready(PROC_SPAWN);

	(void)fd;
	(void)what;
	(void)arg;
	if (mm.phase == ENDS) {
		log_warnx("olpd: a worker does not die: leaving without it");
		finish(1);
	} else if (mm.phase == DRAINS)
		stop_next();
	if (spawn != NULL)
		control_confirmed(
		    spawn->acked, 1, "keys are in force, olpd-http is silent");
	control_confirmed(
	    UINT64_MAX, 0, "olpd-spawn has not confirmed the keys");
}

static void
dog_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	(void)notify_send("WATCHDOG=1");
	arm(mm.dog, mm.dog_usec);
}

static void
signal_cb(evutil_socket_t sig, short what, void *arg)
{
	(void)what;
	(void)arg;
	if (sig == SIGCHLD)
		super_reap();
	else if (sig == SIGHUP)
		reload();
	else
		stop();
}

/* ---- start ---- */

static void
events(struct event_base *base)
{
	static const int sigs[] = { SIGCHLD, SIGHUP, SIGINT, SIGTERM };
	struct event *ev;
	size_t i;

	for (i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++) {
		ev = evsignal_new(base, sigs[i], signal_cb, NULL);
		if (ev == NULL || event_add(ev, NULL) == -1)
			fatalx("signal %d", sigs[i]);
	}
	mm.timer = evtimer_new(base, timer_cb, NULL);
	mm.dog = evtimer_new(base, dog_cb, NULL);
	if (mm.timer == NULL || mm.dog == NULL)
		fatalx("evtimer_new");
	if ((mm.dog_usec = notify_watchdog()) > 0)
		dog_cb(-1, 0, NULL);
}

/* -n: 0 fine; 78 olpd.conf is refused; 1 files of keys are. */
static int
check(void)
{
	struct conf_errors errs = { 0 };
	struct conf *c = conf_load(mm.file, &errs);
	struct conf_keys keys;
	size_t i;

	if (c != NULL) {
		conf_load_keys(c, c->keys_dir, &keys, &errs);
		conf_print(c, stdout);
	}
	for (i = 0; i < errs.n; i++)
		(void)fprintf(stderr, "%s\n", errs.line[i]);
	return (c == NULL ? EXIT_CONFIG : errs.n > 0);
}

/* 1: foreground, 2: -n. */
static int
options(int argc, char **argv)
{
	int ch, mode = 0, verbose = 0;

	while ((ch = getopt(argc, argv, "df:nv")) != -1)
		if (ch == 'd' || ch == 'n')
			mode |= ch == 'd' ? 1 : 2;
		else if (ch == 'f')
			mm.file = optarg;
		else if (ch == 'v')
			verbose = 1;
		else
			break;
	if (ch != -1 || optind != argc) {
		(void)fprintf(stderr, "usage: olpd [-dnv] [-f file]\n");
		exit(2);
	}
	log_init("olpd", verbose);
	return (mode);
}

int
main(int argc, char **argv)
{
	static const char *const providers[] = { PROVIDER_NAMES, NULL };
	int mode = options(argc, argv);
	struct event_base *base;

	conf_set_known_providers(providers);
	if (mode & 2)
		return (check());
	log_never_block();
	start_init();
	if (!(mode & 1))
		log_journal(journal_open());
	if ((base = event_base_new()) == NULL)
		fatalx("event_base_new");
	if (load() == -1) {
		cgroup_release();
		return (rows.conf == NULL ? EXIT_CONFIG : 1);
	}
	mm.file = xstrdup(rows.conf->file); /* absolute */
	if (chdir("/") == -1)
		fatal("chdir");
	control_open(base, reload);
	events(base);
	super_init(base, news);
	super_new(PROC_SPAWN, NULL);
	super_new(PROC_HTTP, NULL);
	event_base_dispatch(base);
	fatalx("event loop returned");
}
