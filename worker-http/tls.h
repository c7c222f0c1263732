/* SPDX-License-Identifier: ISC */
/* TLS contexts of listeners, out of descriptors. */
#ifndef OLP_HTTPD_TLS_H
#define OLP_HTTPD_TLS_H

#include <openssl/types.h>
#include <stddef.h>

/*
 * A server context from PEM files that are open for reading: the
 * certificate chain and its private key.  The descriptors stay the caller's.
 * NULL with a sentence in err when one is not PEM or the two do not belong
 * together.
 */
SSL_CTX *tls_new(int cert_fd, int key_fd, char *err, size_t size);

#endif
