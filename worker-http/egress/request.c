/* SPDX-License-Identifier: ISC */
/*
 * Judges a client's request head by its provider's table and writes the one
 * that olpd-egress sends.  Pure.  Nothing of the client's head is forwarded
 * but the values of fields that the table names; method, path, host,
 * framing, content type and credential are written anew.
 */
#include "worker-http/egress/request.h"

#include <event2/buffer.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/http/http.h"
#include "common/limits.h"
#include "worker-http/egress/cred.h"

#define HTTPS_PORT 443

/* Fields in which some API or proxy takes a credential. */
static const char *const credential_fields[] = { "authorization", "x-api-key",
	"x-goog-api-key", "api-key", NULL };

static int
is_ignored(const struct http_head *h, const struct provider_wire *wire)
{
	size_t i, n = strlen(h->method);

	for (i = 0; wire->ignored != NULL && wire->ignored[i] != NULL; i++)
		if (strncmp(wire->ignored[i], h->method, n) == 0 &&
		    wire->ignored[i][n] == ' ' &&
		    strcmp(wire->ignored[i] + n + 1, h->path) == 0)
			return (1);
	return (0);
}

static int
is_model_request(const struct http_head *h, const struct provider_wire *wire)
{
	size_t i;

	if (strcmp(h->method, wire->method) != 0 ||
	    strcmp(h->path, wire->path) != 0)
		return (0);
	for (i = 0; wire->queries[i] != NULL; i++)
		if (strcmp(wire->queries[i],
			h->query != NULL ? h->query : "") == 0 &&
		    (h->query == NULL || h->query[0] != '\0'))
			return (1);
	return (0);
}

/* Connection may only say what all connections say: it names no field. */
static const char *
check_connection(const struct http_head *h)
{
	size_t i;

	if (http_field(h, "upgrade") != NULL)
		return ("head: Upgrade");
	if (http_field(h, "proxy-authorization") != NULL)
		return ("head: Proxy-Authorization");
	for (i = 0; i < h->nfields; i++)
		if (strcmp(h->fields[i].name, "connection") == 0 &&
		    strcasecmp(h->fields[i].value, "keep-alive") != 0 &&
		    strcasecmp(h->fields[i].value, "close") != 0)
			return (
			    "head: Connection is neither keep-alive nor close");
	return (NULL);
}

/* Exactly one credential, in the field of the run's kind: its placeholder. */
static const char *
check_auth(
    const struct http_head *h, const struct cred *c, const char *placeholder)
{
	const char *field = c->wire->auth[c->kind].field;
	const char *before = c->wire->auth[c->kind].before;
	const char *value = http_field(h, field);
	size_t i, n = strlen(before), len = strlen(placeholder);

	for (i = 0; credential_fields[i] != NULL; i++)
		if (strcmp(credential_fields[i], field) != 0 &&
		    http_field(h, credential_fields[i]) != NULL)
			return ("head: a credential of another kind");
	if (value == NULL)
		return ("head: no credential");
	if (http_field_count(h, field) != 1)
		return ("head: more than one credential");
	if (len == 0 || strncmp(value, before, n) != 0 ||
	    strlen(value + n) != len ||
	    CRYPTO_memcmp(value + n, placeholder, len) != 0)
		return ("head: the credential is not this run's placeholder");
	return (NULL);
}

static int
is_json(const char *type)
{
	static const char json[] = "application/json";
	const char *s;

	if (type == NULL || strncasecmp(type, json, sizeof(json) - 1) != 0)
		return (0);
	s = type + sizeof(json) - 1;
	s += strspn(s, " \t");
	if (*s == '\0')
		return (1);
	if (*s++ != ';')
		return (0);
	s += strspn(s, " \t");
	return (strcasecmp(s, "charset=utf-8") == 0);
}

static const char *
check_content(const struct http_head *h)
{
	const char *coding = http_field(h, "content-encoding");

	if (!is_json(http_field(h, "content-type")))
		return ("head: Content-Type is not application/json");
	if (coding != NULL && strcasecmp(coding, "identity") != 0)
		return ("head: Content-Encoding");
	if (h->framing == HTTP_NO_BODY)
		return ("head: no body");
	return (NULL);
}

/* Values that go out are printable ASCII, each field once. */
static const char *
check_passed(const struct http_head *h, const struct provider_wire *wire)
{
	const char *s;
	size_t i;

	for (i = 0; wire->request_fields[i] != NULL; i++) {
		if (http_field_count(h, wire->request_fields[i]) > 1)
			return ("head: a field twice");
		if ((s = http_field(h, wire->request_fields[i])) == NULL)
			continue;
		for (; *s != '\0'; s++)
			if (*s < ' ' || *s > '~')
				return ("head: a field's value is not "
					"printable ASCII");
	}
	return (NULL);
}

enum request_verdict
request_check(const struct http_head *h, const struct cred *c,
    const char *placeholder, int *status, const char **reason)
{
	if (is_ignored(h, c->wire)) {
		*status = 404;
		return (REQUEST_IGNORED);
	}
	*status = 505;
	*reason = h->minor == 1 ? NULL : "head: not HTTP/1.1";
	if (*reason == NULL) {
		*status = 400;
		*reason = check_connection(h);
	}
	if (*reason == NULL && !is_model_request(h, c->wire)) {
		*status = 404;
		*reason = "head: not the provider's model request";
	}
	if (*reason == NULL) {
		*status = 401;
		*reason = check_auth(h, c, placeholder);
	}
	if (*reason == NULL) {
		*status = 415;
		*reason = check_content(h);
	}
	if (*reason == NULL) {
		*status = 400;
		*reason = check_passed(h, c->wire);
	}
	return (*reason == NULL ? REQUEST_OK : REQUEST_REFUSED);
}

static void
put_host(struct evbuffer *out, const struct cred *c)
{
	const char *open = strchr(c->host, ':') != NULL ? "[" : "";
	const char *close = *open != '\0' ? "]" : "";

	if (c->port == HTTPS_PORT)
		http_put_fieldf(out, "Host", "%s%s%s", open, c->host, close);
	else
		http_put_fieldf(
		    out, "Host", "%s%s%s:%u", open, c->host, close, c->port);
}

void
request_put(struct evbuffer *out, const struct http_head *h, struct cred *c,
    size_t body_len)
{
	const char *const *f = c->wire->request_fields;
	char target[LIM_TEXT];

	(void)snprintf(target, sizeof(target), "%s%s%s", c->wire->path,
	    h->query != NULL ? "?" : "", h->query != NULL ? h->query : "");
	http_put_request_line(out, c->wire->method, target);
	put_host(out, c);
	cred_put_field(out, c);
	for (; *f != NULL; f++)
		if (http_field(h, *f) != NULL)
			http_put_field(out, *f, http_field(h, *f));
	http_put_field(out, "Content-Type", "application/json");
	http_put_field(out, "Accept-Encoding", "identity");
	http_put_fieldf(out, "Content-Length", "%zu", body_len);
	http_put_field(out, "Connection", "close");
	http_put_end(out);
}
