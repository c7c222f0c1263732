/* SPDX-License-Identifier: ISC */
/*
 * Decides whether a run may be made, from the current configuration and the
 * table of runs alone.  Runs in worker-spawn.  What worker-http claims about
 * a key is never an input: it names a grant.
 */
#include "worker-spawn/admit.h"

#include <string.h>

#include "common/provider/provider.h"
#include "worker-spawn/keys.h"
#include "worker-spawn/rows.h"
#include "worker-spawn/run.h"
#include "worker-spawn/spawn.h"

/* A configured pair, under a name that the key may use. */
static enum olp_err
judge_model(const struct spawn *sp, const struct key *k, const char *provider,
    const char *model)
{
	const struct msg_conf_model *m;
	enum olp_err e = ERR_MODEL_UNKNOWN;
	size_t i;

	for (i = 0; i < sp->rows->nmodels; i++) {
		m = &sp->rows->models[i];
		if (strcmp(m->provider, provider) != 0 ||
		    strcmp(m->model, model) != 0)
			continue;
		if (key_may_model(k, m->name))
			return (ERR_OK);
		e = ERR_MODEL_DENIED;
	}
	return (e);
}

/* The separation between keys that this deployment has. */
static enum olp_err
judge_tier(const struct spawn *sp, const struct msg_conf_provider *row,
    const struct provider_launch *l)
{
	enum provider_tier have =
	    sp->rows->spawn.per_user ? TIER_PER_OS_USER : TIER_SHARED_OS_USER;

	if (l->tier >= have || row->accept_tier || keys_active(sp->keys) <= 1)
		return (ERR_OK);
	return (ERR_TIER);
}

static int
kind_fits(const struct provider_launch *l, uint32_t kind)
{
	size_t i;

	for (i = 0; i < l->ncreds; i++)
		if ((uint32_t)l->creds[i] == kind)
			return (1);
	return (0);
}

static enum olp_err
judge_credential(struct admission *a)
{
	const struct key_cred *own = key_cred(a->key, a->row->name);

	a->cred = "";
	a->cred_kind = PROVIDER_CRED_NONE;
	if (a->launch->ncreds == 0)
		return (ERR_OK);
	a->cred = own != NULL ? own->id : a->row->cred;
	a->cred_kind = own != NULL ? own->kind : a->row->cred_kind;
	return (a->cred[0] != '\0' && kind_fits(a->launch, a->cred_kind)
		? ERR_OK
		: ERR_CREDENTIAL);
}

static enum olp_err
judge_limits(
    const struct spawn *sp, const struct keys_now *now, struct admission *a)
{
	struct run_count n;
	enum olp_err e;

	run_count(sp, a->key->id, a->row->name, &n);
	if (n.key_stuck > 0)
		return (ERR_STUCK);
	if ((e = key_rate(a->key, now, &a->wait_s)) != ERR_OK)
		return (e);
	if (n.key >= a->key->runs)
		return (ERR_BUSY_KEY);
	if (a->row->runs != 0 && n.provider >= a->row->runs)
		return (ERR_BUSY_PROVIDER);
	if (n.all >= sp->rows->spawn.runs)
		return (ERR_BUSY_TOTAL);
	if (sp->rows->spawn.memory_budget != 0 &&
	    n.memory + a->row->memory > sp->rows->spawn.memory_budget)
		return (ERR_BUSY_MEMORY);
	return (ERR_OK);
}

enum olp_err
admit(struct spawn *sp, const struct msg_run_start *rq,
    const struct keys_now *now, struct admission *a)
{
	const struct msg_conf_spawn *conf = &sp->rows->spawn;
	enum olp_err e;

	memset(a, 0, sizeof(*a));
	if ((a->key = keys_granted(sp->keys, rq->grant, now)) == NULL)
		return (ERR_STALE);
	if ((e = key_usable(a->key, now)) != ERR_OK)
		return (e);
	if (!key_may_provider(a->key, rq->provider))
		return (ERR_PROVIDER_DENIED);
	a->row = rows_provider(sp->rows, rq->provider);
	a->launch = launch_find(rq->provider);
	if (a->row == NULL || a->launch == NULL)
		return (ERR_MODEL_UNKNOWN);
	if ((e = judge_model(sp, a->key, rq->provider, rq->model)) != ERR_OK)
		return (e);
	e = posture_allows(
	    &sp->posture, conf->allow_partial, a->key->require_full);
	if (e != ERR_OK || (e = judge_tier(sp, a->row, a->launch)) != ERR_OK)
		return (e);
	if (!a->row->installed)
		return (ERR_NOT_INSTALLED);
	if ((e = judge_credential(a)) != ERR_OK)
		return (e);
	return (judge_limits(sp, now, a));
}

enum olp_err
admit_provider(const struct spawn *sp, const struct msg_conf_provider *row)
{
	const struct provider_launch *l = launch_find(row->name);
	enum olp_err e;

	e = posture_allows(&sp->posture, sp->rows->spawn.allow_partial, 0);
	if (e != ERR_OK || (e = judge_tier(sp, row, l)) != ERR_OK)
		return (e);
	if (!row->installed)
		return (ERR_NOT_INSTALLED);
	/*
	 * A key may have its own credential; without the shared one the others
	 * cannot.
	 */
	if (l->ncreds > 0 &&
	    (row->cred[0] == '\0' || !kind_fits(l, row->cred_kind)))
		return (ERR_CREDENTIAL);
	return (ERR_OK);
}
