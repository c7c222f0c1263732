/* SPDX-License-Identifier: ISC */
/*
 * What a client prints, of any bytes, to every provider's parser.  There is
 * exactly one end, nothing after it, no text before the start, and the same
 * bytes come to the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/provider/provider.h"
#include "proto/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

struct got {
	int started, ended, text;
	size_t chunks, bytes;
	uint64_t hash; /* of everything that was given */
};

static void
mix(struct got *g, const void *data, size_t len)
{
	const unsigned char *p = data;

	while (len-- > 0)
		g->hash = (g->hash ^ *p++) * UINT64_C(1099511628211);
}

static int
take(void *arg, const struct chunk *c)
{
	struct got *g = arg;

	if (g->ended || (c->kind == CHUNK_TEXT && (!g->started || c->len == 0)))
		abort();
	if (c->kind == CHUNK_START && g->started++)
		abort();
	if (c->kind == CHUNK_USAGE && (c->in_tokens < 0 || c->out_tokens < 0))
		abort();
	if (c->kind == CHUNK_STOP && c->stop == STOP_END && !g->text)
		abort();
	if (c->kind == CHUNK_FAIL &&
	    (c->err == ERR_OK || c->err >= ERR_MAX || c->len >= LIM_TEXT ||
		c->retry_s > LIM_OUT_RETRY_S))
		abort();
	g->ended = c->kind == CHUNK_STOP || c->kind == CHUNK_FAIL;
	g->text |= c->kind == CHUNK_TEXT;
	g->chunks++;
	g->bytes += c->len;
	mix(g, &c->kind, sizeof(c->kind));
	mix(g, c->text, c->len);
	return (0);
}

static void
run(const struct provider_parse *p, const uint8_t *data, size_t size,
    struct got *g)
{
	void *state = p->new ();
	const uint8_t *nl;
	char *line;
	size_t n;

	memset(g, 0, sizeof(*g));
	for (; size > 0; data += n, size -= n) {
		nl = memchr(data, '\n', size);
		n = nl != NULL ? (size_t)(nl - data) : size;
		line = xmalloc(n + 1);
		memcpy(line, data, n);
		line[n] = '\0';
		if (p->line(state, line, n, take, g) != 0)
			abort();
		free(line);
		n += nl != NULL;
	}
	if (p->end(state, take, g) != 0 || !g->ended)
		abort();
	p->free(state);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct got one, two;
	size_t i;

	for (i = 0; parse_table[i] != NULL; i++) {
		run(parse_table[i], data, size, &one);
		run(parse_table[i], data, size, &two);
		if (one.hash != two.hash || one.chunks != two.chunks ||
		    one.bytes != two.bytes)
			abort();
	}
	return (0);
}
