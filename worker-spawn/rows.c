/* SPDX-License-Identifier: ISC */
/*
 * Providers and models as configured: one copy in use, one being received.
 * Runs in worker-spawn; rows come from the master alone.
 */
#include "worker-spawn/rows.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/provider/provider.h"

struct rows *
rows_new(void)
{
	return (xcalloc(1, sizeof(struct rows)));
}

void
rows_free(struct rows *r)
{
	if (r == NULL)
		return;
	free(r->providers);
	free(r->models);
	free(r);
}

int
rows_add_provider(struct rows *r, const struct msg_conf_provider *p)
{
	const struct provider_launch *l = launch_find(p->name);
	char why[LIM_TEXT];

	if (r->nproviders == LIM_CONF_PROVIDERS || l == NULL) {
		log_warnx("provider %s: %s", p->name,
		    l == NULL ? "not known" : "too many of them");
		return (-1);
	}
	if (provider_launch_check(l, why, sizeof(why)) == -1) {
		log_warnx("%s", why);
		return (-1);
	}
	r->providers = xreallocarray(
	    r->providers, r->nproviders + 1, sizeof(*r->providers));
	r->providers[r->nproviders++] = *p;
	return (0);
}

int
rows_add_model(struct rows *r, const struct msg_conf_model *m)
{
	if (r->nmodels == LIM_CONF_MODELS) {
		log_warnx("model %s: too many of them", m->name);
		return (-1);
	}
	r->models =
	    xreallocarray(r->models, r->nmodels + 1, sizeof(*r->models));
	r->models[r->nmodels++] = *m;
	return (0);
}

const struct msg_conf_provider *
rows_provider(const struct rows *r, const char *name)
{
	size_t i;

	for (i = 0; i < r->nproviders; i++)
		if (strcmp(r->providers[i].name, name) == 0)
			return (&r->providers[i]);
	return (NULL);
}
