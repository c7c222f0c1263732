/* SPDX-License-Identifier: ISC */
/*
 * One caller's connection: bytes in, the parser, bytes out, and the news
 * that the caller left.  It has one job at a time; later requests that came
 * with it wait.
 */
#ifndef OLP_HTTPD_CONN_H
#define OLP_HTTPD_CONN_H

#include <openssl/types.h>
#include <stddef.h>
#include <stdint.h>

#include "worker-http/hold.h"

struct conn;
struct evbuffer;
struct http_head;

/* Takes the descriptor. tls NULL: cleartext. refuse: there are too many, say so
 * and close. */
void conn_new(int fd, SSL_CTX *tls, int refuse);
/*
 * There are too many: close the one that has waited longest for a request, or
 * for the rest of a head.  0: none has for LIM_HTTPD_PATIENCE_MS; who has just
 * come may have said it already.
 */
int conn_evict(void);
void conn_drain_all(void); /* stopping: close those that wait for a request */

/* For the job, which is told with job_gone() when the caller leaves. */
struct evbuffer *conn_out(struct conn *);
/* Bytes written but not yet taken by the kernel; over LIM_HTTPD_OUT_HIGH
 * job_room() tells when it is well below. */
size_t conn_backlog(struct conn *);
/* The caller is known: send 100 Continue if it waits for that, read the body
 * on. */
void conn_go_on(struct conn *);
void conn_stop_reading(struct conn *);
/* Will it take another request after this one, as things stand? */
int conn_keeps(const struct conn *);
int conn_minor(
    const struct conn *); /* of the request's HTTP/1.x; 1 where there is none */
/*
 * The job is over and its answer is written.  keep 0: close behind it; else
 * the connection serves on if conn_keeps().  What the answer still
 * holds is released when the kernel has it.
 */
void conn_answered(struct conn *, int keep, struct hold *);

#endif
