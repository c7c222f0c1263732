/* SPDX-License-Identifier: ISC */
/*
 * The scripted client's own hand on its socket: connections to the listener
 * on which it sends any bytes and shows what comes back.
 *   tcp  tcp:N        open one or N connections; the last is the current one
 *   use:I             make the I-th current, from 0
 *   tx:BYTES          send; %XX is a byte, $K the placeholder
 *   txn:N:BYTES       the same N times
 *   slow:MS:BYTES     one by one, MS apart
 *   fin               no more is sent
 *   rx  rx:MS         read to the end or for MS, show "<BYTES|count|end>"
 *   live              read to the end, a delta for each piece: "N "
 *   ghost:MS          a daemon that asks after MS, when we may be gone
 */
#include "attack.h"

#include <sys/socket.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CONNS 128
#define PORT 3128
#define SHOWN 3000

static int conns[CONNS], nconns, cur = -1;
static const char *run_model;

static void
rest(int ms)
{
	struct timespec t = { ms / 1000, (ms % 1000) * 1000000L };

	(void)nanosleep(&t, NULL);
}

static int
dial(void)
{
	struct sockaddr_in s = { .sin_family = AF_INET,
		.sin_port = htons(PORT) };
	struct timeval tv = { 0, 200000 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	s.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	/* It bounds connect(2) too. */
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	if (fd == -1 || connect(fd, (struct sockaddr *)&s, sizeof(s)) == -1)
		return (-1);
	tv.tv_sec = 60;
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	return (fd);
}

static void
open_conns(int n)
{
	int i, bad = 0;

	for (i = 0; i < n && nconns < CONNS; i++) {
		if ((conns[nconns] = dial()) == -1) {
			bad = errno;
			break;
		}
		cur = conns[nconns++];
	}
	if (n > 1 || bad != 0)
		say("conns=%d errno=%s ", nconns,
		    bad == 0 ? "0" : strerrorname_np(bad));
}

static char *
put(char *to, const char *s)
{
	size_t n = strlen(s);

	memcpy(to, s, n);
	return (to + n);
}

/* A word's bytes; the callee frees. */
static char *
decode(const char *s, size_t *len)
{
	const char *key = getenv("ANTHROPIC_API_KEY");
	char *b = malloc(strlen(s) * 128 + 1), *p = b, hex[3] = "";

	for (; *s != '\0'; s++) {
		if (*s == '%' && s[1] != '\0' && s[2] != '\0') {
			hex[0] = s[1];
			hex[1] = s[2];
			*p++ = (char)strtoul(hex, NULL, 16);
			s += 2;
		} else if (s[0] == '$' && s[1] == 'K') {
			p = put(p, key == NULL ? "none" : key);
			s++;
		} else
			*p++ = *s;
	}
	*len = (size_t)(p - b);
	return (b);
}

/* 0: all was taken. */
static int
send_all(const char *s, size_t len)
{
	ssize_t n;

	while (len > 0) {
		if ((n = send(cur, s, len, MSG_NOSIGNAL)) == -1) {
			say("tx=%s ", strerrorname_np(errno));
			return (-1);
		}
		s += n;
		len -= (size_t)n;
	}
	return (0);
}

static void
transmit(const char *word, long times)
{
	size_t len, block = 1, i;
	char *one = decode(word, &len), *many;

	/* Short ones are joined: a system call each would take minutes. */
	while (block * len < 65536 && (long)block < times)
		block++;
	many = malloc(block * len + 1);
	for (i = 0; i < block; i++)
		memcpy(many + i * len, one, len);
	for (; times > 0; times -= (long)block)
		if (send_all(many,
			((long)block < times ? block : (size_t)times) * len) ==
		    -1)
			break;
	free(many);
	free(one);
}

static void
transmit_slowly(const char *word, int ms)
{
	size_t len, i;
	char *b = decode(word, &len);

	for (i = 0; i < len && send_all(b + i, 1) == 0; i++)
		rest(ms);
	free(b);
}

static void
show(const char *b, size_t len)
{
	char line[SHOWN * 3 + 1];
	size_t i, n = 0;

	for (i = 0; i < len; i++)
		n += (size_t)snprintf(line + n, sizeof(line) - n,
		    b[i] > ' ' && b[i] <= '~' && b[i] != '%' && b[i] != '<' &&
			    b[i] != '|'
			? "%c"
			: "%%%02X",
		    (unsigned char)b[i]);
	/* In pieces that say() takes. */
	for (i = 0; i < n; i += 3000)
		say("%.3000s", line + i);
}

static void
receive(int ms)
{
	static char kept[SHOWN], b[65536];
	struct pollfd pfd = { .fd = cur, .events = POLLIN };
	const char *end = "timeout";
	size_t total = 0, n;
	ssize_t r;

	while (poll(&pfd, 1, ms) > 0) {
		if ((r = read(cur, b, sizeof(b))) <= 0) {
			end = r == 0 ? "eof" : strerrorname_np(errno);
			break;
		}
		n = (size_t)r;
		if (total < SHOWN)
			memcpy(kept + total, b,
			    n < SHOWN - total ? n : SHOWN - total);
		total += n;
	}
	say("<");
	show(kept, total < SHOWN ? total : SHOWN);
	say("|%zu|%s> ", total, end);
}

static void
receive_live(void)
{
	static char b[65536];
	ssize_t r;

	while ((r = read(cur, b, sizeof(b))) > 0)
		say("%zd ", r);
}

static void
ghost(int ms)
{
	int i;

	if (fork() != 0)
		return;
	(void)setsid();
	if (fork() != 0)
		_exit(0);
	for (i = 1; i < NSIG; i++)
		(void)signal(i, SIG_IGN);
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	rest(ms);
	(void)attack_request(run_model);
	_exit(0);
}

/* What stands behind a word's number and colon. */
static const char *
second(const char *a)
{
	const char *colon = strchr(a, ':');

	return (colon == NULL ? "" : colon + 1);
}

static const char *
arg(const char *w, const char *name)
{
	size_t n = strlen(name);

	if (strncmp(w, name, n) != 0 || (w[n] != '\0' && w[n] != ':'))
		return (NULL);
	return (w[n] == ':' ? w + n + 1 : "");
}

int
wire_word(const char *w, const char *model)
{
	const char *a;

	run_model = model;
	if ((a = arg(w, "tcp")) != NULL)
		open_conns(*a == '\0' ? 1 : atoi(a));
	else if ((a = arg(w, "use")) != NULL)
		cur = conns[atoi(a) % CONNS];
	else if ((a = arg(w, "tx")) != NULL)
		transmit(a, 1);
	else if ((a = arg(w, "txn")) != NULL)
		transmit(second(a), atol(a));
	else if ((a = arg(w, "slow")) != NULL)
		transmit_slowly(second(a), atoi(a));
	else if (arg(w, "fin") != NULL)
		(void)shutdown(cur, SHUT_WR);
	else if ((a = arg(w, "rx")) != NULL)
		receive(*a == '\0' ? 20000 : atoi(a));
	else if (arg(w, "live") != NULL)
		receive_live();
	else if ((a = arg(w, "ghost")) != NULL)
		ghost(atoi(a));
	else
		return (0);
	return (1);
}
