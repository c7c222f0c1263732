/* SPDX-License-Identifier: ISC */
/*
 * What worker-http knows of the whole: the sandbox's posture and the load,
 * told by worker-spawn, and its own queue and links; as JSON for owners and
 * for olpctl.
 */
#ifndef OLP_HTTPD_STATUS_H
#define OLP_HTTPD_STATUS_H

#include <stddef.h>

struct chan;
struct evbuffer;
struct msg;

/* worker-spawn is gone: nothing is known. */
void status_spawn_gone(void);
int status_h_posture(struct chan *, struct msg *);
int status_h_provider(struct chan *, struct msg *);
int status_h_load(struct chan *, struct msg *);
/* From the master: write the report to the descriptor and close it. */
int status_h_fd(struct chan *, struct msg *);

/* Could a run be made now? */
int status_ready(void);
/* "full" or "partial" as the posture has it for this provider, "unknown" before
 * it is told. */
const char *status_enforcement(const char *provider);
/* Why no run of it can start, "ok", "unknown". */
const char *status_provider(const char *provider);
/* The report, an object. */
void status_put(struct evbuffer *);

#endif
