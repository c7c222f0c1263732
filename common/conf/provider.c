/* SPDX-License-Identifier: ISC */
/*
 * provider NAME { ... } and model "NAME" { ... } in olpd.conf.  What a
 * provider is and can do is in common/provider; here are its settings.
 */
#include <arpa/inet.h>
#include <bsd/string.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/conf/parse.h"
#include "common/conf/units.h"
#include "common/log.h"

struct conf_provider *
conf_find_provider(const struct conf *c, const char *name)
{
	struct conf_provider *v;

	TAILQ_FOREACH(v, &c->providers, entry) {
		if (strcmp(v->name, name) == 0)
			return (v);
	}
	return (NULL);
}

/* The only word for now; another transport comes with its effect. */
static int
provider_transport(struct parser *p, const struct word *w, void *obj)
{
	(void)w;
	(void)obj;
	return (p_expect(p, "exec"));
}

static int
provider_credential(struct parser *p, const struct word *w, void *obj)
{
	struct conf_provider *v = obj;

	(void)w;
	return (p_credential(p, &v->cred));
}

/*
 * HOST, or an IPv6 address in brackets: *host gets the name, what follows it
 * is returned.
 */
static char *
split_host(char *s, char **host)
{
	struct in6_addr in6;
	char *end;

	*host = s;
	if (*s == '[') {
		*host = s + 1;
		if ((end = strchr(s, ']')) == NULL)
			return (NULL);
		*end++ = '\0';
		return (inet_pton(AF_INET6, *host, &in6) == 1 ? end : NULL);
	}
	if (!isalnum((unsigned char)*s))
		return (NULL);
	for (end = s;
	     isalnum((unsigned char)*end) || *end == '-' || *end == '.'; end++)
		continue;
	return (end);
}

/* https:// only, and no path: the broker's own table says which it may ask. */
static int
split_url(const char *url, char *host, size_t size, uint16_t *port)
{
	char buf[LIM_CONF_TOKEN], *name, *rest, after;
	uint64_t v = 443;

	if (strncmp(url, "https://", 8) != 0)
		return (-1);
	(void)strlcpy(buf, url + 8, sizeof(buf));
	if ((rest = split_host(buf, &name)) == NULL)
		return (-1);
	after = *rest;
	*rest = '\0';
	if (after != '\0' &&
	    (after != ':' || unit_number(rest + 1, &v) == -1 || v < 1 ||
		v > 65535))
		return (-1);
	*port = (uint16_t)v;
	return (strlcpy(host, name, size) >= size ? -1 : 0);
}

static int
allow_addresses(struct parser *p, struct conf_provider *v)
{
	struct sockaddr_storage ss;
	char text[sizeof(v->allow[0])];
	size_t i;

	do {
		if (v->nallow == CONF_ALLOW_MAX)
			return (p_error(
			    p, "more than %d addresses", CONF_ALLOW_MAX));
		if (p_address(p, &ss, text, sizeof(text),
			"an IPv4 or IPv6 address") == -1)
			return (-1);
		for (i = 0; i < v->nallow; i++)
			if (strcmp(v->allow[i], text) == 0)
				return (p_error(
				    p, "address %s stands twice", text));
		(void)strlcpy(v->allow[v->nallow++], text, sizeof(text));
	} while (p_comma(p));
	return (0);
}

static int
provider_upstream(struct parser *p, const struct word *w, void *obj)
{
	struct conf_provider *v = obj;
	char host[sizeof(v->upstream_host)];

	(void)w;
	if (!p_is_value(p) ||
	    split_url(p->tok.text, host, sizeof(host), &v->upstream_port) == -1)
		return (p_expected(p, "https://HOST or https://HOST:PORT"));
	(void)strlcpy(v->upstream_host, host, sizeof(v->upstream_host));
	p_next(p);
	if (p_take(p, "ca") &&
	    (p_expect(p, "file") == -1 ||
		p_file(p, FILE_PUBLIC, v->ca_file, sizeof(v->ca_file)) == -1))
		return (-1);
	if (p_take(p, "allow") &&
	    (p_expect(p, "address") == -1 || allow_addresses(p, v) == -1))
		return (-1);
	return (0);
}

#define AT(f) .off = offsetof(struct conf_provider, f)
static const struct word provider_limits[] = {
	{ "runs", .what = "limit runs", .parse = p_set_u32, AT(runs), .lo = 1,
	    .hi = LIM_CONF_RUNS_MAX },
	{ 0 },
};

static int
provider_limit(struct parser *p, const struct word *w, void *obj)
{
	(void)w;
	return (p_choices(p, provider_limits, obj));
}

static const struct word provider_words[] = {
	{ "command", .parse = p_set_path, AT(command) },
	{ "transport", .parse = provider_transport },
	{ "credential", .parse = provider_credential },
	{ "limit", .many = 1, .parse = provider_limit },
	{ "memory", .parse = p_set_size, AT(memory), .lo = LIM_CONF_MEMORY_MIN,
	    .hi = LIM_CONF_MEMORY_MAX },
	{ "timeout", .parse = p_set_seconds, AT(timeout_s), .lo = 1,
	    .hi = LIM_CONF_TIMEOUT_MAX_S },
	{ "upstream", .parse = provider_upstream },
	{ "accept-tier", .parse = p_set_flag, AT(accept_tier) },
	{ 0 },
};
#undef AT

/*
 * It is kept in spite of errors inside, so that models which name it are
 * judged by themselves.
 */
int
p_provider(struct parser *p, const struct word *w, void *obj)
{
	struct conf *c = obj;
	struct conf_provider *v, *o;
	size_t n = 0;

	v = xcalloc(1, sizeof(*v));
	v->timeout_s = LIM_CONF_RUN_S;
	p_where(p, &v->at);
	TAILQ_FOREACH(o, &c->providers, entry)
		n++;
	if (p_provider_name(p, v->name, sizeof(v->name)) == -1) {
		free(v);
		return (-1);
	}
	if ((o = conf_find_provider(c, v->name)) != NULL ||
	    n == LIM_CONF_PROVIDERS) {
		if (o != NULL)
			p_error(p, "%s: already set at %s:%u", v->name,
			    o->at.file, o->at.line);
		else
			p_error(p, "more than %d", LIM_CONF_PROVIDERS);
		free(v);
		return (-1);
	}
	TAILQ_INSERT_TAIL(&c->providers, v, entry);
	return (p_block(p, w->name, provider_words, v));
}

static int
model_chain(struct parser *p, const struct word *w, void *obj)
{
	struct conf_model *m = obj;

	(void)w;
	if (p_provider_name(p, m->provider, sizeof(m->provider)) == -1 ||
	    p_model_name(p, m->model, sizeof(m->model)) == -1)
		return (-1);
	if (p->tok.kind == TOK_COMMA)
		return (p_error(p, "a second hop is not possible yet"));
	return (0);
}

static const struct word model_words[] = {
	{ "chain", .parse = model_chain },
	{ 0 },
};

static int
model_add(struct parser *p, struct conf *c, struct conf_model *m)
{
	struct conf_model *o;
	size_t n = 0;

	TAILQ_FOREACH(o, &c->models, entry) {
		if (strcmp(o->name, m->name) == 0)
			return (p_error(p, "%s: already set at %s:%u", m->name,
			    o->at.file, o->at.line));
		n++;
	}
	if (n == LIM_CONF_MODELS)
		return (p_error(p, "more than %d", LIM_CONF_MODELS));
	TAILQ_INSERT_TAIL(&c->models, m, entry);
	return (0);
}

int
p_model(struct parser *p, const struct word *w, void *obj)
{
	struct conf_model *m = xcalloc(1, sizeof(*m));
	size_t before;

	p_where(p, &m->at);
	if (p_model_name(p, m->name, sizeof(m->name)) == -1 ||
	    model_add(p, obj, m) == -1) {
		free(m);
		return (-1);
	}
	before = p->errs->n + p->errs->more;
	if (p_block(p, w->name, model_words, m) == -1)
		return (-1);
	if (m->provider[0] == '\0' && before == p->errs->n + p->errs->more)
		return (p_error_at(p, &m->at, "%s has no chain", m->name));
	return (0);
}
