/* SPDX-License-Identifier: ISC */
/* What the client of a run writes: its stdout, parsed, and its stderr's end. */
#ifndef OLP_HTTPD_CLIENT_H
#define OLP_HTTPD_CLIENT_H

struct msg;
struct run;

/* Take both descriptors of RUN_STARTED and read. */
void client_open(struct run *, struct msg *);
/* Fine for one that was never opened. */
void client_close(struct run *);
/* Stop and go on reading stdout; the pipe holds the client back meanwhile. */
void client_pause(struct run *);
void client_resume(struct run *);

#endif
