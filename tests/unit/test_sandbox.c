/* SPDX-License-Identifier: ISC */
/* bubblewrap's options and command line, word for word. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/provider/provider.h"
#include "tests/unit/suite.h"
#include "worker-spawn/sandbox.h"

#if defined(__x86_64__)
#define LIB "/usr/lib/x86_64-linux-gnu"
#define LOADER "../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
#define LOADER_AT "/usr/lib64/ld-linux-x86-64.so.2"
#else
#define LIB "/usr/lib/aarch64-linux-gnu"
#define LOADER "aarch64-linux-gnu/ld-linux-aarch64.so.1"
#define LOADER_AT "/usr/lib/ld-linux-aarch64.so.1"
#endif

#define SPACES                                                                 \
	"--unshare-ipc --unshare-pid --unshare-net --unshare-uts "             \
	"--unshare-cgroup-try "                                                \
	"--hostname olp --new-session --cap-drop ALL "
#define OWN_IDS "--cap-add CAP_SETUID --cap-add CAP_SETGID "
#define NESTED_IDS "--unshare-user --uid 70003 --gid 70003 "
#define TREE                                                                   \
	"--dir /etc --dir /home --dir /opt --dir /run --dir /run/olpd --dir "  \
	"/usr "                                                                \
	"--dir /usr/lib --dir /usr/lib64 --symlink usr/lib /lib --symlink "    \
	"usr/lib64 "                                                           \
	"/lib64 --ro-bind " LIB " " LIB " --symlink " LOADER " " LOADER_AT " " \
	"--ro-bind-try /etc/ld.so.cache /etc/ld.so.cache "                     \
	"--perms 0444 --ro-bind-data 13 /etc/passwd "                          \
	"--perms 0444 --ro-bind-data 14 /etc/group "                           \
	"--ro-bind /run/olpd/libexec/olp-shim /run/olp-shim "
#define PROGRAM "--ro-bind /run/olpd/provider/demo " SANDBOX_PROGRAM " "
#define MOUNTS                                                                 \
	"--proc /proc --dev /dev --tmpfs /dev/pts --remount-ro /dev/pts "      \
	"--bind /run/olpd/tmp /tmp "                                           \
	"--bind /run/olpd/home " SANDBOX_HOME " "
#define CLOSING "--remount-ro /dev --remount-ro /"

static struct words w; /* too large for a small stack */

/* A run of a client that needs nothing. */
static struct sandbox
plain(const struct launch_words *args)
{
	struct sandbox s = { .uid = 70003,
		.per_user = 1,
		.landlock = 7,
		.program = "/run/olpd/provider/demo",
		.tasks = 512,
		.data = 4294967296,
		.args = args };

	return (s);
}

/* The same words, and the same bytes as --args reads them. */
static void
expect(const char *want)
{
	char joined[8192] = "", *copy = strdup(want), *word, *save = NULL;
	size_t i, off = 0;

	ck_assert_int_eq(w.overflow, 0);
	ck_assert_ptr_null(w.v[w.n]);
	for (i = 0; i < w.n; i++) {
		ck_assert_str_eq(w.text + off, w.v[i]);
		off += strlen(w.v[i]) + 1;
		(void)snprintf(joined + strlen(joined),
		    sizeof(joined) - strlen(joined), "%s%s", i > 0 ? " " : "",
		    w.v[i]);
	}
	ck_assert_uint_eq(off, w.len);
	ck_assert_str_eq(joined, want);
	for (i = 0, word = strtok_r(copy, " ", &save); word != NULL;
	     i++, word = strtok_r(NULL, " ", &save))
		ck_assert_str_eq(word, w.v[i]);
	ck_assert_uint_eq(i, w.n);
	free(copy);
}

START_TEST(options_least)
{
	struct launch_words none = { .n = 0 };
	struct sandbox s = plain(&none);

	sandbox_options(&s, &w);
	expect(SPACES OWN_IDS TREE PROGRAM MOUNTS CLOSING);
}
END_TEST

START_TEST(options_all)
{
	static const char *const folders[] = { "/usr/share/node", "/opt/x" };
	struct launch_words none = { .n = 0 };
	struct sandbox s = plain(&none);

	s.folders = folders;
	s.nfolders = 2;
	s.has_input = s.has_system = s.has_settings = 1;
	s.port = SANDBOX_PORT;
	sandbox_options(&s, &w);
	expect(SPACES OWN_IDS TREE PROGRAM
	    "--dir /usr --dir /usr/share --ro-bind /usr/share/node "
	    "/usr/share/node "
	    "--dir /opt --ro-bind /opt/x /opt/x " MOUNTS
	    "--perms 0444 --ro-bind-data 15 " SANDBOX_INPUT " "
	    "--perms 0444 --ro-bind-data 16 " SANDBOX_SYSTEM " "
	    "--perms 0444 --ro-bind-data 17 " SANDBOX_SETTINGS " " CLOSING);
}
END_TEST

/*
 * Started by an ordinary user: bwrap makes the namespace that has the key's
 * number.
 */
START_TEST(options_shared_user)
{
	struct launch_words none = { .n = 0 };
	struct sandbox s = plain(&none);

	s.per_user = 0;
	sandbox_options(&s, &w);
	expect(SPACES NESTED_IDS TREE PROGRAM MOUNTS CLOSING);
}
END_TEST

START_TEST(command)
{
	struct launch_words args = { .n = 0 };
	struct sandbox s = plain(&args);

	sandbox_command(&s, &w);
	expect("/run/olpd/bwrap --args 10 -- /run/olp-shim 70003 1 0 11 12 7 "
	       "512 1024 1073741824 "
	       "4294967296 " SANDBOX_PROGRAM);
	launch_add(&args, "-p");
	launch_add(&args, "--model=x");
	s.per_user = 0;
	s.port = SANDBOX_PORT;
	s.landlock = 0;
	sandbox_command(&s, &w);
	expect("/run/olpd/bwrap --args 10 -- /run/olp-shim 70003 0 3128 11 12 "
	       "0 512 1024 "
	       "1073741824 4294967296 " SANDBOX_PROGRAM " -p --model=x");
	launch_words_free(&args);
}
END_TEST

START_TEST(empty_words_stay)
{
	struct launch_words args = { .n = 0 };
	struct sandbox s = plain(&args);

	launch_add(&args, "--tools");
	launch_add(&args, "%s", "");
	launch_add(&args, "last");
	sandbox_command(&s, &w);
	ck_assert_str_eq(w.v[w.n - 3], "--tools");
	ck_assert_str_eq(w.v[w.n - 2], "");
	ck_assert_str_eq(w.v[w.n - 1], "last");
	launch_words_free(&args);
}
END_TEST

/* What does not fit fails the run; it is never a shorter command. */
START_TEST(overflow)
{
	static char longest[LIM_LAUNCH_BYTES - 1];
	const char *folders[LIM_SANDBOX_WORDS];
	struct launch_words args = { .n = 0 };
	struct sandbox s = plain(&args);
	size_t i;

	for (i = 0; i < LIM_SANDBOX_WORDS; i++)
		folders[i] = "/a/b";
	s.folders = folders;
	s.nfolders = LIM_SANDBOX_WORDS;
	sandbox_options(&s, &w);
	ck_assert_int_eq(w.overflow, 1);
	s.nfolders = 0;
	memset(longest, 'x', sizeof(longest) - 1);
	for (i = 0; i < 17; i++)
		launch_add(&args, "%s", longest);
	ck_assert_int_eq(args.overflow, 0);
	sandbox_command(&s, &w);
	ck_assert_int_eq(w.overflow, 1);
	launch_words_free(&args);
	sandbox_command(&s, &w);
	ck_assert_int_eq(
	    w.overflow, 0); /* one that failed spoils no later one */
	args.overflow = 1;
	sandbox_command(&s, &w);
	ck_assert_int_eq(w.overflow, 1);
}
END_TEST

START_TEST(passwd_and_group)
{
	struct launch_words none = { .n = 0 };
	struct sandbox s = plain(&none);
	char buf[LIM_TEXT];

	ck_assert_uint_eq(sandbox_passwd(&s, buf), strlen(buf));
	ck_assert_str_eq(
	    buf, "olp:x:70003:70003::/home/olp:/usr/sbin/nologin\n");
	ck_assert_uint_eq(sandbox_group(&s, buf), strlen(buf));
	ck_assert_str_eq(buf, "olp:x:70003:\n");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sandbox");
	TCase *tc = tcase_create("words");

	tcase_add_test(tc, options_least);
	tcase_add_test(tc, options_all);
	tcase_add_test(tc, options_shared_user);
	tcase_add_test(tc, command);
	tcase_add_test(tc, empty_words_stay);
	tcase_add_test(tc, overflow);
	tcase_add_test(tc, passwd_and_group);
	suite_add_tcase(suite, tc);
	return (suite_run(suite));
}
