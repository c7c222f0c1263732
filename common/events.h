/* SPDX-License-Identifier: ISC */
/*
 * The kinds of audit event and their constant MESSAGE_IDs, one list for the
 * programs, packaging/olpd.catalog and olpd(8).  Append; never reuse an id.
 */
#ifndef OLP_EVENTS_H
#define OLP_EVENTS_H

/* clang-format off */
#define LOG_EVENT_LIST(X) \
	/* name                 MESSAGE_ID                          priority */ \
	X(EV_STARTED,            "5f0c6d0b8a6e4d0f9a6f0c2f4b1d7a01", LOG_INFO) \
	X(EV_STOPPED,            "5f0c6d0b8a6e4d0f9a6f0c2f4b1d7a02", LOG_INFO) \
	X(EV_WORKER_UP,          "5f0c6d0b8a6e4d0f9a6f0c2f4b1d7a03", LOG_INFO) \
	X(EV_WORKER_DIED,        "5f0c6d0b8a6e4d0f9a6f0c2f4b1d7a04", LOG_WARNING) \
	X(EV_CONF_REJECTED,      "5f0c6d0b8a6e4d0f9a6f0c2f4b1d7a05", LOG_WARNING) \
	X(EV_CONF_LOADED,        "5f0c6d0b8a6e4d0f9a6f0c2f4b1d7a06", LOG_INFO) \
	X(EV_REQUEST,            "5f0c6d0b8a6e4d0f9a6f0c2f4b1d7a07", LOG_INFO) \
	X(EV_RUN_START,          "5f0c6d0b8a6e4d0f9a6f0c2f4b1d7a08", LOG_INFO) \
	X(EV_RUN_END,            "5f0c6d0b8a6e4d0f9a6f0c2f4b1d7a09", LOG_INFO) \
	X(EV_KEY_REFUSED,        "5f0c6d0b8a6e4d0f9a6f0c2f4b1d7a0a", LOG_INFO) \
	X(EV_KEY_GONE,           "5f0c6d0b8a6e4d0f9a6f0c2f4b1d7a0b", LOG_INFO) \
	X(EV_BROKER_REFUSED,     "5f0c6d0b8a6e4d0f9a6f0c2f4b1d7a0c", LOG_WARNING) \
	X(EV_SANDBOX,            "5f0c6d0b8a6e4d0f9a6f0c2f4b1d7a0d", LOG_INFO) \
	X(EV_PROTOCOL,           "5f0c6d0b8a6e4d0f9a6f0c2f4b1d7a0e", LOG_WARNING) \
	X(EV_WORKER_ENDED,       "5f0c6d0b8a6e4d0f9a6f0c2f4b1d7a0f", LOG_INFO)
/* clang-format on */

#define LOG_EVENT_ENUM(name, id, prio) name,
enum log_event { LOG_EVENT_LIST(LOG_EVENT_ENUM) EV_MAX };
#undef LOG_EVENT_ENUM

#endif
