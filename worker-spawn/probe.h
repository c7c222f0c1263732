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
 * While no sandbox can be made it tries again by itself, after growing pauses.
 */
void probe_start(struct probe *);
/*
 * Run the loop until the probe under way has told; bounded by LIM_PROBE_S.
 * Before READY only.
 */
void probe_wait(struct probe *);
void probe_place(const struct spawn *, struct posture_place *);

#endif
