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
#define LIM_CHAN_QUEUE 2048   /* packets waiting for a peer that does not read, over it the peer is given up; the largest configuration is 1,350 */
#define LIM_CHAN_BATCH 64     /* packets handled before other events get a turn */
#define LIM_CHAN_TURN_MS 20  /* and the time for them: a start is worth milliseconds, and pings wait behind */

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

/* The master (master/). */
#define LIM_ROOM_S 5          /* to make worker-spawn's namespaces and view; takes milliseconds */
#define LIM_LIVED_MS 1000     /* a worker that was ready and lived so long is replaced at once */
#define LIM_BACKOFF_MS 50     /* first pause before another start, doubling */
#define LIM_BACKOFF_READY_MS 100 /* longest pause where it had been ready: somebody kills it, or a request does. Service shall be back within 1 s, and a start takes 0.1 s, 0.5 s on a busy machine; a loop of deaths costs half a processor */
#define LIM_KILL_MS 1000      /* from closing a worker's channel to SIGKILL, and between looks after that */
#define LIM_STOP_S 5          /* for all to be gone after a stop's end; then olpd leaves without them */
#define LIM_RELOAD_S 8        /* for the workers to confirm a configuration; below what olpctl waits */
#define LIM_EGRESSES 64       /* olpd-egress processes, one per credential in use */
#define LIM_CRED_BYTES 16384  /* a credential's file, a TLS key */
#define LIM_CA_BYTES 4194304  /* certificates; Debian's bundle has 220 KB */
#define LIM_CTL_CLIENTS 8     /* olpctls at once; over it the longest idle one is dropped */
#define LIM_LISTEN_BACKLOG 4096 /* 128 cost 18 s for 5,000 connections */
#define LIM_LISTEN_FDS 64     /* sockets taken from systemd */
#define LIM_NOFILE 65536      /* descriptors of each process, where the hard limit allows */
#define LIM_ALL_RUNS_PIDS 1024       /* processes, times `limit runs`: for all runs together */
#define LIM_ALL_RUNS_EXTRA 67108864  /* bytes beside the memory budget: worker-spawn itself */

/* Log lines (common/log.c): one is cut here, foreign text in it included. */
#define LIM_LOG_LINE 2048
#define LIM_LOG_WAIT_MS 250     /* for room where lines go; then they are lost, and counted, until one goes */

/* Lines of a client's output (common/lines.c). */
#define LIM_LINE_BYTES (16 * 1024 * 1024) /* a longer one is skipped; the longest useful one seen carries 1 MB of text twice */
#define LIM_LINE_KEEP 65536               /* a buffer grown beyond this is given back after the line */

/* A client's argv and environment (common/provider, worker-spawn). */
#define LIM_LAUNCH_WORDS 96   /* claude needs 20 arguments and 20 variables */
#define LIM_LAUNCH_BYTES 4096 /* one word; nothing a tenant wrote is in any */
#define LIM_LAUNCH_PATHS 64   /* seeds, directories or folders of one provider */

/* What clients read and print (common/provider: render, parse, wire). */
#define LIM_PARSE_NOISE 100            /* lines of a client that are no JSON; real ones print none */
#define LIM_PARSE_VALUES 65536         /* commas and opening brackets in a line; parsed, an empty value of 3 bytes takes 250 */
#define LIM_PARSE_TOKENS 1000000000000 /* a token count over it is nonsense */
#define LIM_CLAUDE_STDIN 10485760      /* bytes of a prompt on standard input: the client's own limit (in characters) */
#define LIM_CLAUDE_THINKING 4096       /* max_tokens below which thinking is off: the client would give it all but one of them */
#define LIM_CLAUDE_WHOLE 16777216      /* bytes of an answer that came in one piece */

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
#define LIM_CTL_LOCK_S 120        /* others at work in keys.d: a hundred, four fsyncs each on a busy disk */
#define LIM_CTL_STATUS 1048576    /* bytes of a status report */
#define LIM_CTL_SECRET 8192       /* bytes of a credential; the longest seen are JWTs of 2 KB */
#define LIM_CTL_FILE 4194304      /* bytes read of a file in /etc, /proc or /sys */
#define LIM_CTL_CHECKS 512        /* lines of the doctor's report: 64 each of errors, providers, keys' credentials */
#define LIM_CTL_TRY_S 10          /* the doctor's own sandbox, from start to end */

/* worker-http: connections. */
#define LIM_HTTPD_EXTRA 64            /* connections beyond the configured number that are told 503; more are closed */
#define LIM_HTTPD_PATIENCE_MS 1000    /* at the limit: who waits longer for a request makes room for a new one */
#define LIM_HTTPD_ACCEPT 64           /* accepted before other events get a turn */
#define LIM_HTTPD_KEEP_S 75           /* an idle connection; longer than the 60 s of common proxies */
#define LIM_HTTPD_PIPELINE 65536      /* bytes of later requests that are taken while one is worked on */
#define LIM_HTTPD_UNKNOWN 65536       /* bytes of body taken before the key is known */
#define LIM_HTTPD_DRAIN 33554432      /* bytes thrown away after an early error, so that the caller comes to read it */
#define LIM_HTTPD_DRAIN_S 10          /* and how long */
#define LIM_HTTPD_STALL_S 120         /* a caller that takes nothing of what is written to it */
#define LIM_HTTPD_OUT_HIGH 131072     /* bytes unsent to one caller: the client's pipe is not read any more ... */
#define LIM_HTTPD_OUT_LOW 65536       /* ... until no more than these are left */
#define LIM_HTTPD_SNDBUF 131072       /* the kernel's part of that, which would grow to 4 MB by itself */
#define LIM_HTTPD_ANSWER 16777216     /* bytes of an answer that is not streamed; 3 million words */
#define LIM_HTTPD_HELD 268435456      /* bytes of bodies and unstreamed answers, all keys together ... */
#define LIM_HTTPD_HELD_KEY 67108864   /* ... and of one key; a configured body of more counts as the bound */
#define LIM_HTTPD_AUTHS 256           /* AUTH messages unanswered; further ones wait here, not in the channel */
#define LIM_HTTPD_PEM 1048576         /* bytes of a certificate chain or key */
#define LIM_HTTPD_STATUS 8            /* status reports being written */
#define LIM_HTTPD_STATUS_S 10         /* and how long one may take */

/* worker-http: requests. */
#define LIM_IR_DEPTH 64               /* nesting of a body; a deep JSON schema has 20 */
#define LIM_IR_VALUES 262144          /* values in a body: parsed, an empty one of 3 bytes takes 250 */
#define LIM_IR_MESSAGES 10000         /* turns of a conversation */
#define LIM_IR_PARTS 1000             /* content parts of one message */
#define LIM_IR_STOP 1024              /* bytes of one stop sequence */
#define LIM_IR_MAX_TOKENS 10000000    /* beyond what any model answers */
#define LIM_IR_PARAM 160              /* a parameter's place, for the answer's `param` */
#define LIM_JOB_REQUEUES 8            /* times a request that nothing was started for is put back */
#define LIM_JOB_RESTARTS 1            /* DESIGN.md section 3 */
#define LIM_JOB_SPAWN_S 5             /* without worker-spawn, until requests are told so; a dead one is back in one, a stopped one is not yet gone */
#define LIM_QUEUE_RETRY_MS 1000       /* a refused start is tried again when nothing of ours ended meanwhile */
#define LIM_RUN_GRACE_MS 50           /* a client that gave its whole answer may end by itself */
#define LIM_RUN_SETTLE_MS 2000        /* for egress's word on what went out */
#define LIM_RUN_EXIT_MS 7000          /* for worker-spawn's word on the end; it says "stuck" after 5 s */
#define LIM_RUN_READ 32768            /* bytes of a client's output taken at once */
#define LIM_RUN_STDERR 1024           /* last bytes of its stderr, kept for an owner's error */

/* The broker (worker-http/egress). Sizes in bytes, times in seconds. */
#define LIM_OUT_RUNS 2048          /* records; twice the runs there can be, since one outlives its run a little */
#define LIM_OUT_CONNS 8            /* of one run at once; claude opens 1 or 2, further ones wait in the backlog */
#define LIM_OUT_FDS 32             /* descriptors left for channels, resolver and messages */
#define LIM_OUT_REFUSALS 8         /* requests of one run refused with an answer and a line; then no more is heard */
#define LIM_OUT_IGNORED 64         /* requests of one run that are answered 404 here; claude makes 1 or 2 */
#define LIM_OUT_BODY 33554432      /* one request; the Anthropic API takes 32 MB, the others less */
#define LIM_OUT_BODIES 268435456   /* all requests held at once; over it 503 */
#define LIM_OUT_SLICE 32768        /* of a body, in one turn of the loop: 0.1 ms of checking */
#define LIM_OUT_HIGH 65536         /* waiting for a slow reader; over it the other side is not read */
#define LIM_OUT_LOW 16384          /* under it reading goes on: one TLS record */
#define LIM_OUT_SOCKBUF 131072     /* the kernel's part of that, which would grow to 6 MB a run by itself */
#define LIM_OUT_ANSWER 1073741824  /* one answer; streams of an hour are some ten MB */
#define LIM_OUT_INTERIM 8          /* 1xx answers before the real one */
#define LIM_OUT_USAGE_LINE 65536   /* of an event stream; those with usage have 1 KB */
#define LIM_OUT_USAGE_JSON 1048576 /* an answer in one piece; over it its tokens are not known */
#define LIM_OUT_DRAIN LIM_OUT_BODY /* read and dropped after an answer, so that it is not lost by a reset */
#define LIM_OUT_DRAIN_S 2
#define LIM_OUT_HEAD_S 60          /* a connection that asks nothing; the run has its own deadlines */
#define LIM_OUT_BODY_S 60          /* between two pieces of a request's body */
#define LIM_OUT_RESOLVE_S 10
#define LIM_OUT_CONNECT_S 10       /* all addresses together; again for the TLS handshake */
#define LIM_OUT_ADDRS 8            /* of the provider's name that are tried */
#define LIM_OUT_ANSWER_S 600       /* for the first or next byte either way; http has the real deadlines */
#define LIM_OUT_LINK_S 10          /* for the link to a run's http, which is on its way from the master */
#define LIM_OUT_OPENED_S 10        /* for http to read OUT_OPENED; a stopped http is replaced after 15 s */
#define LIM_OUT_FORGET_S 60        /* a record whose other end says nothing; http waits 2 s for an answer */
#define LIM_OUT_IDLE_S 60          /* without a run, until the master is told */
#define LIM_OUT_RETRY_S 604800     /* the longest Retry-After that is believed: a week */
#define LIM_BODY_DEPTH 128         /* nesting of a request's JSON; claude's has 6, tool schemas some ten more */
#define LIM_BODY_KEY 64            /* a top-level key, decoded; the longest allowed one has 18 */
#define LIM_BODY_KEYS 64           /* keys a provider's table may list: one bit each */

/* Keys and runs (worker-spawn). */
#define LIM_GRANTS 32768                /* twice the most connections: one request each, one being restarted */
#define LIM_GRANT_S 172800              /* the longest wait in a queue and the longest run: only a leak lives longer */
#define LIM_CLOCK_ERROR_US 16000000     /* the kernel's NTP_PHASE_LIMIT: from here on nobody keeps the clock */
#define LIM_EXPIRY_LOOK_S 60            /* how late an expired key's running requests may be ended */
#define LIM_RUN_INPUT 1073741824        /* bytes; twice the largest body, since escapes grow */
#define LIM_RUN_SETTINGS 1048576        /* bytes; ours have a few hundred */
#define LIM_RUN_TASKS 256               /* processes and threads of one run; claude and node have about 24 */
#define LIM_RUN_FILES 1024              /* open descriptors of one process */
#define LIM_RUN_STACK 8388608           /* bytes, soft: the kernel's default; without one the layout of memory is easier to guess */
#define LIM_RUN_MEMLOCK 8388608         /* bytes; the kernel's default */
#define LIM_RUN_MSGQUEUE 819200         /* bytes; the kernel's default */
#define LIM_RUN_SIGPENDING 1024         /* queued signals and timers of a key; they count as the service user's too */
#define LIM_KEY_INOTIFY 32              /* inotify instances of a key; with all others' they are the service user's 128 */
#define LIM_KEY_WATCHES 8192            /* and their watches */
#define LIM_RUN_FILE_BYTES 1073741824   /* a file's size; homes are bounded by their tmpfs */
#define LIM_RUN_DATA 4294967296         /* private memory of one process where no cgroup bounds it; claude reserves 1 GB to start */
#define LIM_RUN_DIAG 512                /* bytes kept of what bwrap says; one line is used */
#define LIM_RUN_PACKETS 8               /* from one shim; it has three to send */
#define LIM_RUN_EXEC_S 30               /* gate to exec; 5 ms, 150 ms on emulated machines */
#define LIM_RUN_PARK_S 15               /* waiting for an egress process: its set-up and some room */
#define LIM_RUN_STUCK_S 5               /* SIGKILL to gone; later the run is stuck */
#define LIM_RUN_RETRY_S 2               /* Retry-After when the machine has no room */
#define LIM_EGRESS_LINKS 256            /* credentials in use and those being replaced; one more is refused */
#define LIM_SEED_BYTES 1048576          /* one file seeded into a home */
#define LIM_SANDBOX_WORDS 256           /* bwrap's options: 70 and 6 a folder; a command line: 16 and the client's */
#define LIM_SANDBOX_BYTES 65536         /* all of them together */
#define LIM_CGROUP_TRIES 100            /* of rmdir, 50 ms apart: a dead member is gone within a few */
#define LIM_LOAD_MS 100                 /* changes within are told as one LOAD */

/* The functional probe (worker-spawn/probe.c). */
#define LIM_PROBE_S 5                   /* both runs of the first, since READY must be said within LIM_SETUP_S; later LIM_RUN_EXEC_S */
#define LIM_PROBE_OUT 16384             /* bytes of a report; it has 5000 */
#define LIM_PROBE_RETRY_S 5             /* first pause after a failed probe, doubling ... */
#define LIM_PROBE_RETRY_MAX_S 300       /* ... up to this */

#endif
