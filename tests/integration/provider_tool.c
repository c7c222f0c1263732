/* SPDX-License-Identifier: ISC */
/*
 * One provider's four tables by hand, without daemon and sandbox, for
 * integration/35-provider.mjs:
 *
 *	provider_tool run NAME CRED PROGRAM PORT DIR   request in, becomes the
 *client provider_tool parse NAME                       the client's output in,
 *chunks out provider_tool wire NAME                        the wire table
 *	provider_tool launch NAME                      its words: variables and
 *options
 *
 * `run` makes in DIR what worker-spawn makes in a sandbox, and puts DIR's
 * paths and PORT in the place of the sandbox's in argv and environment.
 */
#include <err.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/provider/ir.h"
#include "common/provider/provider.h"
#include "proto/err.h"

#define PLACEHOLDER "0123456789abcdef"

/* Requests */

static void
add_message(struct ir *ir, const json_t *o)
{
	struct ir_message *m = xcalloc(1, sizeof(*m));
	const json_t *text = json_object_get(o, "text");

	m->role =
	    strcmp(json_string_value(json_object_get(o, "role")), "user") == 0
	    ? IR_USER
	    : IR_ASSISTANT;
	m->len = json_string_length(text);
	m->text = xmalloc(m->len + 1);
	memcpy(m->text, json_string_value(text), m->len);
	TAILQ_INSERT_TAIL(&ir->messages, m, entry);
	ir->nmessages++;
}

static void
read_request(struct ir *ir)
{
	json_t *root = json_loadf(stdin, JSON_ALLOW_NUL, NULL), *v;
	size_t i;

	if (root == NULL)
		errx(2, "the request is no JSON");
	memset(ir, 0, sizeof(*ir));
	TAILQ_INIT(&ir->messages);
	ir->model = xstrdup(json_string_value(json_object_get(root, "model")));
	json_array_foreach(json_object_get(root, "messages"), i, v)
	    add_message(ir, v);
	if ((v = json_object_get(root, "system")) != NULL) {
		ir->system_len = json_string_length(v);
		ir->system = xmalloc(ir->system_len + 1);
		memcpy(ir->system, json_string_value(v), ir->system_len);
	}
	if ((v = json_object_get(root, "temperature")) != NULL) {
		ir->has_temperature = 1;
		ir->temperature = json_number_value(v);
	}
	if ((v = json_object_get(root, "top_p")) != NULL) {
		ir->has_top_p = 1;
		ir->top_p = json_number_value(v);
	}
	ir->max_tokens =
	    json_integer_value(json_object_get(root, "max_tokens"));
	json_array_foreach(json_object_get(root, "stop"), i, v) if (ir->nstop <
	    IR_STOP_MAX) ir->stop[ir->nstop++] = xstrdup(json_string_value(v));
	json_decref(root);
}

/* A run */

static char *
replace(const char *s, const char *from, const char *to)
{
	const char *at = strstr(s, from);
	char *out;

	if (at == NULL)
		return (xstrdup(s));
	xasprintf(&out, "%.*s%s%s", (int)(at - s), s, to, at + strlen(from));
	return (out);
}

static char *
moved(const char *word, const char *dir, const char *port)
{
	char *home, *run, *tmp, *url, *a, *b, *c, *d;

	xasprintf(&home, "%s/home", dir);
	xasprintf(&run, "%s/run", dir);
	xasprintf(&tmp, "TMPDIR=%s/tmp", dir);
	xasprintf(&url, "http://127.0.0.1:%s", port);
	a = replace(word, SANDBOX_HOME, home);
	b = replace(a, "/run/olpd", run);
	c = replace(b, "TMPDIR=/tmp", tmp);
	d = replace(c, "http://127.0.0.1:3128", url);
	free(home);
	free(run);
	free(tmp);
	free(url);
	free(a);
	free(b);
	free(c);
	return (d);
}

static void
move_words(struct launch_words *w, const char *dir, const char *port)
{
	char *s;
	size_t i;

	if (w->overflow)
		errx(2, "too many words");
	for (i = 0; i < w->n; i++) {
		s = moved(w->v[i], dir, port);
		free(w->v[i]);
		w->v[i] = s;
	}
}

static void
put_file(const char *dir, const char *place, const char *data, size_t len)
{
	char *path = moved(place, dir, "");
	FILE *f = fopen(path, "we");

	if (f == NULL || fwrite(data, 1, len, f) != len || fclose(f) == EOF ||
	    chmod(path, 0444) == -1)
		err(2, "%s", path);
	free(path);
}

static void
make_folders(const char *dir)
{
	static const char *const folders[] = { "home", "home/work", "run",
		"tmp" };
	char *path;
	size_t i;

	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		xasprintf(&path, "%s/%s", dir, folders[i]);
		if (mkdir(path, 0700) == -1 && access(path, X_OK) == -1)
			err(2, "%s", path);
		free(path);
	}
}

static void
take_stdin(const char *dir, const struct rendered *r)
{
	char *path;
	int fd;

	if (r->input_kind == INPUT_TRANSCRIPT) {
		put_file(dir, SANDBOX_INPUT, r->input, r->input_len);
		path = xstrdup("/dev/null");
	} else {
		put_file(dir, "/run/olpd/stdin", r->input, r->input_len);
		path = moved("/run/olpd/stdin", dir, "");
	}
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1 ||
	    dup2(fd, STDIN_FILENO) == -1)
		err(2, "%s", path);
	free(path);
}

static enum provider_cred
cred_kind(const char *s)
{
	if (strcmp(s, "none") == 0)
		return (PROVIDER_CRED_NONE);
	return (strcmp(s, "oauth") == 0 ? PROVIDER_CRED_OAUTH
					: PROVIDER_CRED_API_KEY);
}

static void __attribute__((noreturn))
become(char *program, const struct provider_launch *l,
    const struct launch_run *run, const char *port, const char *dir)
{
	struct launch_words env = { .n = 0 }, args = { .n = 0 };
	char *cwd = moved(SANDBOX_CWD, dir, "");

	launch_add(&args, "%s", program);
	l->arguments(run, &args);
	l->hardening(run, &args);
	l->environment(run, &env);
	move_words(&args, dir, port);
	move_words(&env, dir, port);
	if (chdir(cwd) == -1)
		err(2, "%s", cwd);
	free(cwd);
	execve(program, args.v, env.v);
	err(2, "%s", program);
}

static void __attribute__((noreturn)) run(const char *name, const char *cred,
    char *program, const char *port, const char *dir)
{
	const struct provider_launch *l = launch_find(name);
	const struct provider_render *p = render_find(name);
	struct rendered r;
	struct ir ir;
	struct launch_run lr = { .cred = cred_kind(cred) };
	char why[LIM_TEXT];

	read_request(&ir);
	if (p->render(&ir, &r, why, sizeof(why)) == -1)
		errx(3, "%s", why);
	make_folders(dir);
	if (r.system_len > 0)
		put_file(dir, SANDBOX_SYSTEM, r.system, r.system_len);
	if (r.settings_len > 0)
		put_file(dir, SANDBOX_SETTINGS, r.settings, r.settings_len);
	take_stdin(dir, &r);
	lr.model = ir.model;
	lr.input_kind = r.input_kind;
	lr.placeholder = PLACEHOLDER;
	lr.system_len = r.system_len;
	lr.settings_len = r.settings_len;
	become(program, l, &lr, port, dir);
}

/* Output */

static int
put_chunk(void *arg, const struct chunk *c)
{
	static const char *const kinds[] = { "start", "text", "usage", "stop",
		"fail" };
	static const char *const stops[] = { "end", "length", "refusal",
		"tool" };
	json_t *o = json_object();

	(void)arg;
	json_object_set_new(o, "kind", json_string(kinds[c->kind]));
	if (c->kind != CHUNK_USAGE && c->kind != CHUNK_STOP)
		json_object_set_new(o, "text", json_stringn(c->text, c->len));
	if (c->kind == CHUNK_USAGE) {
		json_object_set_new(o, "in", json_integer(c->in_tokens));
		json_object_set_new(o, "out", json_integer(c->out_tokens));
	}
	if (c->kind == CHUNK_STOP)
		json_object_set_new(o, "stop", json_string(stops[c->stop]));
	if (c->kind == CHUNK_FAIL) {
		json_object_set_new(o, "err", json_string(err_name(c->err)));
		json_object_set_new(o, "retry", json_integer(c->retry_s));
	}
	json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(o);
	return (0);
}

static void
parse(const char *name)
{
	const struct provider_parse *p = parse_find(name);
	void *state = p->new ();
	char *line = NULL;
	size_t size = 0;
	ssize_t n;

	while ((n = getline(&line, &size, stdin)) > 0) {
		if (line[n - 1] == '\n')
			line[--n] = '\0';
		p->line(state, line, (size_t)n, put_chunk, NULL);
	}
	p->end(state, put_chunk, NULL);
	p->free(state);
	free(line);
}

/* Tables */

static void
put_list(json_t *o, const char *name, const char *const *list)
{
	json_t *a = json_array();

	for (; *list != NULL; list++)
		json_array_append_new(a, json_string(*list));
	json_object_set_new(o, name, a);
}

static void
wire(const char *name)
{
	const struct provider_wire *w = wire_find(name);
	json_t *o = json_object();

	json_object_set_new(o, "method", json_string(w->method));
	json_object_set_new(o, "path", json_string(w->path));
	json_object_set_new(o, "placeholder", json_string(PLACEHOLDER));
	put_list(o, "queries", w->queries);
	put_list(o, "request_fields", w->request_fields);
	put_list(o, "response_fields", w->response_fields);
	put_list(o, "body_keys", w->body_keys);
	put_list(o, "ignored", w->ignored);
	json_dumpf(o, stdout, JSON_COMPACT);
	json_decref(o);
}

/* Every word that any kind of run has. */
static void
launch(const char *name)
{
	const struct provider_launch *l = launch_find(name);
	struct launch_words env = { .n = 0 }, args = { .n = 0 },
			    hard = { .n = 0 };
	struct launch_run r = { .model = "M",
		.placeholder = "P",
		.system_len = 1,
		.settings_len = 1,
		.input_kind = INPUT_TRANSCRIPT,
		.cred = PROVIDER_CRED_API_KEY };
	json_t *o = json_object();

	l->environment(&r, &env);
	r.cred = PROVIDER_CRED_OAUTH;
	l->environment(&r, &env);
	l->arguments(&r, &args);
	l->hardening(&r, &hard);
	put_list(o, "environment", (const char *const *)env.v);
	put_list(o, "arguments", (const char *const *)args.v);
	put_list(o, "hardening", (const char *const *)hard.v);
	json_dumpf(o, stdout, JSON_COMPACT);
	json_decref(o);
}

int
main(int argc, char **argv)
{
	if (argc == 7 && strcmp(argv[1], "run") == 0)
		run(argv[2], argv[3], argv[4], argv[5], argv[6]);
	if (argc == 3 && strcmp(argv[1], "parse") == 0)
		parse(argv[2]);
	else if (argc == 3 && strcmp(argv[1], "wire") == 0)
		wire(argv[2]);
	else if (argc == 3 && strcmp(argv[1], "launch") == 0)
		launch(argv[2]);
	else
		errx(2, "usage: provider_tool run|parse|wire|launch NAME ...");
	return (0);
}
