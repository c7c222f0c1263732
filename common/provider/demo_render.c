/* SPDX-License-Identifier: ISC */
/*
 * A request as olpd's own client without an account reads it.  Linked into
 * worker-http.
 *
 * One message goes in as it is.  Several go in as one text, in which each
 * turn is fenced by a marker drawn at random for this request; what stands
 * between two fences is the turn's text, byte for byte:
 *
 *	olp-turns MARKER
 *	MARKER user
 *	...
 *	MARKER assistant
 *	...
 *	MARKER end
 *
 * Nobody who wrote a turn knew the marker, so no text in one changes whose
 * turn it is.  A single message that begins like such a text is fenced too.
 * Parameters and the system text mean nothing to a client without a model.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/provider/ir.h"
#include "common/provider/provider.h"

#define HEADER "olp-turns "
#define MARKER_BYTES 16 /* 128 bits: not to be guessed */

static void
draw_marker(char *hex)
{
	unsigned char b[MARKER_BYTES];
	size_t i;

	arc4random_buf(b, sizeof(b));
	for (i = 0; i < sizeof(b); i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", b[i]);
}

static void
put_turns(FILE *f, const struct ir *ir, const char *marker)
{
	const struct ir_message *m;

	(void)fprintf(f, HEADER "%s\n", marker);
	TAILQ_FOREACH(m, &ir->messages, entry) {
		(void)fprintf(f, "%s %s\n", marker,
		    m->role == IR_USER ? "user" : "assistant");
		(void)fwrite(m->text, 1, m->len, f);
		(void)fputc('\n', f);
	}
	(void)fprintf(f, "%s end\n", marker);
}

static int
is_plain(const struct ir *ir, const struct ir_message *last)
{
	return (ir->nmessages == 1 &&
	    (last->len < sizeof(HEADER) - 1 ||
		memcmp(last->text, HEADER, sizeof(HEADER) - 1) != 0));
}

/* As the client sees it, which refuses such a question. */
static int
is_blank(const struct ir_message *m)
{
	size_t i;

	for (i = 0; i < m->len; i++)
		if (m->text[i] == '\0' || strchr(" \t\r\n", m->text[i]) == NULL)
			return (0);
	return (1);
}

static int
demo_make(const struct ir *ir, struct rendered *r, char *err, size_t size)
{
	const struct ir_message *last = TAILQ_LAST(&ir->messages, ir_messages);
	char marker[2 * MARKER_BYTES + 1];
	FILE *f;

	memset(r, 0, sizeof(*r));
	if (last == NULL || is_blank(last)) {
		(void)snprintf(err, size, "the last message is empty");
		return (-1);
	}
	if ((f = open_memstream(&r->input, &r->input_len)) == NULL)
		fatal("open_memstream");
	if (is_plain(ir, last)) {
		(void)fwrite(last->text, 1, last->len, f);
	} else {
		draw_marker(marker);
		put_turns(f, ir, marker);
	}
	if (ferror(f) || fclose(f) == EOF)
		fatal("open_memstream");
	return (0);
}

extern const struct provider_render demo_render;
const struct provider_render demo_render = {
	.name = "demo",
	.render = demo_make,
};
