/* SPDX-License-Identifier: ISC */
/* olpctl's two questions, over RUNTIME/control.sock. */
#ifndef OLP_CONTROL_H
#define OLP_CONTROL_H

#include <stdint.h>

struct event_base;

/* Fatal.  reload() is called for CTL_RELOAD: it loads, and says what it has to
 * say. */
void control_open(struct event_base *, void (*reload)(void));
void control_close(void);
/* A line for whoever asked for the reload at hand. */
void control_line(int ok, const char *text);
/*
 * The last line for those who wait for this generation or an older one.
 */
void control_confirmed(uint64_t generation, int ok, const char *text);

#endif
