/* SPDX-License-Identifier: ISC */
/*
 * Heads and error bodies of answers.  Runs in worker-http; owns nothing.  It
 * must never put into an error anything but our own sentences and the
 * caller's own parameter names: no path, uid, other key or client's words.
 */
#include "worker-http/answer.h"

#include <event2/buffer.h>
#include <string.h>
#include <time.h>

#include "common/http/http.h"
#include "common/limits.h"
#include "worker-http/json.h"

#define RETRY_BUSY 2   /* seconds: a run may end any moment */
#define RETRY_LIMIT 30 /* seconds: a provider's limit that names no time */

/* clang-format off */
static const int statuses[ERR_MAX] = {
	[ERR_OK] = 200,
	[ERR_KEY_MISSING] = 401, [ERR_KEY_INVALID] = 401, [ERR_KEY_REVOKED] = 401, [ERR_KEY_EXPIRED] = 401,
	[ERR_KEY_HOURS] = 403, [ERR_CLOCK] = 503, [ERR_PROVIDER_DENIED] = 403, [ERR_MODEL_DENIED] = 403,
	[ERR_MODEL_UNKNOWN] = 404, [ERR_OWNER_ONLY] = 403,
	[ERR_BUSY_KEY] = 429, [ERR_BUSY_PROVIDER] = 503, [ERR_BUSY_TOTAL] = 503, [ERR_BUSY_MEMORY] = 503,
	[ERR_RATE] = 429, [ERR_QUEUE_FULL] = 429, [ERR_OVERLOADED] = 503,
	[ERR_BAD_REQUEST] = 400, [ERR_BAD_JSON] = 400, [ERR_UNSUPPORTED] = 400, [ERR_TOO_LARGE] = 413,
	[ERR_MEDIA_TYPE] = 415, [ERR_ORIGIN] = 403, [ERR_HOST] = 400, [ERR_NOT_FOUND] = 404,
	[ERR_METHOD] = 405, [ERR_CONTEXT_LENGTH] = 400,
	[ERR_SANDBOX] = 503, [ERR_TIER] = 403, [ERR_NOT_INSTALLED] = 503, [ERR_CREDENTIAL] = 503,
	[ERR_CLIENT] = 502, [ERR_CLIENT_ODD] = 502, [ERR_OOM] = 502, [ERR_NO_SPACE] = 502,
	[ERR_STUCK] = 502, [ERR_RUN_LOST] = 502, [ERR_BROKER] = 502,
	[ERR_PROVIDER_AUTH] = 502, [ERR_PROVIDER_LIMIT] = 429, [ERR_PROVIDER_OVERLOADED] = 503,
	[ERR_PROVIDER_REQUEST] = 400, [ERR_PROVIDER] = 502, [ERR_PROVIDER_CUT] = 502,
	[ERR_UNREACHABLE] = 502,
	[ERR_HEAD_TIMEOUT] = 408, [ERR_BODY_TIMEOUT] = 408, [ERR_QUEUE_TIMEOUT] = 503,
	[ERR_FIRST_BYTE] = 504, [ERR_IDLE] = 504, [ERR_TOTAL] = 504,
	[ERR_CALLER_GONE] = 499, /* in the log only */
	[ERR_STOPPING] = 503, [ERR_STALE] = 503, [ERR_BAD_FDS] = 500, [ERR_INTERNAL] = 500,
	[ERR_ANSWER_TOO_LARGE] = 502,
};
/* clang-format on */

int
answer_status(enum olp_err e)
{
	int status = (unsigned int)e < ERR_MAX ? statuses[e] : 0;

	return (status == 0 ? 500 : status);
}

uint32_t
answer_retry(enum olp_err e, uint32_t given)
{
	int status = answer_status(e);

	if (status != 429 && status != 503)
		return (0);
	if (given > 0)
		return (given);
	/* Waiting does not mend these. */
	if (e == ERR_SANDBOX || e == ERR_NOT_INSTALLED || e == ERR_CREDENTIAL)
		return (0);
	return (e == ERR_PROVIDER_LIMIT ? RETRY_LIMIT : RETRY_BUSY);
}

static const char *
error_type(int status)
{
	switch (status) {
	case 401:
		return ("authentication_error");
	case 403:
		return ("permission_error");
	case 404:
		return ("not_found_error");
	case 429:
		return ("rate_limit_error");
	case 504:
		return ("timeout_error");
	default:
		return (status >= 500 ? "api_error" : "invalid_request_error");
	}
}

void
answer_error(struct evbuffer *out, enum olp_err e, const char *message,
    const char *param)
{
	json_put(out, "{\"error\":{");
	json_put_member(
	    out, "message", message != NULL ? message : err_text(e));
	json_put_member(out, "type", error_type(answer_status(e)));
	json_put_member(out, "code", err_name(e));
	json_put_member(
	    out, "param", param != NULL && param[0] != '\0' ? param : NULL);
	json_put(out, "}}");
}

void
answer_clean(char *buf, size_t size, const char *src)
{
	size_t n = 0;

	for (; *src != '\0' && n + 1 < size; src++) {
		if (*src > ' ' && *src <= '~')
			buf[n++] = *src;
		else if (n > 0 && buf[n - 1] != ' ')
			buf[n++] = ' ';
	}
	while (n > 0 && buf[n - 1] == ' ')
		n--;
	buf[n] = '\0';
}

static void
put_clean(struct evbuffer *out, const char *name, const char *value)
{
	char buf[LIM_TEXT];

	if (value == NULL)
		return;
	answer_clean(buf, sizeof(buf), value);
	if (buf[0] != '\0')
		http_put_field(out, name, buf);
}

static void
put_date(struct evbuffer *out)
{
	static char buf[40];
	static time_t last;
	time_t now = time(NULL);
	struct tm tm;

	if (now != last && gmtime_r(&now, &tm) != NULL &&
	    strftime(buf, sizeof(buf), "%a, %d %b %Y %H:%M:%S GMT", &tm) > 0)
		last = now;
	if (buf[0] != '\0')
		http_put_field(out, "Date", buf);
}

static void
put_framing(struct evbuffer *out, const struct answer *a)
{
	if (a->length >= 0)
		http_put_fieldf(
		    out, "Content-Length", "%lld", (long long)a->length);
	else if (a->minor > 0)
		http_put_field(out, "Transfer-Encoding", "chunked");
	if (!a->keep_alive)
		http_put_field(out, "Connection", "close");
	else if (a->minor == 0)
		http_put_field(out, "Connection", "keep-alive");
}

/* DESIGN.md section 7. There is no chain and no cache yet, and it says so. */
static void
put_v1(struct evbuffer *out, const struct answer *a)
{
	put_clean(out, "X-OLP-Provider-Used", a->provider);
	put_clean(out, "X-OLP-Model-Used", a->model);
	if (a->provider != NULL)
		http_put_field(out, "X-OLP-Fallback-Hops", "0");
	http_put_field(out, "X-OLP-Cache", "off");
	put_clean(out, "X-OLP-Enforcement", a->enforcement);
	put_clean(out, "X-OLP-Ignored", a->ignored);
	http_put_fieldf(
	    out, "X-OLP-Latency-Ms", "%llu", (unsigned long long)a->latency_ms);
}

void
answer_head(struct evbuffer *out, const struct answer *a)
{
	http_put_status_line(out, a->status);
	put_date(out);
	if (a->type != NULL)
		http_put_field(out, "Content-Type", a->type);
	put_framing(out, a);
	http_put_field(out, "Cache-Control", "no-store");
	http_put_field(out, "X-Content-Type-Options", "nosniff");
	if (a->length < 0) /* nginx would keep a stream back */
		http_put_field(out, "X-Accel-Buffering", "no");
	if (a->status == 401)
		http_put_field(out, "WWW-Authenticate", "Bearer");
	if (a->allow != NULL)
		http_put_field(out, "Allow", a->allow);
	if (a->retry_s > 0)
		http_put_fieldf(out, "Retry-After", "%u", a->retry_s);
	if (a->request_id != NULL)
		http_put_field(out, "X-OLP-Request-Id", a->request_id);
	if (a->v1)
		put_v1(out, a);
	put_clean(out, "X-OLP-Detail", a->detail);
	http_put_end(out);
}
