/* SPDX-License-Identifier: ISC */
/*
 * Publishes the names of key users.  Runs in the master, as root only.  Whose
 * a record is says its number: the key range is locked, so all of it is ours.
 */
#include "master/users.h"

#include <stdio.h>

#include "common/host/userdb.h"
#include "common/log.h"
#include "master/place.h"
#include "master/rows.h"

static int dir = -1;

static int
is_key(uint32_t uid, const void *keys)
{
	const struct conf_key *k;

	if (keys != NULL)
		TAILQ_FOREACH(k, (const struct conf_keys *)keys, entry)
			if (k->uid == uid)
				return (1);
	return (0);
}

void
users_publish(void)
{
	const struct conf *c = rows.conf;
	const struct conf_key *k;
	char name[64], real[64];

	if (!place.privileged)
		return;
	if (dir == -1 && (dir = userdb_open()) == -1) {
		log_warn("userdb: key users have no names");
		return;
	}
	userdb_sweep(dir, "olp-", c->uid_lo, c->uid_hi, is_key, &rows.keys);
	TAILQ_FOREACH(k, &rows.keys, entry) {
		(void)snprintf(name, sizeof(name), "olp-%s%s%s", c->instance,
		    c->instance[0] == '\0' ? "" : "-", k->id);
		(void)snprintf(real, sizeof(real), "olpd key %s", k->id);
		if (userdb_put(dir, name, k->uid, real) == -1)
			log_warn("key %s: userdb record %s", k->id, name);
	}
}

void
users_clear(void)
{
	if (dir != -1)
		userdb_sweep(dir, "olp-", rows.conf->uid_lo, rows.conf->uid_hi,
		    is_key, NULL);
}
