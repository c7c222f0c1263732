/* SPDX-License-Identifier: ISC */
/*
 * Log lines and the allocation that cannot fail.  Linked into every process;
 * the one place besides a worker's state that holds globals.
 */
#include "common/log.h"

#include <sys/stat.h>

#define LIBBSD_OPENBSD_VIS /* strnvis(3) as in OpenBSD; the header asks to     \
			      choose */
#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <bsd/vis.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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
static int stalled[2]; /* standard error, the journal: takes nothing */
static size_t lost;    /* lines that neither took */

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

void
log_never_block(void)
{
	struct stat st;
	int fd;

	/* A socket has room when poll(2) says so; a terminal is a person's. */
	if (fstat(STDERR_FILENO, &st) == -1 || !S_ISFIFO(st.st_mode) ||
	    (fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK)) == -1)
		return;
	(void)dup2(fd, STDERR_FILENO);
	close(fd);
}

/*
 * Who reads our lines may stop; we do not stop with it.  A line waits a
 * moment for room, and once one has waited in vain none does until one goes.
 */
static int
has_room(int fd)
{
	struct pollfd p = { fd, POLLOUT, 0 };
	int *no = &stalled[fd != STDERR_FILENO], r;

	do
		r = poll(&p, 1, *no ? 0 : LIM_LOG_WAIT_MS);
	while (r == -1 && errno == EINTR);
	*no = r != 1;
	return (r == 1);
}

/* One write per line, so that lines of two processes do not mix. */
static int
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
	if (!has_room(STDERR_FILENO))
		return (-1);
	do
		r = write(STDERR_FILENO, line, len);
	while (r == -1 && errno == EINTR);
	return (r == -1 && errno == EAGAIN ? -1 : 0);
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
	if (journal_send(log_fd, &e) == 0)
		return (0);
	return (errno == EAGAIN && has_room(log_fd) ? journal_send(log_fd, &e)
						    : -1);
}

static void
emit(int prio, const char *id, const struct log_field *f, size_t n,
    const char *text)
{
	char told[80];
	size_t before = lost;

	if (to_journal(prio, id, f, n, text) == -1 &&
	    to_stderr(prio, f, n, text) == -1) {
		lost++;
		return;
	}
	if (before == 0)
		return;
	lost = 0;
	(void)snprintf(told, sizeof(told),
	    "log: %zu lines were lost: nobody read them", before);
	if (to_journal(LOG_WARNING, NULL, NULL, 0, told) == -1 &&
	    to_stderr(LOG_WARNING, NULL, 0, told) == -1)
		lost = before;
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
	emit(prio, NULL, NULL, 0, text);
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
	emit(event[ev].prio, event[ev].id, f, n, text);
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
