/* SPDX-License-Identifier: ISC */
/*
 * olpd-egress's resolver.  An answer is the network's word: it is only
 * believed to be a list of addresses, which address.c judges one by one.
 * Must never open a file after resolve_init().
 */
#include "worker-http/egress/resolve.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <event2/dns.h>
#include <event2/event.h>
#include <event2/util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/limits.h"
#include "common/log.h"

static struct {
	struct event_base *base;
	struct evdns_base *dns;
} self;

struct resolve {
	resolve_cb *cb;
	void *arg;
	struct sockaddr_storage addrs[LIM_OUT_ADDRS];
	size_t n;
	const char *why;
	struct evdns_getaddrinfo_request *request;
	struct event *timer; /* the deadline, or a result known at once */
	int cancelled;       /* evdns still has it, nobody else */
	int settled;         /* evdns has answered */
};

/* 0, or -1: no address. */
static int
to_sockaddr(const char *addr, uint16_t port, struct sockaddr_storage *ss)
{
	struct sockaddr_in in4 = { .sin_family = AF_INET,
		.sin_port = htons(port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
		.sin6_port = htons(port) };

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET, addr, &in4.sin_addr) == 1)
		memcpy(ss, &in4, sizeof(in4));
	else if (inet_pton(AF_INET6, addr, &in6.sin6_addr) == 1)
		memcpy(ss, &in6, sizeof(in6));
	else
		return (-1);
	return (0);
}

static void
dns_options(struct evdns_base *dns)
{
	/* Two tries of 3 s end before LIM_OUT_RESOLVE_S. */
	if (evdns_base_set_option(dns, "timeout:", "3") != 0 ||
	    evdns_base_set_option(dns, "attempts:", "2") != 0 ||
	    /* Home routers lower the case; who answers is proved by TLS. */
	    evdns_base_set_option(dns, "randomize-case:", "0") != 0)
		fatalx("resolver: evdns_base_set_option");
}

/* libevent's words on name servers that fail and come back. */
static void
dns_log(int is_warning, const char *msg)
{
	if (is_warning)
		log_warnx("resolver: %s", msg);
	else
		log_debug("resolver: %s", msg);
}

int
resolve_init(struct event_base *base, const char *server, uint16_t port)
{
	struct sockaddr_storage ss;

	self.base = base;
	(void)evutil_secure_rng_init();
	evdns_set_log_fn(dns_log);
	if ((self.dns = evdns_base_new(base, 0)) == NULL)
		fatalx("resolver: evdns_base_new");
	dns_options(self.dns);
	(void)evdns_base_load_hosts(self.dns, "/etc/hosts");
	/*
	 * Only the servers: a search list would try other names than the
	 * configured one.
	 */
	if (server[0] == '\0')
		(void)evdns_base_resolv_conf_parse(
		    self.dns, DNS_OPTION_NAMESERVERS, "/etc/resolv.conf");
	else if (to_sockaddr(server, port, &ss) == -1 ||
	    evdns_base_nameserver_sockaddr_add(
		self.dns, (struct sockaddr *)&ss, sizeof(ss), 0) != 0)
		return (-1);
	if (evdns_base_count_nameservers(self.dns) == 0)
		log_warnx("resolver: /etc/resolv.conf names no server");
	return (0);
}

static void
resolve_clear(struct resolve *r)
{
	event_free(r->timer);
	free(r);
}

static void
add(struct resolve *r, const struct sockaddr *sa, socklen_t len)
{
	if (r->n < LIM_OUT_ADDRS && len <= sizeof(r->addrs[0]))
		memcpy(&r->addrs[r->n++], sa, len);
}

static void
resolve_tell(struct resolve *r)
{
	if (r->n == 0 && r->why == NULL)
		r->why = "the name has no address";
	r->cb(r->arg, r->addrs, r->n, r->why);
	resolve_clear(r);
}

/* Either the answer was known at once, or evdns took too long. */
static void
resolve_timer_cb(evutil_socket_t fd, short what, void *arg)
{
	struct resolve *r = arg;
	resolve_cb *cb = r->cb;

	(void)fd;
	(void)what;
	if (r->settled) {
		resolve_tell(r);
		return;
	}
	arg = r->arg;
	resolve_free(r);
	cb(arg, NULL, 0, "the resolver did not answer in time");
}

static void
resolve_evdns_cb(int error, struct evutil_addrinfo *res, void *arg)
{
	struct resolve *r = arg;
	struct evutil_addrinfo *ai;

	for (ai = res; ai != NULL && error == 0; ai = ai->ai_next)
		add(r, ai->ai_addr, (socklen_t)ai->ai_addrlen);
	if (res != NULL)
		evutil_freeaddrinfo(res);
	r->settled = 1;
	r->request = NULL;
	if (error != 0)
		r->why = evutil_gai_strerror(error);
	if (r->cancelled)
		resolve_clear(r);
	else
		event_active(r->timer, EV_TIMEOUT, 0);
}

/* What needs no server: an address, and localhost by RFC 6761. */
static int
resolve_here(struct resolve *r, const char *host, uint16_t port)
{
	struct sockaddr_storage ss;

	if (strcasecmp(host, "localhost") == 0) {
		if (to_sockaddr("127.0.0.1", port, &ss) == 0)
			add(r, (struct sockaddr *)&ss, sizeof(ss));
		if (to_sockaddr("::1", port, &ss) == 0)
			add(r, (struct sockaddr *)&ss, sizeof(ss));
	} else if (to_sockaddr(host, port, &ss) == 0)
		add(r, (struct sockaddr *)&ss, sizeof(ss));
	return (r->n > 0);
}

struct resolve *
resolve_new(const char *host, uint16_t port, resolve_cb *cb, void *arg)
{
	static const struct timeval deadline = { LIM_OUT_RESOLVE_S, 0 };
	struct evutil_addrinfo hints = { .ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_protocol = IPPROTO_TCP,
		.ai_flags = EVUTIL_AI_NUMERICSERV };
	struct resolve *r = xcalloc(1, sizeof(*r));
	struct evdns_getaddrinfo_request *request;
	char service[8];

	r->cb = cb;
	r->arg = arg;
	if ((r->timer = evtimer_new(self.base, resolve_timer_cb, r)) == NULL)
		fatalx("resolver: evtimer_new");
	if (resolve_here(r, host, port)) {
		r->settled = 1;
		event_active(r->timer, EV_TIMEOUT, 0);
		return (r);
	}
	(void)snprintf(service, sizeof(service), "%u", port);
	evtimer_add(r->timer, &deadline);
	request = evdns_getaddrinfo(
	    self.dns, host, service, &hints, resolve_evdns_cb, r);
	if (!r->settled)
		r->request = request;
	return (r);
}

void
resolve_free(struct resolve *r)
{
	if (r == NULL)
		return;
	if (r->request == NULL || r->settled) {
		resolve_clear(r);
		return;
	}
	/* evdns answers this by its callback, now or later. */
	r->cancelled = 1;
	event_del(r->timer);
	evdns_getaddrinfo_cancel(r->request);
}
