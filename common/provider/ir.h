/* SPDX-License-Identifier: ISC */
/*
 * The one internal form of a request, whatever API it came by.  Data only:
 * worker-http/ir.c makes it from JSON, <provider>_render.c turns it into the
 * bytes a client reads.
 */
#ifndef OLP_IR_H
#define OLP_IR_H

#include <bsd/sys/queue.h>
#include <stddef.h>
#include <stdint.h>

enum ir_role { IR_USER, IR_ASSISTANT };

struct ir_message {
	TAILQ_ENTRY(ir_message) entry;
	enum ir_role role;
	char *text;  /* parts joined; may hold NUL bytes, so use len */
	size_t len;
};
TAILQ_HEAD(ir_messages, ir_message);

#define IR_STOP_MAX 4
struct ir {
	char *model;        /* as asked for */
	char *system;       /* system and developer texts joined by a blank line, or NULL */
	size_t system_len;
	struct ir_messages messages; /* at least one, the last is IR_USER */
	size_t nmessages;
	int stream;
	int include_usage;
	int has_temperature, has_top_p;
	double temperature, top_p;
	int64_t max_tokens; /* 0: not given */
	char *stop[IR_STOP_MAX];
	size_t nstop;
	char *ignored;      /* "user, seed": what X-OLP-Ignored says, or NULL */
};

void ir_free(struct ir *);

#endif
