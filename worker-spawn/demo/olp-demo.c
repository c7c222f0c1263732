/* SPDX-License-Identifier: ISC */
/*
 * The client without an account: reads a question on standard input and
 * streams an answer as one JSON object a line (common/provider/demo_parse.c
 * reads them), so that a newcomer sees the whole path work.  It runs inside
 * a sandbox as a key's user, like any client; olpd has no rule for it.
 * Static: the sandbox needs to hold nothing for it.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define QUOTE_CHARS 200  /* of the question, in the answer */
#define QUOTE_BYTES 1024 /* four a character and the three dots */
#define PACE_NS 8000000  /* between words: a stream that can be watched */

struct question {
	char quote[QUOTE_BYTES];
	size_t len;
	unsigned int chars; /* in quote */
	int cut;            /* there is more */
	unsigned long words;
	/* the reader's state, over the borders of what read(2) gives */
	unsigned char part[4];
	size_t have, want;
	int in_word;
};

/* A string in JSON, without the quotes. UTF-8 passes whole. */
static void
put_escaped(const char *s, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '"' || c == '\\')
			(void)printf("\\%c", c);
		else if (c == '\n')
			(void)fputs("\\n", stdout);
		else if (c < 0x20 || c == 0x7f)
			(void)printf("\\u%04x", c);
		else
			(void)putchar(c);
	}
}

static void
put_line(const char *type, const char *field, const char *text, size_t len)
{
	(void)printf("{\"type\":\"%s\",\"%s\":\"", type, field);
	put_escaped(text, len);
	(void)fputs("\"}\n", stdout);
	if (fflush(stdout) == EOF)
		exit(1); /* nobody listens */
}

static void __attribute__((noreturn)) fail(const char *message)
{
	put_line("error", "message", message, strlen(message));
	exit(1);
}

/* How many bytes the character that begins so has; 0: none begins so. */
static size_t
utf8_length(unsigned char c)
{
	if (c < 0x80)
		return (1);
	if (c >= 0xc2 && c <= 0xdf)
		return (2);
	if (c >= 0xe0 && c <= 0xef)
		return (3);
	if (c >= 0xf0 && c <= 0xf4)
		return (4);
	return (0);
}

/* Not the overlong ones, no halves of UTF-16 pairs, nothing beyond U+10FFFF. */
static int
utf8_second_ok(unsigned char first, unsigned char second)
{
	switch (first) {
	case 0xe0:
		return (second >= 0xa0);
	case 0xed:
		return (second <= 0x9f);
	case 0xf0:
		return (second >= 0x90);
	case 0xf4:
		return (second <= 0x8f);
	default:
		return (1);
	}
}

static void
take_char(struct question *q)
{
	int space = q->want == 1 && strchr(" \t\r\n", q->part[0]) != NULL;

	if (!space && !q->in_word)
		q->words++;
	q->in_word = !space;
	if (q->chars == QUOTE_CHARS) {
		q->cut = 1;
		return;
	}
	memcpy(q->quote + q->len, q->part, q->want);
	q->len += q->want;
	q->chars++;
}

static void
take_byte(struct question *q, unsigned char c)
{
	if (q->have == 0)
		q->want = utf8_length(c);
	else if ((c & 0xc0) != 0x80 ||
	    (q->have == 1 && !utf8_second_ok(q->part[0], c)))
		q->want = 0;
	if (q->want == 0)
		fail("the question is not valid UTF-8");
	q->part[q->have++] = c;
	if (q->have == q->want) {
		take_char(q);
		q->have = 0;
	}
}

static void
read_question(struct question *q)
{
	static unsigned char buf[65536];
	ssize_t n, i;

	for (;;) {
		if ((n = read(STDIN_FILENO, buf, sizeof(buf))) == -1) {
			if (errno == EINTR)
				continue;
			fail("the question cannot be read");
		}
		if (n == 0)
			break;
		for (i = 0; i < n; i++)
			take_byte(q, buf[i]);
	}
	if (q->have != 0)
		fail("the question ends inside a character");
	if (q->words == 0)
		fail("the question is empty");
	if (q->cut) {
		memcpy(q->quote + q->len, "...", 3);
		q->len += 3;
	}
}

/* One line a word, each with the blanks before it; how many. */
static unsigned long
say(const char *text, size_t len)
{
	static const struct timespec pace = { 0, PACE_NS };
	unsigned long words = 0;
	size_t from = 0, to;

	while (from < len) {
		to = from;
		while (to < len && (text[to] == ' ' || text[to] == '\n'))
			to++;
		while (to < len && text[to] != ' ' && text[to] != '\n')
			to++;
		put_line("text", "text", text + from, to - from);
		(void)nanosleep(&pace, NULL);
		from = to;
		words++;
	}
	return (words);
}

static unsigned long __attribute__((format(printf, 1, 2)))
sayf(const char *fmt, ...)
{
	char buf[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(buf))
		fail("the answer is too long");
	return (say(buf, (size_t)n));
}

int
main(void)
{
	struct question q = { .len = 0 };
	unsigned long out;

	read_question(&q);
	put_line("start", "model", "demo", 4);
	out =
	    sayf("This is olpd's demo client: it has no model behind it and "
		 "needs no account, but "
		 "your question came all the way. It ran as user %lu, in a "
		 "sandbox with no network "
		 "and a home that vanishes with this answer.\n\nYou asked: \"",
		(unsigned long)getuid());
	out += say(q.quote, q.len);
	out += sayf("\"\n\nTo talk to a real model, configure a provider in "
		    "olpd.conf and ask for "
		    "one of its models.");
	(void)printf(
	    "{\"type\":\"usage\",\"in\":%lu,\"out\":%lu}\n", q.words, out);
	put_line("stop", "reason", "end", 3);
	return (0);
}
