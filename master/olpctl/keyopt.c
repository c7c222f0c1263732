/* SPDX-License-Identifier: ISC */
/*
 * The options of "key add" into a struct conf_key.  Whether the values fit
 * olpd.conf is judged afterwards by the parser itself, on the text that is
 * about to be written (key.c); here is only what the command line adds.
 */
#include <bsd/string.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/conf/units.h"
#include "common/log.h"
#include "master/olpctl/key.h"

/* Each piece between commas; an empty one or too many is -1. */
static int
split(const char *list, char *out, size_t width, size_t max, size_t *n)
{
	const char *p = list;
	size_t len;

	for (*n = 0;; p += len + 1) {
		len = strcspn(p, ",");
		if (len == 0 || len >= width || *n == max)
			return (-1);
		memcpy(out + *n * width, p, len);
		out[*n * width + len] = '\0';
		(*n)++;
		if (p[len] == '\0')
			return (0);
	}
}

static int
opt_number(const struct ctl *ctl, enum ctl_opt o, const char *name, uint32_t hi,
    uint32_t *out)
{
	uint64_t v;

	if (ctl->opt[o] == NULL)
		return (CTL_OK);
	if (unit_number(ctl->opt[o], &v) == -1 || v < 1 || v > hi)
		return (ctl_usage(ctl,
		    "%s %s: expected a number from 1 to %" PRIu32, name,
		    ctl->opt[o], hi));
	*out = (uint32_t)v;
	return (CTL_OK);
}

static int
opt_tier(const struct ctl *ctl, struct conf_key *k)
{
	const char *tier = ctl->opt[OPT_TIER];

	if (tier == NULL || strcmp(tier, "member") == 0)
		return (CTL_OK);
	if (strcmp(tier, "owner") != 0)
		return (ctl_usage(
		    ctl, "--tier %s: expected owner or member", tier));
	k->owner = 1;
	return (CTL_OK);
}

static int
opt_lists(const struct ctl *ctl, struct conf_key *k)
{
	const char *list;

	if ((list = ctl->opt[OPT_PROVIDERS]) != NULL &&
	    split(list, k->providers[0], LIM_PROVIDER, CONF_KEY_LIST_MAX,
		&k->nproviders) == -1)
		return (ctl_usage(ctl,
		    "--providers %s: expected names with commas between",
		    list));
	if ((list = ctl->opt[OPT_MODELS]) != NULL &&
	    split(list, k->models[0], LIM_MODEL, CONF_KEY_LIST_MAX,
		&k->nmodels) == -1)
		return (ctl_usage(ctl,
		    "--models %s: expected names with commas between", list));
	return (CTL_OK);
}

static int
opt_hours(const struct ctl *ctl, struct conf_key *k)
{
	const char *text = ctl->opt[OPT_HOURS];
	char from[6];

	if (text == NULL)
		return (CTL_OK);
	(void)strlcpy(from, text, sizeof(from));
	if (strlen(text) != strlen("00:00-00:00") || text[5] != '-' ||
	    unit_clock(from, &k->from_min) == -1 ||
	    unit_clock(text + 6, &k->to_min) == -1 || k->from_min == k->to_min)
		return (ctl_usage(ctl,
		    "--hours %s: expected two different times such as "
		    "07:00-21:30",
		    text));
	k->has_hours = 1;
	return (CTL_OK);
}

static int
opt_expires(const struct ctl *ctl, struct conf_key *k)
{
	const char *text = ctl->opt[OPT_EXPIRES];

	if (text == NULL)
		return (CTL_OK);
	if (unit_time(text, &k->expires) == -1)
		return (ctl_usage(ctl,
		    "--expires %s: expected a date such as 2027-01-31 or "
		    "2027-01-31T18:00:00Z",
		    text));
	if (k->expires <= time(NULL))
		return (ctl_usage(ctl, "--expires %s: that is past", text));
	return (CTL_OK);
}

int
key_kind(const char *word, enum conf_cred_kind *kind)
{
	*kind = strcmp(word, "api-key") == 0   ? CRED_API_KEY
	    : strcmp(word, "oauth-token") == 0 ? CRED_OAUTH_TOKEN
					       : CRED_NONE;
	return (*kind == CRED_NONE ? -1 : 0);
}

/* PROVIDER=KIND:FILE */
static int
opt_credential(const struct ctl *ctl, const char *text, struct conf_key *k)
{
	struct conf_cred *c = &k->creds[k->ncreds].cred;
	char *copy = xstrdup(text), *kind = NULL, *file = NULL;
	int r = -1;

	if ((kind = strchr(copy, '=')) != NULL &&
	    (file = strchr(kind, ':')) != NULL) {
		*kind++ = *file++ = '\0';
		if (key_kind(kind, &c->kind) == 0 && file[0] == '/' &&
		    strlcpy(c->file, file, sizeof(c->file)) < sizeof(c->file) &&
		    copy[0] != '\0' &&
		    strlcpy(k->creds[k->ncreds].provider, copy, LIM_PROVIDER) <
			LIM_PROVIDER)
			r = 0;
	}
	free(copy);
	if (r == -1)
		return (ctl_usage(ctl,
		    "--credential %s: expected PROVIDER=api-key:/FILE or "
		    "PROVIDER=oauth-token:/FILE",
		    text));
	k->ncreds++;
	return (CTL_OK);
}

int
key_options(const struct ctl *ctl, struct conf_key *k)
{
	size_t i;
	int r;

	if ((r = opt_tier(ctl, k)) != CTL_OK ||
	    (r = opt_lists(ctl, k)) != CTL_OK ||
	    (r = opt_hours(ctl, k)) != CTL_OK ||
	    (r = opt_expires(ctl, k)) != CTL_OK ||
	    (r = opt_number(ctl, OPT_RUNS, "--runs", LIM_CONF_RUNS_MAX,
		 &k->runs)) != CTL_OK ||
	    (r = opt_number(ctl, OPT_STARTS, "--starts-per-minute",
		 LIM_CONF_STARTS_MAX, &k->starts_per_minute)) != CTL_OK)
		return (r);
	k->require_full = ctl->opt[OPT_FULL] != NULL;
	for (i = 0; i < ctl->ncreds; i++)
		if ((r = opt_credential(ctl, ctl->creds[i], k)) != CTL_OK)
			return (r);
	return (CTL_OK);
}
