/* SPDX-License-Identifier: ISC */
/*
 * Listeners, endpoints and the end of service in worker-http.  It owns the
 * listening sockets it was handed and counts connections; it can open none
 * of either kind itself.
 */
#include "worker-http/server.h"

#include <sys/socket.h>

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/chan.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/worker.h"
#include "worker-http/api.h"
#include "worker-http/conn.h"
#include "worker-http/job.h"
#include "worker-http/rows.h"

static const struct endpoint endpoints[] = {
	{ "POST", "/v1/chat/completions", 0, ACCESS_KEY, 1, api_chat_start },
	{ "GET", "/v1/models", 0, ACCESS_KEY, 0, api_models_list },
	{ "GET", "/v1/models/", 1, ACCESS_KEY, 0, api_models_one },
	{ "GET", "/v1/olp/parameters", 0, ACCESS_KEY, 0,
	    api_models_parameters },
	{ "GET", "/health", 0, ACCESS_OPEN, 0, api_health },
	{ "GET", "/ready", 0, ACCESS_OPEN, 0, api_ready },
};

struct listener {
	int fd;
	int wants_tls;
	SSL_CTX
	*tls; /* NULL although wanted: whoever connects is turned away */
	char *text;
	struct event *ev;
};

static struct {
	struct listener *listeners;
	size_t n;
	size_t connections;
	int started, draining, drained;
	struct event *pause; /* after the machine ran out of descriptors */
} self;

enum olp_err
server_endpoint(const char *method, const char *path,
    const struct endpoint **ep, const char **allow)
{
	const struct endpoint *e;
	size_t i, n;

	*allow = NULL;
	for (i = 0; i < sizeof(endpoints) / sizeof(endpoints[0]); i++) {
		e = &endpoints[i];
		n = strlen(e->path);
		if (e->prefix
			? strncmp(path, e->path, n) != 0 || path[n] == '\0'
			: strcmp(path, e->path) != 0)
			continue;
		if (strcmp(method, e->method) != 0) {
			*allow = e->method;
			continue;
		}
		*ep = e;
		return (ERR_OK);
	}
	return (*allow != NULL ? ERR_METHOD : ERR_NOT_FOUND);
}

static void
listeners_arm(int on)
{
	size_t i;

	for (i = 0; i < self.n; i++) {
		if (on)
			event_add(self.listeners[i].ev, NULL);
		else
			event_del(self.listeners[i].ev);
	}
}

static void
pause_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	listeners_arm(1);
}

/* Out of descriptors or memory: the caller waits in the backlog. */
static void
accept_pause(void)
{
	static const struct timeval tv = { 0, 100000 };

	log_warn("accept: pause of 100 ms, %zu connections are open",
	    self.connections);
	listeners_arm(0);
	event_add(self.pause, &tv);
}

/* 0: no more for now. */
static int
accept_one(const struct listener *l)
{
	int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd == -1) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
		    errno == ENOMEM)
			accept_pause();
		else if (errno != EAGAIN)
			return (
			    1); /* that connection is over before it began */
		return (0);
	}
	if (self.connections >= rows()->http.connections + LIM_HTTPD_EXTRA ||
	    (l->wants_tls && l->tls == NULL)) {
		close(fd);
		return (1);
	}
	self.connections++;
	/* Who came and says nothing makes room for who has something to say. */
	conn_new(fd, l->tls,
	    self.connections > rows()->http.connections && !conn_evict());
	return (1);
}

static void
accept_cb(evutil_socket_t fd, short what, void *arg)
{
	const struct listener *l = arg;
	int n;

	(void)fd;
	(void)what;
	for (n = 0; n < LIM_HTTPD_ACCEPT && accept_one(l); n++)
		;
}

/* Connections inherit these. */
static void
listener_options(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{ IPPROTO_TCP, TCP_NODELAY, 1 }, /* 44 ms a stream without it */
		{ SOL_SOCKET, SO_KEEPALIVE,
		    1 }, /* who vanishes without a FIN */
		{ IPPROTO_TCP, TCP_KEEPIDLE, 60 },
		{ IPPROTO_TCP, TCP_KEEPINTVL, 15 },
		{ IPPROTO_TCP, TCP_KEEPCNT, 4 },
		{ SOL_SOCKET, SO_SNDBUF, LIM_HTTPD_SNDBUF },
	};
	size_t i;

	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (setsockopt(fd, options[i].level, options[i].name,
			&options[i].value, sizeof(options[i].value)) == -1)
			log_warn("listener: setsockopt %d", options[i].name);
}

static void
listeners_free(struct listener *v, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (v[i].ev != NULL)
			event_free(v[i].ev);
		close(v[i].fd);
		SSL_CTX_free(v[i].tls);
		free(v[i].text);
	}
	free(v);
}

/* A certificate that is no good does not take away the one in use. */
static SSL_CTX *
tls_in_use(const char *text)
{
	size_t i;

	for (i = 0; i < self.n; i++)
		if (strcmp(self.listeners[i].text, text) == 0 &&
		    self.listeners[i].tls != NULL &&
		    SSL_CTX_up_ref(self.listeners[i].tls) == 1)
			return (self.listeners[i].tls);
	return (NULL);
}

static void
listener_take(struct listener *l, struct rows_listen *row)
{
	l->fd = row->fd;
	l->wants_tls = row->wants_tls;
	l->tls = row->tls != NULL || !row->wants_tls ? row->tls
						     : tls_in_use(row->text);
	l->text = xstrdup(row->text);
	row->fd = -1;
	row->tls = NULL;
	if (fcntl(l->fd, F_SETFL, O_RDWR | O_NONBLOCK) == -1)
		fatal("listener: fcntl");
	if (!row->is_unix)
		listener_options(l->fd);
}

static void
listeners_start(void)
{
	struct listener *l;
	size_t i;

	for (i = 0; i < self.n; i++) {
		l = &self.listeners[i];
		l->ev = event_new(
		    worker_base(), l->fd, EV_READ | EV_PERSIST, accept_cb, l);
		if (l->ev == NULL || event_add(l->ev, NULL) == -1)
			fatalx("listener: event_add");
	}
}

void
server_configure(struct rows_listen *rows_listens, size_t n)
{
	struct listener *old = self.listeners, *v = NULL;
	size_t i, nold = self.n;

	if (!self.draining) {
		v = xcalloc(n > 0 ? n : 1, sizeof(*v));
		for (i = 0; i < n; i++)
			listener_take(&v[i], &rows_listens[i]);
	}
	self.listeners = v;
	self.n = v == NULL ? 0 : n;
	listeners_free(old, nold);
	if (self.started)
		listeners_start();
}

void
server_start(void)
{
	if ((self.pause = evtimer_new(worker_base(), pause_cb, NULL)) == NULL)
		fatalx("event_new");
	self.started = 1;
	listeners_start();
}

static void
drain_check(void)
{
	struct msg_empty nothing = { 0 };

	if (!self.draining || self.drained || self.connections > 0 ||
	    job_count() > 0)
		return;
	self.drained = 1;
	(void)chan_send(worker_master(), MT_DRAINED, &nothing);
}

int
server_h_drain(struct chan *c, struct msg *m)
{
	(void)c;
	(void)m;
	self.draining = 1;
	event_del(self.pause);
	listeners_free(self.listeners, self.n);
	self.listeners = NULL;
	self.n = 0;
	conn_drain_all();
	drain_check();
	return (0);
}

int
server_draining(void)
{
	return (self.draining);
}

size_t
server_connections(void)
{
	return (self.connections);
}

void
server_conn_gone(void)
{
	self.connections--;
	drain_check();
}
