/* SPDX-License-Identifier: ISC */
/*
 * Giving up rights, by data, and proving afterwards that they are gone.
 * Linux on x86-64 and arm64.
 */
#ifndef OLP_CAGE_H
#define OLP_CAGE_H

#include <stddef.h>
#include <stdint.h>

struct msg_cage;

#define CAGE_CHROOT 1u    /* into msg_cage.root, where privileged */
#define CAGE_IDS 2u       /* setgroups(0), setresgid, setresuid to msg_cage's, where privileged */
#define CAGE_LANDLOCK 4u  /* no file, no TCP but connect_ports, scoped signals and abstract sockets */
#define CAGE_MAP_ROOT 8u  /* worker-spawn: is in-namespace root already, keeps `caps` */
#define CAGE_NO_EXEC_MAP 16u /* no mmap or mprotect with PROT_EXEC */
#define CAGE_ALLOW 32u    /* `calls` is a list of what is allowed, the rest kills; else of what is refused with EPERM */

struct cage {
	unsigned int flags;
	uint64_t caps;           /* mask kept with CAGE_MAP_ROOT */
	const int *calls;        /* SCMP_SYS() numbers, ended by -1 ... */
	const int *soft;         /* ... allow lists: refused with EPERM instead of death; deny lists: with ENOSYS. Ended by -1 */
	unsigned int dial : 1;   /* may make INET stream and datagram sockets and connect (egress) */
	const char *why;         /* what the profile leaves out and why, for the reader */
};

/* System calls every caged worker needs: libevent's loop, memory, our channel, time. Ended by -1. */
extern const int cage_common_calls[];

/*
 * Enter it; fatal on any failure.  connect_port: with `dial`, the one TCP
 * port Landlock leaves (0: all).  Call once, with one thread.
 */
void cage_enter(const struct cage *, const struct msg_cage *, uint16_t connect_port);

/* Landlock's ABI on this kernel, 0 where there is none. */
int cage_landlock_abi(void);

#endif
