/* SPDX-License-Identifier: ISC */
/* The first process of a run, from clone3 to bwrap. */
#ifndef OLP_INSIDE_H
#define OLP_INSIDE_H

struct child_spec;

struct inside {
	const struct child_spec *spec;
	int gate;     /* one byte: go on; its end: do not */
	int ctl;      /* for failed steps, then the shim's */
	int out, err; /* the client's */
	int diag;     /* standard error of bwrap and shim */
};

/* Never returns: becomes bwrap, or tells the step that failed and ends. */
void inside_main(struct inside *) __attribute__((noreturn));

#endif
