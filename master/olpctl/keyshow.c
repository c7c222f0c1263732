/* SPDX-License-Identifier: ISC */
/* How a key looks: JSON and lines for people.  Never its hash. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "common/conf/units.h"
#include "master/olpctl/key.h"

const char *
key_kind_name(enum conf_cred_kind kind)
{
	return (kind == CRED_API_KEY       ? "api-key"
		: kind == CRED_OAUTH_TOKEN ? "oauth-token"
					   : "none");
}

const char *
key_state(const struct conf_key *k)
{
	if (k->revoked)
		return ("revoked");
	return (
	    k->expires != 0 && k->expires <= time(NULL) ? "expired" : "active");
}

static char *
hours_text(const struct conf_key *k, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%02d:%02d-%02d:%02d", k->from_min / 60,
	    k->from_min % 60, k->to_min / 60, k->to_min % 60);
	return (buf);
}

static json_t *
creds_to_json(const struct conf_key *k)
{
	json_t *a = json_array();
	size_t i;

	for (i = 0; i < k->ncreds; i++)
		json_array_append_new(a,
		    json_pack("{s:s, s:s, s:s}", "provider",
			k->creds[i].provider, "kind",
			key_kind_name(k->creds[i].cred.kind), "file",
			k->creds[i].cred.file));
	return (a);
}

json_t *
key_to_json(const struct conf_key *k)
{
	json_t *o, *providers = json_array(), *models = json_array();
	char text[UNIT_TEXT];
	size_t i;

	for (i = 0; i < k->nproviders; i++)
		json_array_append_new(providers, json_string(k->providers[i]));
	for (i = 0; i < k->nmodels; i++)
		json_array_append_new(models, json_string(k->models[i]));
	o = json_pack("{s:s, s:s, s:I, s:s, s:o, s:o, s:o, s:I, s:b, s:b}",
	    "id", k->id, "state", key_state(k), "uid", (json_int_t)k->uid,
	    "tier", k->owner ? "owner" : "member", "providers", providers,
	    "models", models, "credentials", creds_to_json(k), "runs",
	    (json_int_t)(k->runs != 0 ? k->runs : LIM_KEY_RUNS_DEFAULT),
	    "require_full", k->require_full, "rotating", k->nhash > 1);
	json_object_set_new(o, "starts_per_minute",
	    k->starts_per_minute != 0 ? json_integer(k->starts_per_minute)
				      : json_null());
	json_object_set_new(o, "hours",
	    k->has_hours ? json_string(hours_text(k, text, sizeof(text)))
			 : json_null());
	json_object_set_new(o, "expires",
	    k->expires != 0 ? json_string(unit_time_text(text, k->expires))
			    : json_null());
	return (o);
}

/* ---- text ---- */

static void
line(const char *name, const char *value)
{
	printf("%-18s %s\n", name, ctl_vis(value));
}

static void
line_number(const char *name, uint32_t v, const char *none)
{
	if (v != 0)
		printf("%-18s %" PRIu32 "\n", name, v);
	else
		line(name, none);
}

void
key_to_text(const struct conf_key *k)
{
	char text[UNIT_TEXT];
	size_t i;

	line("id", k->id);
	line("state", key_state(k));
	line_number("uid", k->uid, "");
	line("tier", k->owner ? "owner" : "member");
	if (k->nproviders == 0)
		line("providers", "none");
	for (i = 0; i < k->nproviders; i++)
		line(i == 0 ? "providers" : "", k->providers[i]);
	if (k->nmodels == 0)
		line("models", "all of its providers");
	for (i = 0; i < k->nmodels; i++)
		line(i == 0 ? "models" : "", k->models[i]);
	for (i = 0; i < k->ncreds; i++)
		printf("%-18s %s %s %s\n", i == 0 ? "credentials" : "",
		    k->creds[i].provider, key_kind_name(k->creds[i].cred.kind),
		    ctl_vis(k->creds[i].cred.file));
	line_number(
	    "runs at once", k->runs != 0 ? k->runs : LIM_KEY_RUNS_DEFAULT, "");
	line_number("starts per minute", k->starts_per_minute, "no limit");
	line("hours", k->has_hours ? hours_text(k, text, sizeof(text)) : "any");
	line("expires",
	    k->expires != 0 ? unit_time_text(text, k->expires) : "never");
	line(
	    "enforcement", k->require_full ? "full only" : "as olpd.conf says");
	line("tokens", k->nhash > 1 ? "two, being rotated" : "one");
}
