/* SPDX-License-Identifier: ISC */
/*
 * The state of the whole as worker-http knows it.  It owns the last posture
 * and load that worker-spawn told, and the reports being written to
 * descriptors of the master.  No prompt, token or path is ever in a report.
 */
#include "worker-http/status.h"

#include <bsd/string.h>
#include <bsd/sys/queue.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/chan.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/worker.h"
#include "worker-http/hold.h"
#include "worker-http/job.h"
#include "worker-http/json.h"
#include "worker-http/link.h"
#include "worker-http/queue.h"
#include "worker-http/rows.h"
#include "worker-http/run.h"
#include "worker-http/sched.h"
#include "worker-http/server.h"

struct report {
	struct event *ev;
	int fd;
	struct evbuffer *left;
};

static struct {
	struct msg_posture posture;
	int known;
	struct msg_posture_provider *providers;
	size_t n;
	struct msg_load load;
	size_t reports;
} self;

void
status_spawn_gone(void)
{
	memset(&self.posture, 0, sizeof(self.posture));
	memset(&self.load, 0, sizeof(self.load));
	free(self.providers);
	self.providers = NULL;
	self.n = 0;
	self.known = 0;
}

int
status_h_posture(struct chan *c, struct msg *m)
{
	(void)c;
	self.posture = *(const struct msg_posture *)m->body;
	self.known = 1;
	return (0);
}

static struct msg_posture_provider *
provider(const char *name)
{
	size_t i;

	for (i = 0; i < self.n; i++)
		if (strcmp(self.providers[i].name, name) == 0)
			return (&self.providers[i]);
	return (NULL);
}

int
status_h_provider(struct chan *c, struct msg *m)
{
	const struct msg_posture_provider *told = m->body;
	struct msg_posture_provider *p = provider(told->name);

	(void)c;
	if (p == NULL) {
		if (self.n == LIM_CONF_PROVIDERS)
			return (-1);
		self.providers = xreallocarray(
		    self.providers, self.n + 1, sizeof(*self.providers));
		p = &self.providers[self.n++];
	}
	*p = *told;
	return (0);
}

/* Something may have ended that was not ours to know: a chance to start more.
 */
int
status_h_load(struct chan *c, struct msg *m)
{
	(void)c;
	self.load = *(const struct msg_load *)m->body;
	queue_retry(sched_queue());
	sched_pump();
	return (0);
}

int
status_ready(void)
{
	return (link_spawn() != NULL && self.known && self.posture.available);
}

const char *
status_enforcement(const char *name)
{
	const struct msg_posture_provider *p = provider(name);

	return (p == NULL ? "unknown" : p->enforcement);
}

const char *
status_provider(const char *name)
{
	const struct msg_posture_provider *p = provider(name);

	if (p == NULL)
		return ("unknown");
	return (p->err == ERR_OK ? "ok" : err_name((enum olp_err)p->err));
}

static void
put_strings(struct evbuffer *out, const char (*list)[LIM_LIST_STR], size_t n)
{
	size_t i;

	json_put(out, "[");
	for (i = 0; i < n; i++) {
		if (i > 0)
			json_put(out, ",");
		json_put_str(out, list[i]);
	}
	json_put(out, "]");
}

static void
put_providers(struct evbuffer *out)
{
	const struct rows *r = rows();
	const struct msg_posture_provider *p;
	const char *sep = "";
	size_t i;

	json_put(out, "{");
	for (i = 0; i < r->nproviders; i++) {
		p = provider(r->providers[i].name);
		json_put(out, sep);
		json_put_str(out, r->providers[i].name);
		json_put(out, ":{");
		json_put_member(out, "read_protection",
		    p != NULL ? p->read_protection : NULL);
		json_put_member(
		    out, "recommended_tier", p != NULL ? p->tier : NULL);
		json_put(out, ",\"layers\":");
		if (p != NULL)
			put_strings(out, p->layers, p->layers_n);
		else
			json_put(out, "[]");
		json_put_member(out, "enforcement",
		    status_enforcement(r->providers[i].name));
		json_put_member(
		    out, "status", status_provider(r->providers[i].name));
		json_putf(out, ",\"limit\":%u}", r->providers[i].runs);
		sep = ",";
	}
	json_put(out, "}");
}

static void
put_sandbox(struct evbuffer *out)
{
	const char *message = self.known
	    ? self.posture.message
	    : "olpd-spawn has not told its posture yet";

	json_putf(out,
	    "\"sandbox\":{\"available\":%s,\"active\":%s,\"missing\":",
	    self.posture.available ? "true" : "false",
	    self.posture.active ? "true" : "false");
	put_strings(out, self.posture.missing, self.posture.missing_n);
	json_put_member(out, "message", message);
	json_put_member(out, "enforcement", self.posture.enforcement);
	json_put(out, ",\"providers\":");
	put_providers(out);
	json_put(out, "}");
}

static void
put_counts(struct evbuffer *out)
{
	const struct msg_conf_http *c = &rows()->http;

	json_putf(out,
	    "\"queue\":{\"waiting\":%zu,\"limit\":%u,\"limit_per_key\":%u,"
	    "\"keys\":",
	    queue_waiting(sched_queue()), c->queue, c->queue_per_key);
	queue_put_keys(sched_queue(), out);
	json_putf(out,
	    "},\"runs\":{\"running\":%zu,\"limit\":%u,\"settling\":%zu,"
	    "\"sandboxes\":%u,"
	    "\"memory\":%llu},\"stuck\":%u,",
	    queue_running(sched_queue()), c->runs, run_count(),
	    self.load.running, (unsigned long long)self.load.memory,
	    self.load.stuck);
	json_putf(out,
	    "\"connections\":{\"open\":%zu,\"limit\":%u},\"requests\":%zu,"
	    "\"held\":%zu",
	    server_connections(), c->connections, job_count(), hold_total());
}

/* `workers`: the master's own list, or NULL: what we are linked to. */
static void
report_put(struct evbuffer *out, const struct msg_status *workers)
{
	const struct rows *r = rows();

	json_put(out, "{");
	json_put_member(out, "status",
	    server_draining()    ? "stopping"
		: status_ready() ? (self.posture.active ? "ok" : "partial")
				 : "unavailable");
	json_put_member(out, "version", r->http.version);
	json_put_member(out, "instance", r->http.instance);
	json_putf(out, ",\"generation\":%llu,\"workers\":",
	    (unsigned long long)r->generation);
	if (workers != NULL)
		put_strings(out, workers->workers, workers->workers_n);
	else
		link_put(out);
	json_put(out, ",");
	put_sandbox(out);
	json_put(out, ",");
	put_counts(out);
	json_put(out, "}");
}

void
status_put(struct evbuffer *out)
{
	report_put(out, NULL);
}

static void
report_free(struct report *r)
{
	event_free(r->ev);
	close(r->fd);
	evbuffer_free(r->left);
	free(r);
	self.reports--;
}

static void
report_cb(evutil_socket_t fd, short what, void *arg)
{
	struct report *r = arg;

	if (what & EV_TIMEOUT ||
	    (evbuffer_write(r->left, fd) == -1 && errno != EAGAIN &&
		errno != EINTR) ||
	    evbuffer_get_length(r->left) == 0)
		report_free(r);
}

int
status_h_fd(struct chan *c, struct msg *m)
{
	static const struct timeval limit = { LIM_HTTPD_STATUS_S, 0 };
	struct report *r;

	(void)c;
	if (self.reports == LIM_HTTPD_STATUS)
		return (0); /* whoever asks so often sees the end of an empty
			       file */
	r = xcalloc(1, sizeof(*r));
	r->fd = msg_take_fd(m, 0);
	if (fcntl(r->fd, F_SETFL, O_RDWR | O_NONBLOCK) == -1)
		log_warn("status: fcntl");
	r->ev = event_new(
	    worker_base(), r->fd, EV_WRITE | EV_PERSIST, report_cb, r);
	r->left = evbuffer_new();
	if (r->ev == NULL || r->left == NULL)
		fatalx("status: no memory");
	self.reports++;
	report_put(r->left, m->body);
	json_put(r->left, "\n");
	if (event_add(r->ev, &limit) == -1)
		report_free(r); /* a file, which is nothing to wait for */
	return (0);
}
