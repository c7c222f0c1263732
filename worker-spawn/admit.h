/* SPDX-License-Identifier: ISC */
/* May this run be made?  The one place where it is decided. */
#ifndef OLP_ADMIT_H
#define OLP_ADMIT_H

#include <stdint.h>

#include "proto/err.h"
#include "proto/msg.h"

struct key;
struct keys_now;
struct provider_launch;
struct spawn;

/*
 * What was decided with; pointers into the current configuration, good until
 * the loop turns.
 */
struct admission {
	const struct key *key;
	const struct msg_conf_provider *row;
	const struct provider_launch *launch;
	const char *cred;   /* "": none is needed */
	uint32_t cred_kind; /* enum provider_cred */
	uint32_t wait_s;    /* ERR_RATE: for Retry-After */
};

/*
 * The first answer in a fixed order: the grant, the key, what it asks for,
 * what the sandbox is, what is installed, how much is under way.  Changes
 * nothing and counts nothing.
 */
enum olp_err admit(struct spawn *, const struct msg_run_start *,
    const struct keys_now *, struct admission *);

/* Why no run of this provider can start now whoever asks, or ERR_OK. */
enum olp_err admit_provider(
    const struct spawn *, const struct msg_conf_provider *);

#endif
