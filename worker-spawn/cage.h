/* SPDX-License-Identifier: ISC */
/* olpd-spawn's cage; apart from its main(), so that tests can take its place.
 */
#ifndef OLP_SPAWN_CAGE_H
#define OLP_SPAWN_CAGE_H

#include "common/cage.h"

extern struct cage spawn_cage;

/*
 * Our namespace maps one id alone: bwrap nests another and maps our root in
 * it, for which the kernel asks for SETFCAP.  Before the cage is entered.
 */
void spawn_cage_alone(void);

#endif
