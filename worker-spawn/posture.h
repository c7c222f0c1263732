/* SPDX-License-Identifier: ISC */
/*
 * What the sandbox was found to be.  Pure: the probe's report in, figures
 * and texts out; whether a run may be made under it.
 */
#ifndef OLP_POSTURE_H
#define OLP_POSTURE_H

#include <stddef.h>
#include <stdint.h>

#include "proto/err.h"
#include "proto/msg.h"

struct provider_launch;

/* What this deployment and kernel have, beside what the probe tries. */
struct posture_place {
	int per_user;       /* every key is an OS user */
	int landlock;       /* ABI, 0: none */
	const char *limits; /* "cgroup", "kill", "rlimit" */
};

struct posture {
	struct posture_place place;
	int available; /* it can be made, and has what a client needs */
	char missing[16][LIM_LIST_STR]; /* boundaries that did not hold */
	size_t nmissing;
	char message[LIM_TEXT];
};

/* The probe could not run: why, a sentence. */
void posture_unavailable(
    struct posture *, const struct posture_place *, const char *why);
/*
 * It ran: its report, exit status 0 or not. The report is ours, yet checked:
 * one cut short is no pass.
 */
void posture_judge(struct posture *, const struct posture_place *,
    const char *report, int status);

int posture_full(const struct posture *);
/* ERR_OK or ERR_SANDBOX. */
enum olp_err posture_allows(
    const struct posture *, int allow_partial, int require_full);
/* "full; uid; userns; landlock=7; seccomp; net=broker; limits=cgroup" */
void posture_enforcement(
    const struct posture *, int broker, char *buf, size_t size);
void posture_message(const struct posture *, struct msg_posture *);
/* err: why no run of it can start now, or ERR_OK. */
void posture_provider(const struct posture *, const struct provider_launch *,
    enum olp_err err, struct msg_posture_provider *);

#endif
