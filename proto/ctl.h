/* SPDX-License-Identifier: ISC */
/*
 * olpctl and the master, over RUNTIME/control.sock.  Included by msg.h alone.
 *
 * CTL_RELOAD is answered by CTL_RESULT lines.  Those before the last tell what
 * was wrong (ok = 0: an error of olpd.conf or of one key's file) or done.
 * The last is ok when the running worker-spawn has confirmed the table of keys
 * made from keys.d as it is now, even where an error keeps the old olpd.conf.
 */
/* clang-format off */
#define MSG_FIELDS_ctl_result(F)                                                 \
	F(BOOL, ok,         0)                                                   \
	F(BOOL, last,       0)            /* no further line follows */          \
	F(STR,  text,       LIM_PATH + LIM_TEXT) /* one line for a person */     \
	F(U64,  keys_dev,   0)            /* of the keys.d that was read: st_dev, st_ino; so that */ \
	F(U64,  keys_ino,   0)            /* a daemon with another one confirms nothing; last line only */
MSG_STRUCT(ctl_result);

#define MSG_FIELDS_status(F)              /* descriptor: write the report there and close it */ \
	F(LIST, workers,    LIM_LIST)     /* "name pid generation restarts seconds", the master's own view */
MSG_STRUCT(status);
/* clang-format on */
