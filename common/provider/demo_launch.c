/* SPDX-License-Identifier: ISC */
/*
 * How olpd's own client without an account (worker-spawn/demo) is started.
 * A row like any other.  Linked into worker-spawn; pure.
 */
#include "common/provider/provider.h"

static void
demo_environment(const struct launch_run *run, struct launch_words *env)
{
	(void)run;
	launch_add(env, "HOME=%s", SANDBOX_HOME);
	launch_add(env, "PATH=/usr/bin:/bin");
	launch_add(env, "LANG=C.UTF-8");
	launch_add(env, "TMPDIR=/tmp");
}

/* It reads its standard input and takes no argument. */
static void
demo_arguments(const struct launch_run *run, struct launch_words *argv)
{
	(void)run;
	(void)argv;
}

/* It has no right that an argument could take away. */
static void
demo_hardening(const struct launch_run *run, struct launch_words *argv)
{
	(void)run;
	(void)argv;
}

extern const struct provider_launch demo_launch;
const struct provider_launch demo_launch = {
	.name = "demo",
	.shipped = "olp-demo",
	.environment = demo_environment,
	.read_protection = PROTECT_NO_TOOLS,
	.tier = TIER_SHARED_OS_USER,
	.hardening = demo_hardening,
	.arguments = demo_arguments,
	.memory = UINT64_C(8)
	    << 20, /* 1 MB resident; the rest is the sandbox's */
};
