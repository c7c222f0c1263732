/* SPDX-License-Identifier: ISC */
/*
 * How the `claude` client is started: one turn, no tools, its model requests
 * to the run's own listener, whatever it might do beside that switched off.
 * Linked into worker-spawn; pure.
 *
 * Each variable and argument was seen to work with claude 2.1.332;
 * tests/integration/35-provider.mjs looks again.  The client refuses an
 * option it does not know, so one that is gone some day fails closed; it
 * ignores a variable it does not know, so nothing rests on one alone:
 * olpd-egress checks every body.
 */
#include "common/provider/provider.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

/*
 * HOME and TMPDIR are the run's own and vanish with it.  PATH names what the
 * sandbox does not hold; the client asks for it all the same.
 */
static void
add_surroundings(struct launch_words *env)
{
	launch_add(env, "HOME=%s", SANDBOX_HOME);
	launch_add(env, "PATH=/usr/bin:/bin");
	launch_add(env, "LANG=C.UTF-8");
	launch_add(env, "TMPDIR=/tmp");
}

/*
 * The placeholder; olpd-egress puts the credential in its place.  With
 * CLAUDE_CODE_SIMPLE the client tells the model nothing of its surroundings;
 * it does not work with an OAuth token.
 */
static void
add_credential(const struct launch_run *run, struct launch_words *env)
{
	launch_add(env, "ANTHROPIC_BASE_URL=http://127.0.0.1:%d", SANDBOX_PORT);
	if (run->cred == PROVIDER_CRED_OAUTH) {
		launch_add(env, "CLAUDE_CODE_OAUTH_TOKEN=%s", run->placeholder);
		return;
	}
	launch_add(env, "ANTHROPIC_API_KEY=%s", run->placeholder);
	launch_add(env, "CLAUDE_CODE_SIMPLE=1");
}

/*
 * One prompt is one model request.  What is not about the turn is not asked;
 * what went wrong is told, not tried again.  Attachments: `@path` in a prompt
 * would make the client read that file and send it.  Betas: with them it
 * answers a 400 by leaving them out one by one, in two more requests, and
 * sends messages that are empty.
 */
static void
add_switches(struct launch_words *env)
{
	launch_add(env, "CLAUDE_CODE_DISABLE_ATTACHMENTS=1");
	launch_add(env, "CLAUDE_CODE_DISABLE_CLAUDE_MDS=1");
	launch_add(env, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1");
	launch_add(env, "ENABLE_CLAUDEAI_MCP_SERVERS=false");
	launch_add(
	    env, "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL=1");
	launch_add(env, "DISABLE_AUTOUPDATER=1");
	launch_add(env, "CLAUDE_CODE_MAX_RETRIES=0");
	launch_add(env, "CLAUDE_CODE_DISABLE_REFUSAL_RETRY=1");
	launch_add(env, "CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK=1");
	launch_add(env,
	    "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK=1"); /* but after 404 it
							       tries */
	launch_add(env, "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS=1");
}

static void
claude_environment(const struct launch_run *run, struct launch_words *env)
{
	add_surroundings(env);
	add_credential(run, env);
	add_switches(env);
	if (run->input_kind != INPUT_TRANSCRIPT)
		return;
	/*
	 * The transcript's last row is answered as if it had just been typed.
	 * Without the second a long conversation would be summarised by two
	 * more model requests instead of "Prompt is too long".  A single
	 * message cannot be summarised, and there it would only make the
	 * client refuse by its own guess of the length what may fit.
	 */
	launch_add(env, "CLAUDE_CODE_RESUME_INTERRUPTED_TURN=1");
	launch_add(env, "DISABLE_COMPACT=1");
}

/* --verbose is what stream-json needs with -p. */
static void
claude_arguments(const struct launch_run *run, struct launch_words *argv)
{
	launch_add(argv, "-p");
	launch_add(argv, "--output-format=stream-json");
	launch_add(argv, "--verbose");
	launch_add(argv, "--include-partial-messages");
	launch_add(argv, "--no-session-persistence");
	launch_add(argv, "--model=%s", run->model);
	/* An empty one is none at all; else 5 KB of the client's own go. */
	if (run->system_len > 0)
		launch_add(argv, "--system-prompt-file=%s", SANDBOX_SYSTEM);
	else
		launch_add(argv, "--system-prompt=");
	if (run->settings_len > 0)
		launch_add(argv, "--settings=%s", SANDBOX_SETTINGS);
	if (run->input_kind == INPUT_TRANSCRIPT) {
		launch_add(
		    argv, "--input-format=stream-json"); /* as text an empty
							    stdin is an error */
		launch_add(argv, "--resume=%s", SANDBOX_INPUT);
	}
}

/*
 * No tool of its own (--tools ""), no server's (the next two), no settings
 * of the home or the work directory, no command, one turn.  --tools takes
 * any number of words: what follows it must be an option.
 */
static void
claude_hardening(const struct launch_run *run, struct launch_words *argv)
{
	(void)run;
	launch_add_option(argv, "--tools", "");
	launch_add_option(argv, "--strict-mcp-config", NULL);
	launch_add_option(argv, "--disallowedTools", "mcp__*");
	launch_add_option(argv, "--setting-sources", "");
	launch_add_option(argv, "--disable-slash-commands", NULL);
	launch_add_option(argv, "--max-turns", "1"); /* not in --help */
}

static const enum provider_cred creds[] = { PROVIDER_CRED_API_KEY,
	PROVIDER_CRED_OAUTH };

extern const struct provider_launch claude_launch;
const struct provider_launch claude_launch = {
	.name = "claude",
	.environment = claude_environment,
	.read_protection = PROTECT_NO_TOOLS,
	.tier = TIER_SHARED_OS_USER,
	.hardening = claude_hardening,
	.arguments = claude_arguments,
	.creds = creds,
	.ncreds = N(creds),
	.listener = LISTENER_HTTP,
	.memory = UINT64_C(600)
	    << 20, /* 220 MB resident and room for long answers */
	.max_requests = 1,
};
