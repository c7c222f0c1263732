/* SPDX-License-Identifier: ISC */
/* The functional probe: is the sandbox what we say it is, here and now? */
#ifndef OLP_PROBE_H
#define OLP_PROBE_H

struct posture_place;
struct probe;
struct spawn;

/* told: whenever sp->posture has become another one. */
struct probe *probe_new(struct spawn *sp, void (*told)(struct spawn *));
/*
 * Try everything once more, from the loop; one that is under way goes on.
 * While no sandbox can be made it tries again by itself, after growing pauses;
 * so it does when the machine had no room for the two processes, and then what
 * was found before stands.  It has LIM_RUN_EXEC_S, as a run has: a busy machine
 * is slow, not broken.
 */
void probe_start(struct probe *);
/*
 * Run the loop until the probe under way, the first, has told; bounded by
 * LIM_PROBE_S.  Before READY only.
 */
void probe_wait(struct probe *);
void probe_place(const struct spawn *, struct posture_place *);

#endif
