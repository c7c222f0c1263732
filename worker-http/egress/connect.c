/* SPDX-License-Identifier: ISC */
/*
 * TLS to the provider, in olpd-egress: version 1.2 or later, a certificate
 * that the CA file vouches for, and that names the configured host.  There
 * is no way to go on without; no session is kept and none is shared.
 */
#include "worker-http/egress/connect.h"

#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/limits.h"
#include "common/log.h"
#include "worker-http/egress/cred.h"
#include "worker-http/egress/dial.h"

struct connect {
	struct event_base *base;
	struct cred *cred;
	connect_cb *cb;
	void *arg;
	struct dial *dial;
	struct bufferevent *bev; /* in the handshake */
	struct event
	    *deadline; /* of the handshake, which bytes do not prolong */
};

void
connect_free(struct connect *c)
{
	if (c == NULL)
		return;
	dial_free(c->dial);
	if (c->bev != NULL)
		bufferevent_free(c->bev);
	event_free(c->deadline);
	cred_unref(c->cred);
	free(c);
}

static int
is_address(const char *host)
{
	struct address a;

	return (address_parse(host, &a) == 0);
}

static SSL *
tls_for(struct cred *cred)
{
	static const unsigned char alpn[] = "\x08http/1.1";
	SSL *ssl;
	int ok;

	if ((ssl = SSL_new(cred->tls)) == NULL)
		return (NULL);
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	if (is_address(cred->host))
		ok = X509_VERIFY_PARAM_set1_ip_asc(
		    SSL_get0_param(ssl), cred->host);
	else
		ok = SSL_set1_host(ssl, cred->host) &&
		    SSL_set_tlsext_host_name(ssl, cred->host);
	/* This one returns 0 for success. */
	if (!ok || SSL_set_alpn_protos(ssl, alpn, sizeof(alpn) - 1) != 0) {
		SSL_free(ssl);
		return (NULL);
	}
	return (ssl);
}

/* OpenSSL's own words, which are constants. */
static const char *
tls_error(struct bufferevent *bev)
{
	SSL *ssl = bufferevent_openssl_get_ssl(bev);
	unsigned long e = bufferevent_get_openssl_error(bev);
	long verify = ssl != NULL ? SSL_get_verify_result(ssl) : X509_V_OK;
	const char *reason = e != 0 ? ERR_reason_error_string(e) : NULL;

	if (verify != X509_V_OK)
		return (X509_verify_cert_error_string(verify));
	return (
	    reason != NULL ? reason : "connection closed in the TLS handshake");
}

static void
connect_event_cb(struct bufferevent *bev, short what, void *arg)
{
	struct connect *c = arg;

	if (what & BEV_EVENT_CONNECTED) {
		c->bev = NULL;
		bufferevent_disable(bev, EV_READ | EV_WRITE);
		bufferevent_setcb(bev, NULL, NULL, NULL, NULL);
		c->cb(c->arg, bev, NULL);
		return;
	}
	c->cb(c->arg, NULL, tls_error(bev));
}

static void
connect_deadline_cb(evutil_socket_t fd, short what, void *arg)
{
	struct connect *c = arg;

	(void)fd;
	(void)what;
	c->cb(c->arg, NULL, "the TLS handshake timed out");
}

static void
connect_dialled_cb(void *arg, int fd, const char *why)
{
	static const struct timeval deadline = { LIM_OUT_CONNECT_S, 0 };
	struct connect *c = arg;
	SSL *ssl;

	dial_free(c->dial);
	c->dial = NULL;
	if (fd == -1) {
		c->cb(c->arg, NULL, why);
		return;
	}
	if ((ssl = tls_for(c->cred)) == NULL) {
		close(fd);
		c->cb(c->arg, NULL, "TLS cannot be set up");
		return;
	}
	c->bev = bufferevent_openssl_socket_new(c->base, fd, ssl,
	    BUFFEREVENT_SSL_CONNECTING, BEV_OPT_CLOSE_ON_FREE);
	if (c->bev == NULL)
		fatalx("connect: bufferevent_openssl_socket_new");
	bufferevent_setcb(c->bev, NULL, NULL, connect_event_cb, c);
	evtimer_add(c->deadline, &deadline);
	bufferevent_enable(c->bev, EV_READ | EV_WRITE);
}

struct connect *
connect_new(
    struct event_base *base, struct cred *cred, connect_cb *cb, void *arg)
{
	struct connect *c = xcalloc(1, sizeof(*c));

	c->base = base;
	c->cred = cred_ref(cred);
	c->cb = cb;
	c->arg = arg;
	if ((c->deadline = evtimer_new(base, connect_deadline_cb, c)) == NULL)
		fatalx("connect: evtimer_new");
	c->dial = dial_new(base, cred, connect_dialled_cb, c);
	return (c);
}
