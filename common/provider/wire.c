/* SPDX-License-Identifier: ISC */
/*
 * The providers whose API olpd-egress can broker.  Linked there only.
 */
#include <string.h>

#include "common/provider/provider.h"

extern const struct provider_wire claude_wire; /* claude_wire.c */

const struct provider_wire *const wire_table[] = { &claude_wire, NULL };

const struct provider_wire *
wire_find(const char *name)
{
	size_t i;

	for (i = 0; wire_table[i] != NULL; i++)
		if (strcmp(wire_table[i]->name, name) == 0)
			return (wire_table[i]);
	return (NULL);
}
