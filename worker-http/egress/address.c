/* SPDX-License-Identifier: ISC */
/*
 * The address policy of olpd-egress.  A provider's name may be made to
 * resolve to an address of this machine or its network, so every address is
 * judged here, in the very form that is then given to connect(2).  What is
 * not known to be public is refused.
 */
#include "worker-http/egress/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string.h>

/*
 * IANA's special-purpose registries (RFC 6890 and what followed), as far as not
 * globally reachable.
 */
static const struct {
	uint8_t prefix[4];
	unsigned int bits;
	const char *why;
} special4[] = {
	{ { 0, 0, 0, 0 }, 8, "an address of this host" },
	{ { 10, 0, 0, 0 }, 8, "a private address" },
	{ { 100, 64, 0, 0 }, 10, "a carrier's private address" },
	{ { 127, 0, 0, 0 }, 8, "a loopback address" },
	{ { 169, 254, 0, 0 }, 16, "a link-local address" },
	{ { 172, 16, 0, 0 }, 12, "a private address" },
	{ { 192, 0, 0, 0 }, 24, "a reserved address" },
	{ { 192, 0, 2, 0 }, 24, "a documentation address" },
	{ { 192, 88, 99, 0 }, 24, "a 6to4 relay address" },
	{ { 192, 168, 0, 0 }, 16, "a private address" },
	{ { 198, 18, 0, 0 }, 15, "a benchmark address" },
	{ { 198, 51, 100, 0 }, 24, "a documentation address" },
	{ { 203, 0, 113, 0 }, 24, "a documentation address" },
	{ { 224, 0, 0, 0 }, 4, "a multicast address" },
	{ { 240, 0, 0, 0 }, 4, "a reserved address" },
};

/*
 * Inside 2000::/3, the only part of IPv6 that is in public use; NAT64's
 * well-known prefix is looked into, everything else outside is refused.
 */
static const struct {
	uint8_t prefix[4];
	unsigned int bits;
	const char *why;
} special6[] = {
	{ { 0x20, 0x01, 0x00, 0x00 }, 23,
	    "a reserved address" }, /* Teredo, ORCHID ... */
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32, "a documentation address" },
	{ { 0x20, 0x02, 0x00, 0x00 }, 16, "a 6to4 address" },
	{ { 0x3f, 0xff, 0x00, 0x00 }, 20, "a documentation address" },
};

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
static const uint8_t nat64[12] = { 0x00, 0x64, 0xff, 0x9b };

static int
has_prefix(const uint8_t *a, const uint8_t *prefix, unsigned int bits)
{
	unsigned int whole = bits / 8, rest = bits % 8;

	if (memcmp(a, prefix, whole) != 0)
		return (0);
	return (rest == 0 || (a[whole] ^ prefix[whole]) >> (8 - rest) == 0);
}

static void
address_from4(struct address *a, const void *in4)
{
	memcpy(a->b, mapped, sizeof(mapped));
	memcpy(a->b + sizeof(mapped), in4, 4);
}

int
address_parse(const char *text, struct address *a)
{
	struct in_addr in4;

	if (inet_pton(AF_INET, text, &in4) == 1) {
		address_from4(a, &in4);
		return (0);
	}
	return (inet_pton(AF_INET6, text, a->b) == 1 ? 0 : -1);
}

static const char *
refused4(const uint8_t *a)
{
	size_t i;

	for (i = 0; i < sizeof(special4) / sizeof(special4[0]); i++)
		if (has_prefix(a, special4[i].prefix, special4[i].bits))
			return (special4[i].why);
	return (NULL);
}

static const char *
refused6(const uint8_t *a)
{
	static const uint8_t loopback[16] = { [15] = 1 };
	size_t i;

	if (memcmp(a, nat64, sizeof(nat64)) == 0)
		return (refused4(a + sizeof(nat64)));
	if (memcmp(a, loopback, sizeof(loopback)) == 0)
		return ("a loopback address");
	if (a[0] == 0xfe && (a[1] & 0xc0) == 0x80)
		return ("a link-local address");
	if ((a[0] & 0xfe) == 0xfc)
		return ("a private address");
	if (a[0] == 0xff)
		return ("a multicast address");
	if ((a[0] & 0xe0) != 0x20)
		return ("a reserved address");
	for (i = 0; i < sizeof(special6) / sizeof(special6[0]); i++)
		if (has_prefix(a, special6[i].prefix, special6[i].bits))
			return (special6[i].why);
	return (NULL);
}

static int
address_of(const struct sockaddr *sa, struct address *a)
{
	struct sockaddr_in in4;
	struct sockaddr_in6 in6;

	if (sa->sa_family == AF_INET) {
		memcpy(&in4, sa, sizeof(in4));
		address_from4(a, &in4.sin_addr);
		return (0);
	}
	if (sa->sa_family == AF_INET6) {
		memcpy(&in6, sa, sizeof(in6));
		memcpy(a->b, &in6.sin6_addr, sizeof(a->b));
		return (0);
	}
	return (-1);
}

const char *
address_refused(
    const struct sockaddr *sa, const struct address *allow, size_t n)
{
	struct address a;
	size_t i;

	if (address_of(sa, &a) == -1)
		return ("an address that is not IP");
	for (i = 0; i < n; i++)
		if (memcmp(a.b, allow[i].b, sizeof(a.b)) == 0)
			return (NULL);
	if (memcmp(a.b, mapped, sizeof(mapped)) == 0)
		return (refused4(a.b + sizeof(mapped)));
	return (refused6(a.b));
}
