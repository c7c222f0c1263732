/* SPDX-License-Identifier: ISC */
/*
 * What a sandbox holds, as bubblewrap's words.  Runs in worker-spawn.  Pure:
 * it must never make a system call or look at anything but its arguments,
 * of which none is a tenant's.
 */
#include "worker-spawn/sandbox.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/provider/provider.h"

#define SHIM "/run/olp-shim"
#if defined(__x86_64__)
#define LIB "/usr/lib/x86_64-linux-gnu"
#define LOADER "../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
#define LOADER_AT "/usr/lib64/ld-linux-x86-64.so.2"
#elif defined(__aarch64__)
#define LIB "/usr/lib/aarch64-linux-gnu"
#define LOADER "aarch64-linux-gnu/ld-linux-aarch64.so.1"
#define LOADER_AT "/usr/lib/ld-linux-aarch64.so.1"
#else
#error "the loader's place is not known for this architecture"
#endif

static void words_add(struct words *, const char *, ...)
    __attribute__((format(printf, 2, 3)));

static void
words_add(struct words *w, const char *fmt, ...)
{
	size_t room = sizeof(w->text) - w->len;
	va_list ap;
	int n;

	if (w->overflow || w->n == LIM_SANDBOX_WORDS) {
		w->overflow = 1;
		return;
	}
	va_start(ap, fmt);
	n = vsnprintf(w->text + w->len, room, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= room) {
		w->overflow = 1;
		return;
	}
	w->v[w->n++] = w->text + w->len;
	w->v[w->n] = NULL;
	w->len += (size_t)n + 1;
}

static void
words_init(struct words *w)
{
	w->n = w->len = 0;
	w->overflow = 0;
	w->v[0] = NULL;
}

static void
words_list(struct words *w, const char *const *list)
{
	for (; *list != NULL; list++)
		words_add(w, "%s", *list);
}

/*
 * Every folder above path: those bwrap makes by itself are 0700 and belong to
 * nobody we know.
 */
static void
add_parents(struct words *w, const char *path)
{
	const char *slash;

	for (slash = strchr(path + 1, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		words_add(w, "--dir");
		words_add(w, "%.*s", (int)(slash - path), path);
	}
}

static void
add_bind(struct words *w, const char *how, const char *from, const char *to)
{
	words_add(w, "%s", how);
	words_add(w, "%s", from);
	words_add(w, "%s", to);
}

static void
add_data(struct words *w, enum sandbox_fd fd, const char *to)
{
	words_add(w, "--perms");
	words_add(w, "0444");
	words_add(w, "--ro-bind-data");
	words_add(w, "%d", (int)fd);
	words_add(w, "%s", to);
}

/*
 * As root of worker-spawn's user namespace bwrap makes no other one, and the
 * shim changes the ids; where that namespace maps one id alone, bwrap nests
 * another in which it bears the key's number.
 */
static void
add_ids(struct words *w, const struct sandbox *s)
{
	static const char *const change[] = { "--cap-add", "CAP_SETUID",
		"--cap-add", "CAP_SETGID", NULL };

	words_add(w, "--cap-drop");
	words_add(w, "ALL");
	if (s->per_user) {
		words_list(w, change);
		return;
	}
	words_add(w, "--unshare-user");
	words_add(w, "--uid");
	words_add(w, "%" PRIu32, s->uid);
	words_add(w, "--gid");
	words_add(w, "%" PRIu32, s->uid);
}

/*
 * The loader and its libraries: what a dynamic client needs to begin, and no
 * program.
 */
static void
add_tree(struct words *w)
{
	/* clang-format off */
	static const char *const tree[] = {
		"--dir", "/etc",
		"--dir", "/home",
		"--dir", "/opt",
		"--dir", "/run",
		"--dir", "/run/olpd",
		"--dir", "/usr",
		"--dir", "/usr/lib",
		"--dir", "/usr/lib64",
		"--symlink", "usr/lib", "/lib",
		"--symlink", "usr/lib64", "/lib64",
		"--ro-bind", LIB, LIB,
		"--symlink", LOADER, LOADER_AT,
		"--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache",
		NULL
	};
	/* clang-format on */

	words_list(w, tree);
}

void
sandbox_options(const struct sandbox *s, struct words *w)
{
	static const char *const spaces[] = { "--unshare-ipc", "--unshare-pid",
		"--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
		"--hostname", "olp", "--new-session", NULL };
	/* No terminals: their number is the machine's. */
	static const char *const mounts[] = { "--proc", "/proc", "--dev",
		"/dev", "--tmpfs", "/dev/pts", "--remount-ro", "/dev/pts",
		NULL };
	/* Root is a tmpfs of bwrap's own; nothing in it is anybody's to write.
	 */
	static const char *const closing[] = { "--remount-ro", "/dev",
		"--remount-ro", "/", NULL };
	size_t i;

	words_init(w);
	words_list(w, spaces);
	add_ids(w, s);
	add_tree(w);
	add_data(w, SANDBOX_FD_PASSWD, "/etc/passwd");
	add_data(w, SANDBOX_FD_GROUP, "/etc/group");
	add_bind(w, "--ro-bind", VIEW_LIBEXEC "/olp-shim", SHIM);
	add_bind(w, "--ro-bind", s->program, SANDBOX_PROGRAM);
	for (i = 0; i < s->nfolders; i++) {
		add_parents(w, s->folders[i]);
		add_bind(w, "--ro-bind", s->folders[i], s->folders[i]);
	}
	words_list(w, mounts);
	add_bind(w, "--bind", VIEW_TMP, "/tmp");
	add_bind(w, "--bind", VIEW_HOME, SANDBOX_HOME);
	if (s->has_input)
		add_data(w, SANDBOX_FD_INPUT, SANDBOX_INPUT);
	if (s->has_system)
		add_data(w, SANDBOX_FD_SYSTEM, SANDBOX_SYSTEM);
	if (s->has_settings)
		add_data(w, SANDBOX_FD_SETTINGS, SANDBOX_SETTINGS);
	words_list(w, closing);
}

/* The shim's figures, in the order in which shim/olp-shim.c takes them. */
static void
add_shim(struct words *w, const struct sandbox *s)
{
	words_add(w, SHIM);
	words_add(w, "%" PRIu32, s->uid);
	words_add(w, "%d", s->per_user ? 1 : 0);
	words_add(w, "%d", (int)s->port);
	words_add(w, "%d", SANDBOX_FD_CTL);
	words_add(w, "%d", SANDBOX_FD_ERR);
	words_add(w, "%d", s->landlock);
	words_add(w, "%" PRIu64, s->tasks);
	words_add(w, "%d", LIM_RUN_FILES);
	words_add(w, "%d", LIM_RUN_FILE_BYTES);
	words_add(w, "%" PRIu64, s->data);
}

void
sandbox_command(const struct sandbox *s, struct words *w)
{
	size_t i;

	words_init(w);
	words_add(w, VIEW_BWRAP);
	words_add(w, "--args");
	words_add(w, "%d", SANDBOX_FD_ARGS);
	words_add(w, "--");
	add_shim(w, s);
	words_add(w, SANDBOX_PROGRAM);
	for (i = 0; i < s->args->n; i++)
		words_add(w, "%s", s->args->v[i]);
	if (s->args->overflow)
		w->overflow = 1;
}

size_t
sandbox_passwd(const struct sandbox *s, char *buf)
{
	return ((size_t)snprintf(buf, LIM_TEXT,
	    "olp:x:%" PRIu32 ":%" PRIu32 "::" SANDBOX_HOME
	    ":/usr/sbin/nologin\n",
	    s->uid, s->uid));
}

size_t
sandbox_group(const struct sandbox *s, char *buf)
{
	return (
	    (size_t)snprintf(buf, LIM_TEXT, "olp:x:%" PRIu32 ":\n", s->uid));
}
