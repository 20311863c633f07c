// Frontier: URLs in, leases out; each URL once, none lost.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/canonicalizer.h"
#include "trawl/clocks.h"
#include "trawl/filter.h"
#include "trawl/fingerprint.h"
#include "trawl/lease.h"
#include "trawl/result.h"
#include "trawl/set_aside.h"

namespace trawl {

// How sure a "seen" is.
enum class FilterMode : std::uint8_t {
  kBloom,  // the filter decides: a share of new URLs (false_positive_rate) is taken for seen
  kExact,  // a "seen" of the filter is checked against the ledger: no URL is lost
};

// A checkpoint that the frontier took by itself, or could not.
struct CheckpointEvent {
  Result<void> result;
  std::chrono::duration<double> took;
};

enum class FrontierDurability {
  kAsync,  // survives the death of the process at any instant
  kSync,   // survives power loss too: each commit is synced to the disk
};

enum class OpenMode {
  kCreateOrResume,
  kCreate,  // kAlreadyExists if the directory holds a crawl
  kResume,  // kNotFound if it holds none
};

struct FrontierOptions {
  std::filesystem::path directory;  // created if missing, its parents too
  OpenMode mode = OpenMode::kCreateOrResume;

  // The seen-filter (GrowingBloomFilter): how many URLs its first layer is sized for, and the rate
  // of new URLs wrongly taken for seen that it keeps however many come. Fixed when the directory is
  // created; resuming keeps what was chosen then. About 40 bits a URL for 1e-6.
  std::uint64_t expected_urls = 1'000'000;
  double false_positive_rate = 1e-6;
  // Bytes that the filter may grow to; 0: half of the machine's memory. Where it may not grow, the
  // rate rises, and stats() says so.
  std::uint64_t max_filter_memory = 0;
  FilterMode filter_mode = FilterMode::kBloom;
  // Keeps a record of each URL admitted: status and time of its last fetch. Always on with
  // FilterMode::kExact. Without that, some of the "seen" answers are checked against it, and
  // stats() tells the rate of false ones that was measured. Fixed when the directory is created.
  bool ledger = false;
  // Bytes for queues, caches and buffers of the store; at least kMinFrontierMemory. Not bounded by
  // it, and to be added to know what a process takes: the filter; the program's code (some 14 MiB);
  // hosts with URLs that wait, which are all kept, at about 200 bytes each, and 300 more with
  // domain_delay or address_delay; open leases, at about 230 bytes each and the URL's record
  // (max_open_leases); and what the C library's malloc keeps of freed memory. glibc's keeps a lot
  // unless told not to: see docs/frontier.md. stats() tells what is in use.
  std::uint64_t max_memory = 256u << 20;

  // Between the starts of two requests to a host, to the hosts of a registrable domain, and to an
  // IP address (see set_host_address()); all hold at once. From 0, which asks for none, to
  // kMaxDelay.
  std::chrono::milliseconds delay{1000};
  std::chrono::milliseconds domain_delay{0};
  std::chrono::milliseconds address_delay{0};
  // A host's delay is at least so many times its response time, smoothed over its last few
  // requests, but not longer than max_adaptive_delay on that account; 0: no such delay.
  double adaptive_delay = 0;
  std::chrono::milliseconds max_adaptive_delay{60'000};
  std::uint32_t leases_per_host = 1;  // open at the same time; >= 1

  // A URL whose fetch failed for a passing reason is tried again so often, after retry_delay at
  // first and twice as long each time, up to max_retry_delay.
  std::uint32_t retries = 2;
  std::chrono::milliseconds retry_delay{10'000};
  std::chrono::milliseconds max_retry_delay{3'600'000};
  // A host that fails (FailureReason says by what) is left alone for host_backoff, twice as long
  // after each further failure in a row, up to max_host_backoff; half of each wait is random. After
  // host_failures in a row it is given up; 0: only if it has answered before, and then nothing for
  // six times max_host_backoff and at least a minute, so that its URLs do not wait for ever.
  std::chrono::milliseconds host_backoff{1'000};
  std::chrono::milliseconds max_host_backoff{600'000};
  std::uint32_t host_failures = 20;
  // So long after it was given up a host is leased from again, its failures forgotten; 0: only
  // revive_host() does that.
  std::chrono::milliseconds revive_after{0};
  // open() revives the hosts that were given up before.
  bool revive_hosts = false;
  std::chrono::milliseconds no_such_host_wait{3'000};  // see FailureReason::kNoSuchHost

  // URLs set aside that the store keeps, some 150 bytes each; links (UrlRequest::hold) take half of
  // that at most. What finds no room is counted in FrontierStats::not_set_aside: it ends without a
  // trace. 0: none are kept but those that HoldReason::always and Outcome::keep_failed name, which
  // are kept beyond it.
  std::uint64_t max_set_aside = 10'000'000;

  // A lease that is neither ended nor renewed for so long ends by itself, and its URL is leased
  // again; 0: never.
  std::chrono::milliseconds lease_timeout{3'600'000};
  // Leases open at the same time over all hosts, those whose completion is not yet durable
  // included; at least `shards`. So many URLs at most are leased twice because of a crash.
  std::uint32_t max_open_leases = 1'000'000;
  std::uint32_t max_url_length = 2083;  // bytes
  // Hosts are spread over this many shards (1 to 1024). Threads that lease from a shard of their
  // own do not wait for each other, but when max_open_leases is used up; one shard may use all of
  // it.
  std::uint32_t shards = 1;
  FrontierDurability durability = FrontierDurability::kAsync;
  std::uint32_t checkpoints_kept = 2;  // >= 1
  // Checkpoints are taken by themselves after so long, and after so many admissions; 0: not so. A
  // time in which nothing was admitted needs none.
  std::chrono::milliseconds checkpoint_interval{0};
  std::uint64_t checkpoint_admissions = 0;
  // Bytes a second that a checkpoint writes at most; 0: as fast as the disk takes them. The one
  // that close() takes is not held up by it.
  std::uint64_t checkpoint_rate = 0;

  // The canonicalisation that decides which URLs are the same. Stored; resuming with another is
  // refused, with what differs, unless it may replace the stored one: URLs whose key changes are
  // then not known to have been seen, and may be admitted once more; those set aside get new keys.
  Profile profile = {};
  bool replace_profile = false;
  // The key of the fingerprints; random if absent. Used when the directory is created.
  std::optional<KeyedHash> hash = std::nullopt;
  // The clock that delays are measured by; std::chrono::steady_clock if empty. Must not go back.
  std::function<SteadyTime()> clock = {};
  // The clock of times that outlive the process (retries, recrawls, blocked hosts);
  // std::chrono::system_clock if empty.
  std::function<SystemTime()> wall_clock = {};
  // Makes the frontier a function of its calls: every call returns when what it changed is durable,
  // lease numbers count from 1, and what is random is drawn from this seed. With clocks and a hash
  // of the caller's, the same calls then give the same leases in the same order. For tests.
  std::optional<std::uint64_t> deterministic_seed = std::nullopt;

  // Called on the frontier's commit thread with completions just before they become durable, so
  // that what the caller writes about a page is on disk before the page counts as done; a crash
  // in between repeats the page. An error stops the frontier (see Frontier). Must neither call the
  // frontier nor throw.
  std::function<Result<void>(std::span<const Completion>)> before_commit = {};
  // Called when a shard got new URLs or a URL back, or when leases are free again that lease() or
  // next_due() of that shard found lacking: a hint to call lease(). Runs on the commit thread, or
  // in lease(), release(), fail() and the calls that change a host. Must not block, call the
  // frontier, or throw.
  std::function<void(std::uint32_t shard)> on_work = {};
  // Called on the frontier's checkpoint thread after each checkpoint that it took by itself or on
  // request_checkpoint(). Must neither call close() nor throw.
  std::function<void(const CheckpointEvent&)> on_checkpoint = {};
};

inline constexpr std::uint64_t kMinFrontierMemory = 64u << 20;

struct FrontierStats {
  std::uint64_t admitted = 0;         // URLs ever told new
  std::uint64_t completed = 0;        // of these, done; includes the failed
  std::uint64_t failed = 0;           // completed with an error
  std::uint64_t skipped = 0;          // completed without a request; those held included
  std::uint64_t succeeded = 0;        // completed with a status of 2xx, or 304
  std::uint64_t seeds_succeeded = 0;  // of these, those with Outcome::seed
  std::uint64_t held = 0;             // set aside now, by state
  std::uint64_t set_aside_failed = 0;
  std::uint64_t requeued = 0;       // by retry(), of those that were queued before
  std::uint64_t not_set_aside = 0;  // for want of room: FrontierOptions::max_set_aside
  // Offers told seen, and those told invalid or too long. Of offers that admitted nothing the count
  // is durable with the next write only.
  std::uint64_t seen = 0;
  std::uint64_t invalid = 0;
  std::uint64_t dropped = 0;            // by drop_host()
  std::uint64_t retried = 0;            // fetches that failed and were, or will be, tried again
  std::uint64_t recrawls = 0;           // completions that asked for a recrawl
  std::uint64_t deferred = 0;           // waiting for a time of their own: retries and recrawls
  std::uint64_t recrawls_deferred = 0;  // of these, recrawls, but for those tried again
  std::uint64_t queued = 0;             // waiting in a host queue, not leased
  std::uint64_t leased = 0;  // open leases, those whose completion is not yet durable included
  std::uint64_t hosts = 0;   // host queues in memory
  std::uint64_t hosts_blocked = 0;   // of these, blocked at the moment
  std::uint64_t hosts_given_up = 0;  // of these
  std::uint64_t expired = 0;         // leases that expired, in this process; as the next two
  std::uint64_t late = 0;            // completions of expired leases that counted
  std::uint64_t repeated = 0;        // completions of leases that had ended
  std::uint64_t checkpoints = 0;     // published by this process
  double false_positive_rate = 0;    // of the filter, now
  double expected_lost = 0;          // expected number of URLs offered, wrongly taken for seen
  FilterStats filter = {};
  // Of the "seen" answers so far in this process that were checked against the ledger: how many,
  // how many were false, and the rate of new URLs taken for seen that this tells. With
  // FilterMode::kExact all are checked and the false ones set right; those found in the cache of
  // what is known are not counted.
  std::uint64_t seen_checked = 0;
  std::uint64_t seen_false = 0;
  double measured_false_positive_rate = 0;
  // URLs that were offered with a smaller depth than they were admitted with before they were done.
  std::uint64_t depth_repairs = 0;
  std::uint64_t memory = 0;    // bytes of queues, caches and buffers, about; without the filter
  std::string filter_warning;  // why the filter could not grow; empty: it could, or need not
};

// How open() found the directory.
struct OpenReport {
  bool resumed = false;
  std::string checkpoint;             // the file restored from; empty: none
  std::uint64_t replayed = 0;         // fingerprints replayed from the admission log
  std::uint64_t hosts_revived = 0;    // FrontierOptions::revive_hosts
  std::vector<std::string> warnings;  // e.g. a damaged checkpoint that an older one replaced
};

// What revive() did.
struct ReviveReport {
  std::uint64_t revived = 0;
  std::vector<std::string> hosts;         // those revived, the first 1,000 of them
  std::vector<std::string> not_given_up;  // of those named; known, but there was nothing to do
  std::vector<std::string> unknown;       // of those named: no URL waits, and nothing is kept
};

// What repair() did.
struct RepairReport {
  bool repaired = false;           // false: it opens as it is
  std::uint64_t known = 0;         // URLs in the new filter
  std::uint64_t forgotten = 0;     // URLs admitted before that it lacks; they may be fetched again
  std::vector<std::string> notes;  // what was damaged, what was used, what can no longer be known
};

// A durable queue of URLs that admits each URL once, keeps a delay between requests to a host,
// and survives kill -9: every admitted URL is leased, again and again after crashes, until it is
// completed; at most the URLs whose leases were open at a crash are leased twice.
//
// All calls are thread-safe. If the store cannot be written or read (disk full, I/O error) the
// frontier stops: that call and all later ones that would change anything return the error; the
// state on disk is intact, and opening it again goes on from there. A checkpoint that cannot be
// written is an error of that call alone.
class Frontier {
 public:
  // Opens or creates a frontier. Errors: kInvalidArgument, kInUse (another process has it open),
  // kAlreadyExists, kNotFound, kCorrupt, kUnsupportedVersion, kNoSpace, kPermission, kIo.
  static Result<std::unique_ptr<Frontier>> open(const FrontierOptions& options);

  // Deletes the frontier in `directory`, its own files only; none there is no error. Errors:
  // kInUse, kPermission, kIo.
  static Result<void> remove(const std::filesystem::path& directory);
  // For a directory that open() refuses since no checkpoint in it is intact: makes a filter anew
  // from what the store still knows, and publishes it. `options` as for open(). Does nothing to a
  // directory that opens as it is. Errors: as open().
  static Result<RepairReport> repair(const FrontierOptions& options);
  // Revives hosts that were given up, as revive_host() does, in a directory that nobody has open:
  // those named as in Lease::host, or all. Reads the store alone, no checkpoint. Errors: kInUse,
  // kNotFound, kCorrupt, kUnsupportedVersion, kNoSpace, kPermission, kIo.
  static Result<ReviveReport> revive(const std::filesystem::path& directory,
                                     std::span<const std::string> hosts = {});

  // Ends without a checkpoint what close() did not end. Everything committed stays durable.
  virtual ~Frontier() = default;

  // Admits the URLs that are new. What it answered is durable when it returns.
  virtual Result<std::vector<Admission>> offer(std::span<const UrlRequest> requests) = 0;

  // Up to `max` URLs whose hosts may be asked now, at most leases_per_host a host; none if nothing
  // is due. The caller starts each request at once. The second form asks one shard only.
  //
  // The delays of hosts, domains and addresses lie between hand-outs as long as leases are open,
  // and count from the real start of a request as soon as that is reported: by
  // Outcome::started_after, by release(), or by start(), before its lease ends. A report only ever
  // moves the next hand-out back. So real starts are the delay apart if each is the same time after
  // its hand-out, or if start() is asked before each request: if not, two may come closer by as
  // much as that time differs.
  virtual Result<std::vector<Lease>> lease(std::size_t max) = 0;
  virtual Result<std::vector<Lease>> lease(std::size_t max, std::uint32_t shard) = 0;
  // When lease() may next have something, as far as is known, perhaps a time that has passed;
  // nothing while all is waiting for completions or offers, or if there is no such shard.
  virtual std::optional<SteadyTime> next_due(std::uint32_t shard) const = 0;

  // For callers that look names up, wait for connections, or ask hosts on behalf of others: asked
  // before the request of a lease is made, with the address that it goes to as text (empty: not
  // known), it says when the delays of the host, the domain and that address let it begin, counted
  // from the real starts of the requests before. With kNow it counts as begun, and until sent()
  // says so, no other one to its host, domain or address is let begin, for a second longer than the
  // delay at most, or for a tenth of one if the delay is shorter than that. A lease with kLater is
  // best given back by release(lease_id, turn.at, std::nullopt): its host stands in line for the
  // address from then on, and is leased when its turn has come. Not needed where Lease::paced is
  // false. Errors: kNotFound if the lease is not open.
  virtual Result<StartTurn> start(std::uint64_t lease_id, std::string_view address) = 0;
  // The same for a request to `host` (as Lease::host) that is not of a lease of it, because another
  // host's robots.txt redirects to it, say. Of several that are told to come again each has a time
  // of its own, and the host's own URLs have turns in between. Blocks do not count, nor that it was
  // given up.
  virtual Result<StartTurn> start_elsewhere(std::string_view host, std::string_view address) = 0;
  // The request that was told kNow was sent `when`, to that address if it is another after all
  // (empty: it is not); the delays count from then. Nothing: it will not be sent; it counts as
  // begun.
  virtual Result<void> sent(const StartTurn& turn, std::optional<SteadyTime> when,
                            std::string_view address = {}) = 0;

  // Ends a lease and admits the links found: both become durable together, shortly after the
  // return (flush() waits for it). Returns what became of each link. If the lease expired, and its
  // URL was neither completed nor failed by another since, this counts all the same (of a shard's
  // expired leases the last 1,024, or max_open_leases, are known); if it ended before, the links
  // are admitted and nothing else happens. All links are one operation, which others wait for: a
  // page with very many is better cut to the 100,000 first. Errors: kNotFound if this frontier,
  // since it was opened, gave no such lease.
  virtual Result<std::vector<Admission>> complete(std::uint64_t lease_id, const Outcome& outcome,
                                                  std::span<const UrlRequest> links) = 0;
  // Ends a lease whose fetch failed: its URL is tried again later, or ends as failed, and its host
  // may be left alone for a while (FailureReason, FrontierOptions::retries and host_backoff). With
  // Outcome::requested false what failed was the host, before it was asked for this URL (its name,
  // the connection, its robots.txt): the URL goes back to its place and keeps its tries, unless the
  // reason is kPermanent, or host_failures is 0 and the host has not answered yet.
  // `retry_after`, as the header Retry-After has it, is the least time for both. `outcome` as for
  // complete(), its recrawl_at for when the URL is given up; given to before_commit if the URL
  // ends. A lease that ended before, or expired: nothing happens, and the verdict is empty. Errors:
  // kNotFound as complete().
  virtual Result<FailureVerdict> fail(
      std::uint64_t lease_id, FailureReason reason,
      std::optional<std::chrono::milliseconds> retry_after = std::nullopt,
      const Outcome& outcome = {}) = 0;
  // Ends a lease without a request, since a rule of the caller's passes its URL over: it is set
  // aside as held, and is leased again only if retry() says so. `outcome` is given to
  // before_commit. Errors: as complete(); kInvalidArgument if the reason is empty.
  virtual Result<void> hold(std::uint64_t lease_id, const HoldReason& reason,
                            const Outcome& outcome = {}) = 0;
  // Whether another URL may be set aside: FrontierOptions::max_set_aside, as of what is durable.
  // Cheap, unlike stats(): for a caller that holds with HoldReason::always what must not be lost,
  // and does something else where there is no room.
  virtual bool has_room_to_set_aside() const = 0;
  // URLs that are held, and those that ended as failed: with an error, or a status of 400 or above.
  // At most `limit`, in an order of no meaning: those behind `after`, the URL of the last one of
  // the call before; empty: from the first on.
  virtual Result<std::vector<SetAsideUrl>> set_aside(std::string_view after,
                                                     std::size_t limit) const = 0;
  // Queues those again that `which` names, durably, with all their tries; links that were held
  // before they were admitted are offered. Reads all that are set aside, unless RetryWhich::url
  // names one. Returns how many it queued: those offered count if they were new.
  virtual Result<std::uint64_t> retry(const RetryWhich& which) = 0;
  // The lease expires lease_timeout from now. Errors: kNotFound if it is not open.
  virtual Result<void> renew(std::uint64_t lease_id) = 0;
  // Gives a lease back unfetched: its URL is leased again later. With `next_start` the host waits
  // until then, and with `started_after` also its delay, as its domain and address do, from so long
  // after the lease, which is when it was asked for something else instead (robots.txt, say).
  // Without either, as if the lease had not been given; start() counts all the same. Errors:
  // kNotFound.
  virtual Result<void> release(
      std::uint64_t lease_id, std::optional<SteadyTime> next_start = std::nullopt,
      std::optional<std::chrono::microseconds> started_after = std::chrono::microseconds(0)) = 0;

  // Sets a host's own delay (its robots.txt may ask for one); durable. The longer of it and
  // FrontierOptions::delay holds. `host` as in Lease::host.
  virtual Result<void> set_host_delay(std::string_view host, std::chrono::milliseconds delay) = 0;
  // Leases open at the same time for this host, in place of leases_per_host; durable. 0: as others.
  virtual Result<void> set_host_leases(std::string_view host, std::uint32_t leases) = 0;
  // So many more URLs of the host are completed at most, and the rest of its queue is kept;
  // nothing: no such limit. Counts completed URLs, failed ones too, for which a request was made;
  // no more leases are open than are left. Durable.
  virtual Result<void> set_host_limit(std::string_view host, std::optional<std::uint64_t> urls) = 0;
  // No request to the host before `until`; a time that has passed lifts the block. Durable.
  virtual Result<void> block_host(std::string_view host, SystemTime until) = 0;
  // Gives the host up, as too many failures do. Durable.
  virtual Result<void> park_host(std::string_view host) = 0;
  // Forgets the host's failures, lifts its block, and leases from it again if it was given up.
  virtual Result<void> revive_host(std::string_view host) = 0;
  // Deletes the URLs that wait in its queue or are deferred, but for those leased now; they stay
  // "seen". Returns how many there were. Durable.
  virtual Result<std::uint64_t> drop_host(std::string_view host) = 0;
  // The IP address that requests to this host go to, as text; empty: not known. What is known is
  // kept while the host's queue is in memory, and told anew by each Outcome::address. Requests to
  // one address start address_delay apart, whatever the host. A host that was not asked yet counts
  // to none unless it is set here, or by start().
  virtual Result<void> set_host_address(std::string_view host, std::string_view address) = 0;
  // Hosts with URLs that wait or with settings of their own, at most `limit`, in an order of no
  // meaning: those behind `after`, the name of the last one of the call before; empty: from the
  // first on. Counts each one's URLs in the store, which takes a while for long queues.
  virtual Result<std::vector<HostInfo>> hosts(std::string_view after, std::size_t limit) const = 0;
  // One of them; kNotFound if there is none of that name.
  virtual Result<HostInfo> host(std::string_view name) const = 0;
  // Calls `visit` with the URLs that wait in a host's queue, leased ones included, those deferred
  // not, in the order of the queue, until it answers false. It must not call the frontier.
  virtual Result<void> visit_queue(
      std::string_view host, const std::function<bool(std::string_view url)>& visit) const = 0;

  // Returns when everything completed or offered before is durable.
  virtual Result<void> flush() = 0;
  // Publishes a checkpoint of the filter while other threads go on; a restart then replays only
  // what was admitted since. One at a time; a second call waits for the first.
  virtual Result<void> checkpoint() = 0;
  // The same soon, on the frontier's own thread: see on_checkpoint.
  virtual void request_checkpoint() = 0;

  // True if every admitted URL is completed or dropped, durably, and none waits for a recrawl.
  virtual bool finished() const = 0;
  // True if nothing more will be leased by itself: none is leased or deferred, and those queued, if
  // any, are of hosts given up or at their limit.
  virtual bool exhausted() const = 0;
  // True if nothing will be leased by itself but recrawls that are not due yet: as exhausted(),
  // with at least one of them deferred, and nothing else.
  virtual bool only_recrawls_wait() const = 0;
  virtual FrontierStats stats() const = 0;
  virtual const OpenReport& opened() const = 0;

  // Flushes, publishes a checkpoint and closes the directory. What other threads are told at the
  // same time holds; later calls return kClosed.
  virtual Result<void> close() = 0;
};

}  // namespace trawl
