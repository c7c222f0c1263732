/* SPDX-License-Identifier: ISC */
/*
 * The client that costs nothing, for measurements: speaks the demo client's
 * lines.  Its prompt:
 *   twenty words        without any of the following
 *   stamps N MS         N texts, MS apart, each the time (CLOCK_MONOTONIC, us)
 *   hold                one text, then it waits for ever
 *   flood MB            that many megabytes of text
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void
text_time(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	printf("{\"type\":\"text\",\"text\":\"%lld \"}\n",
	    t.tv_sec * 1000000LL + t.tv_nsec / 1000);
	(void)fflush(stdout);
}

static void
stamps(int n, int ms)
{
	struct timespec pause = { ms / 1000, ms % 1000 * 1000000L };

	while (n-- > 0) {
		text_time();
		if (n > 0)
			(void)nanosleep(&pause, NULL);
	}
}

static void
flood(int mb)
{
	static char block[16384];
	int n;

	memset(block, 'x', sizeof(block) - 1);
	for (n = 0; n < mb * 64; n++)
		printf("{\"type\":\"text\",\"text\":\"%s\"}\n", block);
}

int
main(void)
{
	static char prompt[4096];
	size_t len = 0;
	ssize_t r;
	int i, n, ms;

	while ((r = read(0, prompt + len, sizeof(prompt) - 1 - len)) > 0)
		len += (size_t)r;
	prompt[len] = '\0';
	puts("{\"type\":\"start\",\"model\":\"demo\"}");
	if (sscanf(prompt, "stamps %d %d", &n, &ms) == 2)
		stamps(n, ms);
	else if (strncmp(prompt, "hold", 4) == 0) {
		text_time();
		for (;;)
			(void)pause();
	} else if (sscanf(prompt, "flood %d", &n) == 1)
		flood(n);
	else
		for (i = 0; i < 20; i++)
			puts("{\"type\":\"text\",\"text\":\"word \"}");
	puts("{\"type\":\"usage\",\"in\":1,\"out\":20}\n{\"type\":\"stop\","
	     "\"reason\":\"end\"}");
	return (0);
}
