/* SPDX-License-Identifier: ISC */
/*
 * What one EGRESS_CRED says: the credential, where it may go and whose
 * certificates are believed there.  The secret lies in locked memory that
 * core files leave out, and is zeroed with the last reference.
 */
#ifndef OLP_EGRESS_CRED_H
#define OLP_EGRESS_CRED_H

#include <stddef.h>
#include <stdint.h>

#include "common/limits.h"
#include "common/provider/provider.h"
#include "proto/msg.h"
#include "worker-http/egress/address.h"

struct evbuffer;
struct ssl_ctx_st;

#define CRED_ALLOW 8

struct cred {
	unsigned int refs;
	char id[LIM_CRED_ID];
	const struct provider_wire *wire;
	enum provider_cred kind;
	char host[256];
	uint16_t port;
	struct address
	    allow[CRED_ALLOW]; /* exceptions from the address policy */
	size_t nallow;
	char resolver[46]; /* "": the system's */
	uint16_t resolver_port;
	struct ssl_ctx_st *tls;
	char *secret; /* no NUL behind it */
	size_t secret_len;
	size_t secret_size; /* of its mapping */
};

/*
 * One reference, or NULL with a sentence in err that names the fault and
 * holds no byte of either file.  The descriptors stay the caller's; both are
 * regular files and read from offset 0.  Opens nothing itself, so that it
 * works in the cage too.
 */
struct cred *cred_new(const struct msg_egress_cred *, int secret_fd, int ca_fd,
    char *err, size_t size);
struct cred *cred_ref(struct cred *);
void cred_unref(struct cred *); /* NULL is fine */

/* Append the credential's field to a head, without a copy of the secret. */
void cred_put_field(struct evbuffer *, struct cred *);

#endif
