/* SPDX-License-Identifier: ISC */
/*
 * Master and workers: set-up, wiring, the configuration's rows, the start
 * of an egress process.  Included by msg.h alone, which explains the kinds.
 */
/* clang-format off */
#define MSG_FIELDS_hello(F)                                                      \
	F(U32,  version,    0)            /* PROTO_VERSION; any other is refused */ \
	F(U32,  proc,       0)            /* enum proc of the sender */
MSG_STRUCT(hello);

#define MSG_FIELDS_cage(F)                                                       \
	F(BOOL, privileged, 0)            /* started as root: ids and root directory are to be changed */ \
	F(STR,  root,       LIM_PATH)     /* chroot to it, where the profile has one */ \
	F(U32,  uid,        0)                                                   \
	F(U32,  gid,        0)
MSG_STRUCT(cage);

#define MSG_FIELDS_generation(F)                                                 \
	F(U64,  generation, 0)            /* of the configuration; grows by one a load */
MSG_STRUCT(generation);

#define MSG_FIELDS_conf_bad(F)            /* a row that only its user can judge is no good; CONF_ACK follows all the same */ \
	F(STR,  text,       LIM_TEXT)     /* what, and what is done about it; for a person */
MSG_STRUCT(conf_bad);

#define MSG_FIELDS_ping(F)                                                       \
	F(U64,  serial,     0)
MSG_STRUCT(ping);

#define MSG_FIELDS_link(F)                                                       \
	F(U32,  peer,       0)            /* enum proc at the other end */       \
	F(U32,  instance,   0)            /* which egress; 0 for the others */   \
	F(U64,  generation, 0)            /* of the pair; a newer one replaces the older */ \
	F(U64,  birth,      0)            /* of the process at the other end: http's names its runs in all peers */ \
	F(STR,  cred,       LIM_CRED_ID)  /* egress: the credential it holds; else "" */
MSG_STRUCT(link);

#define MSG_FIELDS_peer_bad(F)                                                   \
	F(U32,  peer,       0)            /* who broke the protocol; the master replaces it */ \
	F(U32,  instance,   0)                                                   \
	F(U64,  generation, 0)            /* of the link it happened on */       \
	F(STR,  text,       LIM_TEXT)
MSG_STRUCT(peer_bad);

#define MSG_FIELDS_conf_http(F)                                                  \
	F(U32,  queue,        0)          /* waiting requests, all keys */       \
	F(U32,  queue_per_key, 0)                                                \
	F(U32,  runs,         0)          /* at once, all keys */                \
	F(U32,  connections,  0)                                                 \
	F(U64,  body_max,     0)          /* bytes */                            \
	F(U32,  heartbeat_s,  0)          /* seconds, as all below; 0: off */    \
	F(U32,  head_s,       0)                                                 \
	F(U32,  body_s,       0)                                                 \
	F(U32,  queue_s,      0)                                                 \
	F(U32,  first_byte_s, 0)                                                 \
	F(U32,  idle_s,       0)                                                 \
	F(STR,  version,      32)         /* of olpd, for /health */             \
	F(STR,  instance,     17)
MSG_STRUCT(conf_http);

#define MSG_FIELDS_conf_spawn(F)                                                 \
	F(U32,  uid_lo,        0)         /* the key range, inclusive; the first two are the probe's */ \
	F(U32,  uid_hi,        0)                                                \
	F(BOOL, per_user,      0)         /* tier per-os-user; 0: shared-os-user (started by an ordinary user) */ \
	F(BOOL, allow_partial, 0)                                                \
	F(U64,  memory_budget, 0)         /* bytes, 0: none */                   \
	F(U32,  runs,          0)                                                \
	F(U64,  home_bytes,    0)                                                \
	F(U32,  home_inodes,   0)                                                \
	F(BOOL, cgroup,        0)         /* /run/olpd/cg is there */            \
	F(STR,  instance,      17)
MSG_STRUCT(conf_spawn);

#define MSG_FIELDS_conf_provider(F)                                              \
	F(STR,  name,       LIM_PROVIDER)                                        \
	F(STR,  cred,       LIM_CRED_ID)  /* the shared credential's id, or "" */ \
	F(U32,  cred_kind,  0)            /* enum conf_cred_kind */              \
	F(U32,  runs,       0)            /* at once, 0: no limit of its own */  \
	F(U64,  memory,     0)            /* bytes a run counts for */           \
	F(U32,  timeout_s,  0)            /* a whole run */                      \
	F(BOOL, installed,  0)            /* the master found and bound its program */ \
	F(BOOL, accept_tier, 0)
MSG_STRUCT(conf_provider);

#define MSG_FIELDS_conf_model(F)                                                 \
	F(STR,  name,       LIM_MODEL)    /* what callers ask for */             \
	F(STR,  provider,   LIM_PROVIDER)                                        \
	F(STR,  model,      LIM_MODEL)    /* what the client is told */
MSG_STRUCT(conf_model);

#define MSG_FIELDS_conf_key(F)                                                   \
	F(STR,  id,         LIM_KEY_ID)                                          \
	F(U32,  nhash,      0)            /* 1 or 2 */                           \
	F(BIN,  hash1,      32)           /* SHA-256 of the token */             \
	F(BIN,  hash2,      32)           /* zeros when nhash is 1 */            \
	F(U32,  uid,        0)                                                   \
	F(BOOL, owner,      0)                                                   \
	F(LIST, providers,  LIM_LIST)                                            \
	F(LIST, models,     LIM_LIST)     /* none: all models of its providers */ \
	F(LIST, creds,      LIM_LIST_CREDS) /* "provider=credential id=kind" */  \
	F(U32,  runs,       0)                                                   \
	F(U32,  starts_per_minute, 0)     /* 0: no limit */                      \
	F(BOOL, has_hours,  0)                                                   \
	F(U32,  from_min,   0)            /* minutes after local midnight */     \
	F(U32,  to_min,     0)                                                   \
	F(U64,  expires,    0)            /* unix seconds, 0: never */           \
	F(BOOL, revoked,    0)                                                   \
	F(BOOL, require_full, 0)
MSG_STRUCT(conf_key);

#define MSG_FIELDS_conf_tls(F)            /* descriptors: certificate chain, private key; both PEM */ \
	F(U32,  id,         0)            /* named by conf_listen.tls; from 1 */
MSG_STRUCT(conf_tls);

#define MSG_FIELDS_conf_listen(F)         /* descriptor: a listening socket */   \
	F(U32,  tls,        0)            /* conf_tls.id, 0: cleartext */        \
	F(BOOL, is_unix,    0)                                                   \
	F(STR,  text,       LIM_PATH)     /* for people */
MSG_STRUCT(conf_listen);

#define MSG_FIELDS_egress_cred(F)         /* descriptors: the credential's file, the CA certificates' file */ \
	F(STR,  cred,       LIM_CRED_ID)                                         \
	F(STR,  provider,   LIM_PROVIDER)                                        \
	F(U32,  kind,       0)            /* enum conf_cred_kind */              \
	F(STR,  host,       256)          /* "": the provider's own */           \
	F(U32,  port,       0)                                                   \
	F(LIST, allow,      8)            /* private addresses it may connect to */ \
	F(STR,  resolver,   46)           /* "": the system's */                 \
	F(U32,  resolver_port, 0)
MSG_STRUCT(egress_cred);

#define MSG_FIELDS_egress_want(F)                                                \
	F(STR,  cred,       LIM_CRED_ID)
MSG_STRUCT(egress_want);

#define MSG_FIELDS_egress_failed(F)                                              \
	F(STR,  cred,       LIM_CRED_ID)                                         \
	F(U32,  err,        0)            /* enum olp_err */                     \
	F(STR,  text,       LIM_TEXT)     /* for the journal */
MSG_STRUCT(egress_failed);

#define MSG_FIELDS_egress_drop(F)                                                \
	F(U32,  instance,   0)
MSG_STRUCT(egress_drop);

#define MSG_FIELDS_egress_dropped(F)                                             \
	F(U32,  instance,   0)                                                   \
	F(BOOL, unused,     0)            /* 0: a run needs it again, keep it */
MSG_STRUCT(egress_dropped);
/* clang-format on */
