/* SPDX-License-Identifier: ISC */
/*
 * Model names to rows, in worker-http.  The rows are the configuration's;
 * there is one hop to a model for now.  worker-spawn judges again what a key
 * may use when a run is asked for.
 */
#include "worker-http/route.h"

#include <string.h>

#include "common/provider/provider.h"
#include "worker-http/job.h"
#include "worker-http/rows.h"

static int
may_use(const struct job *j, const struct msg_conf_model *row)
{
	size_t i;

	for (i = 0; i < j->nproviders; i++)
		if (strcmp(j->providers[i], row->provider) == 0)
			break;
	if (i == j->nproviders)
		return (0);
	if (j->nmodels == 0)
		return (1);
	for (i = 0; i < j->nmodels; i++)
		if (strcmp(j->models[i], row->name) == 0)
			return (1);
	return (0);
}

const struct msg_conf_model *
route_next(const struct job *j, size_t *i)
{
	const struct rows *r = rows();
	const struct msg_conf_model *row;

	while (*i < r->nmodels) {
		row = &r->models[(*i)++];
		if (may_use(j, row))
			return (row);
	}
	return (NULL);
}

const struct msg_conf_model *
route_find(const struct job *j, const char *model, enum olp_err *err)
{
	const struct msg_conf_model *row;
	size_t i = 0;

	*err = ERR_MODEL_UNKNOWN;
	while ((row = route_next(j, &i)) != NULL)
		if (strcmp(row->name, model) == 0)
			break;
	if (row == NULL)
		return (NULL);
	/* A provider this build has no parser for cannot be answered from. */
	if (parse_find(row->provider) == NULL ||
	    render_find(row->provider) == NULL)
		return (NULL);
	*err = ERR_OK;
	return (row);
}
