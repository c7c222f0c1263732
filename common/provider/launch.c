/* SPDX-License-Identifier: ISC */
/*
 * The providers whose clients can be started, and the words their argv and
 * environment are built from.  Linked into worker-spawn and, for its checks,
 * the master; makes no system call.
 */
#include "common/provider/provider.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"

extern const struct provider_launch claude_launch; /* claude_launch.c */
extern const struct provider_launch demo_launch;   /* demo_launch.c */

const struct provider_launch *const launch_table[] = { &claude_launch,
	&demo_launch, NULL };

const struct provider_launch *
launch_find(const char *name)
{
	size_t i;

	for (i = 0; launch_table[i] != NULL; i++)
		if (strcmp(launch_table[i]->name, name) == 0)
			return (launch_table[i]);
	return (NULL);
}

void
launch_add(struct launch_words *w, const char *fmt, ...)
{
	char buf[LIM_LAUNCH_BYTES];
	va_list ap;
	int n;

	if (w->n == LIM_LAUNCH_WORDS) {
		w->overflow = 1;
		return;
	}
	va_start(ap, fmt);
	n = vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(buf)) {
		w->overflow = 1;
		return;
	}
	w->v[w->n++] = xstrdup(buf);
	w->v[w->n] = NULL;
}

void
launch_add_option(struct launch_words *w, const char *option, const char *value)
{
	size_t i;

	for (i = 0; i < w->n; i++)
		if (strcmp(w->v[i], option) == 0)
			return;
	launch_add(w, "%s", option);
	if (value != NULL)
		launch_add(w, "%s", value);
}

void
launch_words_free(struct launch_words *w)
{
	size_t i;

	for (i = 0; i < w->n; i++)
		free(w->v[i]);
	memset(w, 0, sizeof(*w));
}

const char *
protect_name(enum provider_protect p)
{
	static const char *const names[] = {
		[PROTECT_NONE] = "none",
		[PROTECT_INNER_SANDBOX] = "inner-sandbox",
		[PROTECT_NO_TOOLS] = "no-tools",
	};

	return (
	    (size_t)p < sizeof(names) / sizeof(names[0]) ? names[p] : "none");
}

const char *
tier_name(enum provider_tier t)
{
	static const char *const names[] = {
		[TIER_SEPARATE_VM] = "separate-vm",
		[TIER_PER_OS_USER] = "per-os-user",
		[TIER_SHARED_OS_USER] = "shared-os-user",
	};

	return ((size_t)t < sizeof(names) / sizeof(names[0]) ? names[t]
							     : "separate-vm");
}
