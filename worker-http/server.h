/* SPDX-License-Identifier: ISC */
/*
 * Listeners, the limit on connections, the table of endpoints, and the end
 * of all that when olpd stops.
 */
#ifndef OLP_HTTPD_SERVER_H
#define OLP_HTTPD_SERVER_H

#include <stddef.h>

#include "proto/err.h"

struct chan;
struct conn;
struct job;
struct msg;
struct rows_listen;

enum endpoint_access {
	ACCESS_OPEN, /* anyone; a token that is sent must be good all the same
		      */
	ACCESS_KEY,
};

struct endpoint {
	const char *method, *path;
	int prefix; /* what follows path is the job's `arg` */
	enum endpoint_access access;
	int body; /* takes JSON */
	/* The caller is known and the body is there. */
	void (*start)(struct job *);
};

/* ERR_OK and the endpoint; or ERR_NOT_FOUND, or ERR_METHOD and the method it
 * takes. */
enum olp_err server_endpoint(const char *method, const char *path,
    const struct endpoint **ep, const char **allow);

/* Take over these listeners instead of the ones before. Armed once
 * server_start() was called. */
void server_configure(struct rows_listen *, size_t n);
void server_start(void);

/* DRAIN: no new connections and requests; DRAINED is sent when none is left. */
int server_h_drain(struct chan *, struct msg *);
int server_draining(void);
size_t server_connections(void);

/* conn.c: a connection begins and ends. */
void server_conn_gone(void);

#endif
