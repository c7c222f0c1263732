/* SPDX-License-Identifier: ISC */
/* Any bytes as a packet; what is understood must encode and decode to itself.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static union msg_any a, b;
	static uint8_t buf[LIM_MSG_BYTES];
	uint32_t type, again;
	long len;

	if (size > LIM_MSG_BYTES || msg_unpack(data, size, &type, &a) == -1)
		return (0);
	if ((len = msg_pack(type, &a, buf, sizeof(buf))) == -1 ||
	    msg_unpack(buf, (size_t)len, &again, &b) == -1 || type != again ||
	    memcmp(&a, &b, msg_size(type)) != 0)
		abort();
	return (0);
}
