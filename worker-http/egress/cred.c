/* SPDX-License-Identifier: ISC */
/*
 * The credential of an olpd-egress and its TLS settings.  This is the only
 * file that sees the secret; nobody else gets more than an evbuffer that
 * refers to it.  It must never be logged, copied or sent to anybody but the
 * provider.
 */
#include "worker-http/egress/cred.h"

#include <sys/mman.h>

#include <errno.h>
#include <event2/buffer.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"

/* Up to size bytes from the beginning; how many, or -1. */
static ssize_t
read_file(int fd, char *buf, size_t size)
{
	size_t len = 0;
	ssize_t n;

	while (len < size) {
		n = pread(fd, buf + len, size - len, (off_t)len);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return (-1);
		if (n == 0)
			break;
		len += (size_t)n;
	}
	return ((ssize_t)len);
}

/* The secret */

static int
secret_map(struct cred *c)
{
	void *p;

	c->secret_size = LIM_CRED_BYTES + 1;
	p = mmap(NULL, c->secret_size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return (-1);
	c->secret = p;
	(void)madvise(p, c->secret_size, MADV_DONTDUMP);
	/*
	 * Refused under a RLIMIT_MEMLOCK of 0; then it may be swapped, as
	 * prompts may.
	 */
	if (mlock(p, c->secret_size) == -1)
		log_warn("credential %s: mlock", c->id);
	return (0);
}

static const char *
secret_read(struct cred *c, int fd)
{
	ssize_t n = read_file(fd, c->secret, c->secret_size);
	size_t i;

	if (n == -1)
		return ("its file cannot be read");
	if ((size_t)n == c->secret_size)
		return ("its file is larger than 16 KB");
	while (n > 0 && (c->secret[n - 1] == '\n' || c->secret[n - 1] == '\r'))
		n--;
	if (n == 0)
		return ("its file is empty");
	for (i = 0; i < (size_t)n; i++) {
		if (c->secret[i] == '\n')
			return ("its file has more than one line");
		if (c->secret[i] <= ' ' || c->secret[i] > '~')
			return (
			    "its file has a blank, control or non-ASCII byte");
	}
	c->secret_len = (size_t)n;
	return (NULL);
}

/* TLS */

/*
 * How many certificates of the PEM text went into the store; -1 if one is
 * broken.
 */
static int
store_fill(X509_STORE *store, const char *pem, size_t len)
{
	STACK_OF(X509_INFO) * infos;
	X509_INFO *info;
	BIO *bio;
	int i, n = 0;

	if ((bio = BIO_new_mem_buf(pem, (int)len)) == NULL)
		return (-1);
	infos = PEM_X509_INFO_read_bio(bio, NULL, NULL, NULL);
	BIO_free(bio);
	if (infos == NULL)
		return (-1);
	for (i = 0; i < sk_X509_INFO_num(infos) && n != -1; i++) {
		info = sk_X509_INFO_value(infos, i);
		if (info->x509 == NULL)
			continue;
		n = X509_STORE_add_cert(store, info->x509) == 1 ? n + 1 : -1;
	}
	sk_X509_INFO_pop_free(infos, X509_INFO_free);
	ERR_clear_error();
	return (n);
}

static const char *
ca_read(struct cred *c, int fd)
{
	char *pem = xmalloc(LIM_CA_BYTES + 1);
	ssize_t len = read_file(fd, pem, LIM_CA_BYTES + 1);
	const char *why = NULL;
	int n;

	if (len == -1)
		why = "the CA certificates' file cannot be read";
	else if (len > LIM_CA_BYTES)
		why = "the CA certificates' file is larger than 4 MB";
	else {
		n = store_fill(
		    SSL_CTX_get_cert_store(c->tls), pem, (size_t)len);
		if (n == -1)
			why = "the CA certificates' file is not valid PEM";
		else if (n == 0)
			why = "the CA certificates' file holds no certificate";
	}
	free(pem);
	return (why);
}

static const char *
tls_new(struct cred *c)
{
	/* No configuration file: what is asked for stands here. */
	if (OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1 ||
	    (c->tls = SSL_CTX_new(TLS_client_method())) == NULL ||
	    SSL_CTX_set_min_proto_version(c->tls, TLS1_2_VERSION) != 1)
		return ("TLS cannot be set up");
	SSL_CTX_set_verify(c->tls, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_session_cache_mode(c->tls, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_options(c->tls,
	    SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
	SSL_CTX_set_mode(c->tls, SSL_MODE_RELEASE_BUFFERS);
	return (NULL);
}

/* The rest */

static const char *
copy_message(struct cred *c, const struct msg_egress_cred *m)
{
	size_t i;

	if ((c->wire = wire_find(m->provider)) == NULL)
		return ("its provider is not one that is brokered");
	if (m->kind != PROVIDER_CRED_API_KEY && m->kind != PROVIDER_CRED_OAUTH)
		return ("its kind is unknown");
	c->kind = m->kind;
	if (c->wire->auth[c->kind].field == NULL)
		return ("its kind is not one that its provider takes");
	if (m->port > UINT16_MAX || m->resolver_port > UINT16_MAX)
		return ("a port is out of range");
	(void)snprintf(c->host, sizeof(c->host), "%s",
	    m->host[0] != '\0' ? m->host : c->wire->host);
	c->port = m->port != 0 ? (uint16_t)m->port : c->wire->port;
	(void)snprintf(c->resolver, sizeof(c->resolver), "%s", m->resolver);
	c->resolver_port =
	    m->resolver_port != 0 ? (uint16_t)m->resolver_port : 53;
	for (i = 0; i < m->allow_n; i++)
		if (address_parse(m->allow[i], &c->allow[c->nallow++]) == -1)
			return ("an allowed address is not one");
	return (NULL);
}

struct cred *
cred_new(const struct msg_egress_cred *m, int secret_fd, int ca_fd, char *err,
    size_t size)
{
	struct cred *c = xcalloc(1, sizeof(*c));
	const char *why;

	c->refs = 1;
	(void)snprintf(c->id, sizeof(c->id), "%s", m->cred);
	why = copy_message(c, m);
	if (why == NULL && secret_map(c) == -1)
		why = "no memory for it";
	if (why == NULL)
		why = secret_read(c, secret_fd);
	if (why == NULL)
		why = tls_new(c);
	if (why == NULL)
		why = ca_read(c, ca_fd);
	if (why == NULL)
		return (c);
	(void)snprintf(err, size, "credential %s: %s", c->id, why);
	cred_unref(c);
	return (NULL);
}

struct cred *
cred_ref(struct cred *c)
{
	c->refs++;
	return (c);
}

void
cred_unref(struct cred *c)
{
	if (c == NULL || --c->refs > 0)
		return;
	if (c->secret != NULL) {
		explicit_bzero(c->secret, c->secret_size);
		(void)munmap(c->secret, c->secret_size);
	}
	SSL_CTX_free(c->tls);
	free(c);
}

static void
secret_written_cb(const void *data, size_t len, void *arg)
{
	(void)data;
	(void)len;
	cred_unref(arg);
}

void
cred_put_field(struct evbuffer *out, struct cred *c)
{
	if (evbuffer_add_printf(out, "%s: %s", c->wire->auth[c->kind].field,
		c->wire->auth[c->kind].before) == -1 ||
	    evbuffer_add_reference(out, c->secret, c->secret_len,
		secret_written_cb, cred_ref(c)) == -1 ||
	    evbuffer_add(out, "\r\n", 2) == -1)
		fatalx("credential %s: cannot append its field", c->id);
}
