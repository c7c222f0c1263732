/* SPDX-License-Identifier: ISC */
/*
 * What a provider answers, of any bytes, to every wire table's counter: in
 * bounds, and the same the second time.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/provider/provider.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
check(const struct wire_usage *u)
{
	if (u->in_tokens > LIM_PARSE_TOKENS ||
	    u->out_tokens > LIM_PARSE_TOKENS ||
	    u->cache_read_tokens > LIM_PARSE_TOKENS ||
	    u->cache_write_tokens > LIM_PARSE_TOKENS ||
	    (u->ended != 0 && u->ended != 1))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_usage u = { .ended = 0 }, again;
	char *copy = xmalloc(size > 0 ? size : 1);
	size_t i;

	memcpy(copy, data, size);
	for (i = 0; wire_table[i] != NULL; i++) {
		wire_table[i]->usage(copy, size, &u);
		check(&u);
		again = u;
		wire_table[i]->usage(copy, size, &again);
		if (memcmp(&u, &again, sizeof(u)) != 0)
			abort();
	}
	free(copy);
	return (0);
}
