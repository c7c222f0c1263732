/* SPDX-License-Identifier: ISC */
/*
 * olpd-egress's cage; apart from its main(), so that tests can take its place.
 */
#ifndef OLP_EGRESS_CAGE_H
#define OLP_EGRESS_CAGE_H

#include "common/cage.h"

extern const struct cage egress_cage;

#endif
