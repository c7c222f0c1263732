/* SPDX-License-Identifier: ISC */
/*
 * A real olpd-egress process with everything around it played by the test:
 * the master, http and spawn on their channels, a client on a listener, and
 * a provider that speaks TLS on a loopback port.
 */
#ifndef OLP_TESTS_EGRESS_RIG_H
#define OLP_TESTS_EGRESS_RIG_H

#include <openssl/ssl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/msg.h"

#define RIG_SECRET "sk-ant-the-real-secret-0123456789"
#define RIG_GEN 7      /* birth of the first http, and generation of its link */
#define RIG_WAIT 20000 /* ms, for what must come */
#define RIG_QUIET 150  /* ms, for what must not */

/* A request in order for rig_run(), and an event stream with usage. */
#define RIG_BODY                                                               \
	"{\"model\":\"m1\",\"max_tokens\":5,\"messages\":[\"MARKER\"],"        \
	"\"tools\":[],\"stream\":true}"

#define RIG_SSE                                                                \
	"event: message_start\r\ndata: "                                       \
	"{\"type\":\"message_start\",\"message\":{\"usage\":"                  \
	"{\"input_tokens\":11,\"output_tokens\":1,\"cache_read_input_"         \
	"tokens\":3,"                                                          \
	"\"cache_creation_input_tokens\":4}}}\r\n\r\n"                         \
	"data: "                                                               \
	"{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}" \
	","                                                                    \
	"\"usage\":{\"output_tokens\":22}}\n\n"                                \
	"data: {\"type\":\"message_stop\"}\n\n"

struct rig {
	pid_t pid;
	int master, http, spawn; /* our ends, or -1 */
	int log;                 /* its standard error, a file */
	char root[32];           /* its chroot where it is privileged */
	int up;                  /* the provider's listening socket */
	uint16_t up_port;
	SSL_CTX *tls; /* the provider's */
	int ca;       /* file that the egress trusts */
	int secret;   /* file with the credential */
	struct msg_egress_cred cred;
	unsigned int nofile; /* descriptors that it may have */
};

/* Settings in r->cred and the two files may be changed in between. */
void rig_prepare(struct rig *);
void rig_start(struct rig *);
/*
 * Ends it by closing the master's channel; it must end well and have logged
 * nothing it may not.
 */
void rig_stop(struct rig *);
/*
 * Send the set-up dialogue only; the process is expected to give up. Its exit
 * status.
 */
int rig_start_fails(struct rig *);
int rig_logged(struct rig *, const char *text);
int rig_has(const char *text, const char *word);

int rig_file(const void *data, size_t len); /* a regular file, unlinked */
/*
 * A new certificate and key for the provider, signed by itself; also what is
 * trusted if trust.
 */
void rig_certify(struct rig *, const char *san, int days, int trust);

void rig_send(
    int fd, uint32_t type, const void *m, const int *fds, size_t nfds);
/*
 * The next message, or 0 when none came in ms, or -1 when the channel is
 * closed.
 */
int rig_recv(int fd, union msg_any *m, int ms);
void rig_expect(int fd, uint32_t type, union msg_any *m);
int rig_link(struct rig *, enum proc peer, uint64_t generation);
void rig_conf(struct rig *, uint64_t generation);

/* Makes a listener, hands it over as this run's; the port. */
uint16_t rig_listen(struct rig *, const struct msg_out_listen *);
struct msg_out_listen rig_run(
    uint64_t run_id); /* model "m1", placeholder "ph-<run_id>", one request, no
			 tools */
void rig_end(struct rig *, uint64_t run_id);
struct msg_out_closed rig_close(struct rig *, uint64_t run_id);

void rig_expect_opened(struct rig *, uint64_t run_id);
void rig_expect_refused(struct rig *, uint64_t run_id, const char *reason);
void rig_expect_quiet(int fd);
/*
 * A run and its request, read by the provider. *client is the client's socket.
 */
SSL *rig_exchange(struct rig *, uint64_t run_id, int *client);

/* The client. */
int rig_dial(uint16_t port);
int rig_unheard(uint16_t port); /* does the listener go away? */
void rig_write(int fd, const void *data, size_t len);
int rig_ask(uint16_t port, const char *text);
/*
 * Until EOF; static, with a NUL behind it. "" also when the connection was
 * reset.
 */
char *rig_read(int fd, size_t *len);
int rig_is_closed(int fd, int ms);
/* Does this come, before an end? What has come stays to be read. */
int rig_comes(int fd, const char *text);
/*
 * A request that is in order, for rig_run(run_id), with these further field
 * lines. Static.
 */
const char *rig_request(uint64_t run_id, const char *fields, const char *body);

/* The provider. */
int rig_up_waiting(struct rig *, int ms); /* is a connection there? */
SSL *rig_up_accept(struct rig *);         /* NULL: the handshake failed */
char *rig_up_read(
    SSL *, size_t *len); /* head and body by Content-Length; static */
void rig_up_write(SSL *, const char *text);
void rig_up_close(SSL *, int clean);
int rig_up_is_closed(SSL *, int ms);

#endif
