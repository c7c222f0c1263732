/* SPDX-License-Identifier: ISC */
/*
 * The configuration as worker-http has it: rows sent by the master, a new
 * copy built beside the one in use and swapped in when it is complete.
 */
#ifndef OLP_HTTPD_ROWS_H
#define OLP_HTTPD_ROWS_H

#include <openssl/types.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/msg.h"

struct chan;
struct msg;

struct rows_listen {
	int fd; /* -1 once server.c has taken it */
	int is_unix;
	int wants_tls;
	SSL_CTX *tls; /* a reference; NULL: cleartext, or a certificate that is
			 no good */
	char *text;
};

struct rows {
	uint64_t generation;
	struct msg_conf_http http;
	struct msg_conf_provider *providers;
	size_t nproviders;
	struct msg_conf_model *models;
	size_t nmodels;
	struct rows_listen *listens;
	size_t nlistens;
};

/* The copy in use. Before the first CONF_END: everything 0. */
const struct rows *rows(void);
const struct msg_conf_provider *rows_provider(const char *name); /* or NULL */

/* worker.h's conf_begin and conf_end. */
int rows_begin(uint64_t generation);
int rows_end(uint64_t generation);

/* Messages from the master. */
int rows_h_http(struct chan *, struct msg *);
int rows_h_provider(struct chan *, struct msg *);
int rows_h_model(struct chan *, struct msg *);
int rows_h_tls(struct chan *, struct msg *);
int rows_h_listen(struct chan *, struct msg *);

#endif
