/* SPDX-License-Identifier: ISC */
/*
 * Runs olp-probe where clients run: the same child, sandbox, shim and
 * limits, as the first two users of the key range.  The second leaves
 * things about and waits; the first tries to get at them, and at all else.
 * Both are made at once: the first comes to its neighbour last, and waits
 * there for the end of its standard input.
 * Runs in worker-spawn; the report is judged in posture.c.
 */
#include "worker-spawn/probe.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cage.h"
#include "common/log.h"
#include "common/provider/provider.h"
#include "worker-spawn/cgroup.h"
#include "worker-spawn/child.h"
#include "worker-spawn/rows.h"
#include "worker-spawn/sandbox.h"
#include "worker-spawn/spawn.h"

/* One of the two; TRY is the first user, HOLD its neighbour. */
enum role { TRY, HOLD, ROLES };

struct prober {
	struct probe *probe;
	enum role role;
	struct child *child; /* NULL: none alive */
	int out;             /* reading end, -1: at its end */
	struct event *readable;
	int listener; /* the shim's, kept so that it can be connected to */
	char text[LIM_PROBE_OUT + 1];
	size_t len;
	struct child_end end;
	int ended;
};

struct probe {
	struct spawn *sp;
	void (*told)(struct spawn *);
	struct prober who[ROLES];
	int held;        /* writing end of TRY's standard input, -1: closed */
	int busy, first; /* first: READY is still to be said */
	struct event *deadline, *again;
	unsigned int pause_s;
};

/* ---- olp-probe as a provider ---- */

static void
probe_environment(const struct launch_run *run, struct launch_words *env)
{
	(void)run;
	launch_add(env, "HOME=%s", SANDBOX_HOME);
	launch_add(env, "LANG=C.UTF-8");
}

static const struct provider_launch probe_launch = {
	.name = "probe",
	.shipped = "olp-probe",
	.environment = probe_environment,
	.read_protection = PROTECT_NO_TOOLS,
	.tier = TIER_SHARED_OS_USER,
	.listener = LISTENER_HTTP,
	.memory = UINT64_C(16) << 20,
};

void
probe_place(const struct spawn *sp, struct posture_place *place)
{
	place->per_user = sp->rows->spawn.per_user;
	place->landlock = cage_landlock_abi();
	place->limits = cgroup_level_name(cgroups_level(sp->groups));
}

/* ---- the verdict ---- */

static void
held_drop(struct probe *p)
{
	if (p->held != -1)
		close(p->held);
	p->held = -1;
}

static void
prober_close(struct prober *w)
{
	if (w->readable != NULL)
		event_free(w->readable);
	w->readable = NULL;
	if (w->out != -1)
		close(w->out);
	if (w->listener != -1)
		close(w->listener);
	w->out = w->listener = -1;
}

static void
end_both(struct probe *p)
{
	int r;

	p->busy = 0;
	event_del(p->deadline);
	held_drop(p);
	for (r = 0; r < ROLES; r++) {
		prober_close(&p->who[r]);
		if (p->who[r].child != NULL)
			child_kill(p->who[r].child);
	}
}

static void
try_later(struct probe *p)
{
	struct timeval pause = { 0, 0 };

	p->pause_s = p->pause_s == 0 ? LIM_PROBE_RETRY_S : p->pause_s * 2;
	if (p->pause_s > LIM_PROBE_RETRY_MAX_S)
		p->pause_s = LIM_PROBE_RETRY_MAX_S;
	pause.tv_sec = p->pause_s;
	event_add(p->again, &pause);
}

/* Tell what is new; try again by itself while there is no sandbox at all. */
static void
finish(struct probe *p, const struct posture *found)
{
	int news = memcmp(&p->sp->posture, found, sizeof(*found)) != 0;

	end_both(p);
	p->sp->posture = *found;
	if (found->available)
		p->pause_s = 0;
	else
		try_later(p);
	if (news)
		p->told(p->sp);
}

static void
give_up(struct probe *p, const char *what, const char *why)
{
	struct posture_place place;
	struct posture found;
	char text[LIM_TEXT];

	(void)snprintf(text, sizeof(text), "%s: %.400s", what, why);
	probe_place(p->sp, &place);
	posture_unavailable(&found, &place, text);
	finish(p, &found);
}

/*
 * Not tried: the machine had no room for it, as it has none for a run.  It has
 * lost no boundary by that: what was found before stands, if anything was.
 */
static void
undecided(struct probe *p, const char *what, const char *why)
{
	if (!p->sp->posture.available) {
		give_up(p, what, why);
		return;
	}
	log_warnx("probe: %s: %s: what was found before stands", what, why);
	end_both(p);
	try_later(p);
}

static void
not_made(struct probe *p, const struct child_end *end)
{
	static const char what[] = "the sandbox cannot be made";

	if (end->err == ERR_OVERLOADED)
		undecided(p, what, end->detail);
	else
		give_up(p, what, end->detail);
}

/* errno says why. */
static void
no_child(struct probe *p, const char *step)
{
	if (child_no_room(errno))
		undecided(p, step, strerror(errno));
	else
		give_up(p, step, strerror(errno));
}

/* The tries are over when the report is at its end and its writer is gone. */
static void
verdict_if_over(struct probe *p)
{
	struct prober *w = &p->who[TRY];
	struct posture_place place;
	struct posture found;

	if (!p->busy || !w->ended || w->out != -1)
		return;
	if (!w->end.ran) {
		not_made(p, &w->end);
		return;
	}
	probe_place(p->sp, &place);
	posture_judge(&found, &place, w->text, w->end.status);
	finish(p, &found);
}

/* ---- the two runs ---- */

static void
on_listener(void *arg, int fd)
{
	struct prober *w = arg;

	if (!w->probe->busy || w->listener != -1)
		close(fd);
	else
		w->listener = fd;
}

static void
on_stuck(void *arg)
{
	struct prober *w = arg;

	log_warnx("probe: process %ld does not die", (long)child_pid(w->child));
}

static void
on_gone(void *arg, const struct child_end *end)
{
	struct prober *w = arg;

	w->end = *end; /* which is the child's */
	w->ended = 1;
	child_free(w->child);
	w->child = NULL;
	if (!w->probe->busy)
		return;
	if (w->role == TRY)
		verdict_if_over(w->probe);
	else if (w->end.ran)
		give_up(w->probe, "the probe", "its neighbour died");
	else
		not_made(w->probe, &w->end);
}

static const struct child_ops ops = { on_listener, on_stuck, on_gone };

static void
read_cb(evutil_socket_t fd, short what, void *arg)
{
	struct prober *w = arg;
	ssize_t n;

	(void)what;
	n = read(fd, w->text + w->len, LIM_PROBE_OUT - w->len);
	if (n > 0) {
		w->len += (size_t)n;
		w->text[w->len] = '\0';
		if (w->role == HOLD && strcmp(w->text, "held\n") == 0) {
			event_del(w->readable);
			held_drop(w->probe);
		}
		return;
	}
	event_free(w->readable); /* its end, or more than a report has */
	w->readable = NULL;
	close(w->out);
	w->out = -1;
	if (w->role == TRY)
		verdict_if_over(w->probe);
}

static void
prober_words(const struct probe *p, enum role role, struct launch_words *args)
{
	if (role == HOLD) {
		launch_add(args, "hold");
		launch_add(args, "%d", LIM_RUN_EXEC_S * 2);
		return;
	}
	launch_add(args, "try");
	launch_add(args, "%" PRIu32, p->sp->rows->spawn.uid_lo + HOLD);
	launch_add(args, "%d", SANDBOX_PORT);
	launch_add(args, "%d", cage_landlock_abi());
}

static struct child *
prober_child(struct prober *w, int input, int *err, const char **step)
{
	const struct msg_conf_spawn *conf = &w->probe->sp->rows->spawn;
	struct launch_words args = { .n = 0 }, env = { .n = 0 };
	struct sandbox box = { .uid = conf->uid_lo + w->role,
		.per_user = conf->per_user,
		.landlock = cage_landlock_abi(),
		.port = SANDBOX_PORT,
		.program = VIEW_LIBEXEC "/olp-probe",
		.tasks = LIM_RUN_TASKS,
		.data = LIM_RUN_DATA,
		.args = &args };
	struct child_spec spec = { .launch = &probe_launch,
		.sandbox = &box,
		.env = &env,
		.input = input,
		.system = -1,
		.settings = -1,
		.home_bytes = conf->home_bytes,
		.home_inodes = conf->home_inodes,
		.memory = probe_launch.memory + conf->home_bytes * 2 };
	struct child *c;

	prober_words(w->probe, w->role, &args);
	probe_environment(NULL, &env);
	c = child_start(w->probe->sp->base, w->probe->sp->groups, &spec, &ops,
	    w, &w->out, err, step);
	launch_words_free(&args);
	launch_words_free(&env);
	return (c);
}

static void
prober_start(struct probe *p, enum role role, int input)
{
	struct prober *w = &p->who[role];
	const char *step;
	int err;

	w->len = 0;
	w->text[0] = '\0';
	w->ended = 0;
	if ((w->child = prober_child(w, input, &err, &step)) == NULL) {
		w->out = -1;
		no_child(p, step);
		return;
	}
	close(err); /* it says all it has to say on the other one */
	(void)fcntl(w->out, F_SETFL, O_NONBLOCK);
	if ((w->readable = event_new(p->sp->base, w->out, EV_READ | EV_PERSIST,
		 read_cb, w)) == NULL)
		fatalx("probe: event_new");
	event_add(w->readable, NULL);
	child_go(w->child);
}

static void
both_start(struct probe *p)
{
	int input[2];

	if (pipe2(input, O_CLOEXEC) == -1) {
		no_child(p, "pipe");
		return;
	}
	p->held = input[1];
	prober_start(p, HOLD, -1);
	if (p->busy)
		prober_start(p, TRY, input[0]);
	close(input[0]);
}

static void
late_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	give_up(arg, "the probe", "did not end in time");
}

static void
again_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	probe_start(arg);
}

struct probe *
probe_new(struct spawn *sp, void (*told)(struct spawn *))
{
	struct probe *p = xcalloc(1, sizeof(*p));
	int r;

	p->sp = sp;
	p->told = told;
	p->first = 1;
	p->held = -1;
	for (r = 0; r < ROLES; r++)
		p->who[r] = (struct prober){ .probe = p,
			.role = (enum role)r,
			.out = -1,
			.listener = -1 };
	p->deadline = event_new(sp->base, -1, 0, late_cb, p);
	p->again = event_new(sp->base, -1, 0, again_cb, p);
	if (p->deadline == NULL || p->again == NULL)
		fatalx("probe: event_new");
	return (p);
}

void
probe_start(struct probe *p)
{
	const struct timeval limit = { p->first ? LIM_PROBE_S : LIM_RUN_EXEC_S,
		0 };
	static const struct timeval soon = { 1, 0 };

	if (p->busy)
		return;
	event_del(p->again);
	if (p->who[TRY].child != NULL || p->who[HOLD].child != NULL) {
		event_add(p->again, &soon); /* the last one is still dying */
		return;
	}
	p->busy = 1;
	event_add(p->deadline, &limit);
	both_start(p);
}

void
probe_wait(struct probe *p)
{
	while (p->busy)
		if (event_base_loop(p->sp->base, EVLOOP_ONCE) == -1)
			fatalx("probe: event loop");
	p->first = 0;
}
