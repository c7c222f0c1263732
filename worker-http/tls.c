/* SPDX-License-Identifier: ISC */
/*
 * Makes TLS contexts in worker-http, before or in the cage: it opens no
 * file, OpenSSL's own configuration included.  A private key is held by its
 * context alone; the bytes it was read from are zeroed.
 */
#include "worker-http/tls.h"

#include <bsd/stdlib.h>
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/limits.h"
#include "common/log.h"

struct bytes {
	char *s;
	size_t len;
};

/* A whole file from its beginning. */
static int
read_file(int fd, struct bytes *b)
{
	ssize_t n;

	b->s = xmalloc(LIM_HTTPD_PEM);
	b->len = 0;
	if (lseek(fd, 0, SEEK_SET) == -1)
		return (-1);
	while (b->len < LIM_HTTPD_PEM) {
		if ((n = read(fd, b->s + b->len, LIM_HTTPD_PEM - b->len)) == 0)
			return (0);
		if (n == -1 && errno != EINTR)
			return (-1);
		b->len += n > 0 ? (size_t)n : 0;
	}
	errno = EFBIG;
	return (-1);
}

/* Never ask anybody: a key with a passphrase is no use to a daemon. */
static int
no_passphrase(char *buf, int size, int rwflag, void *arg)
{
	(void)buf;
	(void)size;
	(void)rwflag;
	(void)arg;
	return (-1);
}

static const char *
use_chain(SSL_CTX *ctx, BIO *bio)
{
	X509 *x;
	int n;

	for (n = 0;
	     (x = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL)) != NULL;
	     n++) {
		if (n == 0) {
			if (SSL_CTX_use_certificate(ctx, x) != 1)
				n = -1;
			X509_free(x);
			if (n == -1)
				return ("the certificate cannot be used");
		} else if (SSL_CTX_add0_chain_cert(ctx, x) != 1) {
			X509_free(x);
			return ("a certificate of the chain cannot be used");
		}
	}
	ERR_clear_error(); /* "no start line" is how the end looks */
	return (n > 0 ? NULL : "there is no certificate in the file");
}

static const char *
use_key(SSL_CTX *ctx, BIO *bio)
{
	EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
	int ok;

	if (key == NULL)
		return (
		    "there is no private key without passphrase in the file");
	ok = SSL_CTX_use_PrivateKey(ctx, key) == 1 &&
	    SSL_CTX_check_private_key(ctx) == 1;
	EVP_PKEY_free(key);
	return (
	    ok ? NULL : "the private key does not belong to the certificate");
}

static const char *
use_file(SSL_CTX *ctx, int fd, const char *(*use)(SSL_CTX *, BIO *))
{
	const char *why = "cannot be read";
	struct bytes b;
	BIO *bio = NULL;

	if (read_file(fd, &b) == 0 &&
	    (bio = BIO_new_mem_buf(b.s, (int)b.len)) != NULL)
		why = use(ctx, bio);
	BIO_free(bio);
	freezero(b.s, LIM_HTTPD_PEM);
	return (why);
}

/* We speak HTTP/1.1 alone; who offers only others gets no ALPN answer. */
static int
choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *outlen,
    const unsigned char *in, unsigned int inlen, void *arg)
{
	static const unsigned char http11[] = "\x08http/1.1";
	unsigned char *chosen;

	(void)ssl;
	(void)arg;
	if (SSL_select_next_proto(&chosen, outlen, http11, sizeof(http11) - 1,
		in, inlen) != OPENSSL_NPN_NEGOTIATED)
		return (SSL_TLSEXT_ERR_NOACK);
	*out = chosen;
	return (SSL_TLSEXT_ERR_OK);
}

SSL_CTX *
tls_new(int cert_fd, int key_fd, char *err, size_t size)
{
	const char *why;
	SSL_CTX *ctx;

	(void)OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
	if ((ctx = SSL_CTX_new(TLS_server_method())) == NULL)
		fatalx("tls: no context");
	(void)SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	(void)SSL_CTX_set_options(ctx,
	    SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET |
		SSL_OP_CIPHER_SERVER_PREFERENCE);
	(void)SSL_CTX_set_mode(
	    ctx, SSL_MODE_RELEASE_BUFFERS); /* 34 KB for each idle one */
	(void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, NULL);
	if ((why = use_file(ctx, cert_fd, use_chain)) != NULL)
		(void)snprintf(err, size, "certificate: %s", why);
	else if ((why = use_file(ctx, key_fd, use_key)) != NULL)
		(void)snprintf(err, size, "key: %s", why);
	ERR_clear_error();
	if (why == NULL)
		return (ctx);
	SSL_CTX_free(ctx);
	return (NULL);
}
