/* SPDX-License-Identifier: ISC */
/*
 * Numbers, sizes, durations and times as olpd.conf(5) writes them, both
 * ways.  Reading is strict: the whole text or nothing, decimal digits without
 * sign, prefix, leading zero or space, and 0 or -1 (errno is not set).
 */
#ifndef OLP_CONF_UNITS_H
#define OLP_CONF_UNITS_H

#include <stddef.h>
#include <stdint.h>

#define UNIT_TEXT 24 /* enough for every text below */

int unit_number(const char *, uint64_t *);
/* "20MB" to bytes. The unit (B KB MB GB TB, steps of 1024) is not optional. */
int unit_size(const char *, uint64_t *);
/* "10m" to seconds. The unit (s m h d) is not optional. */
int unit_seconds(const char *, uint64_t *);
/* "0660": a zero and three octal digits. */
int unit_mode(const char *, unsigned int *);
/* "07:30" to minutes after midnight. */
int unit_clock(const char *, uint16_t *);
/*
 * "2027-01-31" (its first second, in UTC) or RFC 3339 without a fraction
 * ("2027-01-31T18:00:00+01:00") to unix seconds; years 2000 to 9999.
 */
int unit_time(const char *, int64_t *);
/* Exactly 2 * size hexadecimal digits. */
int unit_hex(const char *, uint8_t *, size_t size);

/*
 * The largest unit that leaves no remainder; buf is UNIT_TEXT bytes and is
 * returned.
 */
char *unit_size_text(char *buf, uint64_t bytes);
char *unit_seconds_text(char *buf, uint64_t seconds);
char *unit_time_text(char *buf, int64_t when);

#endif
