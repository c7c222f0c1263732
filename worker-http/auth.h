/* SPDX-License-Identifier: ISC */
/*
 * Who asks: the token that came with a request, put to worker-spawn, and the
 * grant that it answers.  Without worker-spawn the question waits, for a
 * while.
 */
#ifndef OLP_HTTPD_AUTH_H
#define OLP_HTTPD_AUTH_H

#include "proto/err.h"

struct chan;
struct job;
struct msg;

void auth_init(void); /* once, from worker.h's start */

/* A head was read.  ERR_OK: job_known() comes with the answer, or nobody has
 * to be asked (AUTH_NONE).  ERR_SANDBOX: worker-spawn stays away. */
enum olp_err auth_begin(struct job *);
/* Ask, or ask again; the grant it has is forgotten.  In the queue it keeps its
 * place and is held there meanwhile. */
void auth_ask(struct job *);
/* The job is over: no answer is waited for, its grant ends. */
void auth_drop(struct job *);

void auth_spawn_up(void);
void auth_spawn_gone(void); /* after run_spawn_gone() */
int auth_h_ok(struct chan *, struct msg *);
int auth_h_no(struct chan *, struct msg *);
int auth_h_key_gone(struct chan *, struct msg *); /* fails all of that key */

#endif
