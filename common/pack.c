/* SPDX-License-Identifier: ISC */
/*
 * Checked readers for msgpack, used by proto/ in every process.  The bytes
 * may come from a process that was taken over.
 */
#include "common/pack.h"

#include <string.h>

#include "common/limits.h"

int
obj_u64(const msgpack_object *o, uint64_t *v)
{
	if (o->type != MSGPACK_OBJECT_POSITIVE_INTEGER)
		return (-1);
	*v = o->via.u64;
	return (0);
}

int
obj_u32(const msgpack_object *o, uint32_t *v)
{
	uint64_t u;

	if (obj_u64(o, &u) == -1 || u > UINT32_MAX)
		return (-1);
	*v = (uint32_t)u;
	return (0);
}

int
obj_bool(const msgpack_object *o, int *v)
{
	if (o->type != MSGPACK_OBJECT_BOOLEAN)
		return (-1);
	*v = o->via.boolean ? 1 : 0;
	return (0);
}

int
obj_str(const msgpack_object *o, char *s, size_t size)
{
	uint32_t len;

	if (o->type != MSGPACK_OBJECT_STR || (len = o->via.str.size) >= size)
		return (-1);
	/* The pointer of an empty one is NULL. */
	if (len > 0 && memchr(o->via.str.ptr, '\0', len) != NULL)
		return (-1);
	if (len > 0)
		memcpy(s, o->via.str.ptr, len);
	s[len] = '\0';
	return (0);
}

int
obj_bin(const msgpack_object *o, void *b, size_t size)
{
	if (o->type != MSGPACK_OBJECT_BIN || o->via.bin.size != size)
		return (-1);
	memcpy(b, o->via.bin.ptr, size);
	return (0);
}

struct scan {
	const uint8_t *p, *end;
};

/* A big-endian number of n bytes; -1 when it is not all there. */
static int64_t
scan_num(struct scan *s, size_t n)
{
	uint64_t v = 0;

	if ((size_t)(s->end - s->p) < n)
		return (-1);
	while (n-- > 0)
		v = v << 8 | *s->p++;
	return ((int64_t)(v & INT64_MAX));
}

static int
scan_skip(struct scan *s, int64_t n)
{
	if (n < 0 || s->end - s->p < n)
		return (-1);
	s->p += n;
	return (0);
}

static int scan_value(struct scan *, int);

static int
scan_array(struct scan *s, int64_t n, int depth)
{
	if (n < 0 || s->end - s->p < n || depth == 0)
		return (-1); /* each element takes a byte at least */
	while (n-- > 0)
		if (scan_value(s, depth - 1) == -1)
			return (-1);
	return (0);
}

static int
scan_value(struct scan *s, int depth)
{
	uint8_t b;

	if (s->p == s->end)
		return (-1);
	b = *s->p++;
	if (b <= 0x7f)
		return (0); /* small number */
	if (b >= 0x90 && b <= 0x9f)
		return (scan_array(s, b & 0x0f, depth));
	if (b >= 0xa0 && b <= 0xbf)
		return (scan_skip(s, b & 0x1f));
	switch (b) {
	case 0xc2: /* false, true */
	case 0xc3:
		return (0);
	case 0xc4: /* bin 8, 16 */
	case 0xd9: /* str 8, 16 */
		return (scan_skip(s, scan_num(s, 1)));
	case 0xc5:
	case 0xda:
		return (scan_skip(s, scan_num(s, 2)));
	case 0xcc: /* unsigned 8 to 64 */
	case 0xcd:
	case 0xce:
	case 0xcf:
		return (scan_skip(s, 1 << (b - 0xcc)));
	case 0xdc: /* array 16 */
		return (scan_array(s, scan_num(s, 2), depth));
	default:
		return (-1); /* maps, floats, negatives, nil, ext, 32-bit
				lengths: never ours */
	}
}

int
pack_scan(const uint8_t *buf, size_t len)
{
	struct scan s = { buf, buf + len };

	if (scan_value(&s, LIM_MSG_DEPTH) == -1 || s.p != s.end)
		return (-1);
	return (0);
}
