/* SPDX-License-Identifier: ISC */
/*
 * olpctl, the operator's command.  Here are the command line, the table of
 * commands that help, usage and completion grow from, and the reading of
 * olpd.conf.  It never shows a secret but a new token, once, and takes none
 * from its arguments.
 */
#include <bsd/stdlib.h>
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "master/olpctl/olpctl.h"

#define USAGE_WIDTH 72
#define USAGE_WORD 64 /* the longest option with its value */

struct option_word {
	const char *name;
	const char *value; /* what stands after it; NULL: a flag */
};
static const struct option_word options[OPT_MAX] = {
	[OPT_FILE] = { "-f", "FILE" },
	[OPT_JSON] = { "--json", NULL },
	[OPT_HELP] = { "-h", NULL },
	[OPT_TIER] = { "--tier", "owner|member" },
	[OPT_PROVIDERS] = { "--providers", "NAME,NAME" },
	[OPT_MODELS] = { "--models", "NAME,NAME" },
	[OPT_RUNS] = { "--runs", "N" },
	[OPT_STARTS] = { "--starts-per-minute", "N" },
	[OPT_HOURS] = { "--hours", "HH:MM-HH:MM" },
	[OPT_EXPIRES] = { "--expires", "DATE" },
	[OPT_FULL] = { "--require-full", NULL },
	[OPT_CREDENTIAL] = { "--credential", "PROVIDER=KIND:FILE" },
	[OPT_FINISH] = { "--finish", NULL },
	[OPT_KEY] = { "--key", "ID" },
	[OPT_KIND] = { "--kind", "api-key|oauth-token" },
	[OPT_NAMES] = { "--names", NULL },
};

#define O(o) (1u << OPT_##o)
#define ANYWHERE (O(FILE) | O(JSON) | O(HELP))
struct command {
	const char *group; /* "key", or the command itself */
	const char *name;  /* "add"; "" where there is no second word */
	const char *arg;   /* what stands after it, or NULL */
	unsigned int opts; /* besides ANYWHERE */
	int (*run)(struct ctl *);
	const char *summary;
};
static const struct command commands[] = {
	{ "key", "add", "ID",
	    O(TIER) | O(PROVIDERS) | O(MODELS) | O(RUNS) | O(STARTS) |
		O(HOURS) | O(EXPIRES) | O(FULL) | O(CREDENTIAL),
	    key_add, "make a key and show its token, once" },
	{ "key", "list", NULL, 0, key_list, "all keys" },
	{ "key", "show", "ID", 0, key_show, "one key" },
	{ "key", "rotate", "ID", O(FINISH), key_rotate,
	    "give it a second token; --finish: take the first away" },
	{ "key", "revoke", "ID", 0, key_revoke,
	    "end its use; its file and uid stay" },
	{ "key", "delete", "ID", 0, key_delete,
	    "remove it; its uid is not used again" },
	{ "credential", "set", "PROVIDER", O(KEY) | O(KIND), cred_set,
	    "store a credential, read from standard input" },
	{ "credential", "list", NULL, 0, cred_list,
	    "which credentials are named, and in order" },
	{ "status", "", NULL, 0, status_run, "what the running daemon does" },
	{ "reload", "", NULL, 0, reload_run,
	    "make the running daemon read its files again" },
	{ "doctor", "", NULL, 0, doctor_run,
	    "look for what is missing on this machine" },
	{ "help", "", NULL, O(NAMES), ctl_help,
	    "this text; --names: words for completion" },
};
#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

/* ---- help ---- */

/* The command and its options, broken where a line would be too long. */
static void
usage_line(FILE *f, const struct command *c, int col)
{
	char text[USAGE_WORD];
	int o, n;

	col += fprintf(f, "%s%s%s%s%s", c->group, c->name[0] != '\0' ? " " : "",
	    c->name, c->arg != NULL ? " " : "", c->arg != NULL ? c->arg : "");
	for (o = 0; o < OPT_MAX; o++) {
		if (!(c->opts & 1u << o))
			continue;
		n = snprintf(text, sizeof(text), "[%s%s%s]%s", options[o].name,
		    options[o].value != NULL ? " " : "",
		    options[o].value != NULL ? options[o].value : "",
		    o == OPT_CREDENTIAL ? " ..." : "");
		if (col + 1 + n > USAGE_WIDTH)
			col = fprintf(f, "\n          %s", text) - 1;
		else
			col += fprintf(f, " %s", text);
	}
	fprintf(f, "\n");
}

static void
usage_one(FILE *f, const struct command *c)
{
	usage_line(f, c, fprintf(f, "usage: %s [-f FILE] [--json] ", CTL_PROG));
}

static void
usage(FILE *f)
{
	size_t i;

	fprintf(f, "usage: %s [-f FILE] [--json] [-h] COMMAND ...\n", CTL_PROG);
	for (i = 0; i < NCOMMANDS; i++) {
		usage_line(f, &commands[i], fprintf(f, "  "));
		fprintf(f, "      %s\n", commands[i].summary);
	}
}

/* One line for each place: the words so far, a colon, what may follow. */
void
ctl_names(void)
{
	const struct command *c;
	const char *group = "";
	size_t i;
	int o;

	printf("%s: -f --json -h", CTL_PROG);
	for (i = 0; i < NCOMMANDS; group = commands[i++].group)
		if (strcmp(group, commands[i].group) != 0)
			printf(" %s", commands[i].group);
	for (i = 0, group = ""; i < NCOMMANDS; i++) {
		c = &commands[i];
		if (c->name[0] == '\0')
			continue;
		if (strcmp(group, c->group) != 0)
			printf("\n%s %s:", CTL_PROG, c->group);
		printf(" %s", c->name);
		group = c->group;
	}
	printf("\n");
	for (c = commands; c < commands + NCOMMANDS; c++) {
		printf("%s %s%s%s:", CTL_PROG, c->group,
		    c->name[0] != '\0' ? " " : "", c->name);
		for (o = 0; o < OPT_MAX; o++)
			if ((c->opts | ANYWHERE) & 1u << o)
				printf(" %s", options[o].name);
		printf("\n");
	}
}

int
ctl_help(struct ctl *ctl)
{
	if (ctl->opt[OPT_NAMES] != NULL)
		ctl_names();
	else
		usage(stdout);
	return (ctl_flush() == -1 ? CTL_FAILED : CTL_OK);
}

int
ctl_usage(const struct ctl *ctl, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vwarnx(fmt, ap);
	va_end(ap);
	if (ctl->cmd == NULL)
		fprintf(stderr, "try: %s help\n", CTL_PROG);
	else
		usage_one(stderr, ctl->cmd);
	return (CTL_USAGE);
}

/* ---- the command line ---- */

/* "-f", "-fFILE", "--runs 2" or "--runs=2": which one, and where its value
 * begins or NULL. */
static int
find_option(const char *word, const char **value)
{
	size_t n;
	int o;

	for (o = 0; o < OPT_MAX; o++) {
		n = strlen(options[o].name);
		*value = NULL;
		if (strcmp(word, options[o].name) == 0)
			return (o);
		if (options[o].value == NULL ||
		    strncmp(word, options[o].name, n) != 0)
			continue;
		if (n > 2 && word[n] != '=')
			continue;
		*value = word + n + (n > 2);
		return (o);
	}
	return (strcmp(word, "--help") == 0 ? OPT_HELP : -1);
}

static int
take_option(struct ctl *ctl, int o, const char *value)
{
	if (o == OPT_CREDENTIAL) {
		if (ctl->ncreds == CONF_KEY_CREDS_MAX)
			return (ctl_usage(ctl, "--credential: more than %d",
			    CONF_KEY_CREDS_MAX));
		ctl->creds[ctl->ncreds++] = value;
	} else if (ctl->opt[o] != NULL && options[o].value != NULL)
		return (ctl_usage(ctl, "%s stands twice", options[o].name));
	ctl->opt[o] = value;
	return (CTL_OK);
}

/* All words but options, in order, to *words. */
static int
read_words(struct ctl *ctl, int argc, char **argv, const char **words,
    size_t max, size_t *n)
{
	const char *value;
	int i, o, plain = 0;

	for (i = 1; i < argc; i++) {
		if (plain || argv[i][0] != '-' || argv[i][1] == '\0') {
			if (*n == max)
				return (ctl_usage(ctl, "%s: one word too many",
				    ctl_vis(argv[i])));
			words[(*n)++] = argv[i];
			continue;
		}
		if (strcmp(argv[i], "--") == 0) {
			plain = 1;
			continue;
		}
		if ((o = find_option(argv[i], &value)) == -1)
			return (ctl_usage(
			    ctl, "%s: no such option", ctl_vis(argv[i])));
		if (options[o].value == NULL)
			value = "";
		else if (value == NULL && (value = argv[++i]) == NULL)
			return (ctl_usage(ctl, "%s needs %s", options[o].name,
			    options[o].value));
		if (take_option(ctl, o, value) != CTL_OK)
			return (CTL_USAGE);
	}
	return (CTL_OK);
}

static int
find_command(struct ctl *ctl, const char **words, size_t n, size_t *used)
{
	const struct command *c;
	int group = 0;

	for (c = commands; n > 0 && c < commands + NCOMMANDS; c++) {
		if (strcmp(c->group, words[0]) != 0)
			continue;
		group = 1;
		*used = c->name[0] != '\0' ? 2 : 1;
		if (*used > n || (*used == 2 && strcmp(c->name, words[1]) != 0))
			continue;
		ctl->cmd = c;
		return (CTL_OK);
	}
	if (n == 0)
		return (ctl_usage(ctl, "a command is missing"));
	if (group && n > 1)
		return (ctl_usage(ctl, "%s %s: no such command", words[0],
		    ctl_vis(words[1])));
	return (
	    ctl_usage(ctl, group ? "%s: what of it?" : "%s: no such command",
		ctl_vis(words[0])));
}

static int
check_words(struct ctl *ctl, const char **words, size_t n, size_t used)
{
	const struct command *c = ctl->cmd;
	int o;

	for (o = 0; o < OPT_MAX; o++)
		if (ctl->opt[o] != NULL && !((c->opts | ANYWHERE) & 1u << o))
			return (
			    ctl_usage(ctl, "%s is no option of this command",
				options[o].name));
	if (n - used > (c->arg != NULL))
		return (ctl_usage(
		    ctl, "%s: one word too many", ctl_vis(words[n - 1])));
	if (c->arg != NULL && n == used)
		return (ctl_usage(ctl, "%s is missing", c->arg));
	for (; used < n; used++)
		ctl->arg[ctl->nargs++] = words[used];
	return (CTL_OK);
}

static int
run(struct ctl *ctl, int argc, char **argv)
{
	const char *words[3]; /* group, name, argument */
	size_t n = 0, used = 0;

	if (read_words(ctl, argc, argv, words, 3, &n) != CTL_OK)
		return (CTL_USAGE);
	if (ctl->opt[OPT_HELP] != NULL && n == 0)
		return (ctl_help(ctl));
	if (find_command(ctl, words, n, &used) != CTL_OK)
		return (CTL_USAGE);
	if (ctl->opt[OPT_HELP] != NULL) {
		usage_one(stdout, ctl->cmd);
		printf("%s\n", ctl->cmd->summary);
		return (ctl_flush() == -1 ? CTL_FAILED : CTL_OK);
	}
	if (check_words(ctl, words, n, used) != CTL_OK)
		return (CTL_USAGE);
	return (ctl->cmd->run(ctl));
}

/* A file opened as descriptor 1 would get what is printed, a token too. */
static void
sane_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd != -1 && fd <= STDERR_FILENO);
	if (fd == -1)
		_exit(CTL_FAILED);
	close(fd);
}

int
main(int argc, char **argv)
{
	struct ctl ctl = { 0 };
	int code;

	sane_descriptors();
	umask(077);
	signal(SIGPIPE, SIG_IGN);
	log_init(CTL_PROG, 0);
	ctl_json_init();
	ctl_providers();
	code = run(&ctl, argc, argv);
	conf_free(ctl.conf);
	conf_errors_free(&ctl.errs);
	/* What a library would do at exit it need not do under another id. */
	if (drop_done())
		_exit(code);
	return (code);
}
