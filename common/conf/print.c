/* SPDX-License-Identifier: ISC */
/*
 * The tree back to text in the same grammar, every setting written out, so
 * that "olpd -n" shows what holds and reading it again changes nothing.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/conf/conf.h"
#include "common/conf/units.h"

static void
put_string(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s != '\0'; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', f);
		fputc(*s, f);
	}
	fputc('"', f);
}

/* before "value" after */
static void
put(FILE *f, const char *before, const char *value, const char *after)
{
	fputs(before, f);
	put_string(f, value);
	fputs(after, f);
}

static void
put_size(FILE *f, const char *before, uint64_t v, const char *after)
{
	char text[UNIT_TEXT];

	fprintf(f, "%s%s%s", before, unit_size_text(text, v), after);
}

static void
put_seconds(FILE *f, const char *before, uint64_t v, const char *after)
{
	char text[UNIT_TEXT];

	fprintf(f, "%s%s%s", before, unit_seconds_text(text, v), after);
}

static const char *
kind_name(enum conf_cred_kind kind)
{
	return (kind == CRED_OAUTH_TOKEN ? "oauth-token" : "api-key");
}

static void
print_listen(const struct conf_listen *l, FILE *f)
{
	const char *colon = strrchr(l->text, ':');
	int quoted;

	if (l->is_unix) {
		put(f, "listen on socket ", l->path, "");
		fprintf(f, " mode %04o", (unsigned int)l->mode);
		if (l->group[0] != '\0')
			put(f, " group ", l->group, "");
	} else {
		/*
		 * "[::1]:80" is how people see it; the grammar has the bare
		 * address.
		 */
		quoted = l->text[0] == '[';
		fprintf(f, "listen on %.*s port %s",
		    (int)(colon - l->text) - 2 * quoted, l->text + quoted,
		    colon + 1);
	}
	if (l->tls) {
		put(f, " tls cert ", l->tls_cert, " key ");
		put_string(f, l->tls_key);
	}
	fputs(l->insecure ? " insecure\n" : "\n", f);
}

static void
print_global(const struct conf *c, FILE *f)
{
	put(f, "state directory ", c->state_dir, "\n");
	put(f, "runtime directory ", c->runtime_dir, "\n");
	if (c->instance[0] != '\0')
		put(f, "instance ", c->instance, "\n");
	fprintf(
	    f, "uid-range %" PRIu32 " to %" PRIu32 "\n", c->uid_lo, c->uid_hi);
	fprintf(f, "service-ids %" PRIu32 "\n", c->service_first);
	fprintf(f, "enforcement %s\n",
	    c->allow_partial ? "allow partial" : "require full");
	if (c->memory_budget != 0)
		put_size(f, "memory-budget ", c->memory_budget, "\n");
	put_size(f, "home size ", c->home_bytes, "");
	fprintf(f, " inodes %" PRIu32 "\n", c->home_inodes);
	fprintf(f, "limit runs %" PRIu32 "\n", c->runs);
	fprintf(f, "limit queue %" PRIu32 " per-key %" PRIu32 "\n", c->queue,
	    c->queue_per_key);
	fprintf(f, "limit connections %" PRIu32 "\n", c->connections);
	put_size(f, "limit body ", c->body_max, "\n");
	put_seconds(f, "timeout head ", c->head_s, "\n");
	put_seconds(f, "timeout body ", c->body_s, "\n");
	put_seconds(f, "timeout queue ", c->queue_s, "\n");
	put_seconds(f, "timeout first-byte ", c->first_byte_s, "\n");
	put_seconds(f, "timeout idle ", c->idle_s, "\n");
	put_seconds(f, "heartbeat ", c->heartbeat_s, "\n");
	put_seconds(f, "stop-timeout ", c->stop_timeout_s, "\n");
	if (c->resolver[0] != '\0')
		fprintf(
		    f, "resolver %s port %u\n", c->resolver, c->resolver_port);
}

static void
print_upstream(const struct conf_provider *v, FILE *f)
{
	const char *quote = strchr(v->upstream_host, ':') != NULL ? "[]" : NULL;
	size_t i;

	fprintf(f, "\tupstream \"https://%.1s%s%.1s:%u\"",
	    quote != NULL ? quote : "", v->upstream_host,
	    quote != NULL ? quote + 1 : "", v->upstream_port);
	if (v->ca_file[0] != '\0')
		put(f, " ca file ", v->ca_file, "");
	for (i = 0; i < v->nallow; i++)
		fprintf(
		    f, "%s%s", i == 0 ? " allow address " : ", ", v->allow[i]);
	fputc('\n', f);
}

static void
print_provider(const struct conf_provider *v, FILE *f)
{
	fprintf(f, "provider %s {\n", v->name);
	if (v->command[0] != '\0')
		put(f, "\tcommand ", v->command, "\n");
	fputs("\ttransport exec\n", f);
	if (v->cred.kind != CRED_NONE) {
		fprintf(f, "\tcredential %s", kind_name(v->cred.kind));
		put(f, " file ", v->cred.file, "\n");
	}
	if (v->runs != 0)
		fprintf(f, "\tlimit runs %" PRIu32 "\n", v->runs);
	if (v->memory != 0)
		put_size(f, "\tmemory ", v->memory, "\n");
	put_seconds(f, "\ttimeout ", v->timeout_s, "\n");
	if (v->upstream_host[0] != '\0')
		print_upstream(v, f);
	if (v->accept_tier)
		fputs("\taccept-tier\n", f);
	fputs("}\n", f);
}

void
conf_print(const struct conf *c, FILE *f)
{
	const struct conf_listen *l;
	const struct conf_provider *v;
	const struct conf_model *m;

	TAILQ_FOREACH(l, &c->listens, entry)
		print_listen(l, f);
	print_global(c, f);
	TAILQ_FOREACH(v, &c->providers, entry)
		print_provider(v, f);
	TAILQ_FOREACH(m, &c->models, entry) {
		put(f, "model ", m->name, " {\n");
		fprintf(f, "\tchain %s ", m->provider);
		put(f, "", m->model, "\n}\n");
	}
}

/* ---- keys ---- */

static void
print_hash(const uint8_t *hash, FILE *f)
{
	size_t i;

	fputs("\ttoken sha256 \"", f);
	for (i = 0; i < 32; i++)
		fprintf(f, "%02x", hash[i]);
	fputs("\"\n", f);
}

static void
print_lists(const struct conf_key *k, FILE *f)
{
	size_t i;

	for (i = 0; i < k->nproviders; i++)
		fprintf(
		    f, "%s%s", i == 0 ? "\tproviders " : ", ", k->providers[i]);
	if (k->nproviders > 0)
		fputc('\n', f);
	for (i = 0; i < k->nmodels; i++)
		put(f, i == 0 ? "\tmodels " : ", ", k->models[i], "");
	if (k->nmodels > 0)
		fputc('\n', f);
	for (i = 0; i < k->ncreds; i++) {
		fprintf(f, "\tcredential %s %s", k->creds[i].provider,
		    kind_name(k->creds[i].cred.kind));
		put(f, " file ", k->creds[i].cred.file, "\n");
	}
}

void
conf_print_key(const struct conf_key *k, FILE *f)
{
	char text[UNIT_TEXT];
	size_t i;

	put(f, "key ", k->id, " {\n");
	for (i = 0; i < k->nhash; i++)
		print_hash(k->hash[i], f);
	fprintf(f, "\tuid %" PRIu32 "\n\ttier %s\n", k->uid,
	    k->owner ? "owner" : "member");
	print_lists(k, f);
	if (k->runs != 0)
		fprintf(f, "\tlimit runs %" PRIu32 "\n", k->runs);
	if (k->starts_per_minute != 0)
		fprintf(f, "\tlimit starts %" PRIu32 " per minute\n",
		    k->starts_per_minute);
	if (k->has_hours)
		fprintf(f, "\thours %02d:%02d to %02d:%02d\n", k->from_min / 60,
		    k->from_min % 60, k->to_min / 60, k->to_min % 60);
	if (k->expires != 0)
		put(f, "\texpires ", unit_time_text(text, k->expires), "\n");
	fputs(k->revoked ? "\trevoked\n" : "", f);
	fputs(k->require_full ? "\trequire full\n" : "", f);
	fputs("}\n", f);
}
