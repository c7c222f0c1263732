/* SPDX-License-Identifier: ISC */
/*
 * listen on ADDRESS port N | socket "PATH" ...: where callers come in, and
 * the rule that cleartext does not leave the machine unless somebody says so.
 */
#include <sys/un.h>

#include <arpa/inet.h>
#include <bsd/string.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/conf/parse.h"
#include "common/conf/units.h"
#include "common/log.h"

int
conf_is_loopback(const struct sockaddr *sa)
{
	static const uint8_t mapped[13] = {
		[10] = 0xff, [11] = 0xff, [12] = 127
	};
	struct sockaddr_in sin;
	struct sockaddr_in6 sin6;

	switch (sa->sa_family) {
	case AF_UNIX:
		return (1);
	case AF_INET:
		memcpy(&sin, sa, sizeof(sin));
		return (ntohl(sin.sin_addr.s_addr) >> 24 == 127);
	case AF_INET6:
		memcpy(&sin6, sa, sizeof(sin6));
		return (IN6_IS_ADDR_LOOPBACK(&sin6.sin6_addr) ||
		    memcmp(&sin6.sin6_addr, mapped, sizeof(mapped)) == 0);
	default:
		return (0);
	}
}

static socklen_t
set_port(struct sockaddr_storage *ss, uint16_t port)
{
	struct sockaddr_in sin;
	struct sockaddr_in6 sin6;

	if (ss->ss_family == AF_INET) {
		memcpy(&sin, ss, sizeof(sin));
		sin.sin_port = htons(port);
		memcpy(ss, &sin, sizeof(sin));
		return (sizeof(sin));
	}
	memcpy(&sin6, ss, sizeof(sin6));
	sin6.sin6_port = htons(port);
	memcpy(ss, &sin6, sizeof(sin6));
	return (sizeof(sin6));
}

/* As p_address(), and "localhost" and "*". */
static int
listen_address(struct parser *p, struct conf_listen *l, char *text, size_t size)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };

	if (p_is(p, "localhost"))
		sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else if (!p_is(p, "*"))
		return (p_address(p, &l->addr, text, size,
		    "an IPv4 or IPv6 address, localhost, * or socket"));
	memcpy(&l->addr, &sin, sizeof(sin));
	inet_ntop(AF_INET, &sin.sin_addr, text, (socklen_t)size);
	p_next(p);
	return (0);
}

static int
listen_tls(struct parser *p, struct conf_listen *l)
{
	l->tls = 1;
	if (p_expect(p, "cert") == -1 ||
	    p_file(p, FILE_PUBLIC, l->tls_cert, sizeof(l->tls_cert)) == -1 ||
	    p_expect(p, "key") == -1)
		return (-1);
	return (p_file(p, FILE_SECRET, l->tls_key, sizeof(l->tls_key)));
}

static int
listen_inet(struct parser *p, struct conf_listen *l)
{
	char text[INET6_ADDRSTRLEN];
	uint16_t port;

	if (listen_address(p, l, text, sizeof(text)) == -1 ||
	    p_port(p, &port) == -1)
		return (-1);
	l->addr_len = set_port(&l->addr, port);
	(void)snprintf(l->text, sizeof(l->text),
	    l->addr.ss_family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, port);
	if (p_take(p, "tls") && listen_tls(p, l) == -1)
		return (-1);
	if (p_take(p, "insecure"))
		l->insecure = 1;
	if (l->tls && l->insecure)
		return (p_error(p, "%s: either tls or insecure", l->text));
	if (!l->tls && !l->insecure &&
	    !conf_is_loopback((const struct sockaddr *)&l->addr))
		return (p_error(p,
		    "%s is not loopback: it needs tls, or insecure", l->text));
	return (0);
}

static int
group_name(struct parser *p, char *buf, size_t size)
{
	static const char set[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";

	if (!p_is_value(p) || strspn(p->tok.text, set) != strlen(p->tok.text) ||
	    p->tok.text[0] == '-')
		return (p_expected(p, "a group's name"));
	return (p_value(p, buf, size, "a group's name"));
}

static int
listen_unix(struct parser *p, struct conf_listen *l)
{
	unsigned int mode;

	l->is_unix = 1;
	if (p_path(p, l->path, sizeof(l->path)) == -1)
		return (-1);
	(void)strlcpy(l->text, l->path, sizeof(l->text));
	if (p_take(p, "mode")) {
		if (!p_is_value(p) || unit_mode(p->tok.text, &mode) == -1)
			return (p_expected(p, "an octal mode such as 0660"));
		l->mode = mode;
		p_next(p);
	}
	return (
	    p_take(p, "group") ? group_name(p, l->group, sizeof(l->group)) : 0);
}

static int
listen_add(struct parser *p, struct conf *c, struct conf_listen *l)
{
	struct conf_listen *o;
	size_t n = 0;

	TAILQ_FOREACH(o, &c->listens, entry) {
		if (strcmp(o->text, l->text) == 0)
			return (p_error(p, "%s: already set at %s:%u", l->text,
			    o->at.file, o->at.line));
		n++;
	}
	if (n == LIM_CONF_LISTENS)
		return (p_error(p, "more than %d", LIM_CONF_LISTENS));
	TAILQ_INSERT_TAIL(&c->listens, l, entry);
	return (0);
}

int
p_listen(struct parser *p, const struct word *w, void *obj)
{
	struct conf_listen *l = xcalloc(1, sizeof(*l));
	int r;

	(void)w;
	l->mode = 0660;
	p_where(p, &l->at);
	if (p_expect(p, "on") == -1)
		r = -1;
	else
		r = p_take(p, "socket") ? listen_unix(p, l) : listen_inet(p, l);
	if (r == 0)
		r = listen_add(p, obj, l);
	if (r == -1)
		free(l);
	return (r);
}
