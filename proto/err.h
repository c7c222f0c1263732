/* SPDX-License-Identifier: ISC */
/*
 * Every way a request can fail, and its name: what callers see as `code`,
 * what the journal has as OLP_REASON.  Which HTTP status each one gets is
 * worker-http's business (worker-http/answer.c).  Append; names are an interface.
 */
#ifndef OLP_ERR_H
#define OLP_ERR_H

/* clang-format off */
#define ERR_LIST(X)                                                                      \
	X(ERR_OK,               "ok",                   "no error")                      \
	/* who asks */                                                                   \
	X(ERR_KEY_MISSING,      "missing_api_key",      "no API key was sent")           \
	X(ERR_KEY_INVALID,      "invalid_api_key",      "the API key is not known")      \
	X(ERR_KEY_REVOKED,      "key_revoked",          "the API key was revoked")       \
	X(ERR_KEY_EXPIRED,      "key_expired",          "the API key has expired")       \
	X(ERR_KEY_HOURS,        "outside_hours",        "the API key may not be used at this time of day") \
	X(ERR_CLOCK,            "clock_unsynchronised", "the clock is not set, so this key's hours or expiry cannot be judged") \
	X(ERR_PROVIDER_DENIED,  "provider_not_allowed", "the API key may not use this provider") \
	X(ERR_MODEL_DENIED,     "model_not_allowed",    "the API key may not use this model") \
	X(ERR_MODEL_UNKNOWN,    "model_not_found",      "the model does not exist or this key may not use it") \
	X(ERR_OWNER_ONLY,       "owner_only",           "this needs an owner's key")     \
	/* how much */                                                                   \
	X(ERR_BUSY_KEY,         "key_busy",             "the key has as many runs as it may") \
	X(ERR_BUSY_PROVIDER,    "provider_busy",        "the provider has as many runs as it may") \
	X(ERR_BUSY_TOTAL,       "busy",                 "as many runs as allowed are under way") \
	X(ERR_BUSY_MEMORY,      "memory_busy",          "the memory budget is used up")  \
	X(ERR_RATE,             "rate_limit_exceeded",  "the key's starts per minute are used up") \
	X(ERR_QUEUE_FULL,       "queue_full",           "too many requests are waiting") \
	X(ERR_OVERLOADED,       "overloaded",           "the machine has no room for another run now") \
	/* what was asked */                                                             \
	X(ERR_BAD_REQUEST,      "invalid_request",      "the request is not valid")      \
	X(ERR_BAD_JSON,         "invalid_json",         "the body is not valid JSON")    \
	X(ERR_UNSUPPORTED,      "unsupported_parameter", "a parameter cannot be honoured") \
	X(ERR_TOO_LARGE,        "request_too_large",    "the request is too large")      \
	X(ERR_MEDIA_TYPE,       "unsupported_media_type", "Content-Type must be application/json") \
	X(ERR_ORIGIN,           "origin_not_allowed",   "requests from web pages of other origins are refused") \
	X(ERR_HOST,             "host_not_allowed",     "the Host header is not a valid host") \
	X(ERR_NOT_FOUND,        "not_found",            "there is no such endpoint")     \
	X(ERR_METHOD,           "method_not_allowed",   "the endpoint does not take this method") \
	X(ERR_CONTEXT_LENGTH,   "context_length_exceeded", "the conversation is too long for the model") \
	/* the client and its sandbox */                                                 \
	X(ERR_SANDBOX,          "sandbox_unavailable",  "the sandbox cannot be what the policy asks") \
	X(ERR_TIER,             "tier_refused",         "the provider recommends a stronger separation than this deployment has") \
	X(ERR_NOT_INSTALLED,    "provider_not_installed", "the provider's client is not installed or not executable") \
	X(ERR_CREDENTIAL,       "credential_missing",   "no usable credential is configured for this provider") \
	X(ERR_CLIENT,           "client_failed",        "the client ended without an answer") \
	X(ERR_CLIENT_ODD,       "client_unexpected",    "the client behaved in a way that is not allowed") \
	X(ERR_OOM,              "out_of_memory",        "the client used more memory than it may") \
	X(ERR_NO_SPACE,         "no_space",             "the client's home or /tmp is full") \
	X(ERR_STUCK,            "run_stuck",            "a run could not be ended; its key starts nothing until it is gone") \
	X(ERR_RUN_LOST,         "run_lost",             "a part of olpd was restarted while the request was under way") \
	X(ERR_BROKER,           "broker_refused",       "the client sent the provider something it may not") \
	/* the provider */                                                               \
	X(ERR_PROVIDER_AUTH,    "provider_auth",        "the provider refused the credential") \
	X(ERR_PROVIDER_LIMIT,   "provider_rate_limited", "the provider's limit is reached") \
	X(ERR_PROVIDER_OVERLOADED, "provider_overloaded", "the provider is overloaded")  \
	X(ERR_PROVIDER_REQUEST, "provider_rejected",    "the provider refused the request as invalid") \
	X(ERR_PROVIDER,         "provider_error",       "the provider failed")           \
	X(ERR_PROVIDER_CUT,     "provider_cut",         "the provider's answer broke off") \
	X(ERR_UNREACHABLE,      "provider_unreachable", "the provider could not be reached") \
	/* time */                                                                       \
	X(ERR_HEAD_TIMEOUT,     "head_timeout",         "the request's head took too long") \
	X(ERR_BODY_TIMEOUT,     "body_timeout",         "the request's body took too long") \
	X(ERR_QUEUE_TIMEOUT,    "queue_timeout",        "the request waited too long for its turn") \
	X(ERR_FIRST_BYTE,       "first_byte_timeout",   "the client gave no first text in time") \
	X(ERR_IDLE,             "idle_timeout",         "the client fell silent")        \
	X(ERR_TOTAL,            "total_timeout",        "the request took longer than it may") \
	/* ours */                                                                       \
	X(ERR_CALLER_GONE,      "caller_gone",          "the caller left")               \
	X(ERR_STOPPING,         "stopping",             "olpd is stopping")              \
	X(ERR_STALE,            "stale_grant",          "the grant is no longer valid")  \
	X(ERR_BAD_FDS,          "bad_descriptors",      "a descriptor is not what the message says") \
	X(ERR_INTERNAL,         "internal_error",       "olpd failed")                   \
	X(ERR_ANSWER_TOO_LARGE, "answer_too_large",     "the answer is larger than olpd keeps; ask for it as a stream")
/* clang-format on */

#define ERR_ENUM(sym, name, text) sym,
enum olp_err { ERR_LIST(ERR_ENUM) ERR_MAX };
#undef ERR_ENUM

const char *err_name(enum olp_err); /* "invalid_api_key" */
const char *err_text(enum olp_err); /* a sentence without host path, uid or key id */

#endif
