/* SPDX-License-Identifier: ISC */
/* The configuration as messages; what it asks of the machine. */
#include <sys/stat.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/conf/machine.h"
#include "common/conf/parse.h"
#include "common/conf/rows.h"
#include "common/log.h"
#include "common/provider/names.h"
#include "common/provider/provider.h"
#include "tests/unit/suite.h"

static const char text[] =
    "instance \"t1\"\n"
    "uid-range 70000 to 70099\n"
    "limit runs 3\n"
    "resolver 127.0.0.1 port 5353\n"
    "provider demo {}\n"
    "provider claude {\n"
    "\tcommand \"/bin/true\"\n"
    "\tcredential api-key file \"/nonexistent/shared\"\n"
    "\tlimit runs 2\n"
    "\ttimeout 5m\n"
    "\taccept-tier\n"
    "\tupstream \"https://localhost:8443\" allow address "
    "127.0.0.1, ::1\n"
    "}\n"
    "model \"sonnet\" { chain claude \"claude-x\" }\n";

static struct conf_errors errs;
static struct conf *c;

static void
setup(void)
{
	c = conf_load_text("t", text, strlen(text), &errs);
	ck_assert_msg(c != NULL, "%s", errs.n > 0 ? errs.line[0] : "");
}

static void
teardown(void)
{
	conf_free(c);
}

static void
fill(struct conf_key *k)
{
	*k = (struct conf_key){ .id = "alice",
		.nhash = 2,
		.uid = 70002,
		.owner = 1,
		.providers = { "claude", "demo" },
		.nproviders = 2,
		.models = { "sonnet" },
		.nmodels = 1,
		.ncreds = 1,
		.starts_per_minute = 9,
		.has_hours = 1,
		.from_min = 420,
		.to_min = 1290,
		.expires = 1234567890,
		.require_full = 1 };
	memset(k->hash[0], 1, 32);
	memset(k->hash[1], 2, 32);
	strcpy(k->creds[0].provider, "claude");
	k->creds[0].cred.kind = CRED_OAUTH_TOKEN;
	strcpy(k->creds[0].cred.file, "/nonexistent/own");
}

START_TEST(test_globals)
{
	struct msg_conf_http h;
	struct msg_conf_spawn s;

	row_http(c, &h);
	ck_assert_uint_eq(h.runs, 3);
	ck_assert_uint_eq(h.body_max, LIM_CONF_BODY);
	ck_assert_str_eq(h.instance, "t1");
	ck_assert_str_eq(h.version, OLP_VERSION);
	row_spawn(c, &s);
	ck_assert_uint_eq(s.uid_lo, 70000);
	ck_assert_uint_eq(s.uid_hi, 70099);
	ck_assert_uint_eq(s.home_inodes, LIM_CONF_INODES);
	ck_assert_int_eq(s.allow_partial, 0);
}
END_TEST

START_TEST(test_provider)
{
	struct msg_conf_provider p;
	struct msg_conf_model m;

	row_provider(conf_find_provider(c, "claude"), &p);
	ck_assert_str_eq(p.name, "claude");
	ck_assert_str_eq(p.cred, "claude");
	ck_assert_uint_eq(p.cred_kind, CRED_API_KEY);
	ck_assert_uint_eq(p.runs, 2);
	ck_assert_uint_eq(p.timeout_s, 300);
	ck_assert_int_eq(p.accept_tier, 1);
	row_provider(conf_find_provider(c, "demo"), &p);
	ck_assert_str_eq(p.cred, "");
	ck_assert_uint_eq(p.cred_kind, CRED_NONE);
	row_model(TAILQ_FIRST(&c->models), &m);
	ck_assert_str_eq(m.name, "sonnet");
	ck_assert_str_eq(m.provider, "claude");
	ck_assert_str_eq(m.model, "claude-x");
}
END_TEST

START_TEST(test_own_model)
{
	struct conf_provider *demo = conf_find_provider(c, "demo");
	struct conf_model *o = TAILQ_FIRST(&c->models);
	struct msg_conf_model m;

	ck_assert_int_eq(row_own_model(c, demo, &m), 1);
	ck_assert_str_eq(m.name, "demo");
	ck_assert_str_eq(m.provider, "demo");
	ck_assert_str_eq(m.model, "demo");
	ck_assert_int_eq(
	    row_own_model(c, conf_find_provider(c, "claude"), &m), 0);
	strcpy(o->name, "demo"); /* the name is another's */
	ck_assert_int_eq(row_own_model(c, demo, &m), 0);
	strcpy(o->name, "x");
	strcpy(o->provider, "demo"); /* it has a model */
	ck_assert_int_eq(row_own_model(c, demo, &m), 0);
}
END_TEST

START_TEST(test_key)
{
	static uint8_t buf[LIM_MSG_BYTES];
	struct msg_conf_key m;
	struct conf_key k;

	fill(&k);
	row_key(&k, &m);
	ck_assert_str_eq(m.id, "alice");
	ck_assert_uint_eq(m.nhash, 2);
	ck_assert_uint_eq(m.hash2[31], 2);
	ck_assert_uint_eq(m.providers_n, 2);
	ck_assert_str_eq(m.providers[1], "demo");
	ck_assert_str_eq(m.models[0], "sonnet");
	ck_assert_str_eq(m.creds[0], "claude=alice.claude=2");
	ck_assert_uint_eq(m.runs, LIM_KEY_RUNS_DEFAULT);
	ck_assert_uint_eq(m.to_min, 1290);
	ck_assert_uint_eq(m.expires, 1234567890);
	ck_assert(m.require_full && m.owner && !m.revoked);
	/* The largest there can be fits into a packet. */
	k.nproviders = k.nmodels = CONF_KEY_LIST_MAX;
	k.ncreds = CONF_KEY_CREDS_MAX;
	memset(k.models, 'm', sizeof(k.models));
	for (int i = 0; i < CONF_KEY_LIST_MAX; i++)
		k.models[i][LIM_MODEL - 1] = '\0';
	row_key(&k, &m);
	ck_assert_int_gt(msg_pack(MT_CONF_KEY, &m, buf, sizeof(buf)), 0);
}
END_TEST

START_TEST(test_cred)
{
	struct conf_keys keys = TAILQ_HEAD_INITIALIZER(keys);
	static const char *const none[] = { "demo", "nobody", "", ".", "alice.",
		".claude", "alice.demo", "bob.claude", "alic.claude",
		"alice.claude.claude", "claude." };
	struct msg_egress_cred m;
	const char *file, *ca;
	struct conf_key k;
	size_t i;

	fill(&k);
	TAILQ_INSERT_TAIL(&keys, &k, entry);
	ck_assert_int_eq(row_cred(c, &keys, "claude", &m, &file, &ca), 0);
	ck_assert_str_eq(file, "/nonexistent/shared");
	ck_assert_ptr_nonnull(strstr(ca, "/etc/ssl/"));
	ck_assert_str_eq(m.cred, "claude");
	ck_assert_str_eq(m.provider, "claude");
	ck_assert_uint_eq(m.kind, CRED_API_KEY);
	ck_assert_str_eq(m.host, "localhost");
	ck_assert_uint_eq(m.port, 8443);
	ck_assert_uint_eq(m.allow_n, 2);
	ck_assert_str_eq(m.allow[1], "::1");
	ck_assert_str_eq(m.resolver, "127.0.0.1");
	ck_assert_uint_eq(m.resolver_port, 5353);
	ck_assert_int_eq(row_cred(c, &keys, "alice.claude", &m, &file, &ca), 0);
	ck_assert_str_eq(file, "/nonexistent/own");
	ck_assert_uint_eq(m.kind, CRED_OAUTH_TOKEN);
	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		ck_assert_msg(row_cred(c, &keys, none[i], &m, &file, &ca) == -1,
		    "%s", none[i]);
	/* A revoked key's own is nobody's. */
	k.revoked = 1;
	ck_assert_int_eq(
	    row_cred(c, &keys, "alice.claude", &m, &file, &ca), -1);
}
END_TEST

START_TEST(test_fixed)
{
	struct conf other = *c;

	ck_assert_ptr_null(conf_fixed(c, &other));
	other.runs++;
	ck_assert_ptr_null(conf_fixed(c, &other));
	other.uid_hi++;
	ck_assert_str_eq(conf_fixed(c, &other), "uid-range");
	other = *c;
	other.service_first++;
	ck_assert_str_eq(conf_fixed(c, &other), "service-ids");
	other = *c;
	strcpy(other.instance, "t2");
	ck_assert_str_eq(conf_fixed(c, &other), "instance");
	other = *c;
	strcpy(other.state_dir, "/x");
	ck_assert_str_eq(conf_fixed(c, &other), "state directory");
	other = *c;
	strcpy(other.runtime_dir, "/x");
	ck_assert_str_eq(conf_fixed(c, &other), "runtime directory");
}
END_TEST

static void
file(const char *path, mode_t mode)
{
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(fchmod(fd, mode), 0);
	close(fd);
}

START_TEST(test_program)
{
	char dir[] = "/tmp/test_rows.XXXXXX", path[PATH_MAX], named[64];
	struct conf_provider *demo = conf_find_provider(c, "demo");

	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(named, sizeof(named), "%s/olp-demo", dir);
	ck_assert_str_eq(machine_program(demo, dir, 1, path),
	    "no command is configured, and olpd ships none");
	ck_assert_str_eq(path, "");
	file(named, 0750); /* not for others */
	ck_assert_ptr_nonnull(machine_program(demo, dir, 1, path));
	ck_assert_ptr_null(machine_program(demo, dir, 0, path));
	ck_assert_str_eq(path, named);
	file(named, 0755);
	ck_assert_ptr_null(machine_program(demo, dir, 1, path));
	/* A command is resolved; a folder is none. */
	(void)snprintf(demo->command, sizeof(demo->command), "%s/link", dir);
	ck_assert_int_eq(symlink("olp-demo", demo->command), 0);
	ck_assert_ptr_null(machine_program(demo, dir, 1, path));
	ck_assert_str_eq(path, named);
	(void)unlink(demo->command);
	ck_assert_str_eq(machine_program(demo, dir, 1, path), strerror(ENOENT));
	(void)unlink(named);
	(void)snprintf(demo->command, sizeof(demo->command), "%s", dir);
	ck_assert_ptr_nonnull(machine_program(demo, dir, 1, path));
	(void)rmdir(dir);
}
END_TEST

START_TEST(test_numbers)
{
	struct machine_id id[LIM_CONF_SERVICE_IDS];
	char why[256] = "";

	ck_assert_int_eq(machine_taken(0, 0, why, sizeof(why)), 1);
	ck_assert_str_eq(why, "uid 0 is user root's in /etc/passwd");
	ck_assert_int_eq(
	    machine_taken(2000000000, 2000000001, why, sizeof(why)), 0);
	c->service_first = 2000000000;
	if (machine_ids(c, id, why, sizeof(why)) == 0 &&
	    id[0].uid >= 2000000000)
		ck_assert_uint_eq(id[3].gid, 2000000003);
}
END_TEST

/* Who may not be linked with the tables knows their names all the same. */
START_TEST(test_names)
{
	static const char *const names[] = { PROVIDER_NAMES };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ck_assert_ptr_nonnull(launch_find(names[i]));
	ck_assert_ptr_null(launch_table[i]);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("rows");
	TCase *tc = tcase_create("rows");

	log_init("test_rows", 0);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_globals);
	tcase_add_test(tc, test_provider);
	tcase_add_test(tc, test_own_model);
	tcase_add_test(tc, test_key);
	tcase_add_test(tc, test_cred);
	tcase_add_test(tc, test_fixed);
	tcase_add_test(tc, test_program);
	tcase_add_test(tc, test_numbers);
	tcase_add_test(tc, test_names);
	suite_add_tcase(s, tc);
	return (suite_run(s));
}
