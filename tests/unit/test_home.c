/* SPDX-License-Identifier: ISC */
/*
 * Folders and seeds of a home, in an empty folder and in one that somebody has
 * prepared.
 */
#include <sys/stat.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/provider/provider.h"
#include "tests/unit/suite.h"
#include "worker-spawn/home.h"

static char dir[] = "/tmp/test_home.XXXXXX", cmd[128];
static int fd;
static const char *what;

static void
setup(void)
{
	strcpy(dir, "/tmp/test_home.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	ck_assert_int_ne(fd, -1);
}

static void
teardown(void)
{
	close(fd);
	(void)snprintf(cmd, sizeof(cmd), "rm -rf -- %s", dir);
	ck_assert_int_eq(system(cmd), 0);
}

static unsigned int
mode_of(const char *path)
{
	struct stat st;

	ck_assert_int_eq(fstatat(fd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
	ck_assert_uint_eq(st.st_uid, getuid());
	return (st.st_mode & 07777);
}

static void
content_is(const char *path, const char *want)
{
	char buf[64] = "";
	int f = openat(fd, path, O_RDONLY);

	ck_assert_int_ne(f, -1);
	ck_assert_int_eq(read(f, buf, sizeof(buf) - 1), (ssize_t)strlen(want));
	ck_assert_str_eq(buf, want);
	close(f);
}

START_TEST(folders_and_seeds)
{
	static const char *const directories[] = { ".config/x/y", "work" };
	static const struct launch_seed seeds[] = { { ".config/x/a.json", NULL,
							"{}", 0600 },
		{ "deep/er/b", NULL, "", 0444 },
		{ "c", "/proc/self/comm", NULL, 0640 } };
	struct provider_launch l = { .name = "x",
		.directories = directories,
		.ndirectories = 2,
		.seeds = seeds,
		.nseeds = 2 };

	ck_assert_int_eq(home_make(fd, &l, getuid(), &what), 0);
	ck_assert_uint_eq(mode_of("work"), 0700);
	ck_assert_uint_eq(mode_of(".config"), 0700);
	ck_assert_uint_eq(mode_of(".config/x/y"), 0700);
	ck_assert_uint_eq(mode_of(".config/x/a.json"), 0600);
	ck_assert_uint_eq(mode_of("deep/er/b"), 0444);
	content_is(".config/x/a.json", "{}");
	content_is("deep/er/b", "");
}
END_TEST

START_TEST(source)
{
	char path[64];
	struct launch_seed seed = { "a", path, NULL, 0400 };
	struct provider_launch l = { .name = "x", .seeds = &seed, .nseeds = 1 };
	int f;

	(void)snprintf(path, sizeof(path), "%s/source", dir);
	ck_assert_int_eq(
	    home_make(fd, &l, getuid(), &what), -1); /* never a quieter run */
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_str_eq(what, "a");
	(void)unlinkat(fd, "a", 0);
	f = open(path, O_WRONLY | O_CREAT, 0600);
	ck_assert_int_eq(write(f, "bytes", 5), 5);
	ck_assert_int_eq(home_make(fd, &l, getuid(), &what), 0);
	content_is("a", "bytes");
	(void)unlinkat(fd, "a", 0);
	ck_assert_int_eq(ftruncate(f, LIM_SEED_BYTES + 1), 0);
	ck_assert_int_eq(home_make(fd, &l, getuid(), &what), -1);
	ck_assert_int_eq(errno, EFBIG);
	close(f);
	(void)unlinkat(fd, "a", 0);
	(void)strcpy(path, "/dev/null");
	ck_assert_int_eq(home_make(fd, &l, getuid(), &what), -1);
	ck_assert_int_eq(errno, EINVAL);
}
END_TEST

/*
 * A link in the way is refused, wherever it leads, and nothing is made behind
 * it.
 */
START_TEST(links)
{
	static const char *const directories[] = { "a/b" };
	static const struct launch_seed seeds[] = { { "a/c", NULL, "x",
	    0600 } };
	struct provider_launch d = {
		.name = "x", .directories = directories, .ndirectories = 1
	};
	struct provider_launch s = { .name = "x", .seeds = seeds, .nseeds = 1 };

	ck_assert_int_eq(mkdirat(fd, "other", 0700), 0);
	ck_assert_int_eq(symlinkat("other", fd, "a"), 0);
	ck_assert_int_eq(home_make(fd, &d, getuid(), &what), -1);
	ck_assert_int_eq(errno, ELOOP);
	ck_assert_str_eq(what, "a/b");
	ck_assert_int_eq(home_make(fd, &s, getuid(), &what), -1);
	ck_assert_int_eq(faccessat(fd, "other/b", F_OK, 0), -1);
	ck_assert_int_eq(faccessat(fd, "other/c", F_OK, 0), -1);
	ck_assert_int_eq(unlinkat(fd, "a", 0), 0);
	ck_assert_int_eq(mkdirat(fd, "a", 0700), 0);
	ck_assert_int_eq(symlinkat("../other/c", fd, "a/c"), 0);
	ck_assert_int_eq(home_make(fd, &s, getuid(), &what), -1);
	ck_assert_int_eq(errno, EEXIST);
	ck_assert_int_eq(faccessat(fd, "other/c", F_OK, 0), -1);
}
END_TEST

START_TEST(long_names)
{
	static char name[400];
	static const char *const directories[] = { name };
	struct provider_launch l = {
		.name = "x", .directories = directories, .ndirectories = 1
	};

	memset(name, 'n', 300);
	ck_assert_int_eq(home_make(fd, &l, getuid(), &what), -1);
	ck_assert_int_eq(errno, ENAMETOOLONG);
	name[300] = '/';
	name[301] = 'x';
	ck_assert_int_eq(home_make(fd, &l, getuid(), &what), -1);
	ck_assert_int_eq(errno, ENAMETOOLONG);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("home");
	TCase *tc = tcase_create("home");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, folders_and_seeds);
	tcase_add_test(tc, source);
	tcase_add_test(tc, links);
	tcase_add_test(tc, long_names);
	suite_add_tcase(suite, tc);
	return (suite_run(suite));
}
