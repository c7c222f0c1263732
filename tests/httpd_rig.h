/* SPDX-License-Identifier: ISC */
/*
 * The real olpd-http with the test in the place of its master, of
 * worker-spawn and of egress: every message it gets or sends is the test's.
 * Failures end the test at once.
 */
#ifndef OLP_HTTPD_RIG_H
#define OLP_HTTPD_RIG_H

#include <sys/types.h>

#include <stddef.h>
#include <stdint.h>

#include "proto/err.h"
#include "proto/msg.h"

#define RIG_MS 5000 /* for what must come; generous, sanitizers are slow */

struct rig_msg {
	uint32_t type;
	union msg_any body;
	int fd[LIM_MSG_FDS];
	size_t nfds;
};

struct rig {
	pid_t pid;
	int master; /* our end of fd 3 */
	int spawn;  /* our end of the link, -1: none */
	int egress; /* of the last rig_egress() */
	int port, tls_port;
	char dir[64];
	char unix_path[96];
	uint64_t generation;       /* of links */
	struct msg_conf_http http; /* change before rig_start() */
	int no_spawn;
	int listen[3];
};

void rig_defaults(struct rig *);
void rig_start(struct rig *);
void rig_stop(struct rig *);
/* Configuration again, with these listeners; cert and key are PEM files, NULL:
 * no TLS listener. */
void rig_configure(
    struct rig *, uint64_t generation, const char *cert, const char *key);

/* Links. rig_spawn() replaces the one before, which is closed. */
void rig_spawn(struct rig *);
void rig_egress(struct rig *, uint32_t instance);

/* Messages. */
void rig_send(
    int fd, uint32_t type, const void *m, const int *fds, size_t nfds);
/* The next message, which must be of this type; its descriptors are the
 * caller's. */
struct rig_msg *rig_expect(int fd, uint32_t type);
int rig_quiet(int fd, int ms); /* 1: nothing came */
int rig_eof(int fd);           /* 1: the link was closed within RIG_MS */

/* Spawn's usual answers. */
uint64_t rig_auth(struct rig *, const char *key_id,
    int owner); /* expects AUTH; the grant it gave */
void rig_auth_no(struct rig *, enum olp_err);
struct rig_run {
	uint64_t id;
	uint64_t grant;
	int out, err; /* write ends of the client's */
	char input[65536];
};
void rig_run_start(struct rig *, struct rig_run *); /* expects RUN_START */
void rig_run_started(struct rig *, struct rig_run *, uint32_t egress);
void rig_run_failed(struct rig *, const struct rig_run *, enum olp_err);
void rig_run_exited(struct rig *, struct rig_run *);
void rig_expect_kill(struct rig *, const struct rig_run *);
void rig_say(const struct rig_run *,
    const char *line); /* a line of the client's stdout */
void rig_say_text(const struct rig_run *, const char *text);
void rig_say_answer(const struct rig_run *,
    const char *text); /* start, text, usage 3 and 5, stop */
void rig_closed(struct rig *, uint64_t run, int opened,
    uint32_t status); /* expects OUT_CLOSE */

/* Callers. */
int rig_connect(const struct rig *);
void rig_write(int fd, const char *);
void rig_post(int fd, const char *body); /* a chat request with a good token */
void rig_post_text(int fd, const char *model, const char *text, int stream);
void rig_get(int fd, const char *path, const char *token);
/* Everything up to and with this text; the test fails when it does not come. */
char *rig_until(int fd, const char *text);
/* One answer: status, head and body (chunks undone). */
struct rig_answer {
	int status;
	char head[8192];
	char *body;
	size_t len;
	int closed; /* the connection ended behind it */
	int cut;    /* chunked, and ended without the last chunk */
};
void rig_answer(int fd, struct rig_answer *);
void rig_answer_free(struct rig_answer *);
const char *rig_field(
    const struct rig_answer *, const char *name); /* "" when absent */
/* An error answer with this status and code. */
void rig_expect_error(int fd, int status, const char *code);

#endif
