/* SPDX-License-Identifier: ISC */
/*
 * A chat request's body to the internal form, to the parameters a provider
 * can carry, to the bytes its client reads.  Everything is a caller's.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/provider/provider.h"
#include "worker-http/ir.h"
#include "worker-http/params.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
check(const struct ir *ir)
{
	const struct ir_message *m;
	size_t n = 0;

	TAILQ_FOREACH(m, &ir->messages, entry) {
		if (m->len == 0 || m->text[m->len] != '\0')
			abort();
		n++;
	}
	m = TAILQ_LAST(&ir->messages, ir_messages);
	if (n == 0 || n != ir->nmessages || m->role != IR_USER ||
	    ir->model == NULL || ir->model[0] == '\0' ||
	    ir->nstop > IR_STOP_MAX || ir->max_tokens < 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ir_bad bad = { .err = ERR_OK };
	struct rendered r;
	struct ir *ir;
	char err[LIM_TEXT];
	size_t i;

	if ((ir = ir_from_chat((const char *)data, size, &bad)) == NULL) {
		if (bad.err == ERR_OK || bad.text[0] == '\0')
			abort();
		return (0);
	}
	check(ir);
	for (i = 0; render_table[i] != NULL; i++) {
		if (params_fit(ir, render_table[i], &bad) == -1)
			continue;
		if (render_table[i]->render(ir, &r, err, sizeof(err)) == 0)
			rendered_free(&r);
	}
	ir_free(ir);
	return (0);
}
