/* SPDX-License-Identifier: ISC */
/*
 * Every fixed ceiling of olpd, with its reason.  What an operator may change
 * is in olpd.conf(5) and only has its default and its bounds here.
 */
#ifndef OLP_LIMITS_H
#define OLP_LIMITS_H

/* The channel between two processes (common/chan.c). */
#define LIM_MSG_BYTES 65536   /* one packet; bulk travels in passed descriptors */
#define LIM_MSG_FDS 3         /* RUN_START carries the most: input, system, settings */
#define LIM_MSG_DEPTH 3      /* an array of fields, of which one may be a list */
#define LIM_LIST 64          /* strings in one list: providers or models of a key */
#define LIM_LIST_STR 128     /* one of them, with the NUL */
#define LIM_LIST_CREDS 8     /* credentials that are one key's own */
#define LIM_CHAN_QUEUE 1024   /* packets waiting for a peer that does not read; over it the peer is given up */
#define LIM_CHAN_BATCH 64     /* packets handled before other events get a turn */

/* Names and small strings that travel in messages. Lengths with the NUL. */
#define LIM_KEY_ID 25         /* [a-z][a-z0-9-]{0,23} */
#define LIM_PROVIDER 32
#define LIM_MODEL 128         /* the longest model id seen is 61 */
#define LIM_TOKEN 128         /* olp_ and 43 characters; room for other front ends' keys */
#define LIM_REQUEST_ID 32     /* req_ and 26 characters */
#define LIM_CRED_ID 64        /* which credential: "provider" or "key.provider" */
#define LIM_PATH 1024         /* a path in the configuration */
#define LIM_TEXT 512          /* a reason told to a person */
#define LIM_ENFORCEMENT 192   /* the value of X-OLP-Enforcement */

/* Workers (common/worker.c, master/super.c). Seconds. */
#define LIM_SETUP_S 10        /* HELLO to READY; a slower worker is replaced */
#define LIM_PING_S 5          /* between pings */
#define LIM_PING_MISSES 3     /* unanswered pings before a worker counts as dead */
#define LIM_BACKOFF_MAX_S 30  /* longest pause before a worker that keeps failing is started again */

/* Log lines (common/log.c): one is cut here, foreign text in it included. */
#define LIM_LOG_LINE 2048

/* Lines of a client's output (common/lines.c). */
#define LIM_LINE_BYTES (16 * 1024 * 1024) /* a longer one is skipped; the longest useful one seen carries 1 MB of text twice */
#define LIM_LINE_KEEP 65536               /* a buffer grown beyond this is given back after the line */

/* A client's argv and environment (common/provider, worker-spawn). */
#define LIM_LAUNCH_WORDS 96   /* claude needs 24 arguments and 18 variables */
#define LIM_LAUNCH_BYTES 4096 /* one word; nothing a tenant wrote is in any */

/* HTTP heads (common/http). */
#define LIM_HTTP_LINE 8192         /* request line, as nginx and Apache have it */
#define LIM_HTTP_HEAD 32768        /* all fields together */
#define LIM_HTTP_FIELDS 100
#define LIM_HTTP_CHUNK_LINE 256    /* size and extensions */
#define LIM_HTTP_TRAILER 8192      /* trailer section, dropped */

/* The configuration (common/conf). Defaults and bounds of settings: olpd.conf(5). */
#define LIM_CONF_ERRORS 64            /* told in one reading; more help nobody */
#define LIM_CONF_FILE 1048576         /* bytes of one file; ours have a few hundred */
#define LIM_CONF_FILES 64             /* files in one reading, includes too */
#define LIM_CONF_DEPTH 8              /* an include in an include in ... */
#define LIM_CONF_TOKEN LIM_PATH       /* a word or string, with the NUL */
#define LIM_CONF_MACROS 128
#define LIM_CONF_MACRO_NAME 32        /* with the NUL */
#define LIM_CONF_LISTENS 16
#define LIM_CONF_PROVIDERS 32
#define LIM_CONF_MODELS 256
#define LIM_CONF_KEYS 1024            /* files read from keys.d */
#define LIM_CONF_PORT 4567
#define LIM_CONF_UID_LO 70000         /* above what systemd and login.defs hand out, below subuids */
#define LIM_CONF_UID_HI 79999
#define LIM_CONF_UID_MIN 1000         /* below are the system's own */
#define LIM_CONF_UID_MAX 2147483643   /* beyond 2^31 systemd and file systems warn; room for service-ids */
#define LIM_CONF_UID_RANGE_MIN 16     /* the probe's two and a few keys */
#define LIM_CONF_UID_RANGE_MAX 1048576
#define LIM_CONF_UID_PROBE 2          /* the first of the range, never a key's */
#define LIM_CONF_SERVICE_FIRST 69990
#define LIM_CONF_SERVICE_IDS 4        /* http, spawn, egress, tui */
#define LIM_CONF_MEMORY_MIN 1048576   /* bytes */
#define LIM_CONF_MEMORY_MAX 1099511627776
#define LIM_CONF_HOME 67108864        /* bytes; clients write a few hundred KB */
#define LIM_CONF_HOME_MIN 1048576
#define LIM_CONF_HOME_MAX 68719476736
#define LIM_CONF_INODES 4096
#define LIM_CONF_INODES_MIN 64
#define LIM_CONF_INODES_MAX 1048576
#define LIM_CONF_RUNS 8               /* at once, all keys */
#define LIM_CONF_RUNS_MAX 1024
#define LIM_KEY_RUNS_DEFAULT 2        /* at once, a key that says nothing */
#define LIM_CONF_STARTS_MAX 100000    /* per minute, beyond what a machine can start */
#define LIM_CONF_QUEUE 64
#define LIM_CONF_QUEUE_PER_KEY 16
#define LIM_CONF_QUEUE_MAX 16384
#define LIM_CONF_CONNECTIONS 512
#define LIM_CONF_CONNECTIONS_MAX 16384
#define LIM_CONF_BODY 20971520        /* bytes; a long conversation with images */
#define LIM_CONF_BODY_MIN 1024
#define LIM_CONF_BODY_MAX 536870912
#define LIM_CONF_RUN_S 600            /* a whole run, where its provider says nothing */
#define LIM_CONF_HEAD_S 10
#define LIM_CONF_BODY_S 60
#define LIM_CONF_QUEUE_S 300
#define LIM_CONF_FIRST_BYTE_S 120
#define LIM_CONF_IDLE_S 120
#define LIM_CONF_TIMEOUT_MAX_S 86400
#define LIM_CONF_HEARTBEAT_S 15       /* proxies give up at 30 to 60 s of silence */
#define LIM_CONF_HEARTBEAT_MAX_S 600
#define LIM_CONF_STOP_S 20            /* systemd kills after 90 */
#define LIM_CONF_STOP_MAX_S 3600

/* olpctl. */
#define LIM_CTL_WAIT_S 10         /* for the daemon's answer, and for a status report */
#define LIM_CTL_LOCK_S 30         /* another olpctl at work in keys.d; one needs milliseconds */
#define LIM_CTL_STATUS 1048576    /* bytes of a status report */
#define LIM_CTL_SECRET 8192       /* bytes of a credential; the longest seen are JWTs of 2 KB */
#define LIM_CTL_FILE 4194304      /* bytes read of a file in /etc, /proc or /sys */
#define LIM_CTL_CHECKS 256        /* lines of the doctor's report */
#define LIM_CTL_TRY_S 10          /* the doctor's own sandbox, from start to end */

#endif
