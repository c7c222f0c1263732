/* SPDX-License-Identifier: ISC */
/*
 * common/http: every rule of the parser with its status, every accepted
 * message cut in every way, and the writer against injection.
 */
#include "common/http/http.h"

#include <check.h>
#include <event2/buffer.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/limits.h"
#include "tests/http_trace.h"
#include "tests/unit/suite.h"

#define NELEM(a) (sizeof(a) / sizeof((a)[0]))
#define BIG (1U << 20)
#define G "GET / HTTP/1.1\r\nHost: a\r\n"
#define P "POST / HTTP/1.1\r\nHost: a\r\n"
#define CHUNKED P "Transfer-Encoding: chunked\r\n\r\n"
#define R "HTTP/1.1 200 OK\r\n"
#define HIDDEN "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n"

/* A way to cut: the first piece, all later ones, the bound of a call. */
static char *
trace(enum http_kind kind, uint64_t body_max, const char *in, size_t len,
    size_t first, size_t step, size_t max)
{
	struct http_trace t;
	size_t n;

	http_trace_open(&t, kind, body_max, max);
	http_trace_feed(&t, in, len, first, step);
	return (http_trace_close(&t, &n));
}

/* The same bytes at once, but each in a chain of its own. */
static char *
trace_chains(enum http_kind kind, uint64_t body_max, const char *in, size_t len)
{
	struct http_trace t;
	size_t i, n;

	http_trace_open(&t, kind, body_max, 0);
	for (i = 0; i < len; i++)
		ck_assert_int_eq(
		    evbuffer_add_reference(t.in, in + i, 1, NULL, NULL), 0);
	t.fed = len;
	http_trace_pump(&t);
	return (http_trace_close(&t, &n));
}

static void
same(char *got, const char *want, const char *in, const char *how, size_t at)
{
	ck_assert_msg(strcmp(got, want) == 0,
	    "%s at %zu: got\n%s\nwant\n%s\nfor\n%s", how, at, got, want, in);
	free(got);
}

/* What len bytes come to, however they are cut. */
static char *
all_cuts(enum http_kind kind, uint64_t body_max, const char *in, size_t len)
{
	char *want = trace(kind, body_max, in, len, len, len, 0);
	size_t i;

	for (i = 1; i <= len && len < 2048; i++)
		same(trace(kind, body_max, in, len, i, len, 0), want, in,
		    "split", i);
	for (i = 1; i <= 7; i += 2) {
		same(trace(kind, body_max, in, len, i, i, 0), want, in,
		    "pieces", i);
		same(trace(kind, body_max, in, len, len, len, i), want, in,
		    "bound", i);
	}
	same(trace_chains(kind, body_max, in, len), want, in, "chains", 1);
	return (want);
}

struct accepted {
	enum http_kind kind;
	const char *in;
	const char *trace; /* without its last line: all bytes are taken */
};

static const struct accepted accepted[] = {
	{ HTTP_REQUEST, "GET / HTTP/1.1\r\nHost: localhost:4000\r\n\r\n",
	    "GET / path=/ query=- 1.1 none keep\nhost=[localhost:4000]\nbody  "
	    "end\n" },
	{ HTTP_REQUEST,
	    "GET /v1/models?limit=5&x=?y HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
	    "GET /v1/models?limit=5&x=?y path=/v1/models query=limit=5&x=?y "
	    "1.1 none keep\n"
	    "host=[[::1]:80]\nbody  end\n" },
	{ HTTP_REQUEST, "DELETE //a/%2e%2E/~b? HTTP/1.1\r\nHost: a\r\n\r\n",
	    "DELETE //a/%2e%2E/~b? path=//a/%2e%2E/~b query= 1.1 none "
	    "keep\nhost=[a]\nbody  end\n" },
	{ HTTP_REQUEST, "ABCDEFGHIJKLMNO / HTTP/1.1\r\nHost: a\r\n\r\n",
	    "ABCDEFGHIJKLMNO / path=/ query=- 1.1 none keep\nhost=[a]\nbody  "
	    "end\n" },
	/* one empty line in front, as some clients send after a body */
	{ HTTP_REQUEST, "\r\n" G "\r\n",
	    "GET / path=/ query=- 1.1 none keep\nhost=[a]\nbody  end\n" },
	{ HTTP_REQUEST, G "\r\n\r\n" G "\r\n",
	    "GET / path=/ query=- 1.1 none keep\nhost=[a]\nbody  end\n"
	    "GET / path=/ query=- 1.1 none keep\nhost=[a]\nbody  end\n" },
	/* HTTP/1.0: no Host needed, closed unless asked */
	{ HTTP_REQUEST, "GET / HTTP/1.0\r\n\r\n",
	    "GET / path=/ query=- 1.0 none\nbody  end\n" },
	{ HTTP_REQUEST,
	    "GET / HTTP/1.0\r\nHost: a\r\nConnection: Keep-Alive\r\n\r\n",
	    "GET / path=/ query=- 1.0 none "
	    "keep\nhost=[a]\nconnection=[Keep-Alive]\nbody  end\n" },
	{ HTTP_REQUEST,
	    "POST / HTTP/1.0\r\nContent-Length: 2\r\nExpect: "
	    "100-continue\r\n\r\nab",
	    "POST / path=/ query=- 1.0 "
	    "length=2\ncontent-length=[2]\nexpect=[100-continue]\n"
	    "body ab end\n" },
	/* fields */
	{ HTTP_REQUEST,
	    G "a!#$%&'*+-.^_`|~9:\t b \tc \t\r\nEmpty:\r\nBlank: \t "
	      "\r\nColon::x:\r\n\r\n",
	    "GET / path=/ query=- 1.1 none "
	    "keep\nhost=[a]\na!#$%&'*+-.^_`|~9=[b \tc]\nempty=[]\n"
	    "blank=[]\ncolon=[:x:]\nbody  end\n" },
	{ HTTP_REQUEST, G "Name: h\xc3\xa9\xff\x80\r\nNAME: 2\r\n\r\n",
	    "GET / path=/ query=- 1.1 none "
	    "keep\nhost=[a]\nname=[h\xc3\xa9\xff\x80]\nname=[2]\n"
	    "body  end\n" },
	/* Connection: several fields, several tokens */
	{ HTTP_REQUEST, G "Connection: x,\tclose ,y\r\n\r\n",
	    "GET / path=/ query=- 1.1 none\nhost=[a]\nconnection=[x,\tclose "
	    ",y]\nbody  end\n" },
	{ HTTP_REQUEST, G "Connection: keep-alive\r\nConnection: CLOSE\r\n\r\n",
	    "GET / path=/ query=- 1.1 "
	    "none\nhost=[a]\nconnection=[keep-alive]\nconnection=[CLOSE]\n"
	    "body  end\n" },
	{ HTTP_REQUEST, G "Connection: closed, close-x, xclose,,\r\n\r\n",
	    "GET / path=/ query=- 1.1 none keep\nhost=[a]\n"
	    "connection=[closed, close-x, xclose,,]\nbody  end\n" },
	/* Expect: only with a body */
	{ HTTP_REQUEST,
	    P "Expect: 100-Continue\r\nContent-Length: 3\r\n\r\nabc",
	    "POST / path=/ query=- 1.1 length=3 keep "
	    "expect\nhost=[a]\nexpect=[100-Continue]\n"
	    "content-length=[3]\nbody abc end\n" },
	{ HTTP_REQUEST, G "Expect: 100-continue\r\n\r\n",
	    "GET / path=/ query=- 1.1 none "
	    "keep\nhost=[a]\nexpect=[100-continue]\nbody  end\n" },
	{ HTTP_REQUEST, P "Expect: 100-continue\r\nContent-Length: 0\r\n\r\n",
	    "POST / path=/ query=- 1.1 length=0 "
	    "keep\nhost=[a]\nexpect=[100-continue]\n"
	    "content-length=[0]\nbody  end\n" },
	/* lengths; what follows is the next request */
	{ HTTP_REQUEST,
	    P "Content-Length: 0000000000000000004\r\n\r\nGET " G "\r\n",
	    "POST / path=/ query=- 1.1 length=4 keep\nhost=[a]\n"
	    "content-length=[0000000000000000004]\nbody GET  end\n"
	    "GET / path=/ query=- 1.1 none keep\nhost=[a]\nbody  end\n" },
	/* chunks, extensions, trailers */
	{ HTTP_REQUEST, P "TRANSFER-encoding: \tChunked \r\n\r\n0\r\n\r\n",
	    "POST / path=/ query=- 1.1 chunked "
	    "keep\nhost=[a]\ntransfer-encoding=[Chunked]\n"
	    "body  end\n" },
	{ HTTP_REQUEST,
	    CHUNKED "5\r\nhello\r\n00000000000000A;a=\"b "
		    "c;\"\r\n0123\r\n6789\r\n1;\r\n!\r\n"
		    "000\r\nX-Sum: 1\r\nContent-Length: 7\r\n\r\n" G "\r\n",
	    "POST / path=/ query=- 1.1 chunked "
	    "keep\nhost=[a]\ntransfer-encoding=[chunked]\n"
	    "body hello0123\r\n6789! end\nGET / path=/ query=- 1.1 none "
	    "keep\nhost=[a]\nbody  end\n" },
	/* a body that has begun */
	{ HTTP_REQUEST, CHUNKED "5\r\nhel",
	    "POST / path=/ query=- 1.1 chunked "
	    "keep\nhost=[a]\ntransfer-encoding=[chunked]\n"
	    "body hel more\n" },
	/* answers */
	{ HTTP_RESPONSE,
	    R "Content-Length: 2\r\n\r\n{}" R "Content-Length: 0\r\n\r\n",
	    "200 1.1 length=2 keep\ncontent-length=[2]\nbody {} end\n"
	    "200 1.1 length=0 keep\ncontent-length=[0]\nbody  end\n" },
	{ HTTP_RESPONSE, "HTTP/1.1 599\r\n\r\n", "599 1.1 eof\nbody  more\n" },
	{ HTTP_RESPONSE,
	    "HTTP/1.1 404 \r\nConnection: keep-alive\r\n\r\nuntil the "
	    "end\r\n\r\n",
	    "404 1.1 eof\nconnection=[keep-alive]\nbody until the end\r\n\r\n "
	    "more\n" },
	{ HTTP_RESPONSE,
	    "HTTP/1.0 200 d'\xe9\tt\xe9 HTTP/2\r\nContent-Length: 1\r\n\r\n1",
	    "200 1.0 length=1\ncontent-length=[1]\nbody 1 end\n" },
	{ HTTP_RESPONSE,
	    R "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
	    "200 1.1 chunked keep\ntransfer-encoding=[chunked]\nbody abc "
	    "end\n" },
	{ HTTP_RESPONSE,
	    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: "
	    "x\r\n\r\n" R "Content-Length: 1\r\n\r\nx",
	    "100 1.1 none keep\nbody  end\n103 1.1 none keep\nlink=[x]\nbody  "
	    "end\n"
	    "200 1.1 length=1 keep\ncontent-length=[1]\nbody x end\n" },
	{ HTTP_RESPONSE,
	    "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\nHTTP/1.1 "
	    "204 No Content\r\n\r\n",
	    "304 1.1 none keep\ncontent-length=[9]\nbody  end\n204 1.1 none "
	    "keep\nbody  end\n" },
	{ HTTP_RESPONSE,
	    R "Set-Cookie: a\r\nSet-Cookie: b\r\nConnection: close\r\n"
	      "Content-Length: 0\r\n\r\n",
	    "200 1.1 "
	    "length=0\nset-cookie=[a]\nset-cookie=[b]\nconnection=[close]\n"
	    "content-length=[0]\nbody  end\n" },
};

START_TEST(test_accepted)
{
	const struct accepted *a = &accepted[_i];
	char want[1024], *got;

	(void)snprintf(
	    want, sizeof(want), "%staken %zu\n", a->trace, strlen(a->in));
	got = all_cuts(a->kind, BIG, a->in, strlen(a->in));
	ck_assert_str_eq(got, want);
	free(got);
}
END_TEST

/* A message leaves nothing behind for the next one. */
START_TEST(test_pairs)
{
	const struct accepted *a = &accepted[_i], *b;
	char in[1024], want[2048], *got;
	size_t i;

	if (strstr(a->trace, " more\n") != NULL)
		return; /* it has not ended: nothing can follow */
	for (i = 0; i < NELEM(accepted); i++) {
		b = &accepted[i];
		if (b->kind != a->kind)
			continue;
		(void)snprintf(in, sizeof(in), "%s%s", a->in, b->in);
		(void)snprintf(want, sizeof(want), "%s%staken %zu\n", a->trace,
		    b->trace, strlen(in));
		got = trace(a->kind, BIG, in, strlen(in), strlen(in), 1, 0);
		same(got, want, in, "pair", i);
	}
}
END_TEST

struct refused {
	enum http_kind kind;
	int status;
	const char *in;
};

static const struct refused refused[] = {
	/* request line */
	{ HTTP_REQUEST, 400, "get / HTTP/1.1\r\n" },
	{ HTTP_REQUEST, 400, "GeT / HTTP/1.1\r\n" },
	{ HTTP_REQUEST, 400, "GET1 / HTTP/1.1\r\n" },
	{ HTTP_REQUEST, 400, "M-SEARCH / HTTP/1.1\r\n" },
	{ HTTP_REQUEST, 400, "ABCDEFGHIJKLMNOP / HTTP/1.1\r\n" },
	{ HTTP_REQUEST, 400, " GET / HTTP/1.1\r\n" },
	{ HTTP_REQUEST, 400, "GET\t/ HTTP/1.1\r\n" },
	{ HTTP_REQUEST, 400, "GET  / HTTP/1.1\r\n" },
	{ HTTP_REQUEST, 400, "GET /  HTTP/1.1\r\n" },
	{ HTTP_REQUEST, 400, "GET / HTTP/1.1 \r\n" },
	{ HTTP_REQUEST, 400, "GET / HTTP/1.1\t\r\n" },
	{ HTTP_REQUEST, 400, "GET /a b HTTP/1.1\r\n" },
	{ HTTP_REQUEST, 400, "GET /\r\n" },
	{ HTTP_REQUEST, 400, "GET\r\n" },
	{ HTTP_REQUEST, 400, "/\r\n" },
	{ HTTP_REQUEST, 400, "GET / \r\n" },
	{ HTTP_REQUEST, 400, "\r\n\r\n" },
	{ HTTP_REQUEST, 400, "\r\n\r\n" G "\r\n" },
	{ HTTP_REQUEST, 400, R "Content-Length: 0\r\n\r\n" },
	{ HTTP_REQUEST, 400, "\x16\x03\x01\x02" },
	/* targets */
	{ HTTP_REQUEST, 400, "OPTIONS * HTTP/1.1\r\n" },
	{ HTTP_REQUEST, 400, "GET http://a/ HTTP/1.1\r\n" },
	{ HTTP_REQUEST, 400, "CONNECT a:443 HTTP/1.1\r\n" },
	{ HTTP_REQUEST, 400, "GET a HTTP/1.1\r\n" },
	{ HTTP_REQUEST, 400, "GET ?a HTTP/1.1\r\n" },
	{ HTTP_REQUEST, 400, "GET /a#b HTTP/1.1\r\n" },
	{ HTTP_REQUEST, 400, "GET /h\xc3\xa9 HTTP/1.1\r\n" },
	{ HTTP_REQUEST, 400, "GET /a\tb HTTP/1.1\r\n" },
	{ HTTP_REQUEST, 400, "GET /a\x7f HTTP/1.1\r\n" },
	{ HTTP_REQUEST, 400, "GET /a\x01 HTTP/1.1\r\n" },
	/* versions */
	{ HTTP_REQUEST, 505, "GET / HTTP/1.2\r\n" },
	{ HTTP_REQUEST, 505, "GET / HTTP/0.9\r\n" },
	{ HTTP_REQUEST, 505, "GET / HTTP/2\r\n" },
	{ HTTP_REQUEST, 505, "GET / HTTP/11.1\r\n" },
	{ HTTP_REQUEST, 505, "GET / HTTP/1.10\r\n" },
	{ HTTP_REQUEST, 505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" },
	{ HTTP_REQUEST, 400, "GET / http/1.1\r\n" },
	{ HTTP_REQUEST, 400, "GET / HTTP/\r\n" },
	{ HTTP_REQUEST, 400, "GET / HTTP/x\r\n" },
	{ HTTP_REQUEST, 400, "GET / HTTP/1.1x\r\n" },
	{ HTTP_REQUEST, 400, "GET / HTTQ/1.1\r\n" },
	/* line ends and control bytes */
	{ HTTP_REQUEST, 400, "GET / HTTP/1.1\nHost: a\n\n" },
	{ HTTP_REQUEST, 400, "\nGET / HTTP/1.1\r\n" },
	{ HTTP_REQUEST, 400, "GET / HTTP/1.1\rHost: a\r\n\r\n" },
	{ HTTP_REQUEST, 400, "GET / HTTP/1.1\r\r\n" },
	{ HTTP_REQUEST, 400, G "A: b\n\r\n" },
	{ HTTP_REQUEST, 400, G "A: b\r\n\n" },
	{ HTTP_REQUEST, 400, G "A: b\rc\r\n\r\n" },
	{ HTTP_REQUEST, 400, G "A: b\r\r\n" },
	{ HTTP_REQUEST, 400,
	    G "A: b\x0b"
	      "c\r\n" },
	{ HTTP_REQUEST, 400, G "A: b\x7f\r\n" },
	{ HTTP_REQUEST, 400, G "A: \x1b[2J\r\n" },
	/* fields */
	{ HTTP_REQUEST, 400, G "A: b\r\n c\r\n\r\n" },
	{ HTTP_REQUEST, 400, G "A: b\r\n\tc\r\n\r\n" },
	{ HTTP_REQUEST, 400, G " \r\n\r\n" },
	{ HTTP_REQUEST, 400, "GET / HTTP/1.1\r\n Host: a\r\n\r\n" },
	{ HTTP_REQUEST, 400, G "A : b\r\n" },
	{ HTTP_REQUEST, 400, G "A\t: b\r\n" },
	{ HTTP_REQUEST, 400, G ": b\r\n" },
	{ HTTP_REQUEST, 400, G "A\r\n" },
	{ HTTP_REQUEST, 400, G "A b: c\r\n" },
	{ HTTP_REQUEST, 400, G "A(b): c\r\n" },
	{ HTTP_REQUEST, 400, G "\xc3\xa9: c\r\n" },
	/* Host */
	{ HTTP_REQUEST, 400, "GET / HTTP/1.1\r\n\r\n" },
	{ HTTP_REQUEST, 400, G "Host: a\r\n\r\n" },
	{ HTTP_REQUEST, 400, G "HOST: b\r\n\r\n" },
	{ HTTP_REQUEST, 400, "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n" },
	{ HTTP_REQUEST, 400, "GET / HTTP/1.1\r\nHost:\r\n\r\n" },
	{ HTTP_REQUEST, 400, "GET / HTTP/1.1\r\nHost: a,b\r\n\r\n" },
	{ HTTP_REQUEST, 400, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n" },
	{ HTTP_REQUEST, 400, "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n" },
	{ HTTP_REQUEST, 400, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n" },
	{ HTTP_REQUEST, 400, "GET / HTTP/1.0\r\nHost: \xc3\xa9\r\n\r\n" },
	/* fields that may stand once */
	{ HTTP_REQUEST, 400, G "Content-Type: a\r\nContent-Type: a\r\n\r\n" },
	{ HTTP_REQUEST, 400, G "Authorization: a\r\nauthorization: b\r\n\r\n" },
	{ HTTP_REQUEST, 400, G "x-api-key: a\r\nX-Api-Key: a\r\n\r\n" },
	{ HTTP_RESPONSE, 400, R "Content-Type: a\r\nContent-Type: b\r\n\r\n" },
	/* Expect */
	{ HTTP_REQUEST, 400, G "Expect: 200-ok\r\n\r\n" },
	{ HTTP_REQUEST, 400, G "Expect: 100-continue, x\r\n\r\n" },
	{ HTTP_REQUEST, 400, G "Expect:\r\n\r\n" },
	{ HTTP_REQUEST, 400, G "Expect: 100-continue\r\nExpect: y\r\n\r\n" },
	/* lengths over body_max, 1 MB here: at once, the body not awaited */
	{ HTTP_REQUEST, 413, P "Content-Length: 1048577\r\n\r\n" },
	{ HTTP_REQUEST, 413, P "Content-Length: 9999999999999999999\r\n\r\n" },
	{ HTTP_REQUEST, 413,
	    P "Expect: 100-continue\r\nContent-Length: 1048577\r\n\r\n" },
	{ HTTP_RESPONSE, 413, R "Content-Length: 1048577\r\n\r\n" },
	{ HTTP_REQUEST, 413, CHUNKED "100001\r\n" },
	{ HTTP_REQUEST, 413, CHUNKED "1\r\na\r\n100000\r\n" },
	{ HTTP_REQUEST, 413, CHUNKED "fffffffffffffff\r\n" },
	/* chunks */
	{ HTTP_REQUEST, 400, CHUNKED "\r\n" },
	{ HTTP_REQUEST, 400, CHUNKED "x\r\n" },
	{ HTTP_REQUEST, 400, CHUNKED "-1\r\n" },
	{ HTTP_REQUEST, 400, CHUNKED "+1\r\n" },
	{ HTTP_REQUEST, 400, CHUNKED "0x1\r\n" },
	{ HTTP_REQUEST, 400, CHUNKED " 1\r\n" },
	{ HTTP_REQUEST, 400, CHUNKED "1 \r\n" },
	{ HTTP_REQUEST, 400, CHUNKED "1\t\r\n" },
	{ HTTP_REQUEST, 400, CHUNKED "1 ;a\r\n" },
	{ HTTP_REQUEST, 400, CHUNKED ";a\r\n" },
	{ HTTP_REQUEST, 400, CHUNKED "1g\r\n" },
	{ HTTP_REQUEST, 400, CHUNKED "1,2\r\n" },
	{ HTTP_REQUEST, 400, CHUNKED "0000000000000001\r\n" },
	{ HTTP_REQUEST, 400, CHUNKED "1;a\tb\r\n" },
	{ HTTP_REQUEST, 400, CHUNKED "1;a\x01\r\n" },
	{ HTTP_REQUEST, 400, CHUNKED "1;a\nb\r\n" },
	{ HTTP_REQUEST, 400, CHUNKED "1;\"a\r\nb\"\r\n" },
	{ HTTP_REQUEST, 400, CHUNKED "1\na\r\n0\r\n\r\n" },
	{ HTTP_REQUEST, 400, CHUNKED "1\r\nab\r\n0\r\n\r\n" },
	{ HTTP_REQUEST, 400, CHUNKED "1\r\na\n0\r\n\r\n" },
	{ HTTP_REQUEST, 400, CHUNKED "1\r\na\r0\r\n\r\n" },
	{ HTTP_REQUEST, 400, CHUNKED "1\r\na0\r\n\r\n" },
	{ HTTP_REQUEST, 400, CHUNKED "0\r\n\n" },
	{ HTTP_REQUEST, 400, CHUNKED "0\r\nA : b\r\n\r\n" },
	{ HTTP_REQUEST, 400, CHUNKED "0\r\nA: b\r\n c\r\n\r\n" },
	{ HTTP_REQUEST, 400, CHUNKED "0\r\n" HIDDEN },
	/* answers */
	{ HTTP_RESPONSE, 400, "\r\n" R "\r\n" },
	{ HTTP_RESPONSE, 400, "HTTP/1.1\r\n" },
	{ HTTP_RESPONSE, 400, "HTTP/1.1 \r\n" },
	{ HTTP_RESPONSE, 400, "HTTP/1.1 20 OK\r\n" },
	{ HTTP_RESPONSE, 400, "HTTP/1.1 2000 OK\r\n" },
	{ HTTP_RESPONSE, 400, "HTTP/1.1 099 OK\r\n" },
	{ HTTP_RESPONSE, 400, "HTTP/1.1 600 OK\r\n" },
	{ HTTP_RESPONSE, 400, "HTTP/1.1 200OK\r\n" },
	{ HTTP_RESPONSE, 400, "HTTP/1.1 +20 OK\r\n" },
	{ HTTP_RESPONSE, 400, "HTTP/1.1  200 OK\r\n" },
	{ HTTP_RESPONSE, 400, "HTTP/1.1\t200 OK\r\n" },
	{ HTTP_RESPONSE, 400, "HTTP/1.1 200 OK\n" },
	{ HTTP_RESPONSE, 400, "HTTP/1.1 200 O\x01K\r\n" },
	{ HTTP_RESPONSE, 400, "ICY 200 OK\r\n" },
	{ HTTP_RESPONSE, 400, "http/1.1 200 OK\r\n" },
	{ HTTP_RESPONSE, 400, "GET / HTTP/1.1\r\n" },
	{ HTTP_RESPONSE, 505, "HTTP/2 200\r\n" },
	{ HTTP_RESPONSE, 505, "HTTP/1.2 200 OK\r\n" },
	{ HTTP_RESPONSE, 400,
	    R "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello" },
	{ HTTP_RESPONSE, 400, R "Content-Length: 5, 5\r\n\r\nhello" },
	{ HTTP_RESPONSE, 400,
	    R "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" },
	{ HTTP_RESPONSE, 400,
	    "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" },
	{ HTTP_RESPONSE, 501, R "Transfer-Encoding: gzip, chunked\r\n\r\n" },
	{ HTTP_RESPONSE, 400, "HTTP/1.1 204 x\r\nContent-Length: a\r\n\r\n" },
};

/* No trace of a request behind what was refused, in any cut. */
static void
check_refused(enum http_kind kind, int status, const char *in, size_t len)
{
	char want[32], *got, *bad;

	(void)snprintf(want, sizeof(want), "bad %d ", status);
	got = all_cuts(kind, BIG, in, len);
	ck_assert_msg(
	    (bad = strstr(got, "bad ")) != NULL, "accepted: %s as %s", in, got);
	if (strncmp(bad, "bad\n", 4) == 0) /* "body ... bad" */
		bad += 4;
	ck_assert_msg(strncmp(bad, want, strlen(want)) == 0, "%s: %s, not %s",
	    in, bad, want);
	ck_assert_msg(strstr(got, "/hidden path") == NULL,
	    "hidden request seen: %s", got);
	free(got);
}

START_TEST(test_refused)
{
	const struct refused *r;

	/* One process for all: under a sanitizer each fork is dear. */
	for (r = refused; r < refused + NELEM(refused); r++)
		check_refused(r->kind, r->status, r->in, strlen(r->in));
}
END_TEST

/* Framing that two readers may take differently, a request hidden behind. */
static const struct {
	int status;
	const char *fields;
} smuggling[] = {
	{ 400, "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n" },
	{ 400, "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n" },
	{ 400, "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n" },
	{ 400, "Content-Length: 5\r\nTransfer-Encoding: x\r\n" },
	{ 400, "Content-Length: 5\r\nTransfer-Encoding:\r\n" },
	{ 400, "Content-Length: 5\r\nContent-Length: 5\r\n" },
	{ 400, "Content-Length: 5\r\nContent-Length: 0\r\n" },
	{ 400, "Content-Length: 0\r\ncontent-length: 5\r\n" },
	{ 400, "Content-Length: 5,5\r\n" },
	{ 400, "Content-Length: 5, 5\r\n" },
	{ 400, "Content-Length: 5,\r\n" },
	{ 400, "Content-Length: +5\r\n" },
	{ 400, "Content-Length: -5\r\n" },
	{ 400, "Content-Length: 0x5\r\n" },
	{ 400, "Content-Length: 5 5\r\n" },
	{ 400, "Content-Length: 5.0\r\n" },
	{ 400, "Content-Length: 5e0\r\n" },
	{ 400, "Content-Length: a\r\n" },
	{ 400, "Content-Length: \xd9\xa5\r\n" },
	{ 400, "Content-Length:\r\n" },
	{ 400, "Content-Length: 00000000000000000005\r\n" },
	{ 400, "Content-Length: 18446744073709551621\r\n" },
	{ 400, "Content-Length : 5\r\n" },
	{ 400, "Content-Length\t: 5\r\n" },
	{ 400, " Content-Length: 5\r\n" },
	{ 400, "Content-Length: 5\n" },
	{ 400, "Content-Length: 5\r\r\n" },
	{ 400, "Content-Length:\r\n 5\r\n" },
	{ 400, "A: b\r\n Content-Length: 5\r\n" },
	{ 400, "A: b\nContent-Length: 5\r\n" },
	{ 400, "A: b\rContent-Length: 5\r\n" },
	{ 400, "Transfer-Encoding : chunked\r\n" },
	{ 400, "Transfer-Encoding:\r\n chunked\r\n" },
	{ 400, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n" },
	{ 400,
	    "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n" },
	{ 400, "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n" },
	{ 400, "Transfer-Encoding: chunked, chunked\r\n" },
	{ 400, "Transfer-Encoding: chunked, gzip\r\n" },
	{ 400, "Transfer-Encoding: chunked, identity\r\n" },
	{ 400, "Transfer-Encoding: chunked,\r\n" },
	{ 400, "Transfer-Encoding: ,chunked\r\n" },
	{ 400, "Transfer-Encoding: identity\r\n" },
	{ 400, "Transfer-Encoding: gzip\r\n" },
	{ 400, "Transfer-Encoding: xchunked\r\n" },
	{ 400, "Transfer-Encoding: chunkedx\r\n" },
	{ 400, "Transfer-Encoding: chunked;q=1\r\n" },
	{ 400, "Transfer-Encoding: chunked gzip\r\n" },
	{ 400, "Transfer-Encoding: \"chunked\"\r\n" },
	{ 400,
	    "Transfer-Encoding: \x0b"
	    "chunked\r\n" },
	{ 400, "Transfer-Encoding: chunked\x0c\r\n" },
	{ 400, "Transfer-Encoding:\r\n" },
	{ 501, "Transfer-Encoding: gzip, chunked\r\n" },
	{ 501, "Transfer-Encoding: identity, chunked\r\n" },
	{ 501, "Transfer-Encoding: x;a=b ,\tChunked\r\n" },
};

START_TEST(test_smuggling)
{
	char in[1024];
	size_t i;

	for (i = 0; i < NELEM(smuggling); i++) {
		(void)snprintf(in, sizeof(in), P "%s\r\n0\r\n\r\n" HIDDEN,
		    smuggling[i].fields);
		check_refused(
		    HTTP_REQUEST, smuggling[i].status, in, strlen(in));
	}
}
END_TEST

START_TEST(test_smuggling_10)
{
	static const char in[] =
	    "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
	    "0\r\n\r\n" HIDDEN;

	check_refused(HTTP_REQUEST, 400, in, sizeof(in) - 1);
}
END_TEST

/* A NUL anywhere in a line; C strings above cannot say that. */
START_TEST(test_nul)
{
	static const char head[] = "GET / HTTP/1.1\r\nHost: a\r\nA: b\r\n\r\n";
	char in[sizeof(head)];
	size_t i;

	for (i = 0; i < sizeof(head) - 1; i++) {
		memcpy(in, head, sizeof(head));
		in[i] = '\0';
		check_refused(HTTP_REQUEST, 400, in, sizeof(head) - 1);
	}
}
END_TEST

/* Every byte in place of one in the target, a name and a value. */
START_TEST(test_every_byte)
{
	static const struct {
		const char *before;
		const char *after;
		const char *also; /* accepted beside letters and digits */
		int text;         /* and blank, HTAB, 0x80 to 0xff */
	} at[] = {
		{ "GET /", " HTTP/1.1\r\nHost: a\r\n\r\n",
		    "!\"$%&'()*+,-./:;<=>?@[\\]^_`{|}~", 0 },
		{ G "A", "b: c\r\n\r\n", "!#$%&'*+-.^_`|~:", 0 },
		{ G "A: b", "c\r\n\r\n",
		    "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ \t", 1 },
		{ "HTTP/1.1 200 O", "K\r\n\r\n",
		    "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ \t", 1 },
	};
	char in[128], *got;
	int c, ok, n;

	for (c = 1; c < 256; c++) {
		ok = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
		    (c >= 'A' && c <= 'Z') || strchr(at[_i].also, c) != NULL ||
		    (at[_i].text && c >= 0x80);
		n = snprintf(
		    in, sizeof(in), "%s%c%s", at[_i].before, c, at[_i].after);
		got = trace(_i == 3 ? HTTP_RESPONSE : HTTP_REQUEST, BIG, in,
		    (size_t)n, 1, 1, 0);
		ck_assert_msg((strstr(got, "bad ") == NULL) == ok,
		    "byte %#x: %s", c, got);
		free(got);
	}
}
END_TEST

/* Limits */

static char *
repeat(
    struct evbuffer *b, const char *before, char c, size_t n, const char *after)
{
	char *s;

	ck_assert_ptr_nonnull(s = malloc(n + 1));
	memset(s, c, n);
	s[n] = '\0';
	evbuffer_add_printf(b, "%s%s%s", before, s, after);
	free(s);
	n = evbuffer_get_length(b);
	ck_assert_ptr_nonnull(s = malloc(n + 1));
	ck_assert_int_eq(evbuffer_copyout(b, s, n), (ev_ssize_t)n);
	s[n] = '\0';
	return (s);
}

/* status 0: accepted */
static void
check_limit(enum http_kind kind, int status, const char *before, size_t n,
    const char *after)
{
	struct evbuffer *b = evbuffer_new();
	char *in = repeat(b, before, 'a', n, after), *got, want[32];

	got = all_cuts(kind, BIG, in, evbuffer_get_length(b));
	(void)snprintf(
	    want, sizeof(want), status == 0 ? "taken " : "bad %d ", status);
	ck_assert_msg(strstr(got, want) != NULL &&
		(strstr(got, "bad ") == NULL) == (status == 0),
	    "%zu: %s, not %s", n, got, want);
	free(got);
	free(in);
	evbuffer_free(b);
}

START_TEST(test_limit_line)
{
	const size_t fixed = strlen("GET / HTTP/1.1");

	check_limit(HTTP_REQUEST, 0, "GET /", LIM_HTTP_LINE - fixed,
	    " HTTP/1.1\r\nHost: a\r\n\r\n");
	check_limit(HTTP_REQUEST, 414, "GET /", LIM_HTTP_LINE - fixed + 1,
	    " HTTP/1.1\r\nHost: a\r\n\r\n");
	check_limit(HTTP_REQUEST, 414, "GET /", LIM_HTTP_LINE + 1, "");
	check_limit(HTTP_REQUEST, 400, "GET", LIM_HTTP_LINE + 1, "");
	check_limit(
	    HTTP_RESPONSE, 0, "HTTP/1.1 200 ", LIM_HTTP_LINE - 13, "\r\n\r\n");
	check_limit(HTTP_RESPONSE, 400, "HTTP/1.1 200 ", LIM_HTTP_LINE - 12,
	    "\r\n\r\n");
}
END_TEST

START_TEST(test_limit_field)
{
	check_limit(HTTP_REQUEST, 0, G "A: ", LIM_HTTP_LINE - 3, "\r\n\r\n");
	check_limit(HTTP_REQUEST, 431, G "A: ", LIM_HTTP_LINE - 2, "\r\n\r\n");
	check_limit(HTTP_REQUEST, 431, G "A: ", LIM_HTTP_LINE - 2, "");
	check_limit(HTTP_REQUEST, 431, G, LIM_HTTP_LINE + 1, "");
	check_limit(HTTP_RESPONSE, 431, R "A: ", LIM_HTTP_LINE - 2, "\r\n\r\n");
}
END_TEST

/* Three fields of the longest kind, then one that fills the section. */
START_TEST(test_limit_head)
{
	const size_t rest = LIM_HTTP_HEAD - 9 - 3 * (LIM_HTTP_LINE + 2);
	struct evbuffer *b = evbuffer_new();
	char *before, line[LIM_HTTP_LINE + 1];
	int i;

	memset(line, 'b', LIM_HTTP_LINE);
	line[0] = 'A';
	line[1] = ':';
	line[LIM_HTTP_LINE] = '\0';
	evbuffer_add_printf(b, G);
	for (i = 0; i < 3; i++)
		evbuffer_add_printf(b, "%s\r\n", line);
	before = repeat(b, "B:", 'c', 0, "");
	check_limit(HTTP_REQUEST, 0, before, rest - 4, "\r\n\r\n");
	check_limit(HTTP_REQUEST, 431, before, rest - 3, "\r\n\r\n");
	check_limit(HTTP_REQUEST, 431, before, rest - 6, "\r\nC:\r\n\r\n");
	check_limit(HTTP_REQUEST, 0, before, rest - 8, "\r\nC:\r\n\r\n");
	free(before);
	evbuffer_free(b);
}
END_TEST

START_TEST(test_limit_fields)
{
	struct evbuffer *b = evbuffer_new();
	char *before;
	int i;

	evbuffer_add_printf(b, G);
	for (i = 2; i < LIM_HTTP_FIELDS; i++)
		evbuffer_add_printf(b, "N%d: %d\r\n", i, i);
	before = repeat(b, "", 'x', 0, "");
	check_limit(HTTP_REQUEST, 0, before, 1, ":\r\n\r\n");
	check_limit(HTTP_REQUEST, 431, before, 1, ":\r\nb:\r\n\r\n");
	free(before);
	evbuffer_free(b);
}
END_TEST

START_TEST(test_limit_chunk)
{
	const size_t room = LIM_HTTP_CHUNK_LINE - 2;

	check_limit(HTTP_REQUEST, 0, CHUNKED "0;", room, "\r\n\r\n");
	check_limit(HTTP_REQUEST, 400, CHUNKED "0;", room + 1, "\r\n\r\n");
	check_limit(HTTP_REQUEST, 0, CHUNKED "0\r\nA:", LIM_HTTP_TRAILER - 4,
	    "\r\n\r\n");
	check_limit(HTTP_REQUEST, 431, CHUNKED "0\r\nA:", LIM_HTTP_TRAILER - 3,
	    "\r\n\r\n");
	check_limit(HTTP_REQUEST, 431, CHUNKED "0\r\nA:", LIM_HTTP_TRAILER - 7,
	    "\r\nB:\r\n\r\n");
}
END_TEST

START_TEST(test_limit_body)
{
	static const char *const message[] = {
		P "Content-Length: 5\r\n\r\nhello",
		CHUNKED "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
		R "Content-Length: 5\r\n\r\nhello",
		R "Transfer-Encoding: "
		  "chunked\r\n\r\n4\r\nhell\r\n1\r\no\r\n0\r\n\r\n",
		R "\r\nhello",
	};
	enum http_kind kind = _i < 2 ? HTTP_REQUEST : HTTP_RESPONSE;
	size_t len = strlen(message[_i]);
	char *got;
	uint64_t max;

	for (max = 0; max < 8; max++) {
		got = all_cuts(kind, max, message[_i], len);
		if (max < 5)
			ck_assert_ptr_nonnull(strstr(got, "bad 413 "));
		else
			ck_assert_ptr_nonnull(strstr(got, "body hello "));
		free(got);
	}
}
END_TEST

/* What a caller sees who does it by hand */

static enum http_result
read_all(struct http_parser *p, const char *s, struct evbuffer *body)
{
	struct evbuffer *in = evbuffer_new();
	const struct http_head *h;
	enum http_result r;

	evbuffer_add(in, s, strlen(s));
	if ((r = http_read_head(p, in, &h)) == HTTP_OK)
		r = http_read_body(p, in, body, 0);
	evbuffer_free(in);
	return (r);
}

START_TEST(test_pipelined)
{
	static const char second[] =
	    "POST /b HTTP/1.1\r\nHost: b\r\nContent-Length: 1\r\n\r\nx";
	struct http_parser *p = http_parser_new(HTTP_REQUEST, BIG);
	struct evbuffer *in = evbuffer_new(), *body = evbuffer_new();
	const struct http_head *h;

	evbuffer_add_printf(in, P "Content-Length: 5\r\n\r\nhello%s", second);
	ck_assert_int_eq(http_read_head(p, in, &h), HTTP_OK);
	ck_assert_uint_eq(evbuffer_get_length(in), 5 + sizeof(second) - 1);
	ck_assert_int_eq(http_read_body(p, in, body, 0), HTTP_OK);
	ck_assert_uint_eq(evbuffer_get_length(body), 5);
	ck_assert_uint_eq(evbuffer_get_length(in), sizeof(second) - 1);
	ck_assert_mem_eq(evbuffer_pullup(in, -1), second, sizeof(second) - 1);
	/* Asked again it gives the same head and takes nothing. */
	ck_assert_int_eq(http_read_head(p, in, &h), HTTP_OK);
	ck_assert_int_eq(http_read_body(p, in, body, 0), HTTP_OK);
	ck_assert_str_eq(h->path, "/");
	ck_assert_uint_eq(evbuffer_get_length(in), sizeof(second) - 1);
	http_parser_next(p);
	ck_assert_int_eq(http_read_head(p, in, &h), HTTP_OK);
	ck_assert_str_eq(h->path, "/b");
	ck_assert_int_eq(http_read_body(p, in, NULL, 0), HTTP_OK);
	ck_assert_uint_eq(evbuffer_get_length(in), 0);
	http_parser_free(p);
	evbuffer_free(in);
	evbuffer_free(body);
}
END_TEST

/* A caller that forgets the body must not read it as a request. */
START_TEST(test_next_too_early)
{
	static const char *const message[] = {
		P "Content-Length: 37\r\n\r\n" HIDDEN,
		CHUNKED "25\r\n" HIDDEN "\r\n0\r\n\r\n",
	};
	struct http_parser *p = http_parser_new(HTTP_REQUEST, BIG);
	struct evbuffer *in = evbuffer_new();
	const struct http_head *h;

	http_parser_next(p); /* nothing read yet: nothing to forget */
	evbuffer_add_printf(in, "%s", message[_i]);
	ck_assert_int_eq(http_read_head(p, in, &h), HTTP_OK);
	http_parser_next(p);
	ck_assert_int_eq(http_read_head(p, in, &h), HTTP_BAD);
	ck_assert_int_eq(http_error_status(p), 400);
	http_parser_free(p);
	evbuffer_free(in);
}
END_TEST

START_TEST(test_body_max)
{
	static const char with[] = P "Content-Length: 5\r\n\r\n";
	struct http_parser *p = http_parser_new(HTTP_REQUEST, 10);
	struct evbuffer *in = evbuffer_new();
	const struct http_head *h;

	evbuffer_add_printf(in, "%shello%shello", with, with);
	ck_assert_int_eq(http_read_head(p, in, &h), HTTP_OK);
	http_parser_body_max(p, 5);
	ck_assert_int_eq(http_read_body(p, in, NULL, 0), HTTP_OK);
	http_parser_next(p);
	ck_assert_int_eq(http_read_head(p, in, &h), HTTP_OK);
	http_parser_body_max(p, 4);
	ck_assert_int_eq(http_read_body(p, in, NULL, 0), HTTP_BAD);
	ck_assert_int_eq(http_error_status(p), 413);
	ck_assert_uint_eq(evbuffer_get_length(in), 5);
	http_parser_free(p);

	/* It counts for that message only, and can be raised too. */
	p = http_parser_new(HTTP_REQUEST, 1);
	evbuffer_drain(in, 5);
	evbuffer_add_printf(
	    in, CHUNKED "5\r\nhello\r\n0\r\n\r\n" CHUNKED "2\r\n");
	ck_assert_int_eq(http_read_head(p, in, &h), HTTP_OK);
	http_parser_body_max(p, 5);
	ck_assert_int_eq(http_read_body(p, in, NULL, 0), HTTP_OK);
	http_parser_next(p);
	ck_assert_int_eq(http_read_head(p, in, &h), HTTP_OK);
	ck_assert_int_eq(http_read_body(p, in, NULL, 0), HTTP_BAD);
	ck_assert_int_eq(http_error_status(p), 413);
	http_parser_free(p);
	evbuffer_free(in);
}
END_TEST

/* A length that is too much is refused before the caller could say 100. */
START_TEST(test_body_max_at_head)
{
	struct http_parser *p = http_parser_new(HTTP_REQUEST, 10);
	struct evbuffer *in = evbuffer_new();
	const struct http_head *h = NULL;

	evbuffer_add_printf(in,
	    P "Expect: 100-continue\r\n"
	      "Content-Length: 11\r\n\r\n");
	ck_assert_int_eq(http_read_head(p, in, &h), HTTP_BAD);
	ck_assert_int_eq(http_error_status(p), 413);
	ck_assert_ptr_null(h);
	http_parser_free(p);
	evbuffer_free(in);
}
END_TEST

/* Bodies and trailers of one message do not count against the next one's. */
START_TEST(test_counts_start_anew)
{
	struct http_parser *p = http_parser_new(HTTP_REQUEST, 5);
	struct evbuffer *in = evbuffer_new();
	const struct http_head *h;
	int i;

	for (i = 0; i < 10; i++) {
		evbuffer_add_printf(in,
		    P "A: %08000d\r\nB: %08000d\r\n"
		      "C: %08000d\r\nD: %08000d\r\n"
		      "Transfer-Encoding: chunked\r\n\r\n"
		      "5\r\nhello\r\n0\r\nE: %08000d\r\n\r\n",
		    1, 2, 3, 4, 5);
		ck_assert_int_eq(http_read_head(p, in, &h), HTTP_OK);
		ck_assert_int_eq(http_read_body(p, in, NULL, 0), HTTP_OK);
		ck_assert_uint_eq(evbuffer_get_length(in), 0);
		http_parser_next(p);
	}
	http_parser_free(p);
	evbuffer_free(in);
}
END_TEST

START_TEST(test_bound)
{
	struct http_parser *p = http_parser_new(HTTP_REQUEST, BIG);
	struct evbuffer *in = evbuffer_new(), *body = evbuffer_new();
	const struct http_head *h;

	evbuffer_add_printf(in, P "Content-Length: 10\r\n\r\n0123456789");
	ck_assert_int_eq(http_read_head(p, in, &h), HTTP_OK);
	ck_assert_int_eq(http_read_body(p, in, body, 4), HTTP_MORE);
	ck_assert_uint_eq(evbuffer_get_length(body), 4);
	ck_assert_int_eq(http_read_body(p, in, body, 4), HTTP_MORE);
	ck_assert_uint_eq(evbuffer_get_length(in), 2);
	ck_assert_int_eq(http_read_body(p, in, body, 4), HTTP_OK);
	ck_assert_mem_eq(evbuffer_pullup(body, -1), "0123456789", 10);
	http_parser_free(p);
	evbuffer_free(in);
	evbuffer_free(body);
}
END_TEST

/* A body's bytes are where they were before. */
START_TEST(test_moved_not_copied)
{
	static const char data[4096] = "{}";
	struct http_parser *p = http_parser_new(HTTP_REQUEST, BIG);
	struct evbuffer *in = evbuffer_new(), *body = evbuffer_new();
	const struct http_head *h;

	if (_i == 0)
		evbuffer_add_printf(in, P "Content-Length: 4096\r\n\r\n");
	else
		evbuffer_add_printf(in, CHUNKED "1000\r\n");
	ck_assert_int_eq(
	    evbuffer_add_reference(in, data, sizeof(data), NULL, NULL), 0);
	ck_assert_int_eq(http_read_head(p, in, &h), HTTP_OK);
	ck_assert_int_eq(http_read_body(p, in, body, 0),
	    h->framing == HTTP_LENGTH ? HTTP_OK : HTTP_MORE);
	ck_assert_uint_eq(evbuffer_get_length(body), sizeof(data));
	ck_assert_ptr_eq(evbuffer_pullup(body, (ev_ssize_t)sizeof(data)), data);
	http_parser_free(p);
	evbuffer_free(in);
	evbuffer_free(body);
}
END_TEST

/* Two, three and four bytes a character, cut at each: what was sent arrives. */
START_TEST(test_utf8)
{
	static const char text[] =
	    "{\"q\":\"h\xc3\xa9\xc3\x9f\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e"
	    "\xf0\x9f\x98\x80\"}";
	struct evbuffer *b = evbuffer_new();
	char *in, *got;

	if (_i == 0)
		evbuffer_add_printf(
		    b, P "Content-Length: %zu\r\n\r\n%s", strlen(text), text);
	else
		evbuffer_add_printf(b,
		    CHUNKED "8\r\n%.8s\r\n%zx\r\n%s\r\n0\r\n\r\n", text,
		    strlen(text) - 8, text + 8);
	in = repeat(b, "", 'x', 0, "");
	got = all_cuts(HTTP_REQUEST, BIG, in, evbuffer_get_length(b));
	ck_assert_ptr_nonnull(strstr(got, text));
	free(got);
	free(in);
	evbuffer_free(b);
}
END_TEST

START_TEST(test_fields)
{
	struct http_parser *p = http_parser_new(HTTP_REQUEST, BIG);
	struct evbuffer *in = evbuffer_new();
	const struct http_head *h;

	evbuffer_add_printf(in, G "A: 1\r\na: 2\r\nB:\r\n\r\n");
	ck_assert_int_eq(http_read_head(p, in, &h), HTTP_OK);
	ck_assert_str_eq(http_field(h, "a"), "1");
	ck_assert_str_eq(http_field(h, "b"), "");
	ck_assert_ptr_null(http_field(h, "c"));
	ck_assert_ptr_null(http_field(h, "A"));
	ck_assert_uint_eq(http_field_count(h, "a"), 2);
	ck_assert_uint_eq(http_field_count(h, "c"), 0);
	http_parser_free(p);
	http_parser_free(NULL);
	evbuffer_free(in);
}
END_TEST

START_TEST(test_errors_named)
{
	struct http_parser *p = http_parser_new(HTTP_REQUEST, BIG);

	ck_assert_int_eq(read_all(p, "GET / HTTP/1.1\r\n\r\n", NULL), HTTP_BAD);
	ck_assert_str_eq(http_error(p), "no Host");
	ck_assert_int_eq(read_all(p, G "\r\n", NULL), HTTP_BAD);
	http_parser_free(p);
	p = http_parser_new(HTTP_REQUEST, BIG);
	ck_assert_int_eq(read_all(p, G " a: b\r\n", NULL), HTTP_BAD);
	ck_assert_str_eq(http_error(p), "line begins with a blank");
	http_parser_free(p);
}
END_TEST

/* Writers */

static void
check_written(struct evbuffer *b, const char *want, size_t len)
{
	ck_assert_uint_eq(evbuffer_get_length(b), len);
	ck_assert_mem_eq(evbuffer_pullup(b, -1), want, len);
	evbuffer_free(b);
}

START_TEST(test_write_head)
{
	static const char want[] =
	    "POST /v1/messages?beta=true HTTP/1.1\r\nhost: a\r\n"
	    "content-length: 12\r\nx: \r\ny: a\tb\xc3\xa9\r\n\r\n"
	    "HTTP/1.1 404 Not Found\r\nX-N: 1/2\r\n\r\n";
	struct evbuffer *b = evbuffer_new();

	http_put_request_line(b, "POST", "/v1/messages?beta=true");
	http_put_field(b, "host", "a");
	http_put_fieldf(b, "content-length", "%zu", (size_t)12);
	http_put_field(b, "x", "");
	http_put_field(b, "y", "a\tb\xc3\xa9");
	http_put_end(b);
	http_put_status_line(b, 404);
	http_put_fieldf(b, "X-N", "%d/%s", 1, "2");
	http_put_end(b);
	check_written(b, want, sizeof(want) - 1);
}
END_TEST

START_TEST(test_write_chunks)
{
	static const char want[] =
	    "5\r\nhello\r\n1c\r\nnew\nline\r\nand\0nul, twenty-8.\r\n0\r\n\r\n";
	struct evbuffer *b = evbuffer_new(), *data = evbuffer_new();

	http_put_chunk(b, "hello", 5);
	http_put_chunk(b, "", 0);
	http_put_chunk_buffer(b, data);
	evbuffer_add(data, "new\nline\r\nand\0nul, twenty-8.", 28);
	http_put_chunk_buffer(b, data);
	ck_assert_uint_eq(evbuffer_get_length(data), 0);
	http_put_last_chunk(b);
	evbuffer_free(data);
	check_written(b, want, sizeof(want) - 1);
}
END_TEST

/* A body of all bytes, through our chunks and back. */
START_TEST(test_write_read)
{
	struct http_parser *p = http_parser_new(HTTP_RESPONSE, BIG);
	struct evbuffer *b = evbuffer_new(), *body = evbuffer_new();
	const struct http_head *h;
	unsigned char all[256];
	size_t i, n;

	for (i = 0; i < sizeof(all); i++)
		all[i] = (unsigned char)i;
	http_put_status_line(b, 200);
	http_put_field(b, "Transfer-Encoding", "chunked");
	http_put_end(b);
	for (i = 0; i < sizeof(all); i += n) {
		n = i % 50 + 1 < sizeof(all) - i ? i % 50 + 1 : sizeof(all) - i;
		http_put_chunk(b, all + i, n);
	}
	http_put_last_chunk(b);
	ck_assert_int_eq(http_read_head(p, b, &h), HTTP_OK);
	ck_assert_int_eq(http_read_body(p, b, body, 0), HTTP_OK);
	ck_assert_uint_eq(evbuffer_get_length(b), 0);
	http_parser_free(p);
	evbuffer_free(b);
	check_written(body, (const char *)all, sizeof(all));
}
END_TEST

START_TEST(test_reasons)
{
	static const int sent[] = { 200, 400, 401, 403, 404, 405, 408, 409, 413,
		414, 415, 429, 431, 500, 501, 502, 503, 504, 505 };
	size_t i;

	ck_assert_str_eq(http_reason(404), "Not Found");
	ck_assert_str_eq(http_reason(299), "Unknown");
	for (i = 0; i < NELEM(sent); i++)
		ck_assert_str_ne(http_reason(sent[i]), "Unknown");
}
END_TEST

enum { W_FIELD, W_FIELDF, W_REQUEST, W_STATUS };

static const struct {
	int how;
	const char *a; /* name or method */
	const char *b; /* value or target */
	int c;         /* status, or the byte to print */
} injections[] = {
	{ W_FIELD, "a", "b\r\nc: d", 0 },
	{ W_FIELD, "a", "b\r", 0 },
	{ W_FIELD, "a", "\nb", 0 },
	{ W_FIELD, "a", "b\x7f", 0 },
	{ W_FIELD, "a", "\x01", 0 },
	{ W_FIELD, "", "b", 0 },
	{ W_FIELD, "a b", "c", 0 },
	{ W_FIELD, "a:", "c", 0 },
	{ W_FIELD, "a\r\nb", "c", 0 },
	{ W_FIELD, "\xc3\xa9", "c", 0 },
	{ W_FIELDF, "a", "b", '\n' },
	{ W_FIELDF, "a", "b", '\r' },
	{ W_FIELDF, "a", "b", '\0' },
	{ W_FIELDF, "a:", "b", 'c' },
	{ W_REQUEST, "", "/", 0 },
	{ W_REQUEST, "get", "/", 0 },
	{ W_REQUEST, "GET ", "/", 0 },
	{ W_REQUEST, "GET\r\n", "/", 0 },
	{ W_REQUEST, "GET", "", 0 },
	{ W_REQUEST, "GET", "a", 0 },
	{ W_REQUEST, "GET", "/ HTTP/1.1\r\nX: y", 0 },
	{ W_REQUEST, "GET", "/a b", 0 },
	{ W_REQUEST, "GET", "/\r", 0 },
	{ W_REQUEST, "GET", "/\n", 0 },
	{ W_REQUEST, "GET", "/\xc3\xa9", 0 },
	{ W_REQUEST, "GET", "/#a", 0 },
	{ W_REQUEST, "GET", "/\x7f", 0 },
	{ W_STATUS, NULL, NULL, 99 },
	{ W_STATUS, NULL, NULL, 600 },
	{ W_STATUS, NULL, NULL, -1 },
};

/* Expected to exit with fatalx()'s 1; coming back is exit 0. */
START_TEST(test_injection)
{
	struct evbuffer *b = evbuffer_new();
	const char *value = injections[_i].b;

	switch (injections[_i].how) {
	case W_FIELD:
		http_put_field(b, injections[_i].a, value);
		break;
	case W_FIELDF:
		http_put_fieldf(
		    b, injections[_i].a, "%s%cc: d", value, injections[_i].c);
		break;
	case W_REQUEST:
		http_put_request_line(b, injections[_i].a, value);
		break;
	case W_STATUS:
		http_put_status_line(b, injections[_i].c);
		break;
	}
	exit(0);
}
END_TEST

/* Reading a body without a head is a fault of the caller. */
START_TEST(test_body_first)
{
	struct http_parser *p = http_parser_new(HTTP_REQUEST, BIG);
	struct evbuffer *in = evbuffer_new();

	(void)http_read_body(p, in, NULL, 0);
	exit(0);
}
END_TEST

static TCase *
tcase_reading(void)
{
	TCase *tc = tcase_create("reading");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, test_accepted, 0, NELEM(accepted));
	tcase_add_loop_test(tc, test_pairs, 0, NELEM(accepted));
	tcase_add_test(tc, test_refused);
	tcase_add_test(tc, test_smuggling);
	tcase_add_test(tc, test_smuggling_10);
	tcase_add_test(tc, test_nul);
	tcase_add_loop_test(tc, test_every_byte, 0, 4);
	tcase_add_loop_test(tc, test_utf8, 0, 2);
	return (tc);
}

static TCase *
tcase_limits(void)
{
	TCase *tc = tcase_create("limits");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_limit_line);
	tcase_add_test(tc, test_limit_field);
	tcase_add_test(tc, test_limit_head);
	tcase_add_test(tc, test_limit_fields);
	tcase_add_test(tc, test_limit_chunk);
	tcase_add_loop_test(tc, test_limit_body, 0, 5);
	return (tc);
}

static TCase *
tcase_calling(void)
{
	TCase *tc = tcase_create("calling");

	tcase_add_test(tc, test_pipelined);
	tcase_add_loop_test(tc, test_next_too_early, 0, 2);
	tcase_add_test(tc, test_body_max);
	tcase_add_test(tc, test_body_max_at_head);
	tcase_add_test(tc, test_counts_start_anew);
	tcase_add_test(tc, test_bound);
	tcase_add_loop_test(tc, test_moved_not_copied, 0, 2);
	tcase_add_test(tc, test_fields);
	tcase_add_test(tc, test_errors_named);
	tcase_add_exit_test(tc, test_body_first, 1);
	return (tc);
}

static TCase *
tcase_writing(void)
{
	TCase *tc = tcase_create("writing");

	tcase_add_test(tc, test_write_head);
	tcase_add_test(tc, test_write_chunks);
	tcase_add_test(tc, test_write_read);
	tcase_add_test(tc, test_reasons);
	tcase_add_loop_exit_test(tc, test_injection, 1, 0, NELEM(injections));
	return (tc);
}

int
main(void)
{
	Suite *s = suite_create("http");

	suite_add_tcase(s, tcase_reading());
	suite_add_tcase(s, tcase_limits());
	suite_add_tcase(s, tcase_calling());
	suite_add_tcase(s, tcase_writing());
	return (suite_run(s));
}
