/* SPDX-License-Identifier: ISC */
/*
 * olpd.conf and a key file from any bytes.  What is accepted must print as
 * text that reads back to the same print; what is refused must say why.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/conf/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static const char *const providers[] = { "claude", "demo", NULL };

/* As assert(3), which is not there in a build for release. */
static void
must(int holds)
{
	if (!holds)
		abort();
}

/* The print of a tree; the caller frees. */
static char *
print_conf(const struct conf *c, size_t *len)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, len);

	must(f != NULL);
	conf_print(c, f);
	fclose(f);
	return (text);
}

static char *
print_key(const struct conf_key *k, size_t *len)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, len);

	must(f != NULL);
	conf_print_key(k, f);
	fclose(f);
	return (text);
}

static void
same(char *a, size_t alen, char *b, size_t blen)
{
	must(alen == blen && memcmp(a, b, alen) == 0);
	free(a);
	free(b);
}

static void
fuzz_conf(const char *data, size_t size)
{
	struct conf_errors e = { 0 };
	struct conf *c, *again;
	size_t n, m;
	char *text;

	c = conf_load_text("f", data, size, &e);
	must((c == NULL) == (e.n > 0));
	if (c != NULL) {
		text = print_conf(c, &n);
		again = conf_load_text("f", text, n, &e);
		must(again != NULL);
		same(text, n, print_conf(again, &m), m);
		conf_free(again);
	}
	conf_free(c);
	conf_errors_free(&e);
}

static void
fuzz_key(const char *data, size_t size)
{
	struct conf_errors e = { 0 };
	struct conf_key *k, *again;
	size_t n, m;
	char *text;

	k = conf_load_key_text(NULL, "alice.conf", data, size, &e);
	must((k == NULL) == (e.n > 0));
	if (k != NULL) {
		text = print_key(k, &n);
		again = conf_load_key_text(NULL, "alice.conf", text, n, &e);
		must(again != NULL);
		same(text, n, print_key(again, &m), m);
		free(again);
	}
	free(k);
	conf_errors_free(&e);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = size > 0 ? (const char *)data : "";

	conf_set_known_providers(providers);
	fuzz_conf(text, size);
	fuzz_key(text, size);
	return (0);
}
