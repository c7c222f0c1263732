/* SPDX-License-Identifier: ISC */
/*
 * Log lines and the allocation that cannot fail.  Linked into every process;
 * the one place besides a worker's state that holds globals.
 */
#include "common/log.h"

#define LIBBSD_OPENBSD_VIS /* strnvis(3) as in OpenBSD; the header asks to     \
			      choose */
#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <bsd/vis.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "common/journal.h"
#include "common/limits.h"

static const char *log_name = "olpd";
static int log_is_verbose;
static int log_fd = -1;

#define LOG_EVENT_ROW(name, id, prio) [name] = { id, prio },
static const struct {
	const char *id;
	int prio;
} event[EV_MAX] = { LOG_EVENT_LIST(LOG_EVENT_ROW) };
#undef LOG_EVENT_ROW

void
log_init(const char *name, int verbose)
{
	log_name = name;
	log_is_verbose = verbose;
}

int
log_verbose(void)
{
	return (log_is_verbose);
}

void
log_journal(int fd)
{
	if (log_fd != -1)
		close(log_fd);
	log_fd = fd;
}

int
log_journal_fd(void)
{
	return (log_fd);
}

/* One write per line, so that lines of two processes do not mix. */
static void
to_stderr(int prio, const struct log_field *f, size_t n, const char *text)
{
	char line[LIM_LOG_LINE];
	size_t i, len;
	ssize_t r;

	(void)snprintf(
	    line, sizeof(line) - 1, "<%d>%s: %s", prio, log_name, text);
	for (i = 0; i < n; i++) {
		if (f[i].value == NULL)
			continue;
		strlcat(line, i == 0 ? " [" : " ", sizeof(line) - 1);
		strlcat(line, f[i].name, sizeof(line) - 1);
		strlcat(line, "=", sizeof(line) - 1);
		strlcat(line, f[i].value, sizeof(line) - 1);
	}
	if (n > 0)
		strlcat(line, "]", sizeof(line) - 1);
	len = strlen(line);
	line[len++] = '\n';
	do
		r = write(STDERR_FILENO, line, len);
	while (r == -1 && errno == EINTR);
}

static int
to_journal(int prio, const char *id, const struct log_field *f, size_t n,
    const char *text)
{
	struct journal_entry e;
	char p[4];
	size_t i;

	if (log_fd == -1)
		return (-1);
	(void)snprintf(p, sizeof(p), "%d", prio);
	journal_begin(&e);
	journal_add(&e, "PRIORITY", p);
	journal_add(&e, "SYSLOG_FACILITY", "3");
	journal_add(&e, "SYSLOG_IDENTIFIER", log_name);
	if (id != NULL)
		journal_add(&e, "MESSAGE_ID", id);
	for (i = 0; i < n; i++)
		if (f[i].value != NULL)
			journal_add(&e, f[i].name, f[i].value);
	journal_add(&e, "MESSAGE", text);
	return (journal_send(log_fd, &e));
}

static void vlog(int, int, const char *, va_list)
    __attribute__((format(printf, 3, 0)));

static void
vlog(int prio, int error, const char *fmt, va_list ap)
{
	char text[LIM_LOG_LINE / 2];
	int saved = errno;
	size_t len;

	(void)vsnprintf(text, sizeof(text), fmt, ap);
	if (error != 0) {
		len = strlen(text);
		(void)snprintf(
		    text + len, sizeof(text) - len, ": %s", strerror(error));
	}
	if (to_journal(prio, NULL, NULL, 0, text) == -1)
		to_stderr(prio, NULL, 0, text);
	errno = saved;
}

#define LOG_BODY(prio, error)                                                  \
	do {                                                                   \
		va_list ap;                                                    \
		va_start(ap, fmt);                                             \
		vlog(prio, error, fmt, ap);                                    \
		va_end(ap);                                                    \
	} while (0)

void
log_warn(const char *fmt, ...)
{
	LOG_BODY(LOG_WARNING, errno);
}

void
log_warnx(const char *fmt, ...)
{
	LOG_BODY(LOG_WARNING, 0);
}

void
log_info(const char *fmt, ...)
{
	LOG_BODY(LOG_INFO, 0);
}

void
log_debug(const char *fmt, ...)
{
	if (log_is_verbose)
		LOG_BODY(LOG_DEBUG, 0);
}

void
fatal(const char *fmt, ...)
{
	LOG_BODY(LOG_CRIT, errno);
	exit(1);
}

void
fatalx(const char *fmt, ...)
{
	LOG_BODY(LOG_CRIT, 0);
	exit(1);
}

void
log_event(enum log_event ev, const struct log_field *f, size_t n,
    const char *fmt, ...)
{
	char text[LIM_LOG_LINE / 2];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (to_journal(event[ev].prio, event[ev].id, f, n, text) == -1)
		to_stderr(event[ev].prio, f, n, text);
}

char *
log_vis(char *buf, size_t size, const char *src, size_t len)
{
	/* strvisx() writes up to four bytes for one and a NUL. */
	if (len > (size - 1) / 4)
		len = (size - 1) / 4;
	strvisx(buf, src, len, VIS_CSTYLE | VIS_NL | VIS_TAB);
	return (buf);
}

void *
xmalloc(size_t size)
{
	void *p;

	if ((p = malloc(size == 0 ? 1 : size)) == NULL)
		fatal("malloc %zu", size);
	return (p);
}

void *
xcalloc(size_t n, size_t size)
{
	void *p;

	if ((p = calloc(n == 0 ? 1 : n, size)) == NULL)
		fatal("calloc %zu x %zu", n, size);
	return (p);
}

void *
xreallocarray(void *old, size_t n, size_t size)
{
	void *p;

	if ((p = reallocarray(old, n == 0 ? 1 : n, size)) == NULL)
		fatal("reallocarray %zu x %zu", n, size);
	return (p);
}

char *
xstrdup(const char *s)
{
	return (xstrndup(s, strlen(s)));
}

char *
xstrndup(const char *s, size_t n)
{
	char *p;

	if ((p = strndup(s, n)) == NULL)
		fatal("strndup");
	return (p);
}

int
xasprintf(char **out, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(out, fmt, ap);
	va_end(ap);
	if (n == -1)
		fatal("vasprintf");
	return (n);
}
