/* SPDX-License-Identifier: ISC */
/* olpd-http's cage; apart from its main(), so that tests can take its place. */
#ifndef OLP_HTTPD_CAGE_H
#define OLP_HTTPD_CAGE_H

#include "common/cage.h"

extern const struct cage http_cage;

#endif
