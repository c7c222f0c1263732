/* SPDX-License-Identifier: ISC */
/* The sockets worker-http accepts on; they outlive it. */
#ifndef OLP_LISTEN_H
#define OLP_LISTEN_H

struct chan;
struct conf;
struct conf_errors;

/*
 * Have a socket for each `listen`: one in use, one of systemd's, or a new
 * one; and open the files for TLS.  All or none: -1 and lines in the errors
 * leave what is in use alone.  listen_commit() makes it the one in use and
 * closes what is not configured any more.
 */
int listen_plan(const struct conf *, struct conf_errors *);
void listen_commit(void);
/* CONF_TLS and CONF_LISTEN rows, with descriptors. */
void listen_send(struct chan *);
/* Close all, remove the files of Unix sockets of our own. */
void listen_close(void);

#endif
