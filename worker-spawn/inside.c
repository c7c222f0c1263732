/* SPDX-License-Identifier: ISC */
/*
 * From clone3 to bwrap: what a run is before it is anybody's.  Runs in the
 * new process, a copy of worker-spawn and pid 1 of the run's namespaces,
 * with worker-spawn's ids and capabilities.  It undoes what it inherited,
 * mounts the home and /tmp that vanish with it, and becomes bwrap.  It never
 * logs, never touches the event loop, and executes nothing but bwrap.
 */
#include "worker-spawn/inside.h"

#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/provider/provider.h"
#include "worker-spawn/child.h"
#include "worker-spawn/home.h"
#include "worker-spawn/sandbox.h"

#define EXIT_INSIDE 126 /* nobody goes by it */

static void __attribute__((noreturn))
fail(const struct inside *in, const char *step)
{
	char buf[LIM_TEXT];
	int n, error = errno;

	n = snprintf(buf, sizeof(buf), "F%s:%d", step, error);
	if (n > 0 && (size_t)n < sizeof(buf))
		(void)send(in->ctl, buf, (size_t)n, MSG_NOSIGNAL);
	_exit(EXIT_INSIDE);
}

/* What an exec would keep of worker-spawn's ways. */
static void
reset_signals(const struct inside *in)
{
	struct sigaction sa;
	sigset_t none;
	int s;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = SIG_DFL;
	for (s = 1; s <= SIGRTMAX; s++)
		(void)sigaction(
		    s, &sa, NULL); /* refused for KILL, STOP and libc's own */
	sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, NULL) == -1)
		fail(in, "signal mask");
}

static void
wait_at_gate(const struct inside *in)
{
	ssize_t n;
	char c;

	do
		n = read(in->gate, &c, 1);
	while (n == -1 && errno == EINTR);
	if (n != 1)
		_exit(EXIT_INSIDE);
}

static int
put(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), r = 0;

	if (fd == -1)
		return (-1);
	if (write(fd, value, strlen(value)) == -1)
		r = -1;
	close(fd);
	return (r);
}

/*
 * Cores hold no memory, even where core_pattern is a pipe, which no size
 * limit stops; under pressure a client goes before olpd does.
 */
static void
reset_process(const struct inside *in)
{
	static const struct rlimit no_core = { 0, 0 };

	umask(022);
	if (getpriority(PRIO_PROCESS, 0) < 0 &&
	    setpriority(PRIO_PROCESS, 0, 0) == -1)
		fail(in, "nice");
	if (setrlimit(RLIMIT_CORE, &no_core) == -1)
		fail(in, "limit cores");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1)
		fail(in, "private mounts");
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		NULL) == -1)
		fail(in, "mount /proc");
	if (put("/proc/self/coredump_filter", "0") == -1 && errno != ENOENT)
		fail(in, "coredump_filter");
	/* EACCES: olpd itself has more than that, and clients with it. */
	if (put("/proc/self/oom_score_adj", "800") == -1 && errno != EACCES)
		fail(in, "oom_score_adj");
}

/*
 * Whose the home is, as seen from here: bwrap's nested namespace turns 0 into
 * the key's number.
 */
static uid_t
owner(const struct inside *in)
{
	const struct sandbox *s = in->spec->sandbox;

	return (s->per_user ? (uid_t)s->uid : 0);
}

static void
mount_tmpfs(const struct inside *in, const char *where, const char *mode)
{
	const struct child_spec *s = in->spec;
	char options[160];

	(void)snprintf(options, sizeof(options),
	    "size=%" PRIu64 ",nr_inodes=%" PRIu32 ",mode=%s,uid=%lu,gid=%lu",
	    s->home_bytes, s->home_inodes, mode, (unsigned long)owner(in),
	    (unsigned long)owner(in));
	if (mount("olp", where, "tmpfs", MS_NOSUID | MS_NODEV, options) == -1)
		fail(in, where);
}

static void
make_home(const struct inside *in)
{
	const char *what;
	char step[LIM_TEXT / 2];
	int fd;

	mount_tmpfs(in, VIEW_HOME, "0700");
	mount_tmpfs(in, VIEW_TMP, "01777");
	if ((fd = open(VIEW_HOME, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		fail(in, "open the home");
	if (home_make(fd, in->spec->launch, owner(in), &what) == -1) {
		(void)snprintf(step, sizeof(step), "home: %s", what);
		fail(in, step);
	}
	close(fd);
}

/* A descriptor with these bytes, at offset 0. */
static int
bytes_fd(const struct inside *in, const char *data, size_t len)
{
	int fd = memfd_create("olp", MFD_CLOEXEC);

	if (fd == -1 || write(fd, data, len) != (ssize_t)len ||
	    lseek(fd, 0, SEEK_SET) == -1)
		fail(in, "memfd");
	return (fd);
}

static int
line_fd(
    const struct inside *in, size_t (*print)(const struct sandbox *, char *))
{
	char line[LIM_TEXT];
	size_t len = print(in->spec->sandbox, line);

	return (bytes_fd(in, line, len));
}

/*
 * First out of the way of the fixed numbers, then there, open across exec.
 * fd -1 is left out.
 */
static int
aside(const struct inside *in, int fd)
{
	int up;

	if (fd == -1)
		return (-1);
	if ((up = fcntl(fd, F_DUPFD_CLOEXEC, SANDBOX_FD_FREE)) == -1)
		fail(in, "descriptors");
	return (up);
}

static void
place(const struct inside *in, int fd, int number)
{
	if (fd != -1 && dup2(fd, number) == -1)
		fail(in, "descriptors");
}

static void
place_descriptors(const struct inside *in, const struct words *options)
{
	const struct child_spec *s = in->spec;
	int as_file = s->sandbox->has_input, null;
	struct {
		int fd, number;
	} t[] = {
		{ bytes_fd(in, options->text, options->len), SANDBOX_FD_ARGS },
		{ in->ctl, SANDBOX_FD_CTL },
		{ in->err, SANDBOX_FD_ERR },
		{ line_fd(in, sandbox_passwd), SANDBOX_FD_PASSWD },
		{ line_fd(in, sandbox_group), SANDBOX_FD_GROUP },
		{ as_file ? s->input : -1, SANDBOX_FD_INPUT },
		{ s->sandbox->has_system ? s->system : -1, SANDBOX_FD_SYSTEM },
		{ s->sandbox->has_settings ? s->settings : -1,
		    SANDBOX_FD_SETTINGS },
		{ as_file ? -1 : s->input, STDIN_FILENO },
		{ in->out, STDOUT_FILENO },
		{ in->diag, STDERR_FILENO },
	};
	size_t i;

	if ((null = open("/dev/null", O_RDONLY | O_CLOEXEC)) == -1)
		fail(in, "/dev/null");
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		t[i].fd = aside(in, t[i].fd);
	place(in, null, STDIN_FILENO);
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		place(in, t[i].fd, t[i].number);
}

static void __attribute__((noreturn)) become_bwrap(struct inside *in)
{
	struct words *options = malloc(sizeof(*options)),
		     *command = malloc(sizeof(*command));

	if (options == NULL || command == NULL)
		fail(in, "memory");
	sandbox_options(in->spec->sandbox, options);
	sandbox_command(in->spec->sandbox, command);
	errno = E2BIG;
	if (options->overflow || command->overflow)
		fail(in, "command line");
	place_descriptors(in, options);
	in->ctl = SANDBOX_FD_CTL; /* its old number may be another's by now */
	execve(command->v[0], command->v, in->spec->env->v);
	fail(in, "exec " VIEW_BWRAP);
}

void
inside_main(struct inside *in)
{
	reset_signals(in);
	wait_at_gate(in);
	reset_process(in);
	make_home(in);
	become_bwrap(in);
}
