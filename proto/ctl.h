/* SPDX-License-Identifier: ISC */
/* olpctl and the master, over RUNTIME/control.sock.  Included by msg.h alone. */
/* clang-format off */
#define MSG_FIELDS_ctl_result(F)                                                 \
	F(BOOL, ok,         0)                                                   \
	F(BOOL, last,       0)            /* no further line follows */          \
	F(STR,  text,       LIM_PATH + LIM_TEXT) /* one line for a person */
MSG_STRUCT(ctl_result);

#define MSG_FIELDS_status(F)              /* descriptor: write the report there and close it */ \
	F(LIST, workers,    LIM_LIST)     /* "name pid generation restarts seconds", the master's own view */
MSG_STRUCT(status);
/* clang-format on */
