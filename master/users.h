/* SPDX-License-Identifier: ISC */
/* Names for the numbers of key users, for ps(1) and ls(1). */
#ifndef OLP_USERS_H
#define OLP_USERS_H

/* Make what is published what the keys in force say; what a dead instance of
 * this range left goes. */
void users_publish(void);
void users_clear(void);

#endif
