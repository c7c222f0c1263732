/* SPDX-License-Identifier: ISC */
/*
 * What of olpctl can be asked without running it: tokens, the uid mark, the
 * atomic store, and the doctor shown other machines below a folder.
 */
#include <sys/stat.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/conf/conf.h"
#include "common/log.h"
#include "master/olpctl/doctor.h"
#include "master/olpctl/olpctl.h"
#include "master/olpctl/store.h"
#include "master/olpctl/token.h"
#include "master/olpctl/uid.h"
#include "tests/unit/suite.h"

static char root[] = "/tmp/test-olpctl.XXXXXX";

/* ---- a folder that stands for a machine ---- */

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *f)
{
	(void)st;
	(void)kind;
	(void)f;
	return (remove(path));
}

static void
setup(void)
{
	strcpy(root + strlen(root) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
}

static void
teardown(void)
{
	(void)nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void
put(const char *path, const char *text)
{
	char full[512], *p;
	FILE *f;

	(void)snprintf(full, sizeof(full), "%s%s", root, path);
	for (p = full + strlen(root) + 1; (p = strchr(p, '/')) != NULL;
	     *p++ = '/') {
		*p = '\0';
		(void)mkdir(full, 0700);
	}
	ck_assert_ptr_nonnull(f = fopen(full, "w"));
	fputs(text, f);
	fclose(f);
	ck_assert_int_eq(chmod(full, 0600), 0);
}

static char *
in_root(const char *path)
{
	static char full[512];

	(void)snprintf(full, sizeof(full), "%s%s", root, path);
	return (full);
}

static struct conf conf = { .uid_lo = 70000,
	.uid_hi = 70099,
	.service_first = 69990,
	.connections = 10,
	.runs = 2 };

static struct doctor *
doctor_new(void)
{
	struct doctor *d = xcalloc(1, sizeof(*d));

	d->root = root;
	d->privileged = 1;
	d->conf = &conf;
	d->conf_good = 1;
	return (d);
}

/* The worst that was said under that name; NULL: nothing. */
static const struct check *
said(const struct doctor *d, const char *name)
{
	const struct check *worst = NULL;
	size_t i;

	for (i = 0; i < d->n; i++)
		if (strcmp(d->check[i].name, name) == 0 &&
		    (worst == NULL || d->check[i].result > worst->result))
			worst = &d->check[i];
	return (worst);
}

/* After doctor_kernel() or doctor_host(): that result, with these words in what
 * was seen or to do. */
static void
expect(void (*look)(struct doctor *), const char *name, enum verdict result,
    const char *words)
{
	struct doctor *d = doctor_new();
	const struct check *c;

	look(d);
	c = said(d, name);
	ck_assert_msg(c != NULL, "%s: nothing said", name);
	ck_assert_msg(
	    c->result == result, "%s: %d: %s", name, (int)c->result, c->seen);
	ck_assert_msg(
	    strstr(c->seen, words) != NULL || strstr(c->todo, words) != NULL,
	    "%s: %s / %s lacks %s", name, c->seen, c->todo, words);
	free(d);
}

/* ---- tokens ---- */

START_TEST(token_form)
{
	char *a = token_new(), *b = token_new();

	ck_assert_uint_eq(strlen(a), 47);
	ck_assert_int_eq(strncmp(a, "olp_", 4), 0);
	ck_assert_uint_eq(strspn(a + 4,
			      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuv"
			      "wxyz0123456789-_"),
	    43);
	/* The last character holds four bits. */
	ck_assert_ptr_nonnull(strchr("AEIMQUYcgkosw048", a[46]));
	ck_assert_str_ne(a, b);
	freezero(a, TOKEN_BYTES);
	freezero(b, TOKEN_BYTES);
}
END_TEST

START_TEST(token_digest)
{
	static const uint8_t abc[] = { 0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf,
		0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0,
		0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff,
		0x61, 0xf2, 0x00, 0x15, 0xad };
	uint8_t hash[32];

	token_hash("abc", hash);
	ck_assert_mem_eq(hash, abc, sizeof(abc));
}
END_TEST

/* ---- store ---- */

START_TEST(store_replaces)
{
	struct store s;
	struct stat st;
	char *text;

	ck_assert_int_eq(store_open(&s, in_root("/d"), 0750), 0);
	ck_assert_int_eq(fstat(s.dir, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0750);
	ck_assert_int_eq(store_lock(&s), 0);
	ck_assert_int_eq(store_has(&s, "f"), 0);
	ck_assert_int_eq(store_put(&s, "f", "one", 3, 0600), 0);
	ck_assert_int_eq(store_put(&s, "f", "two", 3, 0640), 0);
	ck_assert_int_eq(fstatat(s.dir, "f", &st, 0), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0640);
	ck_assert_str_eq(text = store_get(&s, "f", 3), "two");
	free(text);
	ck_assert_ptr_null(store_get(&s, "f", 2));
	ck_assert_int_eq(errno, EFBIG);
	ck_assert_int_eq(store_remove(&s, "f"), 0);
	ck_assert_ptr_null(store_get(&s, "f", 3));
	ck_assert_int_eq(errno, ENOENT);
	store_close(&s);
}
END_TEST

START_TEST(store_sweeps)
{
	struct store s;

	put("/d/.x.conf.tmp", "half");
	put("/d/x.tmp", "not ours");
	ck_assert_int_eq(store_open(&s, in_root("/d"), 0), 0);
	ck_assert_int_eq(store_lock(&s), 0);
	ck_assert_int_eq(store_has(&s, ".x.conf.tmp"), 0);
	ck_assert_int_eq(store_has(&s, "x.tmp"), 1);
	store_close(&s);
}
END_TEST

START_TEST(store_follows_nothing)
{
	struct store s;
	struct stat st;

	put("/victim", "safe");
	ck_assert_int_eq(mkdir(in_root("/d"), 0700), 0);
	ck_assert_int_eq(store_open(&s, in_root("/d"), 0), 0);
	ck_assert_int_eq(store_lock(&s), 0);
	ck_assert_int_eq(symlinkat("../victim", s.dir, "f"), 0);
	ck_assert_int_eq(symlinkat("../victim", s.dir, ".g.tmp"), 0);
	ck_assert_ptr_null(store_get(&s, "f", 16));
	ck_assert_int_eq(store_put(&s, "f", "new", 3, 0600), 0);
	ck_assert_int_eq(store_put(&s, "g", "new", 3, 0600), 0);
	ck_assert_int_eq(stat(in_root("/victim"), &st), 0);
	ck_assert_int_eq(st.st_size, 4);
	store_close(&s);
}
END_TEST

START_TEST(store_refuses)
{
	struct store s;

	ck_assert_int_eq(store_open(&s, in_root("/missing"), 0), -1);
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_int_eq(mkdir(in_root("/d"), 0700), 0);
	ck_assert_int_eq(chmod(in_root("/d"), 0777), 0);
	ck_assert_int_eq(store_open(&s, in_root("/d"), 0700), -1);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_int_eq(s.dir, -1);
}
END_TEST

/* ---- uids ---- */

START_TEST(uid_highest_of_files)
{
	struct store s;
	uint32_t top;

	put("/k/.hidden.conf", "uid 70050");
	put("/k/a.conf",
	    "key \"a\" {\n\ttoken sha256 "
	    "\"0101010101010101010101010101010101010101010101010101010101010101"
	    "\"\n\tuid 70010\n}\n");
	put("/k/broken.conf", "key \"broken\" { tokn x uid 70020");
	put("/k/out.conf", "uid 90000");
	put("/k/note.txt", "uid 70030");
	put("/k/words.conf", "uids 70040 uid-range 70041");
	ck_assert_int_eq(store_open(&s, in_root("/k"), 0), 0);
	ck_assert_int_eq(uid_highest(&s, 70000, 70099, &top), 0);
	ck_assert_uint_eq(top, 70020);
	ck_assert_uint_eq(uid_of_file(&s, "a.conf"), 70010);
	store_close(&s);
}
END_TEST

static void
open_keys(struct store *s)
{
	(void)strlcpy(
	    conf.state_dir, in_root("/state"), sizeof(conf.state_dir));
	(void)mkdir(in_root("/k"), 0700);
	ck_assert_int_eq(store_open(s, in_root("/k"), 0), 0);
}

START_TEST(uid_mark)
{
	struct store s;
	uint32_t uid;

	open_keys(&s);
	ck_assert_int_eq(uid_take(&conf, &s, &uid), 0);
	ck_assert_uint_eq(uid, 70002);
	ck_assert_int_eq(uid_take(&conf, &s, &uid), 0);
	ck_assert_uint_eq(uid, 70003);
	ck_assert_int_eq(uid_keep(&conf, 70003), 0);
	ck_assert_int_eq(uid_keep(&conf, 70050), 0);
	ck_assert_int_eq(uid_keep(&conf, 90000), 0);
	ck_assert_int_eq(uid_take(&conf, &s, &uid), 0);
	ck_assert_uint_eq(uid, 70051);
	ck_assert_int_eq(uid_keep(&conf, 70099), 0);
	ck_assert_int_eq(uid_take(&conf, &s, &uid), -1);
	ck_assert_int_eq(errno, ENOSPC);
	store_close(&s);
}
END_TEST

START_TEST(uid_mark_damaged)
{
	static const char *const bad[] = { "", "x", "70005x", "-1", "0",
		"070005", " 70005", "99999999999999999999",
		"70005 70006 70007 70008 70009 70010" };
	struct store s;
	uint32_t uid;
	size_t i;

	open_keys(&s);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put("/state/next-uid", bad[i]);
		ck_assert_msg(uid_take(&conf, &s, &uid) == -1, "%s", bad[i]);
	}
	put("/state/next-uid", "70005\n");
	ck_assert_int_eq(uid_take(&conf, &s, &uid), 0);
	ck_assert_uint_eq(uid, 70005);
	store_close(&s);
}
END_TEST

/* ---- the status report ---- */

/* The report as worker-http would write it. */
static json_t *
report(const char *text, size_t len)
{
	json_t *o;
	FILE *f;

	ck_assert_ptr_nonnull(f = tmpfile());
	ck_assert_uint_eq(fwrite(text, 1, len, f), len);
	ck_assert_int_eq(fflush(f), 0);
	ck_assert_int_eq(lseek(fileno(f), 0, SEEK_SET), 0);
	o = status_read(fileno(f));
	fclose(f);
	return (o);
}

START_TEST(status_refuses)
{
	static const char *const bad[] = { "", "{", "[]", "7",
		"{\"a\":1,\"a\":2}", "{\"a\":1} x", "{\"a\":\"\xff\"}" };
	char *deep, *large;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(
		    report(bad[i], strlen(bad[i])) == NULL, "%s", bad[i]);
	deep = xmalloc(100000);
	memset(deep, '[', 100000);
	ck_assert_ptr_null(report(deep, 100000));
	free(deep);
	large = xmalloc(LIM_CTL_STATUS + 1);
	memset(large, ' ', LIM_CTL_STATUS + 1);
	memcpy(large, "{}", 2);
	ck_assert_ptr_null(report(large, LIM_CTL_STATUS + 1));
	json_decref(report(large, LIM_CTL_STATUS));
	free(large);
}
END_TEST

/* What status_show() prints of it. */
static void
shown(const char *text, char *buf, size_t size)
{
	json_t *o = report(text, strlen(text));
	int out, fd;
	ssize_t n;

	ck_assert_ptr_nonnull(o);
	fflush(stdout);
	out = dup(STDOUT_FILENO);
	fd = open(in_root("/shown"), O_RDWR | O_CREAT | O_TRUNC, 0600);
	ck_assert_int_ne(dup2(fd, STDOUT_FILENO), -1);
	status_show(o);
	fflush(stdout);
	ck_assert_int_ne(dup2(out, STDOUT_FILENO), -1);
	close(out);
	ck_assert_int_ge(n = pread(fd, buf, size - 1, 0), 0);
	buf[n] = '\0';
	close(fd);
	json_decref(o);
}

START_TEST(status_shapes)
{
	char buf[8192];

	shown("{\"sandbox\":{\"active\":true,\"missing\":[\"uid\",\"net\"],"
	      "\"providers\":"
	      "{\"demo\":{\"layers\":[\"a\",\"b\"],\"limit\":1}}},"
	      "\"workers\":[\"olpd-http 12 3 1 "
	      "60\",\"odd\",7],\"keys\":[{\"id\":\"alice\",\"running\":2},"
	      "{\"id\":\"bob\",\"waiting\":1}],\"status\":\"ok\"}",
	    buf, sizeof(buf));
	ck_assert_str_eq(buf,
	    "status: ok\n"
	    "\nsandbox\nactive: true\nmissing: uid, net\n"
	    "\nproviders\nname  layers  limit\ndemo  a, b    1\n"
	    "\nworker     pid  generation  restarts  seconds up\n"
	    "olpd-http  12   3           1         60\n"
	    "odd                                   \n"
	    "                                      \n"
	    "\nkeys\nid     running  waiting\nalice  2        -\nbob    -      "
	    "  1\n");
}
END_TEST

START_TEST(status_is_safe)
{
	static const char text[] =
	    "{\"\\u001b[2Ja\":\"\\u001b]0;x\\u0007\",\"list\":[\"\\u001b[31m\","
	    "\"\\n\"],"
	    "\"rows\":[{\"\\u001bk\":\"\\u009b1m\"}],\"map\":{\"\\u001bm\":{"
	    "\"\\r\":\"\\u007f\"}},"
	    "\"workers\":[\"\\u001b a b c d e f\"]}";
	char buf[8192];
	size_t i;

	shown(text, buf, sizeof(buf));
	for (i = 0; buf[i] != '\0'; i++)
		ck_assert_msg(
		    buf[i] == '\n' || (buf[i] >= ' ' && buf[i] <= '~'),
		    "byte %zu is %02x", i, (unsigned char)buf[i]);
}
END_TEST

/* ---- the doctor ---- */

START_TEST(doctor_reads)
{
	struct doctor *d = doctor_new();
	char *text;

	put("/a", "12\n");
	ck_assert_str_eq(text = doctor_file(d, "/a"), "12");
	free(text);
	ck_assert_int_eq(doctor_number(d, "/a", -1), 12);
	ck_assert_int_eq(doctor_number(d, "/b", -1), -1);
	put("/a", "x");
	ck_assert_int_eq(doctor_number(d, "/a", -1), -1);
	ck_assert(doctor_has_word("cpu memory pids", "memory"));
	ck_assert(doctor_has_word("memory", "memory"));
	ck_assert(!doctor_has_word("memory_recursiveprot", "memory"));
	ck_assert(!doctor_has_word("kill_process", "kill"));
	free(d);
}
END_TEST

START_TEST(doctor_namespaces)
{
	expect(doctor_kernel, "namespaces", DOC_FAIL, "not there");
	put("/proc/sys/user/max_user_namespaces", "15000\n");
	put("/proc/sys/user/max_net_namespaces", "15000\n");
	expect(doctor_kernel, "namespaces", DOC_OK, "15000");
	put("/proc/sys/user/max_net_namespaces", "0\n");
	expect(
	    doctor_kernel, "namespaces", DOC_FAIL, "user.max_net_namespaces=");
	put("/proc/sys/user/max_net_namespaces", "8\n");
	expect(doctor_kernel, "namespaces", DOC_WARN, "is 8");
}
END_TEST

START_TEST(doctor_restricted)
{
	put("/proc/sys/kernel/unprivileged_userns_clone", "0\n");
	expect(doctor_kernel, "userns", DOC_OK, "does not need it");
	put("/sys/module/apparmor/parameters/enabled", "Y\n");
	expect(doctor_kernel, "apparmor", DOC_OK, "in use");
	put("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
	expect(doctor_kernel, "apparmor", DOC_OK, "ordinary users");
	put("/sys/kernel/security/apparmor/profiles",
	    "bwrap (enforce)\nunpriv_bwrap (enforce)\n");
	expect(doctor_kernel, "apparmor", DOC_OK, "unpriv_bwrap");
	put("/proc/self/uid_map", "         0       1000          1\n");
	expect(doctor_kernel, "container", DOC_WARN, "container");
	put("/proc/self/status",
	    "Name:\tx\nCapEff:\t00000000a80425fb\nSeccomp:\t2\n");
	expect(doctor_kernel, "capabilities", DOC_FAIL, "CAP_SYS_ADMIN");
	expect(doctor_kernel, "filter", DOC_WARN, "seccomp");
}
END_TEST

START_TEST(doctor_covered_proc)
{
	put("/proc/self/mountinfo",
	    "22 1 0:21 / /proc rw - proc proc rw\n"
	    "23 22 0:22 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw\n");
	expect(doctor_kernel, "proc", DOC_OK, "whole");
	put("/proc/self/mountinfo",
	    "22 1 0:21 / /proc rw - proc proc rw\n"
	    "23 22 0:22 / /proc/acpi ro - tmpfs tmpfs ro\n");
	expect(doctor_kernel, "proc", DOC_OK, "/proc/acpi");
}
END_TEST

START_TEST(doctor_cgroups)
{
	expect(doctor_kernel, "cgroup", DOC_WARN, "limits=rlimit");
	put("/proc/self/mountinfo",
	    "30 22 0:27 / /cg rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
	put("/cg/cgroup.controllers", "cpuset cpu io pids\n");
	expect(doctor_kernel, "cgroup", DOC_WARN, "cgroup_enable=memory");
	put("/proc/device-tree/model", "Raspberry Pi 5 Model B Rev 1.0");
	expect(doctor_kernel, "cgroup", DOC_WARN, "/boot/firmware/cmdline.txt");
	put("/cg/cgroup.controllers", "cpuset cpu io memory pids\n");
	expect(doctor_kernel, "cgroup", DOC_OK, "memory");
}
END_TEST

START_TEST(doctor_seccomp)
{
	expect(doctor_kernel, "seccomp", DOC_FAIL, "CONFIG_SECCOMP_FILTER");
	put("/proc/sys/kernel/seccomp/actions_avail",
	    "kill_process kill_thread trap errno user_notif trace log allow\n");
	expect(doctor_kernel, "seccomp", DOC_OK, "");
}
END_TEST

START_TEST(doctor_swap)
{
	struct doctor *d = doctor_new();

	expect(doctor_host, "swap", DOC_OK, "none");
	put("/proc/swaps",
	    "Filename Type Size Used Priority\n/dev/zram0 partition 1 0 100\n");
	expect(doctor_host, "swap", DOC_OK, "in memory");
	put("/proc/swaps",
	    "Filename Type Size Used Priority\n/nowhere/swapfile file 1 0 "
	    "-2\n");
	expect(doctor_host, "swap", DOC_WARN, "/nowhere/swapfile");
	/* 253:2 lies on LVM, which lies on LUKS; 253:3 spans that and a bare
	 * disk. */
	put("/sys/dev/block/253:0/dm/uuid", "CRYPT-LUKS2-abc-x\n");
	put("/sys/dev/block/253:1/dm/uuid", "LVM-abc\n");
	put("/sys/dev/block/253:1/slaves/dm-0/dev", "253:0\n");
	put("/sys/dev/block/253:2/slaves/dm-1/dev", "253:1\n");
	put("/sys/dev/block/253:3/slaves/dm-1/dev", "253:1\n");
	put("/sys/dev/block/253:3/slaves/sda1/dev", "8:1\n");
	put("/sys/dev/block/253:4/slaves/dm-4/dev", "253:4\n");
	ck_assert(doctor_encrypted(d, 253, 0));
	ck_assert(doctor_encrypted(d, 253, 1));
	ck_assert(doctor_encrypted(d, 253, 2));
	ck_assert(!doctor_encrypted(d, 253, 3));
	ck_assert(!doctor_encrypted(d, 253, 4));
	ck_assert(!doctor_encrypted(d, 8, 1));
	free(d);
}
END_TEST

START_TEST(doctor_numbers)
{
	expect(doctor_host, "numbers", DOC_OK, "nobody else's");
	put("/etc/passwd",
	    "root:x:0:0::/root:/bin/sh\nalice:x:69999:69999::/:/bin/sh\n");
	put("/etc/subuid", "alice:100000:65536\n");
	expect(doctor_host, "numbers", DOC_OK, "nobody else's");
	put("/etc/passwd",
	    "root:x:0:0::/root:/bin/sh\nbob:x:70099:70099::/:/bin/sh\n");
	expect(
	    doctor_host, "numbers", DOC_FAIL, "70099 is bob's in /etc/passwd");
	put("/etc/passwd", "");
	put("/etc/subuid", "bob:65536:4500\n");
	expect(
	    doctor_host, "numbers", DOC_FAIL, "70000 is bob's in /etc/subuid");
	put("/etc/subuid", "bob:65536:4400\n");
	expect(doctor_host, "numbers", DOC_OK, "nobody else's");
	put("/etc/group", "svc:x:69992:\n");
	expect(
	    doctor_host, "numbers", DOC_FAIL, "69992 is svc's in /etc/group");
}
END_TEST

START_TEST(doctor_users)
{
	expect(doctor_host, "users", DOC_OK, "service-ids is used");
	put("/etc/passwd", "_olpd-http:x:990:990::/:/bin/false\n");
	expect(doctor_host, "users", DOC_WARN, "1 of 4");
	put("/etc/passwd",
	    "_olpd-http:x:990:990::/:\n_olpd-spawn:x:991:991::/:\n"
	    "_olpd-egress:x:992:992::/:\n_olpd-tui:x:993:993::/:\n");
	expect(doctor_host, "users", DOC_OK, "are there");
	put("/etc/nsswitch.conf", "passwd: files # systemd\n");
	expect(doctor_host, "names", DOC_OK, "libnss-systemd");
	put("/etc/nsswitch.conf", "passwd:         files systemd\n");
	expect(doctor_host, "names", DOC_OK, "by name");
}
END_TEST

START_TEST(doctor_journal)
{
	expect(doctor_host, "journal", DOC_WARN, "not running");
	put("/run/systemd/journal/socket", "");
	expect(doctor_host, "journal", DOC_WARN, "lost");
	put("/var/log/journal/x", "");
	expect(doctor_host, "journal", DOC_OK, "on disk");
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("olpctl");
	TCase *t = tcase_create("olpctl");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, token_form);
	tcase_add_test(t, token_digest);
	tcase_add_test(t, store_replaces);
	tcase_add_test(t, store_sweeps);
	tcase_add_test(t, store_follows_nothing);
	tcase_add_test(t, store_refuses);
	tcase_add_test(t, uid_highest_of_files);
	tcase_add_test(t, uid_mark);
	tcase_add_test(t, uid_mark_damaged);
	tcase_add_test(t, status_refuses);
	tcase_add_test(t, status_shapes);
	tcase_add_test(t, status_is_safe);
	tcase_add_test(t, doctor_reads);
	tcase_add_test(t, doctor_namespaces);
	tcase_add_test(t, doctor_restricted);
	tcase_add_test(t, doctor_covered_proc);
	tcase_add_test(t, doctor_cgroups);
	tcase_add_test(t, doctor_seccomp);
	tcase_add_test(t, doctor_swap);
	tcase_add_test(t, doctor_numbers);
	tcase_add_test(t, doctor_users);
	tcase_add_test(t, doctor_journal);
	suite_add_tcase(s, t);
	return (suite_run(s));
}
