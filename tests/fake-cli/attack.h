/* SPDX-License-Identifier: ISC */
#ifndef FAKE_ATTACK_H
#define FAKE_ATTACK_H

/* Prints as one delta of the answer. */
void say(const char *, ...) __attribute__((format(printf, 1, 2)));
/* Each attack as "name=ERRNO "; what was let is "name=OPEN ". */
void attack_all(void);
/* One model request over the listener, as the real client would; its status, or -errno. */
int attack_request(const char *model);
/* Text that all further requests carry, so that they can be told apart. */
void attack_tag(const char *);
/* Words that print what we began with, see self.c. 1: it was one of these. */
int self_word(const char *word);
/* Words that take what others need too, see hog.c. 1: it was one of these. */
int hog_word(const char *word);
/* n model requests over the listener by hand; "status=N ". */
void attack_http(int n, const char *model);
/* Words about the socket, see wire.c. 1: it was one of these. */
int wire_word(const char *word, const char *model);

#endif
