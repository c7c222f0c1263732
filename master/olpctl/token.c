/* SPDX-License-Identifier: ISC */
/* Making tokens.  Part of olpctl; a token is in memory until it was shown. */
#include "token.h"

#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <err.h>
#include <openssl/evp.h>
#include <string.h>

#include "common/log.h"

#define RANDOM_BYTES 32
#define PREFIX "olp_"

static const char base64url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				"abcdefghijklmnopqrstuvwxyz0123456789-_";

/* 32 bytes are 43 characters: the last holds four bits and two zeros. */
static void
encode(char *out, const uint8_t *in)
{
	uint32_t bits = 0;
	int have = 0;
	size_t i;

	for (i = 0; i < RANDOM_BYTES; i++) {
		bits = bits << 8 | in[i];
		for (have += 8; have >= 6; have -= 6)
			*out++ = base64url[bits >> (have - 6) & 63];
		bits &= (1u << have) - 1;
	}
	*out++ = base64url[bits << (6 - have) & 63];
	*out = '\0';
}

char *
token_new(void)
{
	uint8_t raw[RANDOM_BYTES];
	char *token = xcalloc(1, TOKEN_BYTES);

	/* 32 bytes come whole once the kernel's generator is ready. */
	if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw))
		err(1, "getrandom");
	(void)strlcpy(token, PREFIX, TOKEN_BYTES);
	encode(token + strlen(PREFIX), raw);
	explicit_bzero(raw, sizeof(raw));
	return (token);
}

void
token_hash(const char *token, uint8_t hash[32])
{
	unsigned int len = 0;

	if (EVP_Digest(token, strlen(token), hash, &len, EVP_sha256(), NULL) !=
		1 ||
	    len != 32)
		errx(1, "SHA-256 is not available");
}

void
token_guard(void)
{
	static const struct rlimit none = { 0, 0 };

	(void)setrlimit(RLIMIT_CORE, &none);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
