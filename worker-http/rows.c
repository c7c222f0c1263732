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
#include "worker-http/job.h"
#include "worker-http/server.h"
#include "worker-http/tls.h"

#define TLS_MAX LIM_CONF_LISTENS

struct build {
	struct rows rows;
	SSL_CTX *tls[TLS_MAX + 1]; /* by id */
	int bad;
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
	if (b->bad) {
		log_warnx("configuration %llu: refused, the one before it stays",
		    (unsigned long long)generation);
		build_free(b);
		return (-1);
	}
	rows_clear(&self.now);
	self.now = b->rows;
	memset(&b->rows, 0, sizeof(b->rows));
	build_free(b);
	server_configure(self.now.listens, self.now.nlistens);
	job_configure();
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
	if (self.next == NULL || self.next->rows.nproviders == LIM_CONF_PROVIDERS)
		return (-1);
	r = &self.next->rows;
	r->providers = grow(r->providers, r->nproviders, sizeof(*r->providers));
	r->providers[r->nproviders++] = *(const struct msg_conf_provider *)m->body;
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
	char err[LIM_TEXT];

	(void)c;
	if (self.next == NULL || t->id == 0 || t->id > TLS_MAX || self.next->tls[t->id] != NULL)
		return (-1);
	if ((self.next->tls[t->id] = tls_new(m->fd[0], m->fd[1], err, sizeof(err))) == NULL) {
		log_warnx("tls %u: %s", t->id, err);
		self.next->bad = 1;
	}
	return (0);
}

int
rows_h_listen(struct chan *c, struct msg *m)
{
	const struct msg_conf_listen *l = m->body;
	struct rows_listen *row;
	struct rows *r;

	(void)c;
	if (self.next == NULL || self.next->rows.nlistens == LIM_CONF_LISTENS || l->tls > TLS_MAX)
		return (-1);
	r = &self.next->rows;
	if (l->tls != 0 && self.next->tls[l->tls] == NULL) {
		if (!self.next->bad)
			log_warnx("listen on %s: has no certificate", l->text);
		self.next->bad = 1;
		return (0);
	}
	r->listens = grow(r->listens, r->nlistens, sizeof(*r->listens));
	row = &r->listens[r->nlistens++];
	row->fd = msg_take_fd(m, 0);
	row->is_unix = l->is_unix;
	row->text = xstrdup(l->text);
	row->tls = l->tls != 0 ? self.next->tls[l->tls] : NULL;
	if (row->tls != NULL)
		(void)SSL_CTX_up_ref(row->tls);
	return (0);
}
