/* SPDX-License-Identifier: ISC */
/*
 * The rows of the configuration in worker-http.  It owns both copies: the
 * one in use and the one being built.  A copy with a fault never gets into
 * use: the fault is logged and the generation refused.
 */
#include "worker-http/rows.h"

#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/chan.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/worker.h"
#include "worker-http/sched.h"
#include "worker-http/server.h"
#include "worker-http/tls.h"

#define TLS_MAX LIM_CONF_LISTENS

struct build {
	struct rows rows;
	SSL_CTX *tls[TLS_MAX +
	    1]; /* by id; NULL: no such row, or one that is no good */
	char why[TLS_MAX + 1][LIM_TEXT]; /* it is no good */
};

static struct {
	struct rows now;
	struct build *next;
} self;

const struct rows *
rows(void)
{
	return (&self.now);
}

const struct msg_conf_provider *
rows_provider(const char *name)
{
	size_t i;

	for (i = 0; i < self.now.nproviders; i++)
		if (strcmp(self.now.providers[i].name, name) == 0)
			return (&self.now.providers[i]);
	return (NULL);
}

static void
rows_clear(struct rows *r)
{
	size_t i;

	for (i = 0; i < r->nlistens; i++) {
		if (r->listens[i].fd != -1)
			close(r->listens[i].fd);
		SSL_CTX_free(r->listens[i].tls);
		free(r->listens[i].text);
	}
	free(r->listens);
	free(r->providers);
	free(r->models);
	memset(r, 0, sizeof(*r));
}

static void
build_free(struct build *b)
{
	size_t i;

	if (b == NULL)
		return;
	for (i = 0; i <= TLS_MAX; i++)
		SSL_CTX_free(b->tls[i]);
	rows_clear(&b->rows);
	free(b);
}

int
rows_begin(uint64_t generation)
{
	build_free(self.next);
	self.next = xcalloc(1, sizeof(*self.next));
	self.next->rows.generation = generation;
	return (0);
}

int
rows_end(uint64_t generation)
{
	struct build *b = self.next;

	if (b == NULL || b->rows.generation != generation)
		return (-1);
	self.next = NULL;
	rows_clear(&self.now);
	self.now = b->rows;
	memset(&b->rows, 0, sizeof(b->rows));
	build_free(b);
	server_configure(self.now.listens, self.now.nlistens);
	sched_configure();
	return (0);
}

/* Room for one more at the end. */
static void *
grow(void *array, size_t n, size_t size)
{
	return (n % 16 == 0 ? xreallocarray(array, n + 16, size) : array);
}

int
rows_h_http(struct chan *c, struct msg *m)
{
	(void)c;
	if (self.next == NULL)
		return (-1);
	self.next->rows.http = *(const struct msg_conf_http *)m->body;
	return (0);
}

int
rows_h_provider(struct chan *c, struct msg *m)
{
	struct rows *r;

	(void)c;
	if (self.next == NULL ||
	    self.next->rows.nproviders == LIM_CONF_PROVIDERS)
		return (-1);
	r = &self.next->rows;
	r->providers = grow(r->providers, r->nproviders, sizeof(*r->providers));
	r->providers[r->nproviders++] =
	    *(const struct msg_conf_provider *)m->body;
	return (0);
}

int
rows_h_model(struct chan *c, struct msg *m)
{
	struct rows *r;

	(void)c;
	if (self.next == NULL || self.next->rows.nmodels == LIM_CONF_MODELS)
		return (-1);
	r = &self.next->rows;
	r->models = grow(r->models, r->nmodels, sizeof(*r->models));
	r->models[r->nmodels++] = *(const struct msg_conf_model *)m->body;
	return (0);
}

int
rows_h_tls(struct chan *c, struct msg *m)
{
	const struct msg_conf_tls *t = m->body;

	(void)c;
	if (self.next == NULL || t->id == 0 || t->id > TLS_MAX ||
	    self.next->tls[t->id] != NULL)
		return (-1);
	self.next->tls[t->id] = tls_new(m->fd[0], m->fd[1],
	    self.next->why[t->id], sizeof(self.next->why[t->id]));
	return (0);
}

/* Only here is TLS linked: the master cannot judge a certificate, but tells who
 * asked. */
static void
tell_bad(const struct msg_conf_listen *l)
{
	struct msg_conf_bad bad;

	(void)snprintf(bad.text, sizeof(bad.text),
	    "listen on %.100s: %.200s: it is served as before, or not at all",
	    l->text, self.next->why[l->tls]);
	(void)chan_send(worker_master(), MT_CONF_BAD, &bad);
}

int
rows_h_listen(struct chan *c, struct msg *m)
{
	const struct msg_conf_listen *l = m->body;
	struct rows_listen *row;
	struct rows *r;

	(void)c;
	if (self.next == NULL || self.next->rows.nlistens == LIM_CONF_LISTENS ||
	    l->tls > TLS_MAX)
		return (-1);
	r = &self.next->rows;
	if (l->tls != 0 && self.next->tls[l->tls] == NULL)
		tell_bad(l);
	r->listens = grow(r->listens, r->nlistens, sizeof(*r->listens));
	row = &r->listens[r->nlistens++];
	row->fd = msg_take_fd(m, 0);
	row->is_unix = l->is_unix;
	row->text = xstrdup(l->text);
	row->wants_tls = l->tls != 0;
	row->tls = l->tls != 0 ? self.next->tls[l->tls] : NULL;
	if (row->tls != NULL)
		(void)SSL_CTX_up_ref(row->tls);
	return (0);
}
