/* SPDX-License-Identifier: ISC */
/*
 * Reading olpd.conf for olpctl: with all its errors told, and where a command
 * can do without, with what is left.
 */
#include <err.h>
#include <errno.h>
#include <unistd.h>

#include "common/provider/provider.h"
#include "master/olpctl/olpctl.h"

#define PROVIDERS_MAX 64

int
ctl_code(int error)
{
	return (error == EACCES || error == EPERM ? CTL_DENIED : CTL_FAILED);
}

int
ctl_conf(struct ctl *ctl, enum ctl_need need, int *code)
{
	const char *file =
	    ctl->opt[OPT_FILE] != NULL ? ctl->opt[OPT_FILE] : CTL_CONF;
	size_t i;

	if (access(file, R_OK) == -1 && ctl_code(errno) == CTL_DENIED &&
	    need != CONF_QUIET) {
		warn("%s", file);
		*code = CTL_DENIED;
		return (-1);
	}
	ctl->conf = conf_load_rest(file, &ctl->errs);
	ctl->conf_good = ctl->errs.n == 0;
	if (need != CONF_QUIET && ctl->conf->keys_dir[0] == '\0')
		need = CONF_MUST; /* no place to work in */
	if (need != CONF_QUIET)
		for (i = 0; i < ctl->errs.n; i++)
			warnx("%s", ctl->errs.line[i]);
	if (!ctl->conf_good && need == CONF_MAY)
		warnx("%s has errors; what could be understood of it is used",
		    file);
	if (ctl->conf_good || need != CONF_MUST)
		return (0);
	/* Who may not write keys may not see all that olpd.conf names either.
	 */
	*code = access(ctl->conf->keys_dir, W_OK) == -1 ? ctl_code(errno)
							: CTL_FAILED;
	return (-1);
}

void
ctl_providers(void)
{
	static const char *names[PROVIDERS_MAX];
	size_t i;

	for (i = 0; i < PROVIDERS_MAX - 1 && launch_table[i] != NULL; i++)
		names[i] = launch_table[i]->name;
	conf_set_known_providers(names);
}
