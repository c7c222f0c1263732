/* SPDX-License-Identifier: ISC */
/*
 * What worker-http is told without having asked: the sandbox, the load, the end
 * of a key.
 */
#ifndef OLP_TELL_H
#define OLP_TELL_H

struct spawn;

/* POSTURE, and POSTURE_PROVIDER for each provider. */
void tell_posture(struct spawn *);
void tell_load(struct spawn *);
/* What changes within LIM_LOAD_MS is one LOAD. */
void tell_load_soon(struct spawn *);
void tell_key_gone(struct spawn *, const char *key_id);
/* For load_soon's event. */
void tell_load_cb(int fd, short what, void *sp);

#endif
