/* SPDX-License-Identifier: ISC */
/*
 * The providers whose clients' input can be made.  Linked into worker-http.
 */
#include <bsd/stdlib.h>
#include <string.h>

#include "common/provider/provider.h"

extern const struct provider_render claude_render; /* claude_render.c */
extern const struct provider_render demo_render;   /* demo_render.c */

const struct provider_render *const render_table[] = { &claude_render,
	&demo_render, NULL };

const struct provider_render *
render_find(const char *name)
{
	size_t i;

	for (i = 0; render_table[i] != NULL; i++)
		if (strcmp(render_table[i]->name, name) == 0)
			return (render_table[i]);
	return (NULL);
}

void
rendered_free(struct rendered *r)
{
	freezero(
	    r->input, r->input_len); /* prompts do not lie about in memory */
	freezero(r->system, r->system_len);
	freezero(r->settings, r->settings_len);
	memset(r, 0, sizeof(*r));
}
