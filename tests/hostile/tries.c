/* SPDX-License-Identifier: ISC */
/* Children that try something and tell; see tries.h. */
#include "tests/hostile/tries.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cage.h"
#include "common/worker.h"

#define TRY_S 5 /* one that is not refused may hang */

void
tries_say(const char *name, const char *answer)
{
	dprintf(STDERR_FILENO, "hostile %s=%s\n", name, answer);
}

int
tries_ignore(struct chan *c, struct msg *m)
{
	(void)c;
	(void)m;
	return (0);
}

static void __attribute__((noreturn))
child(const struct try *t, const struct cage *cage, uint16_t port, int out)
{
	int answer[2] = { 1, 0 };

	(void)alarm(TRY_S);
	if (cage != NULL)
		cage_enter(cage, worker_place(), port);
	else if (unshare(CLONE_NEWNS) == -1) /* its mounts are its own */
		_exit(1);
	errno = 0;
	if (t->f() == -1)
		answer[1] = errno;
	(void)!write(out, answer, sizeof(answer));
	_exit(0);
}

static void
one(const struct try *t, const struct cage *cage, uint16_t port)
{
	int answer[2] = { 0, 0 }, fd[2], st = 0;
	char text[64];
	pid_t pid;

	if (pipe(fd) == -1 || (pid = fork()) == -1) {
		tries_say(t->name, "NOT-TRIED");
		return;
	}
	if (pid == 0)
		child(t, cage, port, fd[1]);
	close(fd[1]);
	(void)!read(fd[0], answer, sizeof(answer));
	close(fd[0]);
	(void)waitpid(pid, &st, 0);
	if (answer[0] == 1)
		(void)snprintf(text, sizeof(text), "%s",
		    answer[1] == 0 ? "OPEN" : strerrorname_np(answer[1]));
	else if (WIFSIGNALED(st))
		(void)snprintf(
		    text, sizeof(text), "SIG%s", sigabbrev_np(WTERMSIG(st)));
	else
		(void)snprintf(text, sizeof(text), "NOT-TRIED");
	tries_say(t->name, text);
}

void
tries_run(const struct try *t, size_t n, const struct cage *cage,
    uint16_t connect_port)
{
	size_t i;

	for (i = 0; i < n; i++)
		one(&t[i], cage, connect_port);
	tries_say("done", "all");
}

static struct sockaddr_in
address(const char *addr, uint16_t port)
{
	struct sockaddr_in s = { .sin_family = AF_INET,
		.sin_port = htons(port) };

	(void)inet_pton(AF_INET, addr, &s.sin_addr);
	return (s);
}

long
try_tcp(const char *addr, uint16_t port)
{
	struct sockaddr_in s = address(addr, port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return (fd == -1 ? -1 : connect(fd, (struct sockaddr *)&s, sizeof(s)));
}

long
try_fastopen(int fd, const char *addr, uint16_t port)
{
	struct sockaddr_in s = address(addr, port);

	return (fd == -1 ? -1
			 : sendto(fd, "x", 1, MSG_FASTOPEN,
			       (struct sockaddr *)&s, sizeof(s)));
}
