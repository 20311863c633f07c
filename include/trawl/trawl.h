/* The C interface of Trawl: frontier, filters, URLs and parsers in libtrawl.so. For C11 and C++.
 *
 * What all calls have in common:
 *
 * - A call that can fail returns a trawl_status: TRAWL_OK, or a code that says what failed. If its
 *   last argument `error` is not NULL, it receives NULL or an error with a message that says what
 *   was wrong, where, and what to do; release it with trawl_error_free(). Read it after the call
 *   and not in the same argument list, whose order of evaluation is open. Results are written only
 *   on success.
 * - A required pointer that is NULL is answered with TRAWL_INVALID_ARGUMENT. Every function named
 *   ..._free() accepts NULL; an object is freed once.
 * - A struct that goes in or out begins with its size. Set it, and the defaults, by its ..._init()
 *   function. A program compiled with an older header goes on working with a newer library; the
 *   reverse is refused if the program sets a member that the library does not know.
 * - Strings that go in are views that need to live only as long as the call. Strings that come out
 *   are views that live as long as the object they were read from. They are bytes, UTF-8 where they
 *   are text, and need not end with a zero byte.
 * - Calls on one object may run concurrently unless the object's comment says otherwise. No call
 *   may run concurrently with the ..._free() of the object.
 * - No exception leaves the library. A lack of memory is TRAWL_NO_SPACE.
 * - After fork() a frontier is of use only to the parent: in the child every call on it returns
 *   TRAWL_FORKED, and trawl_frontier_free() releases nothing. Everything else works in both, and
 *   the child may open other directories.
 */
#ifndef TRAWL_TRAWL_H
#define TRAWL_TRAWL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(_WIN32)
#error "Trawl runs on Linux"
#endif
/* Marks what the library exports. */
#define TRAWL_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Values ---- */

/* The version of this interface. A library keeps all that an earlier one of its SONAME had. */
#define TRAWL_ABI 1

/* Bytes, not terminated. `data` may be NULL if `size` is 0. */
typedef struct trawl_str {
  const char* data;
  size_t size;
} trawl_str;

/* A view of a string that ends with a zero byte; NULL gives the empty view. */
static inline trawl_str trawl_str_of(const char* text) {
  trawl_str view;
  view.data = text;
  view.size = text ? strlen(text) : 0;
  return view;
}

/* The kinds of failure; see ErrorCode in trawl/result.h. The numbers never change. */
enum {
  TRAWL_OK = 0,
  TRAWL_INVALID_ARGUMENT = 1,    /* a value outside what the call allows; NULL */
  TRAWL_INVALID_URL = 2,         /* not a URL by the WHATWG URL Standard */
  TRAWL_UNSUPPORTED_SCHEME = 3,  /* a URL of a scheme other than http and https */
  TRAWL_NOT_FOUND = 4,           /* no such file, directory, lease, host */
  TRAWL_ALREADY_EXISTS = 5,      /* the directory already holds a frontier */
  TRAWL_PROFILE_MISMATCH = 6,    /* the directory's frontier has other rules for keys */
  TRAWL_IN_USE = 7,              /* another process, or another handle, has the directory open */
  TRAWL_CORRUPT = 8,             /* a file is damaged, truncated or not Trawl's */
  TRAWL_UNSUPPORTED_VERSION = 9, /* a file was written by a newer Trawl */
  TRAWL_NO_SPACE = 10,           /* too little disk space or memory, or a filter is full */
  TRAWL_PERMISSION = 11,         /* the operating system refused access */
  TRAWL_IO = 12,                 /* any other read or write failure */
  TRAWL_UNAVAILABLE = 13,        /* a service is out of reach: nothing changed, call again later */
  TRAWL_CLOSED = 14,             /* the object was closed, or stopped after an earlier failure */
  TRAWL_FORKED = 15              /* the frontier was opened by the parent process */
};
/* TRAWL_OK, or why a call failed. */
typedef int32_t trawl_status;

/* The name of a status, such as "TRAWL_IN_USE"; "unknown status" for other numbers. Never NULL. */
TRAWL_EXPORT const char* trawl_status_name(trawl_status status);
/* The version of the library: "0.1.0". Never NULL. */
TRAWL_EXPORT const char* trawl_version(void);

/* Why a call failed. Immutable. */
typedef struct trawl_error trawl_error;
/* The status that the call returned; TRAWL_OK for NULL. */
TRAWL_EXPORT trawl_status trawl_error_status(const trawl_error* error);
/* One or more sentences, ending with a zero byte; "" for NULL. Lives as long as the error. */
TRAWL_EXPORT const char* trawl_error_message(const trawl_error* error);
TRAWL_EXPORT void trawl_error_free(trawl_error* error);

/* A string that the caller owns. */
typedef struct trawl_text trawl_text;
/* The text, followed by a zero byte that its size does not include; empty for NULL. */
TRAWL_EXPORT trawl_str trawl_text_get(const trawl_text* text);
TRAWL_EXPORT void trawl_text_free(trawl_text* text);

/* ---- Frontier: URLs in, leases out ---- */

/* A queue of URLs that admits each URL once, keeps a delay between requests to a host, and leases
 * every admitted URL until it is completed: Frontier in trawl/frontier.h, which says more about
 * each call. Any call may return TRAWL_UNAVAILABLE; any other storage error stops the frontier, and
 * all later calls return it. Durable data is never lost. */
typedef struct trawl_frontier trawl_frontier;

enum { TRAWL_CREATE_OR_RESUME = 0, TRAWL_CREATE = 1, TRAWL_RESUME = 2 };
enum {
  TRAWL_ASYNC = 0, /* what is durable survives a crash of the process at any instant */
  TRAWL_SYNC = 1   /* and power loss */
};

/* The options of a frontier. Times are in milliseconds; 0 disables a delay, a timeout, a limit. See
 * trawl/frontier_options.h and trawl/embedded_options.h for ranges. */
typedef struct trawl_frontier_options {
  size_t struct_size;
  trawl_str directory; /* created if missing */
  int32_t mode;        /* TRAWL_CREATE_OR_RESUME, ... */
  int32_t durability;  /* TRAWL_ASYNC, ... */

  /* Set when the directory is created: the number of URLs expected, the share of new URLs that may
   * be wrongly called seen, and whether a ledger makes answers exact, or only remembers fetches. */
  uint64_t expected_urls;
  double false_positive_rate;
  int32_t exact;
  int32_t ledger;
  uint64_t max_filter_memory; /* bytes; 0: half of the machine's memory */
  /* Names of rules for canonical keys, such as "sort_query" (docs/canonical-keys.md). */
  const trawl_str* rules;
  size_t rule_count;
  int32_t replace_rules; /* opens a directory whose frontier has other rules */
  int32_t revive_hosts;  /* revives the hosts that are parked */

  int64_t delay_ms; /* between requests to a host, a registrable domain, an IP address */
  int64_t domain_delay_ms;
  int64_t ip_delay_ms;
  double adaptive_delay; /* at least this many times the host's response time */
  int64_t max_adaptive_delay_ms;
  uint32_t leases_per_host;

  uint32_t retries;
  int64_t retry_delay_ms;
  int64_t max_retry_delay_ms;
  int64_t host_backoff_ms;
  int64_t max_host_backoff_ms;
  int64_t park_time_ms;
  int64_t no_such_host_wait_ms;
  uint32_t host_failures;

  uint32_t max_open_leases;
  int64_t lease_timeout_ms;
  uint32_t max_url_length; /* bytes */
  uint32_t max_note_bytes;

  uint64_t max_memory; /* bytes for queues, caches and buffers */
  uint64_t max_set_aside;
  uint32_t shards;

  uint32_t keep_checkpoints;
  /* A checkpoint is taken when replaying what came since the last would take 30 s. The longest time
   * between two, and the most admissions; 0 disables either. */
  int64_t checkpoint_interval_ms;
  uint64_t checkpoint_admissions;
  uint64_t max_checkpoint_rate; /* bytes a second */
} trawl_frontier_options;
/* Sets the defaults. Ignores NULL, as all ..._init() functions do. */
TRAWL_EXPORT void trawl_frontier_options_init(trawl_frontier_options* options);

/* Opens or creates the frontier in options->directory, which one process uses at a time. Errors:
 * TRAWL_INVALID_ARGUMENT, TRAWL_IN_USE, TRAWL_ALREADY_EXISTS, TRAWL_NOT_FOUND, TRAWL_CORRUPT,
 * TRAWL_PROFILE_MISMATCH, TRAWL_UNSUPPORTED_VERSION, TRAWL_NO_SPACE, TRAWL_PERMISSION, TRAWL_IO. */
TRAWL_EXPORT trawl_status trawl_frontier_open(const trawl_frontier_options* options,
                                              trawl_frontier** frontier, trawl_error** error);
/* A frontier in memory, for tests and small jobs: it ends with its process and is exact. Only the
 * rules, delays, retries and limits of `options` apply (NULL: the defaults); options->directory
 * must be empty. */
TRAWL_EXPORT trawl_status trawl_frontier_open_in_memory(const trawl_frontier_options* options,
                                                        trawl_frontier** frontier,
                                                        trawl_error** error);
/* Makes everything durable, takes a checkpoint if one is due, and releases the storage. Later calls
 * return TRAWL_CLOSED, except progress and stats. */
TRAWL_EXPORT trawl_status trawl_frontier_close(trawl_frontier* frontier, trawl_error** error);
/* Releases everything, without a checkpoint if the frontier is still open. Durable data stays. */
TRAWL_EXPORT void trawl_frontier_free(trawl_frontier* frontier);

enum {
  TRAWL_AGAIN = 1,       /* queue the URL even if it was admitted before */
  TRAWL_HOLD = 2,        /* set the URL aside instead: hold_reason and hold_rules say why */
  TRAWL_HOLD_ALWAYS = 4, /* with TRAWL_HOLD: even beyond max_set_aside */
  TRAWL_SEEN_ONLY = 8    /* queue nothing: the URL counts as seen; the other flags are ignored */
};
/* A URL offered: UrlRequest in trawl/lease.h. */
typedef struct trawl_request {
  size_t struct_size;
  trawl_str url;    /* absolute, http or https, unless there is a key */
  trawl_str key;    /* identifies the request in place of the canonical URL; empty: none */
  trawl_str queue;  /* empty: the queue of the URL's host */
  trawl_str parent; /* the page that links here; empty in complete(): the lease's URL */
  trawl_str note;   /* any bytes of the caller's, returned with the lease */
  int32_t priority; /* higher ones of a host are leased first */
  uint32_t depth;
  uint32_t redirects;
  uint32_t flags;        /* TRAWL_AGAIN, ... */
  int64_t not_before_ms; /* Unix time; 0: immediately */
  trawl_str hold_reason;
  uint64_t hold_rules;
} trawl_request;
TRAWL_EXPORT void trawl_request_init(trawl_request* request);

/* The answers to a trawl_request. */
enum {
  TRAWL_NEW = 0,           /* admitted: queued */
  TRAWL_SEEN = 1,          /* was admitted before, or is wrongly called seen */
  TRAWL_INVALID = 2,       /* not an absolute http(s) URL; with a key, neither host nor queue */
  TRAWL_TOO_LONG = 3,      /* longer than max_url_length */
  TRAWL_HELD = 4,          /* set aside */
  TRAWL_NOTE_TOO_LONG = 5, /* its note is longer than max_note_bytes */
  TRAWL_FORWARDED = 6      /* accepted; another process decides whether it is new */
};

enum {
  TRAWL_NO_WAIT = 1 /* return when the answers are known; they become durable before any later
                       complete(), fail(), hold() or flush() */
};
/* Admits the URLs that are new. Writes an answer for each of the `count` requests (at most 2^24) to
 * `answers` (unless NULL). All requests must have the same struct_size. `flags`: 0 or
 * TRAWL_NO_WAIT. Hundreds of URLs become durable in parts: if the storage fails in between, the
 * first ones are admitted all the same, and seen when they are offered again. */
TRAWL_EXPORT trawl_status trawl_frontier_offer(trawl_frontier* frontier,
                                               const trawl_request* requests, size_t count,
                                               uint8_t* answers, uint32_t flags,
                                               trawl_error** error);
/* The same for URLs alone, `count` views: for batches without other settings. */
TRAWL_EXPORT trawl_status trawl_frontier_offer_urls(trawl_frontier* frontier, const trawl_str* urls,
                                                    size_t count, uint8_t* answers, uint32_t flags,
                                                    trawl_error** error);

/* URLs handed out. Immutable; freeing them does not end the leases. */
typedef struct trawl_leases trawl_leases;
/* A URL handed out: Lease in trawl/lease.h. */
typedef struct trawl_lease {
  size_t struct_size;
  uint64_t id;
  trawl_str url;
  trawl_str host; /* the name of its queue */
  trawl_str parent;
  trawl_str note;
  int32_t priority;
  uint32_t depth;
  uint32_t redirects;
  uint32_t attempts; /* failed fetches before this one */
  int32_t recrawl;   /* it was completed before */
  int32_t paced;     /* trawl_frontier_start() matters */
} trawl_lease;
TRAWL_EXPORT void trawl_lease_init(trawl_lease* lease);
/* Leases up to `max` URLs whose hosts may be requested now. Waits up to `wait_ms` for the first one
 * (0: not at all; negative: until one is due or the end is reached). An empty result means that
 * nothing became due in time, or that nothing will: trawl_frontier_progress() says which. */
TRAWL_EXPORT trawl_status trawl_frontier_lease(trawl_frontier* frontier, size_t max,
                                               int64_t wait_ms, trawl_leases** leases,
                                               trawl_error** error);
/* 0 for NULL. */
TRAWL_EXPORT size_t trawl_leases_count(const trawl_leases* leases);
/* The lease with number `index`, from 0. Set lease->struct_size by trawl_lease_init() first. */
TRAWL_EXPORT trawl_status trawl_leases_get(const trawl_leases* leases, size_t index,
                                           trawl_lease* lease, trawl_error** error);
TRAWL_EXPORT void trawl_leases_free(trawl_leases* leases);

/* The result of a fetch: Outcome in trawl/lease.h. */
typedef struct trawl_outcome {
  size_t struct_size;
  int32_t status;        /* HTTP status; 0 if there was no response */
  int32_t not_requested; /* no request was made: counts as skipped, and causes no delay */
  int32_t seed;
  int32_t keep_failed;
  int32_t end_later; /* a second complete() ends the lease */
  int32_t has_note;  /* `note` replaces the URL's note, with recrawl_at_ms */
  trawl_str error;   /* empty unless the fetch failed */
  trawl_str reason;  /* a word that trawl_frontier_retry() can select by */
  trawl_str address; /* the IP address of the host, as text */
  trawl_str note;
  int64_t started_after_us; /* from the lease to the real start of the request */
  int64_t response_time_ms; /* 0: unknown */
  int64_t recrawl_at_ms;    /* Unix time when the URL is leased again; 0: it is done */
  uint64_t known_links;     /* links left out because they were offered before */
} trawl_outcome;
TRAWL_EXPORT void trawl_outcome_init(trawl_outcome* outcome);
/* Ends a lease and admits the links found, an answer for each in `answers` (unless NULL). The links
 * become durable no later than the completion; trawl_frontier_flush() waits for both. Errors:
 * TRAWL_NOT_FOUND if there never was such a lease. */
TRAWL_EXPORT trawl_status trawl_frontier_complete(trawl_frontier* frontier, uint64_t lease,
                                                  const trawl_outcome* outcome,
                                                  const trawl_request* links, size_t link_count,
                                                  uint8_t* answers, trawl_error** error);

/* Why a fetch failed: FailureReason in trawl/lease.h. */
enum {
  TRAWL_TIMEOUT = 0,
  TRAWL_CONNECTION = 1,
  TRAWL_TOO_MANY_REQUESTS = 2,
  TRAWL_SERVICE_UNAVAILABLE = 3,
  TRAWL_SERVER_ERROR = 4,
  TRAWL_PERMANENT = 5,
  TRAWL_NO_SUCH_HOST = 6
};
/* What trawl_frontier_fail() decided. */
typedef struct trawl_verdict {
  size_t struct_size;
  int64_t retry_at_ms;           /* Unix time; 0: no retry */
  int64_t host_blocked_until_ms; /* Unix time; 0: this failure did not block the host */
  int32_t awaits_end;            /* no retry, and the lease stays open: trawl_outcome.end_later */
  int32_t host_parked;
} trawl_verdict;
TRAWL_EXPORT void trawl_verdict_init(trawl_verdict* verdict);
/* Ends a lease whose fetch failed: the URL is retried later or ends as failed, and its host may be
 * blocked for a while. `retry_after_ms`: the least wait, as in the header Retry-After; negative:
 * none. `outcome` and `verdict` may be NULL. */
TRAWL_EXPORT trawl_status trawl_frontier_fail(trawl_frontier* frontier, uint64_t lease,
                                              int32_t reason, int64_t retry_after_ms,
                                              const trawl_outcome* outcome, trawl_verdict* verdict,
                                              trawl_error** error);
/* Ends a lease without a request and sets its URL aside; only trawl_frontier_retry() queues it
 * again. `reason` is a word; `rules` identifies the rules and is not interpreted. `flags`: 0 or
 * TRAWL_HOLD_ALWAYS. `outcome` may be NULL. */
TRAWL_EXPORT trawl_status trawl_frontier_hold(trawl_frontier* frontier, uint64_t lease,
                                              trawl_str reason, uint64_t rules, uint32_t flags,
                                              const trawl_outcome* outcome, trawl_error** error);
/* Returns a lease unfetched: its URL is leased again, not before `next_start_ms` from now
 * (negative: when its host's turn comes). `asked_after_us`: when, after the lease, the host was
 * asked for something else; negative: not at all. */
TRAWL_EXPORT trawl_status trawl_frontier_release(trawl_frontier* frontier, uint64_t lease,
                                                 int64_t next_start_ms, int64_t asked_after_us,
                                                 trawl_error** error);
/* Reports that the request of a lease has ended: the lease stays open, but no longer counts for
 * leases_per_host, so that its host's next URL may be leased while this response is processed. At
 * most 255 leases of a host are not counted. `started_after_us`: from the lease to the real start
 * of the request, from which delays count. Fails with TRAWL_NOT_FOUND if the lease is not open. */
TRAWL_EXPORT trawl_status trawl_frontier_fetched(trawl_frontier* frontier, uint64_t lease,
                                                 int64_t started_after_us, trawl_error** error);
/* Makes the lease expire lease_timeout_ms from now. */
TRAWL_EXPORT trawl_status trawl_frontier_renew(trawl_frontier* frontier, uint64_t lease,
                                               trawl_error** error);

enum {
  TRAWL_START_NOW = 0,  /* the request may start immediately */
  TRAWL_START_SOON = 1, /* ask again in wait_ms: keep the lease */
  TRAWL_START_LATER = 2 /* release the lease with next_start_ms = wait_ms, asked_after_us = -1 */
};
/* The answer to trawl_frontier_start(). */
typedef struct trawl_turn {
  size_t struct_size;
  int32_t when;
  int64_t wait_ms;      /* from now */
  uint64_t internal[3]; /* for trawl_frontier_sent() */
} trawl_turn;
TRAWL_EXPORT void trawl_turn_init(trawl_turn* turn);
/* Asks whether the request of a lease may start now, for callers with a variable time between lease
 * and request. `address`: the IP address that it goes to; empty: unknown. */
TRAWL_EXPORT trawl_status trawl_frontier_start(trawl_frontier* frontier, uint64_t lease,
                                               trawl_str address, trawl_turn* turn,
                                               trawl_error** error);
/* The same for a request to `host` without a lease of it, such as for another host's robots.txt
 * that redirects there. Ignores whether the host is blocked or parked. */
TRAWL_EXPORT trawl_status trawl_frontier_start_elsewhere(trawl_frontier* frontier, trawl_str host,
                                                         trawl_str address, trawl_turn* turn,
                                                         trawl_error** error);
/* Reports that the request of a turn with TRAWL_START_NOW was sent `ago_ms` before now; negative:
 * it was not sent. */
TRAWL_EXPORT trawl_status trawl_frontier_sent(trawl_frontier* frontier, const trawl_turn* turn,
                                              int64_t ago_ms, trawl_str address,
                                              trawl_error** error);

/* Which members of a trawl_host_settings are set. */
enum {
  TRAWL_HOST_DELAY = 1,
  TRAWL_HOST_EXACT_DELAY = 2,
  TRAWL_HOST_LEASES = 4,
  TRAWL_HOST_LIMIT = 8,
  TRAWL_HOST_ADDRESS = 16,
  TRAWL_HOST_BLOCKED_UNTIL = 32
};
#define TRAWL_NOT_BLOCKED INT64_MIN /* a host's blocked_until_ms: it is not blocked */
#define TRAWL_PARKED INT64_MAX      /* a host's blocked_until_ms: until a call says otherwise */
#define TRAWL_NO_LIMIT UINT64_MAX   /* a host's limit: none */
/* The settings of a host or of another queue: HostSettings in trawl/lease.h. */
typedef struct trawl_host_settings {
  size_t struct_size;
  uint32_t set; /* TRAWL_HOST_DELAY | ...: the members that are set; the others stay unchanged */
  int32_t exact_delay;
  int64_t delay_ms;
  uint32_t leases;
  uint64_t limit; /* further URLs with a request; TRAWL_NO_LIMIT removes it */
  trawl_str address;
  int64_t blocked_until_ms; /* Unix time, TRAWL_NOT_BLOCKED or TRAWL_PARKED */
} trawl_host_settings;
TRAWL_EXPORT void trawl_host_settings_init(trawl_host_settings* settings);
/* Changes the settings of a host, which need not have URLs yet. Durable, except `address`. */
TRAWL_EXPORT trawl_status trawl_frontier_set_host(trawl_frontier* frontier, trawl_str host,
                                                  const trawl_host_settings* settings,
                                                  trawl_error** error);

enum {
  TRAWL_HOST_ACTIVE = 0,
  TRAWL_HOST_BLOCKED = 1,
  TRAWL_HOST_PARKED = 2,
  TRAWL_HOST_AT_LIMIT = 3
};
/* The state of a host: HostInfo in trawl/lease.h. */
typedef struct trawl_host {
  size_t struct_size;
  trawl_str host;
  int32_t state; /* TRAWL_HOST_ACTIVE, ... */
  uint32_t leased;
  uint64_t queued;
  uint32_t failures; /* in a row */
  uint32_t set;      /* which of the following are set: TRAWL_HOST_DELAY, ... */
  int32_t exact_delay;
  uint32_t leases;
  int64_t delay_ms;
  uint64_t limit; /* what is left of it */
  int64_t blocked_until_ms;
} trawl_host;
TRAWL_EXPORT void trawl_host_init(trawl_host* host);
/* Hosts as they were at the time of the call. Immutable. */
typedef struct trawl_hosts trawl_hosts;
/* At most `limit` hosts that follow `after`, the last host of the previous call; empty: from the
 * first. In unspecified order. */
TRAWL_EXPORT trawl_status trawl_frontier_hosts(trawl_frontier* frontier, trawl_str after,
                                               size_t limit, trawl_hosts** hosts,
                                               trawl_error** error);
/* One host. Errors: TRAWL_NOT_FOUND. */
TRAWL_EXPORT trawl_status trawl_frontier_host(trawl_frontier* frontier, trawl_str name,
                                              trawl_hosts** hosts, trawl_error** error);
/* 0 for NULL. */
TRAWL_EXPORT size_t trawl_hosts_count(const trawl_hosts* hosts);
/* The host with number `index`, from 0. */
TRAWL_EXPORT trawl_status trawl_hosts_get(const trawl_hosts* hosts, size_t index, trawl_host* host,
                                          trawl_error** error);
TRAWL_EXPORT void trawl_hosts_free(trawl_hosts* hosts);
/* Deletes the host's queued and deferred URLs, except those leased now; they stay seen. Writes
 * their number to `dropped` (unless NULL). */
TRAWL_EXPORT trawl_status trawl_frontier_drop_host(trawl_frontier* frontier, trawl_str host,
                                                   uint64_t* dropped, trawl_error** error);

enum { TRAWL_ANY_SET_ASIDE = 0, TRAWL_ONLY_HELD = 1, TRAWL_ONLY_FAILED = 2 };
/* Which URLs set aside are queued again: those that match every member that is set. */
typedef struct trawl_retry {
  size_t struct_size;
  int32_t state; /* TRAWL_ANY_SET_ASIDE, ... */
  int32_t first_status;
  int32_t last_status; /* HTTP statuses, both included; 0 and 0: any */
  trawl_str key;       /* a URL, or the bytes of a trawl_request.key; empty: any */
  trawl_str host;
  trawl_str reason;
} trawl_retry;
TRAWL_EXPORT void trawl_retry_init(trawl_retry* which);
/* Queues URLs set aside again, durably. `which` NULL: all. Writes their number to `queued` (unless
 * NULL). */
TRAWL_EXPORT trawl_status trawl_frontier_retry(trawl_frontier* frontier, const trawl_retry* which,
                                               uint64_t* queued, trawl_error** error);

/* A URL set aside: SetAsideUrl in trawl/set_aside.h. */
typedef struct trawl_set_aside_url {
  size_t struct_size;
  int32_t state;  /* TRAWL_ONLY_HELD or TRAWL_ONLY_FAILED */
  int32_t status; /* HTTP status of a failed one; 0: none */
  trawl_str url;
  trawl_str host; /* the name of its queue */
  trawl_str reason;
  trawl_str parent;
  trawl_str note;
  trawl_str position; /* for the next call of trawl_frontier_set_aside() */
  uint64_t rules;     /* of a held one */
  int64_t since_ms;   /* Unix time */
  int32_t was_queued; /* 0: a link that was held before it was admitted */
  int32_t priority;
  uint32_t depth;
  uint32_t redirects;
} trawl_set_aside_url;
TRAWL_EXPORT void trawl_set_aside_url_init(trawl_set_aside_url* url);
/* URLs set aside as they were at the time of the call. Immutable. */
typedef struct trawl_set_aside trawl_set_aside;
/* At most `limit` URLs set aside that follow `after`, the position of the last one of the previous
 * call; empty: from the first. In unspecified order. */
TRAWL_EXPORT trawl_status trawl_frontier_set_aside(trawl_frontier* frontier, trawl_str after,
                                                   size_t limit, trawl_set_aside** urls,
                                                   trawl_error** error);
/* 0 for NULL. */
TRAWL_EXPORT size_t trawl_set_aside_count(const trawl_set_aside* urls);
/* The URL with number `index`, from 0. */
TRAWL_EXPORT trawl_status trawl_set_aside_get(const trawl_set_aside* urls, size_t index,
                                              trawl_set_aside_url* url, trawl_error** error);
TRAWL_EXPORT void trawl_set_aside_free(trawl_set_aside* urls);

/* The states of a URL: UrlState in trawl/lease.h. */
enum {
  TRAWL_URL_UNKNOWN = 0,
  TRAWL_URL_WAITING = 1,
  TRAWL_URL_DEFERRED = 2,
  TRAWL_URL_LEASED = 3,
  TRAWL_URL_HELD = 4,
  TRAWL_URL_FAILED = 5,
  TRAWL_URL_DONE = 6,
  TRAWL_URL_SEEN = 7
};
/* What is known of a URL; members that are unknown are 0 or empty. */
typedef struct trawl_url_state {
  size_t struct_size;
  int32_t state; /* TRAWL_URL_UNKNOWN, ... */
  int32_t status;
  int64_t at_ms; /* Unix time; 0: unknown */
  uint32_t fetches;
  uint32_t depth;
  trawl_str host;
  trawl_str reason;
  trawl_str note;
} trawl_url_state;
TRAWL_EXPORT void trawl_url_state_init(trawl_url_state* state);
/* What is known of a URL. Immutable. */
typedef struct trawl_found trawl_found;
/* Looks up a URL, or the bytes of a trawl_request.key. May read all waiting URLs. */
TRAWL_EXPORT trawl_status trawl_frontier_lookup(trawl_frontier* frontier, trawl_str url_or_key,
                                                trawl_found** found, trawl_error** error);
/* The state of the URL that was looked up. */
TRAWL_EXPORT trawl_status trawl_found_get(const trawl_found* found, trawl_url_state* state,
                                          trawl_error** error);
TRAWL_EXPORT void trawl_found_free(trawl_found* found);

/* Whether a frontier has more to do: Progress in trawl/lease.h. */
typedef struct trawl_progress {
  size_t struct_size;
  int32_t at_end; /* one of the following three */
  int32_t finished;
  int32_t exhausted;
  int32_t only_recrawls_wait;
} trawl_progress;
TRAWL_EXPORT void trawl_progress_init(trawl_progress* progress);
/* Includes URLs offered with TRAWL_NO_WAIT, for whose durability it waits if it must. */
TRAWL_EXPORT trawl_status trawl_frontier_progress(trawl_frontier* frontier,
                                                  trawl_progress* progress, trawl_error** error);

/* Totals and the present state: FrontierStats in trawl/frontier_stats.h. */
typedef struct trawl_stats {
  size_t struct_size;
  uint64_t admitted;
  uint64_t completed;
  uint64_t failed;
  uint64_t skipped;
  uint64_t succeeded;
  uint64_t held;
  uint64_t set_aside_failed;
  uint64_t seen;
  uint64_t invalid;
  uint64_t dropped;
  uint64_t retried;
  uint64_t recrawls;
  uint64_t deferred;
  uint64_t queued;
  uint64_t leased;
  uint64_t hosts;
  uint64_t hosts_blocked;
  uint64_t hosts_parked;
  uint64_t expired;
  uint64_t checkpoints;
  uint64_t memory;        /* bytes of queues, caches and buffers */
  uint64_t filter_memory; /* bytes */
  uint64_t filter_keys;
  double false_positive_rate; /* of the filter, now */
  double expected_lost;       /* expected number of offered URLs wrongly called seen */
} trawl_stats;
TRAWL_EXPORT void trawl_stats_init(trawl_stats* stats);
/* Works after trawl_frontier_close(), too: the last state. */
TRAWL_EXPORT trawl_status trawl_frontier_stats(trawl_frontier* frontier, trawl_stats* stats,
                                               trawl_error** error);

/* Returns when everything completed or offered before is durable. */
TRAWL_EXPORT trawl_status trawl_frontier_flush(trawl_frontier* frontier, trawl_error** error);
/* Writes a snapshot of the filter so that the next opening is quick. */
TRAWL_EXPORT trawl_status trawl_frontier_checkpoint(trawl_frontier* frontier, trawl_error** error);
/* The same, soon and in the background. */
TRAWL_EXPORT trawl_status trawl_frontier_request_checkpoint(trawl_frontier* frontier,
                                                            trawl_error** error);

/* A file descriptor (an eventfd) that becomes readable when a URL may have become due or the end
 * was reached: read its 8 bytes, then call trawl_frontier_lease() with wait_ms 0. For poll(),
 * epoll, asyncio, libuv. The frontier owns it; do not close it. Returns -1 after a failure. */
TRAWL_EXPORT int trawl_frontier_event_fd(trawl_frontier* frontier, trawl_error** error);
/* The time until trawl_frontier_lease() may return something, as far as is known, in milliseconds
 * rounded up; 0: now; -1 while everything waits for completions or offers. For a loop's timer. */
TRAWL_EXPORT trawl_status trawl_frontier_next_due(trawl_frontier* frontier, int64_t* wait_ms,
                                                  trawl_error** error);

/* ---- Filters: sets of keys in a few bits each ---- */

/* The kinds; trawl/filter.h names the header of each. The numbers are those of the file format. */
enum {
  TRAWL_BLOCKED = 1, /* one cache line a key; the fastest */
  TRAWL_GROWING = 2, /* blocked, for any number of keys */
  TRAWL_CLASSIC = 3, /* the textbook's Bloom filter: the smallest without removals, at most rates */
  TRAWL_COUNTING = 4, /* keys can be removed */
  TRAWL_CUCKOO = 5    /* keys can be removed; can become full */
};
/* The kind and the size of a filter. */
typedef struct trawl_filter_options {
  size_t struct_size;
  int32_t kind;               /* TRAWL_GROWING by default */
  uint32_t hashes;            /* classic only; 0: the best number */
  uint64_t capacity;          /* keys; 1,000,000 by default */
  double false_positive_rate; /* above 0 and below 1; 1e-6 by default */
  uint64_t max_memory;        /* growing only: bytes; 0: as the machine's memory allows */
  uint64_t bits;              /* classic only; 0: the rate decides */
  /* The 16 bytes of a key for the hash; NULL: a random one. Filters with equal keys, kinds and
   * sizes can be merged. */
  const uint8_t* hash_key;
} trawl_filter_options;
TRAWL_EXPORT void trawl_filter_options_init(trawl_filter_options* options);

/* A filter in memory. A key is any bytes. */
typedef struct trawl_filter trawl_filter;
/* An empty filter. Errors: TRAWL_INVALID_ARGUMENT, TRAWL_NO_SPACE. */
TRAWL_EXPORT trawl_status trawl_filter_create(const trawl_filter_options* options,
                                              trawl_filter** filter, trawl_error** error);
/* Reads a file that trawl_filter_save() or `trawl filter build` wrote. `max_memory` as in
 * trawl_filter_options. */
TRAWL_EXPORT trawl_status trawl_filter_open(trawl_str path, uint64_t max_memory,
                                            trawl_filter** filter, trawl_error** error);
/* Writes the filter to `path`, atomically and durably; other threads may go on. */
TRAWL_EXPORT trawl_status trawl_filter_save(const trawl_filter* filter, trawl_str path,
                                            trawl_error** error);
TRAWL_EXPORT void trawl_filter_free(trawl_filter* filter);
/* Adds a key. Sets `is_new` (unless NULL) to 1 iff this call added it: of all threads adding one
 * key, at most one. Errors: TRAWL_NO_SPACE if a cuckoo filter is full. */
TRAWL_EXPORT trawl_status trawl_filter_add(trawl_filter* filter, trawl_str key, int32_t* is_new,
                                           trawl_error** error);
/* Sets `found` to 1 if the key was added, or with the false-positive rate, else to 0. */
TRAWL_EXPORT trawl_status trawl_filter_contains(const trawl_filter* filter, trawl_str key,
                                                int32_t* found, trawl_error** error);
/* Removes a key that was added. Sets `removed` (unless NULL) to 0 if it was not there. Errors:
 * TRAWL_INVALID_ARGUMENT for kinds other than counting and cuckoo. */
TRAWL_EXPORT trawl_status trawl_filter_remove(trawl_filter* filter, trawl_str key, int32_t* removed,
                                              trawl_error** error);
/* The same for `count` keys in order, several times as fast for large filters: 0 or 1 for each in
 * `answers`, and the number of ones in `ones`; either may be NULL. After an error the keys before
 * the one that failed may have been added, and answers written. */
TRAWL_EXPORT trawl_status trawl_filter_add_batch(trawl_filter* filter, const trawl_str* keys,
                                                 size_t count, uint8_t* answers, size_t* ones,
                                                 trawl_error** error);
/* See trawl_filter_add_batch(). */
TRAWL_EXPORT trawl_status trawl_filter_contains_batch(const trawl_filter* filter,
                                                      const trawl_str* keys, size_t count,
                                                      uint8_t* answers, size_t* ones,
                                                      trawl_error** error);
/* Adds all keys of `other`: blocked and classic filters of equal size and hash key. */
TRAWL_EXPORT trawl_status trawl_filter_merge(trawl_filter* filter, const trawl_filter* other,
                                             trawl_error** error);

/* The statistics or the size of a filter: FilterStats in trawl/filter.h. */
typedef struct trawl_filter_stats {
  size_t struct_size;
  int32_t kind;
  uint32_t hashes;
  uint64_t capacity;
  uint64_t inserted;
  uint64_t memory; /* bytes */
  uint32_t layers;
  int32_t overfull;
  double target_rate;
  double current_rate;
  double fill;
  double expected_false_positives;
} trawl_filter_stats;
TRAWL_EXPORT void trawl_filter_stats_init(trawl_filter_stats* stats);
/* What the filter holds, and its rate now. */
TRAWL_EXPORT trawl_status trawl_filter_get_stats(const trawl_filter* filter,
                                                 trawl_filter_stats* stats, trawl_error** error);

/* What a filter of a kind takes: filter_size() in trawl/sizing.h. */
typedef struct trawl_filter_size {
  size_t struct_size;
  uint64_t bits;
  uint32_t hashes;
  double bits_per_key;
  double rate; /* with all keys added */
  uint64_t file_bytes;
} trawl_filter_size;
TRAWL_EXPORT void trawl_filter_size_init(trawl_filter_size* size);
/* The size of a filter for `keys` keys at `rate`. */
TRAWL_EXPORT trawl_status trawl_filter_size_for(int32_t kind, uint64_t keys, double rate,
                                                trawl_filter_size* size, trawl_error** error);
/* The most keys at `rate` that fit into `bits` bits. */
TRAWL_EXPORT trawl_status trawl_filter_keys_for(int32_t kind, double rate, uint64_t bits,
                                                uint64_t* keys, trawl_error** error);
/* The lowest rate for `keys` keys in `bits` bits. */
TRAWL_EXPORT trawl_status trawl_filter_rate_for(int32_t kind, uint64_t keys, uint64_t bits,
                                                double* rate, trawl_error** error);

/* ---- URLs and canonical keys ---- */

/* A parsed http or https URL. Immutable. */
typedef struct trawl_url trawl_url;
/* Parses `input`, relative to `base` unless that is NULL, as browsers do. Errors:
 * TRAWL_INVALID_URL, TRAWL_UNSUPPORTED_SCHEME. */
TRAWL_EXPORT trawl_status trawl_url_parse(trawl_str input, const trawl_url* base, trawl_url** url,
                                          trawl_error** error);
TRAWL_EXPORT void trawl_url_free(trawl_url* url);
enum {
  TRAWL_HREF = 0, /* the whole URL, serialised */
  TRAWL_SCHEME = 1,
  TRAWL_USERNAME = 2,
  TRAWL_PASSWORD = 3,
  TRAWL_HOSTNAME = 4, /* without the port */
  TRAWL_HOST = 5,     /* with the port, unless it is the default */
  TRAWL_PORT = 6,     /* empty if it is the default */
  TRAWL_PATH = 7,
  TRAWL_QUERY = 8,   /* without '?' */
  TRAWL_FRAGMENT = 9 /* without '#' */
};
/* A part of the URL; empty if it is absent, for NULL, and for other numbers. */
TRAWL_EXPORT trawl_str trawl_url_get(const trawl_url* url, int32_t part);

/* Decides which URLs are the same: Canonicalizer in trawl/canonicalizer.h. Immutable. */
typedef struct trawl_canonicalizer trawl_canonicalizer;
/* `rules`: names of opt-in rules, such as "sort_query"; none: only the lossless rules apply. */
TRAWL_EXPORT trawl_status trawl_canonicalizer_create(const trawl_str* rules, size_t rule_count,
                                                     trawl_canonicalizer** canonicalizer,
                                                     trawl_error** error);
/* The canonical key of a URL: equal keys mean that they count as one. */
TRAWL_EXPORT trawl_status trawl_canonicalizer_key(const trawl_canonicalizer* canonicalizer,
                                                  const trawl_url* url, trawl_text** key,
                                                  trawl_error** error);
TRAWL_EXPORT void trawl_canonicalizer_free(trawl_canonicalizer* canonicalizer);

/* ---- Documents ---- */

/* A parsed robots.txt: Robots in trawl/robots.h. Immutable. */
typedef struct trawl_robots trawl_robots;
/* Never fails on what the file holds: invalid lines are ignored. */
TRAWL_EXPORT trawl_status trawl_robots_parse(trawl_str bytes, trawl_robots** robots,
                                             trawl_error** error);
/* Sets `allowed` to 1 if a crawler whose product token is `agent` may fetch `url`, else to 0. */
TRAWL_EXPORT trawl_status trawl_robots_allowed(const trawl_robots* robots, trawl_str agent,
                                               const trawl_url* url, int32_t* allowed,
                                               trawl_error** error);
/* The agent's Crawl-delay in milliseconds; -1 if there is none. */
TRAWL_EXPORT trawl_status trawl_robots_crawl_delay(const trawl_robots* robots, trawl_str agent,
                                                   int64_t* delay_ms, trawl_error** error);
/* 0 for NULL. */
TRAWL_EXPORT size_t trawl_robots_sitemap_count(const trawl_robots* robots);
/* The sitemap with number `index`, from 0; empty if there is none. */
TRAWL_EXPORT trawl_str trawl_robots_sitemap(const trawl_robots* robots, size_t index);
TRAWL_EXPORT void trawl_robots_free(trawl_robots* robots);

/* The kinds of links: LinkKind in trawl/links.h. */
enum {
  TRAWL_LINK_NAVIGATION = 1,
  TRAWL_LINK_FORM = 2,
  TRAWL_LINK_DOCUMENT = 4,
  TRAWL_LINK_RESOURCE = 8,
  TRAWL_LINK_RELATED = 16,
  TRAWL_LINK_CITATION = 32,
  TRAWL_LINK_REFRESH = 64,
  TRAWL_LINK_GUESS = 128 /* strings in scripts and JSON that look like URLs */
};
/* What trawl_links_extract() collects. */
typedef struct trawl_link_options {
  size_t struct_size;
  uint32_t kinds;         /* TRAWL_LINK_NAVIGATION | ...; by default those that crawlers follow */
  int32_t texts;          /* collect the texts of <a> */
  size_t max_text;        /* collect the page's text, at most this many bytes; 0: none */
  trawl_str content_type; /* of the response's header, for its charset; may be empty */
  trawl_str agent; /* whose <meta name> applies in addition to "robots"; "trawl" by default */
} trawl_link_options;
TRAWL_EXPORT void trawl_link_options_init(trawl_link_options* options);
/* A link of a page: Link in trawl/links.h. */
typedef struct trawl_link {
  size_t struct_size;
  trawl_str url;
  uint32_t kind;  /* TRAWL_LINK_NAVIGATION, ... */
  int32_t follow; /* 0 if its rel or the page says nofollow */
  trawl_str element;
  trawl_str attribute;
  trawl_str rel;
  trawl_str text;
} trawl_link;
TRAWL_EXPORT void trawl_link_init(trawl_link* link);
/* What a page says about itself. */
typedef struct trawl_page {
  size_t struct_size;
  trawl_str title;
  trawl_str language;
  trawl_str text;
  trawl_str encoding;
  trawl_str canonical; /* empty: none */
  trawl_str refresh;   /* the target of <meta http-equiv=refresh>; empty: none */
  int32_t no_index;
  int32_t no_follow;
  int32_t skipped; /* the page was not parsed: too large, too deep, or too slow */
} trawl_page;
TRAWL_EXPORT void trawl_page_init(trawl_page* page);
/* The links of a page. Immutable. */
typedef struct trawl_links trawl_links;
/* Finds the links of an HTML page; accepts any bytes, in bounded time and memory. `base`: the
 * page's URL; NULL: relative references are left out. `options` may be NULL. */
TRAWL_EXPORT trawl_status trawl_links_extract(trawl_str html, const trawl_url* base,
                                              const trawl_link_options* options,
                                              trawl_links** links, trawl_error** error);
/* 0 for NULL. */
TRAWL_EXPORT size_t trawl_links_count(const trawl_links* links);
/* The link with number `index`, from 0, in the order of the page. */
TRAWL_EXPORT trawl_status trawl_links_get(const trawl_links* links, size_t index, trawl_link* link,
                                          trawl_error** error);
/* What the page says about itself. */
TRAWL_EXPORT trawl_status trawl_links_page(const trawl_links* links, trawl_page* page,
                                           trawl_error** error);
TRAWL_EXPORT void trawl_links_free(trawl_links* links);

/* An entry of a sitemap or feed: SitemapEntry in trawl/sitemap.h. */
typedef struct trawl_sitemap_entry {
  size_t struct_size;
  trawl_str url;
  int64_t last_modified;      /* Unix time in seconds; INT64_MIN: unknown */
  trawl_str change_frequency; /* "daily"; empty: unknown */
  double priority;            /* 0 to 1; negative: unknown */
} trawl_sitemap_entry;
TRAWL_EXPORT void trawl_sitemap_entry_init(trawl_sitemap_entry* entry);
/* A parsed sitemap, sitemap index or feed. Immutable. */
typedef struct trawl_sitemap trawl_sitemap;
/* `base`: the document's URL. Never fails on what the document holds. */
TRAWL_EXPORT trawl_status trawl_sitemap_parse(trawl_str bytes, const trawl_url* base,
                                              trawl_sitemap** sitemap, trawl_error** error);
/* "urlset", "index", "text", "rss", "atom", or "unknown". */
TRAWL_EXPORT trawl_str trawl_sitemap_kind(const trawl_sitemap* sitemap);
/* 0 for NULL. */
TRAWL_EXPORT size_t trawl_sitemap_count(const trawl_sitemap* sitemap);
/* The entry with number `index`, from 0. */
TRAWL_EXPORT trawl_status trawl_sitemap_get(const trawl_sitemap* sitemap, size_t index,
                                            trawl_sitemap_entry* entry, trawl_error** error);
TRAWL_EXPORT void trawl_sitemap_free(trawl_sitemap* sitemap);

#ifdef __cplusplus
}
#endif

#endif
