/* SPDX-License-Identifier: ISC */
/*
 * olpctl doctor: runs the checks, asks a running daemon what its own probe
 * found, prints.  It changes nothing on the machine.
 */
#include "doctor.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "master/olpctl/olpctl.h"

static const char *const word[] = {
	[DOC_OK] = "ok", [DOC_WARN] = "warn", [DOC_FAIL] = "fail"
};

void
doctor_say(struct doctor *d, const char *name, enum verdict result,
    const char *todo, const char *fmt, ...)
{
	struct check *c;
	va_list ap;

	if (d->n == LIM_CTL_CHECKS)
		return; /* not met: whoever says many counts them */
	c = &d->check[d->n++];
	c->name = name;
	c->result = result;
	va_start(ap, fmt);
	(void)vsnprintf(c->seen, sizeof(c->seen), fmt, ap);
	va_end(ap);
	(void)snprintf(
	    c->todo, sizeof(c->todo), "%s", todo != NULL ? todo : "");
}

/* ---- files ---- */

char *
doctor_file(const struct doctor *d, const char *path)
{
	size_t n = 0, size = 0;
	char *full, *buf = NULL;
	ssize_t r = 0;
	int fd, error;

	xasprintf(&full, "%s%s", d->root, path);
	fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	free(full);
	if (fd == -1)
		return (NULL);
	do {
		n += r > 0 ? (size_t)r : 0;
		if (n + 1 >= size)
			buf = xreallocarray(
			    buf, size = size == 0 ? 4096 : size * 2, 1);
		r = read(fd, buf + n, size - n - 1);
	} while (r > 0 && n < LIM_CTL_FILE);
	error = errno;
	close(fd);
	if (r == -1) {
		free(buf);
		errno = error;
		return (NULL);
	}
	buf[n] = '\0';
	if (n > 0 && buf[n - 1] == '\n')
		buf[n - 1] = '\0';
	return (buf);
}

long
doctor_number(const struct doctor *d, const char *path, long none)
{
	char *text, *end;
	long v;

	if ((text = doctor_file(d, path)) == NULL)
		return (none);
	v = strtol(text, &end, 10);
	if (end == text)
		v = none;
	free(text);
	return (v);
}

static int
is_word(int c)
{
	return (isalnum((unsigned char)c) || c == '_' || c == '-');
}

int
doctor_has_word(const char *text, const char *w)
{
	const char *p = text;
	size_t n = strlen(w);

	while ((p = strstr(p, w)) != NULL) {
		if ((p == text || !is_word(p[-1])) && !is_word(p[n]))
			return (1);
		p += n;
	}
	return (0);
}

/* ---- the daemon ---- */

static void
names(const json_t *a, char *buf, size_t size)
{
	size_t i, n = 0;

	buf[0] = '\0';
	for (i = 0; i < json_array_size(a) && n < size; i++) {
		(void)snprintf(buf + n, size - n, "%s%s", i > 0 ? ", " : "",
		    json_string_value(json_array_get(a, i)) != NULL
			? json_string_value(json_array_get(a, i))
			: "?");
		n += strlen(buf + n);
	}
}

/* What worker-spawn's functional probe found. */
static void
posture(struct doctor *d, const json_t *report)
{
	const json_t *s = json_object_get(report, "sandbox");
	const char *message = json_string_value(json_object_get(s, "message"));
	const char *todo =
	    "the checks above name the cause; the journal names the step "
	    "(journalctl -u olpd)";
	char missing[LIM_TEXT / 2];

	if (message == NULL)
		message = "";
	names(json_object_get(s, "missing"), missing, sizeof(missing));
	if (!json_is_object(s))
		doctor_say(d, "probe", DOC_WARN,
		    "ask again when olpd-spawn is up",
		    "the running olpd has not told");
	else if (!json_is_true(json_object_get(s, "available")))
		doctor_say(d, "probe", DOC_FAIL, todo,
		    "no sandbox can be made: %.200s %.200s", message, missing);
	else if (!json_is_true(json_object_get(s, "active")))
		doctor_say(d, "probe",
		    d->conf->allow_partial ? DOC_WARN : DOC_FAIL, todo,
		    "boundaries that did not hold: %.200s; %.200s",
		    missing[0] != '\0' ? missing : "not named", message);
	else
		doctor_say(d, "probe", DOC_OK, NULL,
		    "every boundary held when it was tried");
}

/* The last check: for the report every right is given up. */
static void
doctor_daemon(struct doctor *d, const struct ctl *ctl)
{
	json_t *report = NULL;
	struct told t;
	int fd;

	fd = tell_status(ctl, &t);
	if (fd != -1 && drop_rights(ctl->conf) == 0)
		report = status_read(fd);
	if (fd != -1)
		close(fd);
	if (t.what == TELL_NO_DAEMON)
		doctor_say(d, "daemon", DOC_WARN,
		    d->privileged ? "start it: systemctl start olpd"
				  : "start it: olpd -d -f FILE",
		    "not running (%.300s)", t.text);
	else if (report == NULL)
		doctor_say(d, "daemon", DOC_FAIL,
		    t.what == TELL_DENIED ? "ask as the user who started it"
					  : "see journalctl -u olpd",
		    "it runs but gave no report: %.300s", t.text);
	else {
		doctor_say(
		    d, "daemon", DOC_OK, NULL, "running, and its parts answer");
		posture(d, report);
	}
	json_decref(report);
}

/* ---- the report ---- */

static json_t *
doctor_to_json(const struct doctor *d)
{
	json_t *a = json_array();
	const struct check *c;

	for (c = d->check; c < d->check + d->n; c++)
		json_array_append_new(a,
		    json_pack("{s:s, s:s, s:s, s:s?}", "name", c->name,
			"result", word[c->result], "seen", ctl_vis(c->seen),
			"todo", c->todo[0] != '\0' ? ctl_vis(c->todo) : NULL));
	return (a);
}

static void
doctor_print(const struct doctor *d)
{
	size_t count[] = { 0, 0, 0 };
	const struct check *c;

	for (c = d->check; c < d->check + d->n; c++) {
		printf("%-5s %-14s %s\n", word[c->result], c->name,
		    ctl_vis(c->seen));
		if (c->todo[0] != '\0')
			printf("%-20s -> %s\n", "", ctl_vis(c->todo));
		count[c->result]++;
	}
	printf("%zu ok, %zu to look at, %zu to mend\n", count[DOC_OK],
	    count[DOC_WARN], count[DOC_FAIL]);
}

int
doctor_run(struct ctl *ctl)
{
	struct doctor *d = xcalloc(1, sizeof(*d));
	int code, failed = 0;
	size_t i;

	d->root = "";
	d->privileged = geteuid() == 0;
	(void)ctl_conf(ctl, CONF_QUIET, &code);
	d->conf = ctl->conf;
	d->conf_good = ctl->conf_good;
	doctor_kernel(d);
	doctor_host(d);
	doctor_try(d);
	doctor_olpd(d, &ctl->errs);
	doctor_daemon(d, ctl);
	for (i = 0; i < d->n; i++)
		failed |= d->check[i].result == DOC_FAIL;
	if (ctl->opt[OPT_JSON] != NULL)
		code = ctl_json(doctor_to_json(d));
	else {
		doctor_print(d);
		code = ctl_flush();
	}
	free(d);
	return (code == -1 || failed ? CTL_FAILED : CTL_OK);
}
