/* SPDX-License-Identifier: ISC */
/*
 * From a run's figures to bubblewrap's words.  Pure: no system call, no
 * allocation, so that a test can hold every word against what is expected.
 */
#ifndef OLP_SANDBOX_H
#define OLP_SANDBOX_H

#include <stddef.h>
#include <stdint.h>

#include "common/limits.h"

struct launch_words;

/*
 * Where things are in worker-spawn's view (master/nsroom.c makes it).  bwrap
 * has a path of our own, since AppArmor profiles attach by path; home and tmp
 * are mount points, empty but in a run's own namespace.
 */
#define VIEW_BWRAP "/run/olpd/bwrap"
#define VIEW_LIBEXEC "/run/olpd/libexec"
#define VIEW_PROVIDER "/run/olpd/provider"
#define VIEW_HOME "/run/olpd/home"
#define VIEW_TMP "/run/olpd/tmp"
#define VIEW_CGROUP "/run/olpd/cg"

/* Descriptors of a run beside 0, 1 and 2, fixed so that they can be words. */
enum sandbox_fd {
	SANDBOX_FD_ARGS = 10, /* bwrap's options */
	SANDBOX_FD_CTL,       /* the shim's reports */
	SANDBOX_FD_ERR,       /* the client's standard error */
	SANDBOX_FD_PASSWD,
	SANDBOX_FD_GROUP,
	SANDBOX_FD_INPUT,
	SANDBOX_FD_SYSTEM,
	SANDBOX_FD_SETTINGS,
	SANDBOX_FD_FREE = 32, /* from here on nothing is fixed */
};

struct sandbox {
	uint32_t uid;  /* the key's number, inside and (per_user) outside */
	int per_user;  /* 0: a nested user namespace gives us that number */
	int landlock;  /* ABI the shim must enforce, 0: no such kernel */
	uint16_t port; /* of the listener, 0: none */
	const char *program;        /* in the view */
	const char *const *folders; /* in the view, bound at the same path */
	size_t nfolders;
	int has_input; /* a file at SANDBOX_INPUT; else it is standard input */
	int has_system, has_settings;
	uint64_t tasks; /* of the key, all its runs together */
	uint64_t data;  /* bytes of one process's private memory */
	const struct launch_words *args; /* the client's, after argv[0] */
};

/*
 * Words laid end to end with their NULs: as execve(2) takes them (v) and as
 * bwrap's --args reads them (text, len).  v points into text: never copy one.
 */
struct words {
	char *v[LIM_SANDBOX_WORDS + 1]; /* NULL-terminated */
	size_t n;
	char text[LIM_SANDBOX_BYTES];
	size_t len;
	int overflow; /* a word was left out: the run must fail */
};

/* bwrap's options, for --args. */
void sandbox_options(const struct sandbox *, struct words *);
/* The command line: bwrap, the shim with its figures, the client with its. */
void sandbox_command(const struct sandbox *, struct words *);
/* The one line of each file; its length. buf holds LIM_TEXT bytes. */
size_t sandbox_passwd(const struct sandbox *, char *buf);
size_t sandbox_group(const struct sandbox *, char *buf);

#endif
