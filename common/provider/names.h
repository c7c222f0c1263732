/* SPDX-License-Identifier: ISC */
/*
 * The names in the providers' tables, for who reads the configuration and
 * must not be linked with what olpd knows about any of them (the master).
 */
#ifndef OLP_PROVIDER_NAMES_H
#define OLP_PROVIDER_NAMES_H

#define PROVIDER_NAMES "claude", "demo"

#endif
