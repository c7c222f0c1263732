/* SPDX-License-Identifier: ISC */
/*
 * The directives of olpd.conf that are not a listener, a provider or a model,
 * their defaults, and what can be judged only when the whole file is read.
 */
#include <sys/un.h>

#include <arpa/inet.h>
#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/conf/parse.h"
#include "common/conf/units.h"
#include "common/log.h"

#define CONTROL_SOCK                                                           \
	"/control.sock"    /* the name that the master binds in the runtime    \
			      directory */
#define ID_NOBODY 65534    /* also the overflow id */
#define ID_INVALID16 65535 /* (uid_t)-1 of 16 bits */

#define AT(f) .off = offsetof(struct conf, f)

/* state directory "P": two words, then the path. */
static int
global_state(struct parser *p, const struct word *w, void *obj)
{
	p_where(p, &p->state_at);
	return (p_expect(p, "directory") == -1 ? -1 : p_set_path(p, w, obj));
}

static int
global_runtime(struct parser *p, const struct word *w, void *obj)
{
	const size_t room = sizeof(((struct sockaddr_un *)NULL)->sun_path);
	struct conf *c = obj;

	(void)w;
	p_where(p, &p->runtime_at);
	if (p_expect(p, "directory") == -1)
		return (-1);
	return (p_path(p, c->runtime_dir, room - strlen(CONTROL_SOCK)));
}

static int
global_instance(struct parser *p, const struct word *w, void *obj)
{
	struct conf *c = obj;
	size_t n;

	(void)w;
	n = strspn(p->tok.text, "abcdefghijklmnopqrstuvwxyz0123456789");
	if (!p_is_value(p) || n == 0 || p->tok.text[n] != '\0' ||
	    n >= sizeof(c->instance))
		return (p_expected(p, "1 to 16 lower-case letters and digits"));
	return (p_value(p, c->instance, sizeof(c->instance), "an instance"));
}

static int
global_uid_range(struct parser *p, const struct word *w, void *obj)
{
	struct conf *c = obj;
	uint32_t lo, hi;

	(void)w;
	p_where(p, &p->range_at);
	if (p_number(p, LIM_CONF_UID_MIN, LIM_CONF_UID_MAX, &lo) == -1 ||
	    p_expect(p, "to") == -1 ||
	    p_number(p, LIM_CONF_UID_MIN, LIM_CONF_UID_MAX, &hi) == -1)
		return (-1);
	if (hi < lo || hi - lo + 1 < LIM_CONF_UID_RANGE_MIN)
		return (
		    p_error(p, "%" PRIu32 " to %" PRIu32 " holds less than %d",
			lo, hi, LIM_CONF_UID_RANGE_MIN));
	if (hi - lo + 1 > LIM_CONF_UID_RANGE_MAX)
		return (
		    p_error(p, "%" PRIu32 " to %" PRIu32 " holds more than %d",
			lo, hi, LIM_CONF_UID_RANGE_MAX));
	if (lo <= ID_INVALID16 && hi >= ID_NOBODY)
		return (p_error(
		    p, "%d and %d are nobody's", ID_NOBODY, ID_INVALID16));
	c->uid_lo = lo;
	c->uid_hi = hi;
	return (0);
}

static int
global_service_ids(struct parser *p, const struct word *w, void *obj)
{
	struct conf *c = obj;
	uint32_t first;

	(void)w;
	p_where(p, &p->ids_at);
	if (p_number(p, LIM_CONF_UID_MIN, LIM_CONF_UID_MAX, &first) == -1)
		return (-1);
	if (first <= ID_INVALID16 && first + LIM_CONF_SERVICE_IDS > ID_NOBODY)
		return (p_error(
		    p, "%d and %d are nobody's", ID_NOBODY, ID_INVALID16));
	c->service_first = first;
	return (0);
}

static int
global_enforcement(struct parser *p, const struct word *w, void *obj)
{
	struct conf *c = obj;

	(void)w;
	if (p_take(p, "require"))
		return (p_expect(p, "full"));
	if (!p_is(p, "allow"))
		return (p_expected(p, "require full or allow partial"));
	p_next(p);
	if (p_expect(p, "partial") == -1)
		return (-1);
	c->allow_partial = 1;
	return (0);
}

static int
global_budget(struct parser *p, const struct word *w, void *obj)
{
	p_where(p, &p->budget_at);
	return (p_set_size(p, w, obj));
}

static const struct word home_size = { "size", .what = "home size",
	AT(home_bytes), .lo = LIM_CONF_HOME_MIN, .hi = LIM_CONF_HOME_MAX };

static int
global_home(struct parser *p, const struct word *w, void *obj)
{
	struct conf *c = obj;

	(void)w;
	if (p_expect(p, "size") == -1 || p_set_size(p, &home_size, c) == -1)
		return (-1);
	if (p_take(p, "inodes"))
		return (p_number(p, LIM_CONF_INODES_MIN, LIM_CONF_INODES_MAX,
		    &c->home_inodes));
	return (0);
}

/*
 * A queue shorter than the default share of one key makes that share shorter
 * too.
 */
static int
limit_queue(struct parser *p, const struct word *w, void *obj)
{
	struct conf *c = obj;

	(void)w;
	if (p_number(p, 1, LIM_CONF_QUEUE_MAX, &c->queue) == -1)
		return (-1);
	if (c->queue_per_key > c->queue)
		c->queue_per_key = c->queue;
	if (p_take(p, "per-key"))
		return (p_number(p, 1, c->queue, &c->queue_per_key));
	return (0);
}

static const struct word limit_words[] = {
	{ "runs", .what = "limit runs", .parse = p_set_u32, AT(runs), .lo = 1,
	    .hi = LIM_CONF_RUNS_MAX },
	{ "queue", .what = "limit queue", .parse = limit_queue },
	{ "connections", .what = "limit connections", .parse = p_set_u32,
	    AT(connections), .lo = 1, .hi = LIM_CONF_CONNECTIONS_MAX },
	{ "body", .what = "limit body", .parse = p_set_size, AT(body_max),
	    .lo = LIM_CONF_BODY_MIN, .hi = LIM_CONF_BODY_MAX },
	{ 0 },
};

static int
global_limit(struct parser *p, const struct word *w, void *obj)
{
	(void)w;
	return (p_choices(p, limit_words, obj));
}

#define TIMEOUT(name, f)                                                       \
	{                                                                      \
		name, .what = "timeout " name, .parse = p_set_seconds, AT(f),  \
		      .lo = 1, .hi = LIM_CONF_TIMEOUT_MAX_S                    \
	}
static const struct word timeout_words[] = {
	TIMEOUT("head", head_s),
	TIMEOUT("body", body_s),
	TIMEOUT("queue", queue_s),
	TIMEOUT("first-byte", first_byte_s),
	TIMEOUT("idle", idle_s),
	{ 0 },
};

static int
global_timeout(struct parser *p, const struct word *w, void *obj)
{
	(void)w;
	return (p_choices(p, timeout_words, obj));
}

static int
global_resolver(struct parser *p, const struct word *w, void *obj)
{
	struct sockaddr_storage ss;
	struct conf *c = obj;

	(void)w;
	if (p_address(p, &ss, c->resolver, sizeof(c->resolver),
		"an IPv4 or IPv6 address") == -1)
		return (-1);
	return (p_is(p, "port") ? p_port(p, &c->resolver_port) : 0);
}

static int
global_key(struct parser *p, const struct word *w, void *obj)
{
	(void)w;
	(void)obj;
	return (p_error(p,
	    "a key belongs in a file of its own, keys.d/ID.conf beside "
	    "olpd.conf"));
}

const struct word conf_words[] = {
	{ "include", .many = 1, .parse = p_include },
	{ "listen", .many = 1, .parse = p_listen },
	{ "state", .what = "state directory", .parse = global_state,
	    AT(state_dir) },
	{ "runtime", .what = "runtime directory", .parse = global_runtime },
	{ "instance", .parse = global_instance },
	{ "uid-range", .parse = global_uid_range },
	{ "service-ids", .parse = global_service_ids },
	{ "enforcement", .parse = global_enforcement },
	{ "memory-budget", .parse = global_budget, AT(memory_budget),
	    .lo = LIM_CONF_MEMORY_MIN, .hi = LIM_CONF_MEMORY_MAX },
	{ "home", .parse = global_home },
	{ "limit", .many = 1, .parse = global_limit },
	{ "timeout", .many = 1, .parse = global_timeout },
	{ "heartbeat", .parse = p_set_seconds, AT(heartbeat_s), .lo = 0,
	    .hi = LIM_CONF_HEARTBEAT_MAX_S },
	{ "stop-timeout", .parse = p_set_seconds, AT(stop_timeout_s), .lo = 1,
	    .hi = LIM_CONF_STOP_MAX_S },
	{ "resolver", .parse = global_resolver },
	{ "provider", .many = 1, .parse = p_provider },
	{ "model", .many = 1, .parse = p_model },
	{ "key", .many = 1, .parse = global_key },
	{ 0 },
};

static struct conf *
conf_new(void)
{
	struct conf *c = xcalloc(1, sizeof(*c));

	TAILQ_INIT(&c->listens);
	TAILQ_INIT(&c->providers);
	TAILQ_INIT(&c->models);
	(void)strlcpy(c->state_dir, "/var/lib/olpd", sizeof(c->state_dir));
	(void)strlcpy(c->runtime_dir, "/run/olpd", sizeof(c->runtime_dir));
	c->uid_lo = LIM_CONF_UID_LO;
	c->uid_hi = LIM_CONF_UID_HI;
	c->service_first = LIM_CONF_SERVICE_FIRST;
	c->runs = LIM_CONF_RUNS;
	c->queue = LIM_CONF_QUEUE;
	c->queue_per_key = LIM_CONF_QUEUE_PER_KEY;
	c->connections = LIM_CONF_CONNECTIONS;
	c->body_max = LIM_CONF_BODY;
	c->home_bytes = LIM_CONF_HOME;
	c->home_inodes = LIM_CONF_INODES;
	c->stop_timeout_s = LIM_CONF_STOP_S;
	c->heartbeat_s = LIM_CONF_HEARTBEAT_S;
	c->head_s = LIM_CONF_HEAD_S;
	c->body_s = LIM_CONF_BODY_S;
	c->queue_s = LIM_CONF_QUEUE_S;
	c->first_byte_s = LIM_CONF_FIRST_BYTE_S;
	c->idle_s = LIM_CONF_IDLE_S;
	c->resolver_port = 53;
	return (c);
}

void
conf_free(struct conf *c)
{
	struct conf_listen *l;
	struct conf_provider *v;
	struct conf_model *m;

	if (c == NULL)
		return;
	while ((l = TAILQ_FIRST(&c->listens)) != NULL) {
		TAILQ_REMOVE(&c->listens, l, entry);
		free(l);
	}
	while ((v = TAILQ_FIRST(&c->providers)) != NULL) {
		TAILQ_REMOVE(&c->providers, v, entry);
		free(v);
	}
	while ((m = TAILQ_FIRST(&c->models)) != NULL) {
		TAILQ_REMOVE(&c->models, m, entry);
		free(m);
	}
	free(c);
}

/* Where nothing is said: this machine only. */
static void
default_listen(struct conf *c)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_port = htons(LIM_CONF_PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct conf_listen *l = xcalloc(1, sizeof(*l));

	(void)strlcpy(l->at.file, c->file, sizeof(l->at.file));
	l->mode = 0660;
	memcpy(&l->addr, &sin, sizeof(sin));
	l->addr_len = sizeof(sin);
	(void)snprintf(l->text, sizeof(l->text), "127.0.0.1:%d", LIM_CONF_PORT);
	TAILQ_INSERT_TAIL(&c->listens, l, entry);
}

/*
 * Where a mistake between two directives is told: a line of 0 was never
 * written.
 */
static const struct conf_where *
written(const struct conf_where *a, const struct conf_where *b)
{
	return (a->line != 0 ? a : b);
}

static void
check_ids(struct parser *p, const struct conf *c)
{
	uint32_t last = c->service_first + LIM_CONF_SERVICE_IDS - 1;

	if (c->service_first > c->uid_hi || last < c->uid_lo)
		return;
	p->what = p->range_at.line != 0 ? "uid-range" : "service-ids";
	p_error_at(p, written(&p->range_at, &p->ids_at),
	    "keys' %" PRIu32 " to %" PRIu32 " and services' %" PRIu32
	    " to %" PRIu32 " overlap",
	    c->uid_lo, c->uid_hi, c->service_first, last);
}

static void
check_directories(struct parser *p, const struct conf *c)
{
	if (strcmp(c->runtime_dir, c->state_dir) != 0)
		return;
	p->what =
	    p->runtime_at.line != 0 ? "runtime directory" : "state directory";
	p_error_at(p, written(&p->runtime_at, &p->state_at),
	    "state and runtime directory are the same");
}

static void
check_memory(struct parser *p, const struct conf *c)
{
	const struct conf_provider *v;

	p->what = "memory-budget";
	TAILQ_FOREACH(v, &c->providers, entry) {
		if (c->memory_budget != 0 && v->memory > c->memory_budget)
			p_error_at(p, &p->budget_at,
			    "no run of provider %s would fit", v->name);
	}
}

static void
check_models(struct parser *p, const struct conf *c)
{
	const struct conf_model *m;

	p->what = "model";
	TAILQ_FOREACH(m, &c->models, entry) {
		if (m->provider[0] != '\0' &&
		    conf_find_provider(c, m->provider) == NULL)
			p_error_at(p, &m->at,
			    "%s: there is no provider block for %s", m->name,
			    m->provider);
	}
}

/* ---- reading ---- */

/* The absolute name, so that it still holds after a chdir(2). */
static int
absolute(char *buf, size_t size, const char *file)
{
	char *cwd = NULL;
	size_t n;

	if (file[0] != '/' && (cwd = getcwd(NULL, 0)) == NULL)
		return (-1);
	n = strlcpy(buf, cwd != NULL ? cwd : "", size);
	if (cwd != NULL && n < size)
		n = strlcat(buf, "/", size);
	if (n < size)
		n = strlcat(buf, file, size);
	free(cwd);
	errno = ENAMETOOLONG;
	return (n < size ? 0 : -1);
}

static int
set_file(struct conf *c, const char *file, struct conf_errors *errs)
{
	char *slash;
	size_t n;

	if (absolute(c->file, sizeof(c->file), file) == -1) {
		conf_error(errs, "%s: %s", file, strerror(errno));
		return (-1);
	}
	slash = strrchr(c->file, '/');
	(void)strlcpy(c->keys_dir, c->file, (size_t)(slash - c->file) + 2);
	n = strlcat(c->keys_dir, "keys.d", sizeof(c->keys_dir));
	if (n + sizeof("/.conf") + LIM_KEY_ID >= sizeof(c->keys_dir)) {
		c->keys_dir[0] = '\0';
		conf_error(errs, "%s: %s", file, strerror(ENAMETOOLONG));
		return (-1);
	}
	return (0);
}

/* All statements of the source that is open, and the judgement at the end. */
static void
read_all(struct parser *p, struct conf *c)
{
	p->seen = xcalloc(1, sizeof(*p->seen));
	p_words(p, conf_words, c);
	if (TAILQ_EMPTY(&c->listens))
		default_listen(c);
	check_ids(p, c);
	check_directories(p, c);
	check_memory(p, c);
	check_models(p, c);
	free(p->seen);
	p_close(p);
}

static struct conf *
finish(struct conf *c, struct parser *p, size_t before)
{
	macros_clear(&p->macros);
	if (p->errs->n + p->errs->more > before) {
		conf_free(c);
		c = NULL;
	}
	free(p);
	return (c);
}

static struct conf *
load(struct parser *p, const char *file, struct conf_errors *errs)
{
	struct conf *c = conf_new();
	struct source s = { 0 };

	p->errs = errs;
	p->files = 1;
	if (set_file(c, file, errs) == 0 &&
	    p_open(p, &s, AT_FDCWD, file, file, 0) == 0)
		read_all(p, c);
	return (c);
}

struct conf *
conf_load(const char *file, struct conf_errors *errs)
{
	size_t before = errs->n + errs->more;
	struct parser *p = xcalloc(1, sizeof(*p));

	return (finish(load(p, file, errs), p, before));
}

struct conf *
conf_load_rest(const char *file, struct conf_errors *errs)
{
	struct parser *p = xcalloc(1, sizeof(*p));
	struct conf *c;

	c = load(p, file, errs);
	macros_clear(&p->macros);
	free(p);
	return (c);
}

struct conf *
conf_load_text(
    const char *name, const char *text, size_t len, struct conf_errors *errs)
{
	size_t before = errs->n + errs->more;
	struct parser *p = xcalloc(1, sizeof(*p));
	struct conf *c = conf_new();
	struct source s = { 0 };

	p->errs = errs;
	p->no_include = 1;
	p_push(p, &s, name, text, len);
	read_all(p, c);
	return (finish(c, p, before));
}
