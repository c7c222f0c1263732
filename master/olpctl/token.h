/* SPDX-License-Identifier: ISC */
/* A key's token: olp_ and 43 base64url characters of 32 random bytes. */
#ifndef OLPCTL_TOKEN_H
#define OLPCTL_TOKEN_H

#include <stdint.h>

#define TOKEN_BYTES 48 /* with the NUL */

/* A fresh one, from malloc(3); end it with freezero(token, TOKEN_BYTES). */
char *token_new(void);
/* SHA-256 of the whole string, olp_ included: what a caller sends as his key.
 */
void token_hash(const char *token, uint8_t hash[32]);
/* So that no core file or other process of this user shows one. Call before
 * token_new(). */
void token_guard(void);

#endif
