/* SPDX-License-Identifier: ISC */
/*
 * worker-http and worker-spawn: who a caller is, and a run from start to
 * end.  Included by msg.h alone.  http names things by its own numbers
 * (auth_id, run_id); a key is only ever named by the grant it was given.
 */
/* clang-format off */
#define MSG_FIELDS_auth(F)                                                       \
	F(U64,  auth_id,    0)                                                   \
	F(STR,  token,      LIM_TOKEN)    /* as sent by the caller; spawn hashes and forgets it */
MSG_STRUCT(auth);

#define MSG_FIELDS_auth_ok(F)                                                    \
	F(U64,  auth_id,    0)                                                   \
	F(U64,  grant,      0)            /* unguessable, for this request only */ \
	F(STR,  key_id,     LIM_KEY_ID)                                          \
	F(BOOL, owner,      0)                                                   \
	F(LIST, providers,  LIM_LIST)                                            \
	F(LIST, models,     LIM_LIST)     /* none: all models of its providers */ \
	F(U32,  runs,       0)            /* at once */                          \
	F(BOOL, require_full, 0)
MSG_STRUCT(auth_ok);

#define MSG_FIELDS_auth_no(F)                                                    \
	F(U64,  auth_id,    0)                                                   \
	F(U32,  err,        0)            /* enum olp_err */
MSG_STRUCT(auth_no);

#define MSG_FIELDS_grant_end(F)                                                  \
	F(U64,  grant,      0)
MSG_STRUCT(grant_end);

#define MSG_FIELDS_key_gone(F)            /* revoked, deleted, expired or changed: end all that is the key's */ \
	F(STR,  key_id,     LIM_KEY_ID)
MSG_STRUCT(key_gone);

#define MSG_FIELDS_run_start(F)           /* descriptors: input, system text, settings; sealed memfds */ \
	F(U64,  run_id,     0)            /* the asker's; echoed in every answer */ \
	F(U64,  grant,      0)            /* what auth answered; never a key id or a uid */ \
	F(STR,  provider,   LIM_PROVIDER) /* name in the provider table */       \
	F(STR,  model,      LIM_MODEL)    /* as in a configured model row */     \
	F(STR,  request_id, LIM_REQUEST_ID) /* for the journal */                \
	F(U32,  input_kind, 0)            /* enum input_kind: bytes for stdin, or a transcript */ \
	F(U32,  timeout_s,  0)            /* not above the provider's; spawn's own belt */
MSG_STRUCT(run_start);

#define MSG_FIELDS_run_started(F)         /* descriptors: stdout, stderr of the client. Sent before exec is let go. */ \
	F(U64,  run_id,     0)                                                   \
	F(U32,  egress,     0)            /* instance that brokers it, 0: none */ \
	F(STR,  enforcement, LIM_ENFORCEMENT) /* what X-OLP-Enforcement says */
MSG_STRUCT(run_started);

#define MSG_FIELDS_run_failed(F)          /* nothing of it runs any more, or ever did */ \
	F(U64,  run_id,     0)                                                   \
	F(U32,  err,        0)                                                   \
	F(U32,  retry_s,    0)            /* for Retry-After; 0: none */         \
	F(STR,  detail,     LIM_TEXT)     /* the step and errno, for owners */
MSG_STRUCT(run_failed);

#define MSG_FIELDS_run_exited(F)          /* the process namespace is gone, and we saw it */ \
	F(U64,  run_id,     0)                                                   \
	F(U32,  err,        0)            /* ERR_OK; ERR_OOM, ERR_TOTAL, ERR_STUCK: why spawn ended it */ \
	F(U32,  status,     0)            /* exit status of the client */        \
	F(U32,  signal,     0)            /* that ended it, or 0 */
MSG_STRUCT(run_exited);

#define MSG_FIELDS_run_kill(F)                                                   \
	F(U64,  run_id,     0)
MSG_STRUCT(run_kill);

#define MSG_FIELDS_posture(F)             /* what the functional probe found */  \
	F(BOOL, available,  0)            /* runs can be made at all */          \
	F(BOOL, active,     0)            /* every boundary held when it was tried */ \
	F(LIST, missing,    16)           /* names of boundaries that did not hold */ \
	F(STR,  message,    LIM_TEXT)                                            \
	F(STR,  enforcement, LIM_ENFORCEMENT)
MSG_STRUCT(posture);

#define MSG_FIELDS_posture_provider(F)                                           \
	F(STR,  name,       LIM_PROVIDER)                                        \
	F(STR,  read_protection, 16)      /* no-tools, inner-sandbox, none */    \
	F(STR,  tier,       20)           /* recommended: shared-os-user, per-os-user, separate-vm */ \
	F(LIST, layers,     16)                                                  \
	F(STR,  enforcement, 16)          /* full or partial */                  \
	F(U32,  err,        0)            /* ERR_OK, or why no run of it can start now */
MSG_STRUCT(posture_provider);

#define MSG_FIELDS_load(F)                                                       \
	F(U32,  running,    0)                                                   \
	F(U32,  stuck,      0)                                                   \
	F(U64,  memory,     0)            /* bytes counted against the budget */
MSG_STRUCT(load);
/* clang-format on */
