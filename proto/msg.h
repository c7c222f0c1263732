/* SPDX-License-Identifier: ISC */
/*
 * The one list of messages between olpd's processes: number, name, who may
 * send it to whom, how many descriptors it carries.  A message's fields are
 * listed once, in conf.h, run.h, out.h and ctl.h beside this file; its
 * struct, its encoder and its decoder grow from that list (msg.c), so that
 * the three cannot differ.  No I/O here and no policy.
 *
 * On the wire: one SOCK_SEQPACKET packet is one msgpack array, its first
 * element the number, then the fields in order.  Decoding is exact: arity,
 * types, lengths, nothing left over.  Numbers are never reused.
 */
#ifndef OLP_MSG_H
#define OLP_MSG_H

#include <stddef.h>
#include <stdint.h>

#include "common/limits.h"

#define PROTO_VERSION 1

/* Processes, as bits so that a message can have several senders. */
enum proc {
	PROC_MASTER = 1,
	PROC_HTTP = 2,
	PROC_SPAWN = 4,
	PROC_EGRESS = 8,
	PROC_TUI = 16,
	PROC_CTL = 32, /* olpctl */
	PROC_WORKERS = PROC_HTTP | PROC_SPAWN | PROC_EGRESS | PROC_TUI,
};
const char *proc_name(enum proc); /* "olpd-http"; "several" for a mask */

/* clang-format off: the enum, the structs and the codecs grow from this list. */
#define MSG_LIST(X)                                                              \
	/* num  name             fields           from          to            fds */ \
	/* every worker and the master: set-up, life, wiring */                  \
	X(1,   HELLO,            hello,           PROC_WORKERS, PROC_MASTER,  0) \
	X(2,   LOG_FD,           empty,           PROC_MASTER,  PROC_WORKERS, 1) \
	X(3,   CAGE,             cage,            PROC_MASTER,  PROC_WORKERS, 0) \
	X(4,   CONF_BEGIN,       generation,      PROC_MASTER,  PROC_WORKERS, 0) \
	X(5,   CONF_END,         generation,      PROC_MASTER,  PROC_WORKERS, 0) \
	X(6,   CONF_ACK,         generation,      PROC_WORKERS, PROC_MASTER,  0) \
	X(7,   READY,            generation,      PROC_WORKERS, PROC_MASTER,  0) \
	X(8,   PING,             ping,            PROC_MASTER,  PROC_WORKERS, 0) \
	X(9,   PONG,             ping,            PROC_WORKERS, PROC_MASTER,  0) \
	X(10,  LINK,             link,            PROC_MASTER,  PROC_WORKERS, 1) \
	X(11,  PEER_BAD,         peer_bad,        PROC_WORKERS, PROC_MASTER,  0) \
	X(12,  DRAIN,            empty,           PROC_MASTER,  PROC_HTTP,    0) \
	X(13,  DRAINED,          empty,           PROC_HTTP,    PROC_MASTER,  0) \
	X(14,  CONF_BAD,         conf_bad,        PROC_HTTP,    PROC_MASTER,  0) \
	/* the configuration's rows */                                           \
	X(20,  CONF_HTTP,        conf_http,       PROC_MASTER,  PROC_HTTP,    0) \
	X(21,  CONF_SPAWN,       conf_spawn,      PROC_MASTER,  PROC_SPAWN,   0) \
	X(22,  CONF_PROVIDER,    conf_provider,   PROC_MASTER,  PROC_HTTP | PROC_SPAWN, 0) \
	X(23,  CONF_MODEL,       conf_model,      PROC_MASTER,  PROC_HTTP | PROC_SPAWN, 0) \
	X(24,  CONF_KEY,         conf_key,        PROC_MASTER,  PROC_SPAWN,   0) \
	X(25,  CONF_TLS,         conf_tls,        PROC_MASTER,  PROC_HTTP,    2) \
	X(26,  CONF_LISTEN,      conf_listen,     PROC_MASTER,  PROC_HTTP,    1) \
	/* a credential's egress */                                              \
	X(30,  EGRESS_CRED,      egress_cred,     PROC_MASTER,  PROC_EGRESS,  2) \
	X(31,  EGRESS_WANT,      egress_want,     PROC_SPAWN,   PROC_MASTER,  0) \
	X(32,  EGRESS_FAILED,    egress_failed,   PROC_MASTER,  PROC_SPAWN,   0) \
	X(33,  EGRESS_IDLE,      empty,           PROC_EGRESS,  PROC_MASTER,  0) \
	X(34,  EGRESS_DROP,      egress_drop,     PROC_MASTER,  PROC_SPAWN,   0) \
	X(35,  EGRESS_DROPPED,   egress_dropped,  PROC_SPAWN,   PROC_MASTER,  0) \
	/* olpctl */                                                             \
	X(50,  CTL_RELOAD,       empty,           PROC_CTL,     PROC_MASTER,  0) \
	X(51,  CTL_RESULT,       ctl_result,      PROC_MASTER,  PROC_CTL,     0) \
	X(52,  CTL_STATUS,       empty,           PROC_CTL,     PROC_MASTER,  0) \
	X(53,  CTL_STATUS_FD,    empty,           PROC_MASTER,  PROC_CTL,     1) \
	X(54,  STATUS_FD,        status,          PROC_MASTER,  PROC_HTTP,    1) \
	/* http and spawn */                                                     \
	X(100, AUTH,             auth,            PROC_HTTP,    PROC_SPAWN,   0) \
	X(101, AUTH_OK,          auth_ok,         PROC_SPAWN,   PROC_HTTP,    0) \
	X(102, AUTH_NO,          auth_no,         PROC_SPAWN,   PROC_HTTP,    0) \
	X(103, GRANT_END,        grant_end,       PROC_HTTP,    PROC_SPAWN,   0) \
	X(104, KEY_GONE,         key_gone,        PROC_SPAWN,   PROC_HTTP,    0) \
	X(110, RUN_START,        run_start,       PROC_HTTP,    PROC_SPAWN,   3) \
	X(111, RUN_STARTED,      run_started,     PROC_SPAWN,   PROC_HTTP,    2) \
	X(112, RUN_FAILED,       run_failed,      PROC_SPAWN,   PROC_HTTP,    0) \
	X(113, RUN_EXITED,       run_exited,      PROC_SPAWN,   PROC_HTTP,    0) \
	X(114, RUN_KILL,         run_kill,        PROC_HTTP,    PROC_SPAWN,   0) \
	X(120, POSTURE,          posture,         PROC_SPAWN,   PROC_HTTP,    0) \
	X(121, POSTURE_PROVIDER, posture_provider, PROC_SPAWN,  PROC_HTTP,    0) \
	X(122, LOAD,             load,            PROC_SPAWN,   PROC_HTTP,    0) \
	/* spawn, egress, http: the way out of a run */                          \
	X(200, OUT_LISTEN,       out_listen,      PROC_SPAWN,   PROC_EGRESS,  1) \
	X(201, OUT_END,          out_end,         PROC_SPAWN,   PROC_EGRESS,  0) \
	X(210, OUT_OPENED,       out_run,         PROC_EGRESS,  PROC_HTTP,    0) \
	X(211, OUT_REFUSED,      out_refused,     PROC_EGRESS,  PROC_HTTP,    0) \
	X(212, OUT_CLOSE,        out_run,         PROC_HTTP,    PROC_EGRESS,  0) \
	X(213, OUT_CLOSED,       out_closed,      PROC_EGRESS,  PROC_HTTP,    0)

#define MSG_ENUM(num, name, fields, from, to, fds) MT_##name = num,
enum msg_type { MSG_LIST(MSG_ENUM) };
#undef MSG_ENUM

/*
 * The kinds of field: F(KIND, name, size).
 *   U64, U32   an unsigned number; size is 0
 *   BOOL       int, 0 or 1; size is 0
 *   STR        char name[size], without NUL on the wire, no NUL inside
 *   BIN        uint8_t name[size], exactly size bytes
 *   LIST       char name[size][LIM_LIST_STR] and size_t name_n: strings
 */
#define MSG_MEMBER_U64(name, size) uint64_t name;
#define MSG_MEMBER_U32(name, size) uint32_t name;
#define MSG_MEMBER_BOOL(name, size) int name;
#define MSG_MEMBER_STR(name, size) char name[size];
#define MSG_MEMBER_BIN(name, size) uint8_t name[size];
#define MSG_MEMBER_LIST(name, size)         \
	char name[size][LIM_LIST_STR];      \
	size_t name##_n;
#define MSG_MEMBER(kind, name, size) MSG_MEMBER_##kind(name, size)
#define MSG_STRUCT(tag)                     \
	struct msg_##tag {                  \
		MSG_FIELDS_##tag(MSG_MEMBER) \
	}

#include "proto/conf.h"
#include "proto/ctl.h"
#include "proto/out.h"
#include "proto/run.h"
#define MSG_FIELDS_empty(F)
struct msg_empty {
	char nothing; /* C has no empty struct */
};
/* clang-format on */

/* Room for any message's struct. */
union msg_any {
#define MSG_UNION(num, name, fields, from, to, fds) struct msg_##fields m_##name;
	MSG_LIST(MSG_UNION)
#undef MSG_UNION
};

const char *msg_name(uint32_t type);      /* "RUN_START"; "unknown" */
int msg_known(uint32_t type);
unsigned int msg_from(uint32_t type);     /* mask of enum proc */
unsigned int msg_to(uint32_t type);
unsigned int msg_fds(uint32_t type);
size_t msg_size(uint32_t type);           /* sizeof its struct */

/*
 * Encode to buf.  The length, or -1 with EMSGSIZE when it does not fit and
 * EINVAL for an unknown type.  A string of ours without NUL is a fault and
 * encodes to its full width.
 */
long msg_pack(uint32_t type, const void *m, uint8_t *buf, size_t size);

/*
 * Decode a packet.  *type is set as soon as it is known.  0, or -1 with
 * EBADMSG for anything but an exact encoding of that type.  m is zeroed first.
 */
int msg_unpack(const uint8_t *buf, size_t len, uint32_t *type, union msg_any *m);

#endif
