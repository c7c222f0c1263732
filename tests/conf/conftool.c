/* SPDX-License-Identifier: ISC */
/*
 * What "olpd -n" prints, without a daemon:
 *	conftool FILE             olpd.conf
 *	conftool -k CONF FILE     one key file, judged by CONF
 *	conftool -K CONF DIR      a keys.d
 * Errors go to standard error, one a line; exit 78 when there were any.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "common/conf/conf.h"

static const char *const providers[] = { "claude", "demo", NULL };

static int
tell(struct conf_errors *e)
{
	int status = e->n == 0 ? EX_OK : EX_CONFIG;
	size_t i;

	for (i = 0; i < e->n; i++)
		fprintf(stderr, "%s\n", e->line[i]);
	conf_errors_free(e);
	return (status);
}

static void
one_key(const struct conf *c, const char *file, struct conf_errors *e)
{
	struct conf_key *k;

	if ((k = conf_load_key(c, file, e)) != NULL)
		conf_print_key(k, stdout);
	free(k);
}

static void
all_keys(const struct conf *c, const char *dir, struct conf_errors *e)
{
	struct conf_keys keys;
	struct conf_key *k;

	conf_load_keys(c, dir, &keys, e);
	TAILQ_FOREACH(k, &keys, entry)
		conf_print_key(k, stdout);
	conf_keys_free(&keys);
}

int
main(int argc, char *argv[])
{
	struct conf_errors e = { 0 };
	struct conf *c;

	conf_set_known_providers(providers);
	if (argc == 4 && strcmp(argv[1], "-k") == 0) {
		if ((c = conf_load(argv[2], &e)) != NULL)
			one_key(c, argv[3], &e);
	} else if (argc == 4 && strcmp(argv[1], "-K") == 0) {
		if ((c = conf_load(argv[2], &e)) != NULL)
			all_keys(c, argv[3], &e);
	} else if (argc == 2) {
		if ((c = conf_load(argv[1], &e)) != NULL)
			conf_print(c, stdout);
	} else {
		fprintf(stderr, "usage: conftool [-k|-K CONF] FILE\n");
		return (EX_USAGE);
	}
	conf_free(c);
	return (tell(&e));
}
