/* SPDX-License-Identifier: ISC */
/* The system calls a client may not make. */
#ifndef OLP_FILTER_H
#define OLP_FILTER_H

/* Load it, for good; no_new_privs is set. 0, or -1 with errno. */
int filter_load(void);

#endif
