/* SPDX-License-Identifier: ISC */
/*
 * What went out to a provider for a run, as its egress tells it (OUT_*,
 * proto/out.h), and what becomes of runs whose egress dies.
 */
#ifndef OLP_HTTPD_OUT_H
#define OLP_HTTPD_OUT_H

#include <stdint.h>

struct chan;
struct msg;
struct run;

/* -------------------------------------------------------------- for run.c */

/* The run has started behind this egress; 0: none. The caller settles. */
void out_begin(struct run *, uint32_t egress);
/* Ask what went out, after which nothing more goes; waits for the answer
 * LIM_RUN_SETTLE_MS.  Harmless when it was asked, or there is none to ask. */
void out_close(struct run *);
/* The tokens egress counted, where it did, over the client's own account. */
void out_usage(struct run *);
/* In how many seconds to try again, by egress or the client; 0: not told. */
uint32_t out_retry(const struct run *);

/* ------------------------------------------------------------- for link.c */

void out_egress_up(uint32_t instance);
void out_egress_gone(uint32_t instance);
int out_h_opened(struct chan *, struct msg *);
int out_h_refused(struct chan *, struct msg *);
int out_h_closed(struct chan *, struct msg *);

#endif
