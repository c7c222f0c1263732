/* SPDX-License-Identifier: ISC */
/*
 * How Anthropic's Messages API looks on the wire when the `claude` client
 * speaks it.  Linked into olpd-egress.  Names and values were taken from
 * requests of claude 2.1.332 (tests/integration/35-provider.mjs looks
 * again); what the client says about itself goes out as it says it.
 */
#include "common/provider/provider.h"

#include <jansson.h>
#include <string.h>

static const char *const queries[] = { "", "beta=true", NULL };

/* Content-Type, framing, Host and the credential are written by the broker. */
static const char *const request_fields[] = {
	"accept",
	"anthropic-beta",
	"anthropic-dangerous-direct-browser-access",
	"anthropic-version",
	"user-agent",
	"x-app",
	"x-claude-code-session-id",
	"x-stainless-arch",
	"x-stainless-lang",
	"x-stainless-os",
	"x-stainless-package-version",
	"x-stainless-retry-count",
	"x-stainless-runtime",
	"x-stainless-runtime-version",
	"x-stainless-timeout",
	NULL,
};

/*
 * What the client tells its limits and retries from.  Not the organisation,
 * not the workspace, no cookie.
 */
static const char *const response_fields[] = {
	"content-type",
	"request-id",
	"retry-after",
	"x-should-retry",
	"anthropic-ratelimit-requests-limit",
	"anthropic-ratelimit-requests-remaining",
	"anthropic-ratelimit-requests-reset",
	"anthropic-ratelimit-tokens-limit",
	"anthropic-ratelimit-tokens-remaining",
	"anthropic-ratelimit-tokens-reset",
	"anthropic-ratelimit-input-tokens-limit",
	"anthropic-ratelimit-input-tokens-remaining",
	"anthropic-ratelimit-input-tokens-reset",
	"anthropic-ratelimit-output-tokens-limit",
	"anthropic-ratelimit-output-tokens-remaining",
	"anthropic-ratelimit-output-tokens-reset",
	"anthropic-ratelimit-unified-status",
	"anthropic-ratelimit-unified-reset",
	"anthropic-ratelimit-unified-representative-claim",
	"anthropic-ratelimit-unified-fallback",
	"anthropic-ratelimit-unified-fallback-percentage",
	"anthropic-ratelimit-unified-overage-status",
	"anthropic-ratelimit-unified-overage-reset",
	"anthropic-ratelimit-unified-overage-disabled-reason",
	"anthropic-ratelimit-unified-overage-in-use",
	"anthropic-ratelimit-unified-overage-utilization",
	"anthropic-ratelimit-unified-overage-surpassed-threshold",
	"anthropic-ratelimit-unified-5h-status",
	"anthropic-ratelimit-unified-5h-reset",
	"anthropic-ratelimit-unified-5h-utilization",
	"anthropic-ratelimit-unified-5h-surpassed-threshold",
	"anthropic-ratelimit-unified-7d-status",
	"anthropic-ratelimit-unified-7d-reset",
	"anthropic-ratelimit-unified-7d-utilization",
	"anthropic-ratelimit-unified-7d-surpassed-threshold",
	NULL,
};

/* The first is the reset of the window that counts just now (reset_at). */
static const char *const window_fields[] = {
	"anthropic-ratelimit-unified-reset", "anthropic-ratelimit-*", NULL
};

/*
 * The client's own and those of CLAUDE_CODE_EXTRA_BODY (claude_render.c).
 * Not here, on purpose: mcp_servers and container, which are tools under
 * another name.
 */
static const char *const body_keys[] = {
	"context_management",
	"max_tokens",
	"messages",
	"metadata",
	"model",
	"output_config",
	"stop_sequences",
	"stream",
	"system",
	"temperature",
	"thinking",
	"tool_choice",
	"tools",
	"top_p",
	NULL,
};

/* Of images and documents; "base64" and "text" are in the body itself. */
static const char *const fetched[] = { "url", NULL };

/* About the account; no variable switches them off, no answer is needed. */
static const char *const ignored[] = {
	"GET /api/claude_code/policy_limits",
	"GET /api/claude_code/settings",
	"GET /api/oauth/profile",
	NULL,
};

static void
take(const json_t *usage, const char *name, uint64_t *to)
{
	const json_t *v = json_object_get(usage, name);

	if (json_is_integer(v) && json_integer_value(v) >= 0 &&
	    json_integer_value(v) <= LIM_PARSE_TOKENS)
		*to = (uint64_t)json_integer_value(v);
}

/* The API's figures are totals of the answer so far: later ones replace. */
static void
take_usage(const json_t *usage, struct wire_usage *u)
{
	take(usage, "input_tokens", &u->in_tokens);
	take(usage, "output_tokens", &u->out_tokens);
	take(usage, "cache_read_input_tokens", &u->cache_read_tokens);
	take(usage, "cache_creation_input_tokens", &u->cache_write_tokens);
}

static void
take_event(const json_t *event, struct wire_usage *u)
{
	const char *type = json_string_value(json_object_get(event, "type"));
	const json_t *delta = json_object_get(event, "delta");

	if (type == NULL)
		return;
	if (strcmp(type, "message_start") == 0) {
		take_usage(
		    json_object_get(json_object_get(event, "message"), "usage"),
		    u);
	} else if (strcmp(type, "message_delta") == 0) {
		take_usage(json_object_get(event, "usage"), u);
		u->ended |=
		    json_is_string(json_object_get(delta, "stop_reason"));
	} else if (strcmp(type, "message") == 0) { /* without a stream */
		take_usage(json_object_get(event, "usage"), u);
		u->ended |=
		    json_is_string(json_object_get(event, "stop_reason"));
	} else if (strcmp(type, "message_stop") == 0) {
		u->ended = 1;
	}
}

static int
holds(const char *json, size_t len, const char *word)
{
	return (memmem(json, len, word, strlen(word)) != NULL);
}

/* Most lines are text and say nothing of this: they are not parsed. */
static void
claude_usage(const char *json, size_t len, struct wire_usage *u)
{
	json_t *event;

	if (!holds(json, len, "usage") && !holds(json, len, "message_stop"))
		return;
	event = json_loadb(
	    json, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	take_event(event, u);
	json_decref(event);
}

extern const struct provider_wire claude_wire;
const struct provider_wire claude_wire = {
	.name = "claude",
	.host = "api.anthropic.com",
	.port = 443,
	.method = "POST",
	.path = "/v1/messages",
	.queries = queries,
	.request_fields = request_fields,
	.response_fields = response_fields,
	.window_fields = window_fields,
	.body_keys = body_keys,
	.fetched = fetched,
	.auth = {
		[PROVIDER_CRED_NONE] = { NULL, NULL },
		[PROVIDER_CRED_API_KEY] = { "x-api-key", "" },
		[PROVIDER_CRED_OAUTH] = { "authorization", "Bearer " },
	},
	.ignored = ignored,
	.usage = claude_usage,
};
