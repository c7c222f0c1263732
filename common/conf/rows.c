/* SPDX-License-Identifier: ISC */
/* Configuration structs into message structs.  Runs in the master; pure. */
#include "common/conf/rows.h"

#include <bsd/string.h>
#include <stdio.h>
#include <string.h>

#define SYSTEM_CA "/etc/ssl/certs/ca-certificates.crt"

void
row_http(const struct conf *c, struct msg_conf_http *m)
{
	*m = (struct msg_conf_http){ .queue = c->queue,
		.queue_per_key = c->queue_per_key,
		.runs = c->runs,
		.connections = c->connections,
		.body_max = c->body_max,
		.heartbeat_s = c->heartbeat_s,
		.head_s = c->head_s,
		.body_s = c->body_s,
		.queue_s = c->queue_s,
		.first_byte_s = c->first_byte_s,
		.idle_s = c->idle_s,
		.version = OLP_VERSION };
	(void)strlcpy(m->instance, c->instance, sizeof(m->instance));
}

void
row_spawn(const struct conf *c, struct msg_conf_spawn *m)
{
	*m = (struct msg_conf_spawn){ .uid_lo = c->uid_lo,
		.uid_hi = c->uid_hi,
		.allow_partial = c->allow_partial,
		.memory_budget = c->memory_budget,
		.runs = c->runs,
		.home_bytes = c->home_bytes,
		.home_inodes = c->home_inodes };
	(void)strlcpy(m->instance, c->instance, sizeof(m->instance));
}

void
row_provider(const struct conf_provider *p, struct msg_conf_provider *m)
{
	*m = (struct msg_conf_provider){ .cred_kind = p->cred.kind,
		.runs = p->runs,
		.memory = p->memory,
		.timeout_s = p->timeout_s,
		.accept_tier = p->accept_tier };
	(void)strlcpy(m->name, p->name, sizeof(m->name));
	if (p->cred.kind != CRED_NONE)
		(void)strlcpy(m->cred, p->name, sizeof(m->cred));
}

void
row_model(const struct conf_model *c, struct msg_conf_model *m)
{
	memset(m, 0, sizeof(*m));
	(void)strlcpy(m->name, c->name, sizeof(m->name));
	(void)strlcpy(m->provider, c->provider, sizeof(m->provider));
	(void)strlcpy(m->model, c->model, sizeof(m->model));
}

int
row_own_model(const struct conf *c, const struct conf_provider *p,
    struct msg_conf_model *m)
{
	const struct conf_model *o;

	if (p->command[0] != '\0')
		return (0);
	TAILQ_FOREACH(o, &c->models, entry)
		if (strcmp(o->provider, p->name) == 0 ||
		    strcmp(o->name, p->name) == 0)
			return (0);
	memset(m, 0, sizeof(*m));
	(void)strlcpy(m->name, p->name, sizeof(m->name));
	(void)strlcpy(m->provider, p->name, sizeof(m->provider));
	(void)strlcpy(m->model, p->name, sizeof(m->model));
	return (1);
}

void
row_key(const struct conf_key *k, struct msg_conf_key *m)
{
	size_t i;

	*m = (struct msg_conf_key){ .nhash = (uint32_t)k->nhash,
		.uid = k->uid,
		.owner = k->owner,
		.providers_n = k->nproviders,
		.models_n = k->nmodels,
		.creds_n = k->ncreds,
		.runs = k->runs == 0 ? LIM_KEY_RUNS_DEFAULT : k->runs,
		.starts_per_minute = k->starts_per_minute,
		.has_hours = k->has_hours,
		.from_min = k->from_min,
		.to_min = k->to_min,
		.expires = (uint64_t)k->expires,
		.revoked = k->revoked,
		.require_full = k->require_full };
	(void)strlcpy(m->id, k->id, sizeof(m->id));
	memcpy(m->hash1, k->hash[0], sizeof(m->hash1));
	memcpy(m->hash2, k->hash[1], sizeof(m->hash2));
	for (i = 0; i < k->nproviders; i++)
		(void)strlcpy(m->providers[i], k->providers[i], LIM_LIST_STR);
	for (i = 0; i < k->nmodels; i++)
		(void)strlcpy(m->models[i], k->models[i], LIM_LIST_STR);
	for (i = 0; i < k->ncreds; i++)
		(void)snprintf(m->creds[i], LIM_LIST_STR, "%s=%s.%s=%d",
		    k->creds[i].provider, k->id, k->creds[i].provider,
		    k->creds[i].cred.kind);
}

static const struct conf_cred *
key_cred(const struct conf_keys *keys, const char *id, size_t len,
    const char *provider)
{
	const struct conf_key *k;
	size_t i;

	TAILQ_FOREACH(k, keys, entry)
		if (strlen(k->id) == len && memcmp(k->id, id, len) == 0)
			break;
	if (k == NULL || k->revoked)
		return (NULL);
	for (i = 0; i < k->ncreds; i++)
		if (strcmp(k->creds[i].provider, provider) == 0)
			return (&k->creds[i].cred);
	return (NULL);
}

int
row_cred(const struct conf *c, const struct conf_keys *keys, const char *id,
    struct msg_egress_cred *m, const char **file, const char **ca)
{
	const char *dot = strchr(id, '.'), *name = dot == NULL ? id : dot + 1;
	const struct conf_provider *p = conf_find_provider(c, name);
	const struct conf_cred *cred;
	size_t i;

	if (p == NULL)
		return (-1);
	cred = dot == NULL ? &p->cred
			   : key_cred(keys, id, (size_t)(dot - id), name);
	if (cred == NULL || cred->kind == CRED_NONE)
		return (-1);
	memset(m, 0, sizeof(*m)); /* padding too: the master compares them */
	m->kind = cred->kind;
	m->port = p->upstream_port;
	m->allow_n = p->nallow;
	m->resolver_port = c->resolver_port;
	(void)strlcpy(m->cred, id, sizeof(m->cred));
	(void)strlcpy(m->provider, p->name, sizeof(m->provider));
	(void)strlcpy(m->host, p->upstream_host, sizeof(m->host));
	(void)strlcpy(m->resolver, c->resolver, sizeof(m->resolver));
	for (i = 0; i < p->nallow; i++)
		(void)strlcpy(m->allow[i], p->allow[i], LIM_LIST_STR);
	*file = cred->file;
	*ca = p->ca_file[0] == '\0' ? SYSTEM_CA : p->ca_file;
	return (0);
}

const char *
conf_fixed(const struct conf *a, const struct conf *b)
{
	if (a->uid_lo != b->uid_lo || a->uid_hi != b->uid_hi)
		return ("uid-range");
	if (a->service_first != b->service_first)
		return ("service-ids");
	if (strcmp(a->instance, b->instance) != 0)
		return ("instance");
	if (strcmp(a->state_dir, b->state_dir) != 0)
		return ("state directory");
	if (strcmp(a->runtime_dir, b->runtime_dir) != 0)
		return ("runtime directory");
	return (NULL);
}
