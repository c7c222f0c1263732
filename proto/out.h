/* SPDX-License-Identifier: ISC */
/*
 * The way out of a run: worker-spawn hands egress a listener made inside a
 * sandbox, egress tells worker-http what became of it.  A run is named by
 * (birth of the http process, http's run id).  Included by msg.h alone.
 */
/* clang-format off */
#define MSG_FIELDS_out_listen(F)          /* descriptor: the listening socket */ \
	F(U64,  http_gen,   0)            /* birth of that http process, as LINK told it */ \
	F(U64,  run_id,     0)                                                   \
	F(STR,  model,      LIM_MODEL)    /* the only one a body may name */     \
	F(STR,  placeholder, 80)          /* what the client presents instead of the credential */ \
	F(U32,  max_requests, 0)          /* model requests; further ones are refused */ \
	F(BOOL, no_tools,   0)            /* `tools` must be absent or empty */  \
	F(STR,  request_id, LIM_REQUEST_ID)                                      \
	F(STR,  key_id,     LIM_KEY_ID)
MSG_STRUCT(out_listen);

#define MSG_FIELDS_out_end(F)             /* the run is gone: close all that is its */ \
	F(U64,  http_gen,   0)                                                   \
	F(U64,  run_id,     0)
MSG_STRUCT(out_end);

#define MSG_FIELDS_out_run(F)                                                    \
	F(U64,  run_id,     0)
MSG_STRUCT(out_run);

#define MSG_FIELDS_out_refused(F)                                                \
	F(U64,  run_id,     0)                                                   \
	F(STR,  reason,     LIM_TEXT)     /* ours, with no byte of the client's */
MSG_STRUCT(out_refused);

#define MSG_FIELDS_out_closed(F)          /* the answer to OUT_CLOSE: nothing more goes out for this run */ \
	F(U64,  run_id,     0)                                                   \
	F(BOOL, opened,     0)            /* a request went, or may have gone, to the provider */ \
	F(U32,  requests,   0)                                                   \
	F(U32,  status,     0)            /* HTTP status of the last answer, 0: none came */ \
	F(BOOL, complete,   0)            /* the last answer came whole, by its provider's own word where it has one */ \
	F(U32,  err,        0)            /* ERR_OK, ERR_UNREACHABLE, ERR_PROVIDER_CUT, ERR_BROKER ... */ \
	F(U32,  retry_s,    0)            /* the provider's Retry-After, 0: none */ \
	F(U64,  reset_at,   0)            /* unix seconds at which a limit resets, 0: unknown */ \
	F(U64,  in_tokens,  0)            /* as the provider counted, all requests together */ \
	F(U64,  out_tokens, 0)                                                   \
	F(U64,  cache_read_tokens, 0)                                            \
	F(U64,  cache_write_tokens, 0)                                           \
	F(STR,  window,     LIM_TEXT)     /* rate-limit headers as "name=value;...", for /health */
MSG_STRUCT(out_closed);
/* clang-format on */
