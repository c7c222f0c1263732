/* SPDX-License-Identifier: ISC */
/*
 * Encoder and decoder of every message, driven by the field lists.  Linked
 * into every process.  The bytes may come from a process that was taken
 * over: nothing is believed before it was measured.
 */
#include "proto/msg.h"

#include <errno.h>
#include <msgpack.h>
#include <string.h>

#include "common/pack.h"

enum kind { K_U64, K_U32, K_BOOL, K_STR, K_BIN, K_LIST };

struct field {
	enum kind kind;
	size_t off;   /* of the member */
	size_t size;  /* STR, BIN: bytes; LIST: strings */
	size_t n_off; /* LIST: of the count */
};

struct desc {
	uint32_t num;
	const char *name;
	unsigned int from, to, fds;
	size_t size; /* of the struct */
	const struct field *(*fields)(size_t *);
};

/* clang-format off */
#define FIELD_U64(name, size)  { K_U64, offsetof(T, name), 0, 0 },
#define FIELD_U32(name, size)  { K_U32, offsetof(T, name), 0, 0 },
#define FIELD_BOOL(name, size) { K_BOOL, offsetof(T, name), 0, 0 },
#define FIELD_STR(name, size)  { K_STR, offsetof(T, name), size, 0 },
#define FIELD_BIN(name, size)  { K_BIN, offsetof(T, name), size, 0 },
#define FIELD_LIST(name, size) { K_LIST, offsetof(T, name), size, offsetof(T, name##_n) },
#define FIELD(kind, name, size) FIELD_##kind(name, size)

/* One function per message, since offsetof() needs the struct's name. */
#define FIELDS(num, name, tag, from, to, fds)                       \
	static const struct field *                                 \
	fields_##name(size_t *n)                                    \
	{                                                           \
		typedef struct msg_##tag T;                         \
		static const struct field f[] = {                   \
			MSG_FIELDS_##tag(FIELD)                     \
			{ K_U64, sizeof(T), 0, 0 } /* the end */    \
		};                                                  \
		*n = sizeof(f) / sizeof(f[0]) - 1;                  \
		return (f);                                         \
	}
MSG_LIST(FIELDS)

#define DESC(num, name, tag, from, to, fds) \
	{ num, #name, from, to, fds, sizeof(struct msg_##tag), fields_##name },
static const struct desc descs[] = { MSG_LIST(DESC) };
/* clang-format on */

static const struct desc *
desc_find(uint32_t type)
{
	size_t i;

	for (i = 0; i < sizeof(descs) / sizeof(descs[0]); i++)
		if (descs[i].num == type)
			return (&descs[i]);
	return (NULL);
}

const char *
proc_name(enum proc p)
{
	switch (p) {
	case PROC_MASTER:
		return ("olpd");
	case PROC_HTTP:
		return ("olpd-http");
	case PROC_SPAWN:
		return ("olpd-spawn");
	case PROC_EGRESS:
		return ("olpd-egress");
	case PROC_TUI:
		return ("olpd-tui");
	case PROC_CTL:
		return ("olpctl");
	case PROC_WORKERS:
		break;
	}
	return ("several");
}

const char *
msg_name(uint32_t type)
{
	const struct desc *d = desc_find(type);

	return (d == NULL ? "unknown" : d->name);
}

int
msg_known(uint32_t type)
{
	return (desc_find(type) != NULL);
}

unsigned int
msg_from(uint32_t type)
{
	const struct desc *d = desc_find(type);

	return (d == NULL ? 0 : d->from);
}

unsigned int
msg_to(uint32_t type)
{
	const struct desc *d = desc_find(type);

	return (d == NULL ? 0 : d->to);
}

unsigned int
msg_fds(uint32_t type)
{
	const struct desc *d = desc_find(type);

	return (d == NULL ? 0 : d->fds);
}

size_t
msg_size(uint32_t type)
{
	const struct desc *d = desc_find(type);

	return (d == NULL ? 0 : d->size);
}

static void
pack_string(msgpack_packer *pk, const char *s, size_t size)
{
	size_t len = strnlen(s, size);

	msgpack_pack_str(pk, len);
	msgpack_pack_str_body(pk, s, len);
}

static void
pack_list(msgpack_packer *pk, const char *m, const struct field *f)
{
	const char(*list)[LIM_LIST_STR] = (const void *)(m + f->off);
	size_t i, n;

	memcpy(&n, m + f->n_off, sizeof(n));
	if (n > f->size)
		n = f->size;
	msgpack_pack_array(pk, n);
	for (i = 0; i < n; i++)
		pack_string(pk, list[i], LIM_LIST_STR);
}

static void
pack_field(msgpack_packer *pk, const char *m, const struct field *f)
{
	uint64_t u64;
	uint32_t u32;
	int b;

	switch (f->kind) {
	case K_U64:
		memcpy(&u64, m + f->off, sizeof(u64));
		msgpack_pack_uint64(pk, u64);
		break;
	case K_U32:
		memcpy(&u32, m + f->off, sizeof(u32));
		msgpack_pack_uint32(pk, u32);
		break;
	case K_BOOL:
		memcpy(&b, m + f->off, sizeof(b));
		b ? msgpack_pack_true(pk) : msgpack_pack_false(pk);
		break;
	case K_STR:
		pack_string(pk, m + f->off, f->size);
		break;
	case K_BIN:
		msgpack_pack_bin(pk, f->size);
		msgpack_pack_bin_body(pk, m + f->off, f->size);
		break;
	case K_LIST:
		pack_list(pk, m, f);
		break;
	}
}

struct out {
	uint8_t *buf;
	size_t len, size;
};

static int
out_write(void *data, const char *buf, size_t len)
{
	struct out *o = data;

	if (len > o->size - o->len) {
		o->len = o->size + 1; /* no later piece fits either */
		o->size = o->len;
		return (-1);
	}
	memcpy(o->buf + o->len, buf, len);
	o->len += len;
	return (0);
}

long
msg_pack(uint32_t type, const void *m, uint8_t *buf, size_t size)
{
	const struct desc *d = desc_find(type);
	struct out o = { buf, 0, size };
	const struct field *f;
	msgpack_packer pk;
	size_t i, n;

	if (d == NULL) {
		errno = EINVAL;
		return (-1);
	}
	f = d->fields(&n);
	msgpack_packer_init(&pk, &o, out_write);
	msgpack_pack_array(&pk, n + 1);
	msgpack_pack_uint32(&pk, type);
	for (i = 0; i < n; i++)
		pack_field(&pk, m, &f[i]);
	if (o.len > size) {
		errno = EMSGSIZE;
		return (-1);
	}
	return ((long)o.len);
}

static int
unpack_list(const msgpack_object *o, char *m, const struct field *f)
{
	char(*list)[LIM_LIST_STR] = (void *)(m + f->off);
	size_t i, n;

	if (o->type != MSGPACK_OBJECT_ARRAY || o->via.array.size > f->size)
		return (-1);
	n = o->via.array.size;
	for (i = 0; i < n; i++)
		if (obj_str(&o->via.array.ptr[i], list[i], LIM_LIST_STR) == -1)
			return (-1);
	memcpy(m + f->n_off, &n, sizeof(n));
	return (0);
}

static int
unpack_field(const msgpack_object *o, char *m, const struct field *f)
{
	void *member = m + f->off;

	switch (f->kind) {
	case K_U64:
		return (obj_u64(o, member));
	case K_U32:
		return (obj_u32(o, member));
	case K_BOOL:
		return (obj_bool(o, member));
	case K_STR:
		return (obj_str(o, member, f->size));
	case K_BIN:
		return (obj_bin(o, member, f->size));
	case K_LIST:
		return (unpack_list(o, m, f));
	}
	return (-1);
}

static int
unpack_fields(const msgpack_object *o, uint32_t *type, union msg_any *m)
{
	const struct desc *d;
	const struct field *f;
	size_t i, n;

	if (o->type != MSGPACK_OBJECT_ARRAY || o->via.array.size == 0 ||
	    obj_u32(&o->via.array.ptr[0], type) == -1 ||
	    (d = desc_find(*type)) == NULL)
		return (-1);
	f = d->fields(&n);
	if (o->via.array.size != n + 1)
		return (-1);
	for (i = 0; i < n; i++)
		if (unpack_field(&o->via.array.ptr[i + 1], (char *)m, &f[i]) ==
		    -1)
			return (-1);
	return (0);
}

int
msg_unpack(const uint8_t *buf, size_t len, uint32_t *type, union msg_any *m)
{
	msgpack_unpacked u;
	size_t off = 0;
	int r = -1;

	*type = 0;
	memset(m, 0, sizeof(*m));
	msgpack_unpacked_init(&u);
	/* Measured first: msgpack-c allocates what a length claims. */
	if (pack_scan(buf, len) == 0 &&
	    msgpack_unpack_next(&u, (const char *)buf, len, &off) ==
		MSGPACK_UNPACK_SUCCESS &&
	    off == len)
		r = unpack_fields(&u.data, type, m);
	msgpack_unpacked_destroy(&u);
	if (r == -1)
		errno = EBADMSG;
	return (r);
}
