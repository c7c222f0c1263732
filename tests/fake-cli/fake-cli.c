/* SPDX-License-Identifier: ISC */
/*
 * A client that does as its prompt says: what the real ones will not do on
 * demand.  It prints claude's stream-json, so that olpd takes it for a
 * provider's program (`command` of provider claude).  Test code; static.
 *
 * The prompt is words, separated by blanks or newlines, done in order:
 *   say:TEXT          a text delta (no blanks; _ is printed as one)
 *   words:N pace:MS   N deltas, MS apart
 *   bytes:N           one delta of N bytes
 *   echo-sha          the prompt's length and a checksum
 *   sleep:MS hang     wait; wait for ever
 *   stop:REASON       end the message (end_turn, max_tokens, refusal ...)
 *   result            the closing result line; exit:N  signal:N
 *   bigline:N         a line of N bytes; garbage; empty; nonewline
 *   values:N          a line of JSON with N values
 *   half-utf8         a delta that ends inside a character
 *   stderr:N          N bytes on standard error
 *   die-early         exit before reading standard input (also as model name)
 *   ignore-term grandchild:MS setsid:MS   processes that outlive us
 *   fill-home fill-inodes fill-tmp fork-bomb alloc:MB
 *   env argv fds files:DIR write:FILE     print what we can see or do
 *   attack            every attack of attack.c, as "name=errno" deltas
 *   tag:TEXT          what our requests carry, to tell them apart
 *   begin forks:N     what we began with, see self.c
 *   http:N            N requests over the listener, what came back; else one
 *                     is made before the first text, unless no-http is there
 *   init-tools:NAME   an init line that claims a tool
 *   cut-utf8:MS       a delta whose character is cut by a write and MS
 *   tcp ...           raw bytes over the listener: wire.c has the words
 */
#include "attack.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char *model = "fake";
static int pace_ms;
static int started, stopped;
static int quiet; /* makes no request by itself: the prompt has http:, no-http
		     or tcp */
static char **args;

static void
msleep(int ms)
{
	struct timespec t = { ms / 1000, (ms % 1000) * 1000000L };

	while (nanosleep(&t, &t) == -1 && errno == EINTR)
		continue;
}

static void
out(const char *s, size_t len)
{
	ssize_t n;

	while (len > 0) {
		if ((n = write(STDOUT_FILENO, s, len)) == -1)
			_exit(90);
		s += n;
		len -= (size_t)n;
	}
}

static void line(const char *, ...) __attribute__((format(printf, 1, 2)));
static void
line(const char *fmt, ...)
{
	static char buf[65536];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, sizeof(buf) - 1, fmt, ap);
	va_end(ap);
	buf[n++] = '\n';
	out(buf, (size_t)n);
}

static void
init(const char *tools)
{
	line("{\"type\":\"system\",\"subtype\":\"init\",\"cwd\":\"/home/olp/"
	     "work\",\"session_id\":\"s\","
	     "\"tools\":[%s],\"mcp_servers\":[],\"model\":\"%s\","
	     "\"permissionMode\":\"default\"}",
	    tools, model);
}

static void
start(void)
{
	if (started)
		return;
	started = 1;
	/* olpd does not take an answer that no request to the provider stands
	 * behind. */
	if (!quiet)
		attack_request(model);
	line("{\"type\":\"stream_event\",\"event\":{\"type\":\"message_start\","
	     "\"message\":{\"id\":\"msg_1\","
	     "\"type\":\"message\",\"role\":\"assistant\",\"model\":\"%s\","
	     "\"content\":[],\"stop_reason\":null,"
	     "\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}}",
	    model);
	line("{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_"
	     "start\",\"index\":0,"
	     "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}}");
}

static void
delta(const char *text, size_t len)
{
	static const char head[] =
	    "{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_"
	    "delta\","
	    "\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"";
	char *buf = malloc(sizeof(head) + len * 6 + 16);
	size_t n = sizeof(head) - 1, i;

	start();
	memcpy(buf, head, n);
	for (i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f)
			n += (size_t)sprintf(buf + n, "\\u%04x", c);
		else
			buf[n++] = (char)c;
	}
	memcpy(buf + n, "\"}}}\n", 5);
	out(buf, n + 5);
	free(buf);
	if (pace_ms > 0)
		msleep(pace_ms);
}

void
say(const char *fmt, ...)
{
	char buf[4096];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	delta(buf, n < (int)sizeof(buf) ? (size_t)n : sizeof(buf) - 1);
}

static void
stop(const char *reason)
{
	start();
	stopped = 1;
	line("{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_"
	     "stop\",\"index\":0}}");
	line("{\"type\":\"stream_event\",\"event\":{\"type\":\"message_delta\","
	     "\"delta\":{\"stop_reason\":\"%s\","
	     "\"stop_sequence\":null},\"usage\":{\"input_tokens\":3,\"output_"
	     "tokens\":7}}}",
	    reason);
	line("{\"type\":\"stream_event\",\"event\":{\"type\":\"message_stop\"}"
	     "}");
}

static void
cut_utf8(int ms)
{
	static const char a[] = "{\"type\":\"stream_event\",\"event\":{"
				"\"type\":\"content_block_delta\","
				"\"index\":0,\"delta\":{\"type\":\"text_"
				"delta\",\"text\":\"\xe2\x82";

	start();
	out(a, sizeof(a) - 1);
	msleep(ms);
	out("\xac\"}}}\n", 6);
}

static void
result(void)
{
	line("{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,"
	     "\"num_turns\":1,"
	     "\"result\":\"x\",\"stop_reason\":\"end_turn\",\"terminal_"
	     "reason\":\"completed\","
	     "\"usage\":{\"input_tokens\":3,\"output_tokens\":7}}");
}

static void
big_line(size_t n)
{
	static char block[65536];
	size_t k;

	memset(block, 'x', sizeof(block));
	for (; n > 0; n -= k) {
		k = n < sizeof(block) ? n : sizeof(block);
		out(block, k);
	}
	out("\n", 1);
}

static void
many_values(size_t n)
{
	char block[6 * 1024];
	size_t k;

	for (k = 0; k < sizeof(block); k += 6)
		memcpy(block + k, ",[],{}", 6);
	out("{\"type\":\"user\",\"a\":[0", 22);
	for (; n > 0; n -= k) {
		k = n < 2048 ? n : 2048;
		out(block, k * 3);
	}
	out("]}\n", 3);
}

static void
outlive(int ms, int new_session)
{
	if (fork() != 0)
		return;
	if (new_session)
		(void)setsid();
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	msleep(ms);
	_exit(0);
}

static void
fill(const char *dir, int inodes)
{
	static char block[65536];
	char name[128];
	long n = 0, bytes = 0;
	ssize_t w;
	int fd = -1;

	for (;; n++) {
		(void)snprintf(name, sizeof(name), "%s/f%ld", dir, n);
		if ((fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) ==
		    -1)
			break;
		if (!inodes)
			while ((w = write(fd, block, sizeof(block))) > 0)
				bytes += w;
		close(fd);
		if (!inodes)
			break;
	}
	say("files=%ld bytes=%ld errno=%s ", n, bytes, strerrorname_np(errno));
}

static void
fork_bomb(void)
{
	int n = 0;
	pid_t p;

	for (; n < 5000; n++) {
		if ((p = fork()) == -1)
			break;
		if (p == 0) {
			msleep(3000);
			_exit(0);
		}
	}
	say("forks=%d errno=%s ", n, strerrorname_np(errno));
}

static void
alloc_mb(long mb)
{
	long i, k;

	for (i = 0; i < mb; i++) {
		char *p = malloc(1 << 20);

		if (p == NULL)
			break;
		for (k = 0; k < 1 << 20; k += 4096)
			p[k] = 1;
	}
	say("mb=%ld ", i);
}

static void
show_files(const char *dir)
{
	struct dirent *e;
	DIR *d = opendir(dir);

	if (d == NULL) {
		say("%s:%s ", dir, strerrorname_np(errno));
		return;
	}
	while ((e = readdir(d)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			say("%s ", e->d_name);
	closedir(d);
}

static void
show(const char *what)
{
	extern char **environ;
	char **p;
	int i;

	if (strcmp(what, "env") == 0)
		for (p = environ; *p != NULL; p++)
			say("%s\n", *p);
	else if (strcmp(what, "argv") == 0)
		for (p = args; *p != NULL; p++)
			say("%s\n", *p);
	else
		for (i = 0; i < 1024; i++)
			if (fcntl(i, F_GETFD) != -1)
				say("fd%d ", i);
}

static void
checksum(const char *prompt, size_t len)
{
	unsigned long h = 5381;
	size_t i;

	for (i = 0; i < len; i++)
		h = h * 33 + (unsigned char)prompt[i];
	say("len=%zu sum=%lx ", len, h);
}

static void
write_file(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

	say("%s=%s ", path, fd == -1 ? strerrorname_np(errno) : "written");
	if (fd != -1) {
		(void)!write(fd, "mark", 4);
		close(fd);
	}
}

static void
do_words(int n)
{
	int i;

	for (i = 0; i < n; i++)
		say("word%d ", i);
}

static int
is(const char *w, const char *name, const char **arg)
{
	size_t n = strlen(name);

	if (strncmp(w, name, n) != 0 || (w[n] != '\0' && w[n] != ':'))
		return (0);
	*arg = w[n] == ':' ? w + n + 1 : "";
	return (1);
}

/* Output. 1: it was one of these. */
static int
word_out(char *w)
{
	const char *a;
	char *p;

	if (is(w, "say", &a)) {
		for (p = w; *p != '\0'; p++)
			if (*p == '_')
				*p = ' ';
		delta(a, strlen(a));
	} else if (is(w, "words", &a))
		do_words(atoi(a));
	else if (is(w, "pace", &a))
		pace_ms = atoi(a);
	else if (is(w, "bytes", &a)) {
		size_t n = strtoul(a, NULL, 10);
		char *b = malloc(n + 1);

		memset(b, 'b', n);
		delta(b, n);
		free(b);
	} else if (is(w, "stop", &a))
		stop(*a == '\0' ? "end_turn" : a);
	else if (is(w, "result", &a))
		result();
	else if (is(w, "bigline", &a))
		big_line(strtoul(a, NULL, 10));
	else if (is(w, "values", &a))
		many_values(strtoul(a, NULL, 10));
	else if (is(w, "garbage", &a))
		line("not json {{{ ");
	else if (is(w, "half-utf8", &a))
		delta("half \xe2\x82", 7);
	else if (is(w, "cut-utf8", &a))
		cut_utf8(atoi(a));
	else if (is(w, "init-tools", &a)) {
		char t[64];

		(void)snprintf(t, sizeof(t), "\"%.32s\"", a);
		init(t);
	} else if (is(w, "nonewline", &a))
		out("{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":"
		    "false,\"num_turns\":1,\"result\":\"x\"}",
		    77);
	else
		return (0);
	return (1);
}

/* Behaviour. */
static int
word_do(const char *w, const char *prompt, size_t len)
{
	const char *a;

	if (is(w, "sleep", &a))
		msleep(atoi(a));
	else if (is(w, "hang", &a))
		for (;;)
			pause();
	else if (is(w, "exit", &a))
		_exit(atoi(a));
	else if (is(w, "signal", &a))
		(void)raise(atoi(a));
	else if (is(w, "stderr", &a)) {
		long n = atol(a);

		while (n-- > 0)
			(void)!write(STDERR_FILENO, "e", 1);
	} else if (is(w, "runner-words", &a))
		dprintf(STDERR_FILENO,
		    "bwrap: setting up uid map: Permission denied\n"
		    "olp-shim: drop ids: Operation not permitted\n");
	else if (is(w, "ignore-term", &a))
		(void)signal(SIGTERM, SIG_IGN);
	else if (is(w, "grandchild", &a))
		outlive(atoi(a), 0);
	else if (is(w, "setsid", &a))
		outlive(atoi(a), 1);
	else if (is(w, "echo-sha", &a))
		checksum(prompt, len);
	else if (is(w, "tag", &a))
		attack_tag(a);
	else
		return (0);
	return (1);
}

/* Looking around, and attacks. */
static int
word_try(const char *w)
{
	const char *a;

	if (is(w, "fill-home", &a))
		fill("/home/olp", 0);
	else if (is(w, "fill-tmp", &a))
		fill("/tmp", 0);
	else if (is(w, "fill-inodes", &a))
		fill("/home/olp", 1);
	else if (is(w, "fork-bomb", &a))
		fork_bomb();
	else if (is(w, "alloc", &a))
		alloc_mb(atol(a));
	else if (is(w, "env", &a) || is(w, "argv", &a) || is(w, "fds", &a))
		show(w);
	else if (is(w, "files", &a))
		show_files(a);
	else if (is(w, "write", &a))
		write_file(a);
	else if (is(w, "uid", &a))
		say("uid=%u gid=%u ", getuid(), getgid());
	else if (is(w, "attack", &a))
		attack_all();
	else if (is(w, "http", &a))
		attack_http(atoi(a), model);
	else
		return (self_word(w) || hog_word(w) || wire_word(w, model));
	return (1);
}

static char *
read_prompt(size_t *len)
{
	size_t size = 1 << 16, n = 0;
	char *b = malloc(size + 1);
	ssize_t r;

	while ((r = read(STDIN_FILENO, b + n, size - n)) > 0) {
		n += (size_t)r;
		if (n == size)
			b = realloc(b, (size *= 2) + 1);
	}
	b[n] = '\0';
	*len = n;
	return (b);
}

int
main(int argc, char **argv)
{
	char *prompt, *copy, *w, *save = NULL;
	size_t len;
	int i;

	args = argv;
	for (i = 1; i < argc; i++)
		if (strncmp(argv[i], "--model=", 8) == 0)
			model = argv[i] + 8;
		else if (strcmp(argv[i], "--model") == 0 && i + 1 < argc)
			model = argv[i + 1];
	if (strcmp(model, "die-early") == 0)
		return (3);
	prompt = read_prompt(&len);
	copy = strdup(prompt);
	quiet = strstr(prompt, "http") != NULL || strstr(prompt, "tcp") != NULL;
	if (strstr(prompt, "init-tools") == NULL &&
	    strstr(prompt, "no-init") == NULL)
		init("");
	for (w = strtok_r(copy, " \n", &save); w != NULL;
	     w = strtok_r(NULL, " \n", &save))
		if (!word_out(w) && !word_do(w, prompt, len) && !word_try(w) &&
		    strncmp(w, "no-", 3) != 0 && strcmp(w, "empty") != 0)
			say("?%.40s ", w);
	if (started && !stopped && strstr(prompt, "no-stop") == NULL)
		stop("end_turn");
	if (strstr(prompt, "empty") == NULL &&
	    strstr(prompt, "no-stop") == NULL)
		result();
	return (0);
}
