/* SPDX-License-Identifier: ISC */
/*
 * The floor of a run: the same namespaces, bwrap, shim and stub client that
 * worker-spawn starts, by hand, without any of olpd around them.  Prints one
 * time a run in microseconds, PAUSE ms apart, from clone3 to the end of the
 * client's output. As root, in a mount namespace of its own.
 *
 *   bench-floor N PAUSE LIBEXEC STUB UID PROMPT
 */
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <err.h>
#include <event2/event.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/cage.h"
#include "common/host/mounts.h"
#include "common/provider/provider.h"
#include "worker-spawn/cgroup.h"
#include "worker-spawn/child.h"
#include "worker-spawn/sandbox.h"

static struct event_base *base;
static struct child *child;
static int alive;

/* What worker-spawn sees of it (master/nsroom.c): a small tree of mounts. */
static void
view(const char *libexec, const char *stub)
{
	static const char *const dirs[] = { "usr", "etc", "dev", "proc", "tmp",
		"run", "run/olpd", "run/olpd/libexec", "run/olpd/provider",
		"run/olpd/home", "run/olpd/tmp", NULL };
	static const char *const links[][2] = { { "usr/lib", "lib" },
		{ "usr/lib64", "lib64" }, { "usr/bin", "bin" } };
	static const char *const devs[] = { "null", "zero", "full", "random",
		"urandom", "tty", NULL };
	char from[32], top[] = "/tmp/bench-floor.XXXXXX";
	int i, r;

	if (mkdtemp(top) == NULL || unshare(CLONE_NEWNS) == -1)
		err(1, "%s", top);
	r = mounts_begin(top);
	for (i = 0; r == 0 && dirs[i] != NULL; i++)
		r = mounts_mkdir(dirs[i]);
	for (i = 0; r == 0 && i < 3; i++)
		r = mounts_link(links[i][0], links[i][1]);
	for (i = 0; r == 0 && devs[i] != NULL; i++) {
		(void)snprintf(from, sizeof(from), "/dev/%s", devs[i]);
		r = mounts_device(from, from + 1);
	}
	if (r == -1 || mounts_dir("/usr", "usr") == -1 ||
	    mounts_dir(libexec, "run/olpd/libexec") == -1 ||
	    mounts_file("/etc/ld.so.cache", "etc/ld.so.cache") == -1 ||
	    mounts_file("/usr/bin/bwrap", "run/olpd/bwrap") == -1 ||
	    mounts_file(stub, "run/olpd/provider/demo") == -1 ||
	    mounts_fs("proc", "proc", MS_NOSUID, NULL) == -1 ||
	    mounts_end() == -1)
		errx(1, "view: %s", mounts_failed());
}

static void
stuck(void *arg)
{
	(void)arg;
	errx(1, "a run does not end");
}

static void
gone(void *arg, const struct child_end *end)
{
	(void)arg;
	if (!end->ran)
		errx(1, "%s", end->detail);
	child_free(child);
	alive = 0;
}

static const struct child_ops ops = { NULL, stuck, gone };

static int64_t
now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (t.tv_sec * 1000000LL + t.tv_nsec / 1000);
}

static int
prompt_fd(const char *prompt)
{
	char path[64];
	int fd = memfd_create("prompt", MFD_CLOEXEC);

	if (fd == -1 || write(fd, prompt, strlen(prompt)) == -1)
		err(1, "memfd");
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return (open(path, O_RDONLY | O_CLOEXEC));
}

static int64_t
run(uint32_t uid, const char *prompt, struct cgroups *groups)
{
	struct launch_words args = { .n = 0 }, env = { .n = 0 };
	struct sandbox box = { .uid = uid,
		.per_user = 1,
		.landlock = cage_landlock_abi(),
		.program = VIEW_PROVIDER "/demo",
		.tasks = 256,
		.data = 1ULL << 32,
		.args = &args };
	struct child_spec spec = { .launch = launch_find("demo"),
		.sandbox = &box,
		.env = &env,
		.input = prompt_fd(prompt),
		.system = -1,
		.settings = -1,
		.home_bytes = 1 << 26,
		.home_inodes = 4096 };
	const char *step;
	char buf[65536];
	int out, error;
	int64_t began = now_us(), took;

	spec.launch->environment(&(struct launch_run){ .model = "demo" }, &env);
	if ((child = child_start(
		 base, groups, &spec, &ops, NULL, &out, &error, &step)) == NULL)
		err(1, "%s", step);
	alive = 1;
	child_go(child);
	while (read(out, buf, sizeof(buf)) > 0)
		continue;
	took = now_us() - began;
	while (alive)
		(void)event_base_loop(base, EVLOOP_ONCE);
	close(out);
	close(error);
	close(spec.input);
	launch_words_free(&env);
	return (took);
}

int
main(int argc, char **argv)
{
	struct cgroups *groups;
	int i;

	if (argc != 7)
		errx(2, "usage: bench-floor N PAUSE LIBEXEC STUB UID PROMPT");
	view(argv[3], argv[4]);
	if ((base = event_base_new()) == NULL)
		errx(1, "event_base_new");
	groups = cgroups_open(base, "/nonexistent", 0);
	for (i = 0; i < atoi(argv[1]); i++) {
		printf("%lld\n",
		    (long long)run((uint32_t)atoi(argv[5]), argv[6], groups));
		usleep((useconds_t)atoi(argv[2]) * 1000);
	}
	return (0);
}
