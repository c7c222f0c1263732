/* SPDX-License-Identifier: ISC */
/*
 * Checks of a request's head.  Runs in worker-http before a caller is known.
 * The parser has made sure that none of the fields looked at is there twice,
 * but for Origin and Content-Encoding.
 */
#include "worker-http/head.h"

#include <arpa/inet.h>
#include <bsd/string.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/http/http.h"

static int
parse_port(const char *s, unsigned int *port)
{
	size_t n = strspn(s, "0123456789");

	if (n == 0 || n > 5 || s[n] != '\0')
		return (-1);
	*port = (unsigned int)strtoul(s, NULL, 10);
	return (*port >= 1 && *port <= 65535 ? 0 : -1);
}

static int
is_name(const char *s)
{
	if (*s == '\0' || *s == '-' || *s == '.')
		return (0);
	for (; *s != '\0'; s++)
		if (!isalnum((unsigned char)*s) && strchr("-._", *s) == NULL)
			return (0);
	return (1);
}

static int
is_ipv6(const char *s)
{
	char buf[INET6_ADDRSTRLEN];
	struct in6_addr a;
	size_t n = strlen(s);

	if (n < 4 || n - 2 >= sizeof(buf) || s[0] != '[' || s[n - 1] != ']')
		return (0);
	memcpy(buf, s + 1, n - 2);
	buf[n - 2] = '\0';
	return (inet_pton(AF_INET6, buf, &a) == 1);
}

int
head_parse_host(const char *s, struct head_host *h)
{
	char *colon, *p;

	h->port = 0;
	if (strlcpy(h->name, s, sizeof(h->name)) >= sizeof(h->name))
		return (-1);
	colon = strrchr(h->name, ':');
	if (colon != NULL && strchr(colon, ']') == NULL) {
		*colon = '\0';
		if (parse_port(colon + 1, &h->port) == -1)
			return (-1);
	}
	for (p = h->name; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	return (is_name(h->name) || is_ipv6(h->name) ? 0 : -1);
}

enum olp_err
head_host(const struct http_head *h)
{
	const char *s = http_field(h, "host");
	struct head_host host;

	return (
	    s == NULL || head_parse_host(s, &host) == 0 ? ERR_OK : ERR_HOST);
}

enum olp_err
head_origin(const struct http_head *h)
{
	const char *origin = http_field(h, "origin"),
		   *host = http_field(h, "host");
	struct head_host ours, theirs;
	unsigned int usual;

	if (origin == NULL)
		return (ERR_OK);
	if (http_field_count(h, "origin") != 1 || host == NULL ||
	    head_parse_host(host, &ours) == -1)
		return (ERR_ORIGIN);
	if (strncasecmp(origin, "http://", 7) == 0)
		usual = 80;
	else if (strncasecmp(origin, "https://", 8) == 0)
		usual = 443;
	else
		return (ERR_ORIGIN);
	if (head_parse_host(origin + (usual == 80 ? 7 : 8), &theirs) == -1)
		return (ERR_ORIGIN);
	/* A proxy may end TLS before us, so the page's scheme says which port
	 * is meant. */
	if (ours.port == 0)
		ours.port = usual;
	if (theirs.port == 0)
		theirs.port = usual;
	if (strcmp(ours.name, theirs.name) != 0 || ours.port != theirs.port)
		return (ERR_ORIGIN);
	return (ERR_OK);
}

/* ";charset=utf-8", the one parameter with a meaning to us. */
static int
charset_ok(const char *params)
{
	const char *s = strcasestr(params, "charset=");

	if (s == NULL)
		return (1);
	s += strlen("charset=");
	s += *s == '"';
	return (strncasecmp(s, "utf-8", 5) == 0 &&
	    (s[5] == '\0' || strchr("\"; \t", s[5]) != NULL));
}

enum olp_err
head_json(const struct http_head *h)
{
	static const char json[] = "application/json";
	const char *type = http_field(h, "content-type");
	const char *coding = http_field(h, "content-encoding");
	size_t n = sizeof(json) - 1;

	if (coding != NULL && strcasecmp(coding, "identity") != 0)
		return (ERR_MEDIA_TYPE);
	if (type == NULL || strncasecmp(type, json, n) != 0)
		return (ERR_MEDIA_TYPE);
	type += n;
	type += strspn(type, " \t");
	if (*type != '\0' && *type != ';')
		return (ERR_MEDIA_TYPE);
	return (charset_ok(type) ? ERR_OK : ERR_MEDIA_TYPE);
}

enum olp_err
head_token(const struct http_head *h, char token[LIM_TOKEN])
{
	const char *bearer = http_field(h, "authorization");
	const char *key = http_field(h, "x-api-key");

	token[0] = '\0';
	if (bearer != NULL && strncasecmp(bearer, "bearer ", 7) == 0) {
		bearer += 7;
		bearer += strspn(bearer, " ");
	} else
		bearer = NULL;
	if (bearer != NULL && *bearer == '\0')
		bearer = NULL;
	if (key != NULL && *key == '\0')
		key = NULL;
	if (bearer != NULL && key != NULL && strcmp(bearer, key) != 0)
		return (ERR_BAD_REQUEST);
	if (bearer == NULL && (bearer = key) == NULL)
		return (ERR_KEY_MISSING);
	if (strlcpy(token, bearer, LIM_TOKEN) >= LIM_TOKEN) {
		explicit_bzero(token, LIM_TOKEN);
		return (ERR_KEY_INVALID);
	}
	return (ERR_OK);
}

static int
hex(char c)
{
	if (c >= '0' && c <= '9')
		return (c - '0');
	c = (char)tolower((unsigned char)c);
	return (c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1);
}

int
head_decode(const char *s, char *buf, size_t size)
{
	size_t n = 0;
	int hi, lo;

	for (; *s != '\0'; s++) {
		if (n + 1 >= size)
			return (-1);
		if (*s != '%') {
			buf[n++] = *s;
			continue;
		}
		if ((hi = hex(s[1])) == -1 || (lo = hex(s[2])) == -1 ||
		    (hi | lo) == 0)
			return (-1);
		buf[n++] = (char)(hi << 4 | lo);
		s += 2;
	}
	buf[n] = '\0';
	return (0);
}
