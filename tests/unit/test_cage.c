/* SPDX-License-Identifier: ISC */
/*
 * The cage asked of the kernel: a child enters it and tries.  What it tries
 * must be refused, or must have killed it (SIGSYS).  As root with ids and a
 * root directory; as an ordinary user with what is left.
 */
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cage.h"
#include "common/log.h"
#include "proto/msg.h"
#include "tests/unit/suite.h"

static const int soft[] = { SCMP_SYS(uname), -1 };
static const struct cage shut = { CAGE_CHROOT | CAGE_IDS | CAGE_LANDLOCK |
	    CAGE_NO_EXEC_MAP | CAGE_ALLOW,
	0, NULL, soft, 0, NULL };
static const struct cage dialler = { CAGE_CHROOT | CAGE_IDS | CAGE_LANDLOCK |
	    CAGE_ALLOW,
	0, NULL, soft, 1, NULL };

static struct msg_cage place = {
	.root = "/var/empty", .uid = 69990, .gid = 69990
};
static int listener;
static uint16_t port;

static void
setup(void)
{
	static char dir[] = "/tmp/olpd-cage-XXXXXX";
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);

	log_init("test_cage", 0);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	strcpy(place.root, dir);
	place.privileged = geteuid() == 0;
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(
	    bind(listener, (struct sockaddr *)&sin, sizeof(sin)), 0);
	ck_assert_int_eq(listen(listener, 5), 0);
	ck_assert_int_eq(
	    getsockname(listener, (struct sockaddr *)&sin, &len), 0);
	port = ntohs(sin.sin_port);
}

static void
teardown(void)
{
	close(listener);
	rmdir(place.root);
}

/* What a child got: its errno, or 1000 + the signal that ended it; 0: it was
 * let. */
static int
inside(const struct cage *cage, uint16_t connect_port, long (*try)(void))
{
	pid_t pid = fork();
	int st;

	if (pid == 0) {
		cage_enter(cage, &place, connect_port);
		errno = 0;
		_exit(try() == -1 ? errno : 0);
	}
	ck_assert_int_eq(waitpid(pid, &st, 0), pid);
	return (WIFEXITED(st) ? WEXITSTATUS(st) : 1000 + WTERMSIG(st));
}

static long
do_open(void)
{
	return (open("/", O_RDONLY | O_CLOEXEC));
}

static long
do_connect(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_port = htons(port) };
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return (
	    s == -1 ? -1 : connect(s, (struct sockaddr *)&sin, sizeof(sin)));
}

static long
do_bind(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };

	return (bind(listener, (struct sockaddr *)&sin, sizeof(sin)));
}

static long
do_exec(void)
{
	char *const argv[] = { NULL };

	return (execve("/bin/true", argv, argv));
}

static long
do_fork(void)
{
	return (fork());
}

static long
do_kill(void)
{
	return (kill(getppid(), 0));
}

static long
do_ptrace(void)
{
	return (ptrace(PTRACE_TRACEME, 0, 0, 0));
}

static long
do_unshare(void)
{
	return (unshare(CLONE_NEWUSER));
}

static long
do_mmap_exec(void)
{
	return ((long)mmap(NULL, 4096, PROT_READ | PROT_EXEC,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static long
do_setuid(void)
{
	return (setresuid(0, 0, 0));
}

static long
do_soft(void)
{
	char b[512];

	return (syscall(SYS_uname, b));
}

static long
do_fcntl_owner(void)
{
	return (fcntl(listener, F_SETOWN, 1));
}

static long
do_allowed(void)
{
	char c = 'x';
	int r = (int)write(STDERR_FILENO, &c, 0);

	return (r == 0 && getpid() > 0 ? 0 : -1);
}

#define KILLED (1000 + SIGSYS)
static const struct {
	long (*try)(void);
	int shut, dialler;
} attempts[] = {
	{ do_open, EPERM, EPERM },
	{ do_connect, EPERM, 0 },
	{ do_bind, KILLED, KILLED },
	{ do_exec, KILLED, KILLED },
	{ do_fork, KILLED, KILLED },
	{ do_kill, KILLED, KILLED },
	{ do_ptrace, KILLED, KILLED },
	{ do_unshare, KILLED, KILLED },
	{ do_mmap_exec, KILLED, 0 },
	{ do_setuid, KILLED, KILLED },
	{ do_fcntl_owner, KILLED, KILLED },
	{ do_soft, EPERM, EPERM },
	{ do_allowed, 0, 0 },
};

START_TEST(shut_cage)
{
	ck_assert_int_eq(inside(&shut, 0, attempts[_i].try), attempts[_i].shut);
}
END_TEST

START_TEST(dialling_cage)
{
	ck_assert_int_eq(
	    inside(&dialler, 0, attempts[_i].try), attempts[_i].dialler);
}
END_TEST

/* Another port than the one it is for: Landlock's answer, where the kernel has
 * it. */
START_TEST(one_port)
{
	ck_assert_int_eq(inside(&dialler, port, do_connect), 0);
	if (cage_landlock_abi() >= 4)
		ck_assert_int_eq(
		    inside(&dialler, (uint16_t)(port ^ 1), do_connect), EACCES);
}
END_TEST

int
main(void)
{
	int n = (int)(sizeof(attempts) / sizeof(attempts[0]));
	Suite *s = suite_create("cage");
	TCase *t = tcase_create("cage");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, shut_cage, 0, n);
	tcase_add_loop_test(t, dialling_cage, 0, n);
	tcase_add_test(t, one_port);
	suite_add_tcase(s, t);
	return (suite_run(s));
}
