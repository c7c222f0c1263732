/* SPDX-License-Identifier: ISC */
/* The workers as processes: start, ready, ping, reap, back off, replace. */
#ifndef OLP_SUPER_H
#define OLP_SUPER_H

#include <sys/types.h>

#include <bsd/sys/queue.h>
#include <stdint.h>

#include "common/chan.h"

struct cred;
struct event;
struct event_base;
struct nsroom;

enum super_state {
	SUPER_DOWN,  /* no process; a timer may start one */
	SUPER_ROOM,  /* worker-spawn's namespaces are being made */
	SUPER_HELLO, /* started */
	SUPER_SETUP, /* has its configuration, is not ready */
	SUPER_READY,
	SUPER_ENDING, /* its channel is closed; waiting for its end */
};

/* One worker under supervision: http and spawn for good, an egress for one
 * life. */
struct super {
	TAILQ_ENTRY(super) entry;
	enum proc proc;
	uint32_t instance; /* which egress, from 1; else 0 */
	struct cred *cred; /* egress: what it holds; owned by wire.c */
	uint64_t link[2];  /* generations of its pairs, see wire.c; 0: none */
	enum super_state state;
	pid_t pid; /* 0: none known */
	struct chan *chan;
	struct nsroom *room;
	struct event *timer; /* what state waits for, at most */
	uint64_t birth;      /* number of this process among all started */
	uint64_t acked;      /* generation of the configuration it confirmed */
	int64_t born;        /* ms, monotonic */
	int was_ready;
	int planned;              /* its end was asked for */
	uint32_t restarts, pings; /* unanswered ones */
	int backoff;              /* ms before the next start, 0: at once */
	char why[128];            /* it is being killed */
};
extern TAILQ_HEAD(supers, super) supers;

/* A worker became ready, confirmed a configuration, drained or ended. */
typedef void super_news_cb(void);
void super_init(struct event_base *, super_news_cb *);
struct super *super_find(enum proc, uint32_t instance); /* or NULL */
struct super *super_ready(
    enum proc); /* http or spawn if it is ready, or NULL */
/* http or spawn, or an egress for this credential, which is taken. */
void super_new(enum proc, struct cred *);
/* SIGKILL, and a successor where there is to be one.  NULL: nothing to add. */
void super_kill(struct super *, const char *why);
/* Close its channel, on which it exits; SIGKILL if it does not. */
void super_end(struct super *);
/* SIGCHLD. */
void super_reap(void);
/* The configuration changed: send it to whoever has an older one. */
void super_rows(enum proc);
/* "name pid generation restarts seconds" of each, for olpctl status. */
void super_list(struct msg_status *);
/* From now on nothing is started; http is told to take nothing new. */
void super_drain(void);
int super_drained(void); /* nothing is under way in http */

#endif
