// The frontier's leases: how they are given, ended and put back.
//
// lease() takes URLs that are due from the shards. max_open_leases is shared by all shards: a shard
// that finds none free sets its flag in awaits_lease_, and every call that ends a lease announces
// it to that shard. Deferred URLs are in no shard; lease_from() has the committer queue them when
// the first is due.
//
// A lease ends in two steps. begin_end() ends it in its shard (the host's delay and failures) and
// computes the changes of the store; submit_end() adds these to an operation. In between the caller
// may write its output (N3; Outcome::end_later). The URL stays in the store, and the lease counts
// as open, until that operation is durable (N1). In a shared frontier it is one of its own, which
// follows that of the links (FrontierParts::ends_follow_links).
#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/wall_time.h"
#include "frontier/common/outcome_rules.h"
#include "frontier/embedded_options_checks.h"
#include "frontier/frontier_impl.h"

namespace trawl {

namespace {

// When 1/kShort of a shard's leases wait to be committed, a caller that wants more hurries the
// commit, unless that goes to Redis: see commit_would_help().
constexpr std::uint64_t kShort = 4;

std::optional<std::uint64_t> change_of(const EndedLease& lease) {
  return lease.host_changed ? std::optional(lease.host_change) : std::nullopt;
}

tl::unexpected<Error> undecodable() {
  return error(ErrorCode::kCorrupt,
               "the store is damaged: a queued URL cannot be decoded; restore the state "
               "directory from a backup, or start over");
}

}  // namespace

// Has the committer queue the deferred URLs that are due.
Result<void> FrontierImpl::promote_due() {
  if (partitions_->next_deferred() > clock_.now()) return {};
  // acquire, release: pairs with after_commit(), which resets it.
  if (promoting_.exchange(true, std::memory_order_acq_rel)) return {};
  return submit([](Operation& operation) { operation.promote = true; });
}

Result<std::vector<Lease>> FrontierImpl::lease(const LeaseRequest& request) {
  if (auto valid = check_shard(request.shard); !valid) return tl::unexpected(valid.error());
  const auto lease_now = [&] {
    return request.shard ? lease_from(*request.shard, request.max) : lease_from_all(request.max);
  };
  auto leases = lease_and_wait(
      wakes_, request,
      {.lease_now = lease_now,
       .progress = [this] { return progress(); },
       .next_due = [&] { return request.shard ? due(*request.shard) : due_in_all(); },
       .now = options_.testing.clock,
       .real_clock = has_real_clock_});
  // The next due time has changed.
  if (leases && !leases->empty()) wakes_.wake_waiters();
  return leases;
}

Result<void> FrontierImpl::check_shard(std::optional<std::uint32_t> shard) const {
  if (!shard || *shard < options_.store.shards) return {};
  return error(
      ErrorCode::kInvalidArgument,
      fmt::format("there is no shard {}: shards are numbered from 0, and store.shards is {}",
                  *shard, options_.store.shards));
}

Result<std::vector<Lease>> FrontierImpl::lease_from_all(std::size_t max) {
  std::vector<Lease> leases;
  if (!leases_.has_any()) count_ended_leases();
  // Each call begins after the shard that gave a lease last, so that no shard is preferred, either
  // by its number or because a domain that several shards share becomes due at that moment.
  const std::uint32_t first = next_shard_.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < options_.store.shards && leases.size() < max; ++i) {
    auto more = lease_from((first + i) % options_.store.shards, max - leases.size());
    if (!more) return more;
    if (more->empty() && !leases_.has_any()) break;
    if (more->empty()) continue;
    next_shard_.store((first + i + 1) % options_.store.shards, std::memory_order_relaxed);
    std::ranges::move(*more, std::back_inserter(leases));
  }
  return leases;
}

Result<std::vector<Lease>> FrontierImpl::lease_from(std::uint32_t shard, std::size_t max) {
  assert(shard < shards_.size());
  const StoreUse use(*this);
  if (!use) return tl::unexpected(use.error());
  if (auto promoted = promote_due(); !promoted) return tl::unexpected(promoted.error());
  std::vector<NumberedLease> urls;
  auto done = shards_[shard]->lease(max, urls);
  if (done && urls.size() < max && lacks_lease(shard)) {
    ask_for_lease(shard);
    done = shards_[shard]->lease(max - urls.size(), urls);
    // Keep the flag only if the shard still lacks leases.
    if (urls.size() == max || leases_.has_any())
      awaits_lease_[shard].store(false, std::memory_order_relaxed);
  }
  // Leases of this shard may have expired.
  if (leases_.has_any()) announce_leases();
  if (!done) {
    commits_->stop_with(done.error());
    return tl::unexpected(done.error());
  }
  assert(urls.size() <= max);
  // The operations in the queue may make more URLs leasable. But while most leases are in use, the
  // caller has enough work.
  const bool short_of_urls = urls.size() < max && commit_would_help(shard);
  if (short_of_urls && urls.empty() && !partitions_->is_shared() &&
      options_.store.durability != Durability::kSync) {
    // The caller has nothing else to do: it commits itself, unless that waits for a disk.
    commits_->help();
    done = shards_[shard]->lease(max, urls);
    if (!done) {
      commits_->stop_with(done.error());
      return tl::unexpected(done.error());
    }
  } else if (short_of_urls) {
    commits_->hurry();
  }
  std::vector<Lease> leases;
  leases.reserve(urls.size());
  for (NumberedLease& lease : urls) {
    auto url = leased(lease.number * options_.store.shards + shard, lease.url);
    if (!url) {
      commits_->stop_with(url.error());
      return tl::unexpected(url.error());
    }
    url->paced = lease.url.paced;
    leases.push_back(std::move(*url));
  }
  return leases;
}

// A commit to Redis costs as much for one page as for several of a bucket: it is hurried only when
// as many operations wait as leases are open, or half as many and there are no more leases.
bool FrontierImpl::commit_would_help(std::uint32_t shard) const {
  const std::uint64_t queued = commits_->queued();
  if (!partitions_->is_shared()) return kShort * queued >= shards_[shard]->leased();
  if (queued == 0) return false;  // without the locks of the shards
  std::uint64_t leased = 0;
  for (const auto& one : shards_)
    leased += one->leased();
  return queued >= leased || (!leases_.has_any() && 2 * queued >= leased);
}

bool FrontierImpl::lacks_lease(std::uint32_t shard) const {
  return !leases_.has_any() && shards_[shard]->has_turn();
}

void FrontierImpl::ask_for_lease(std::uint32_t shard) const {
  // The flag is set first, so that every lease that ends from now on is announced to this shard.
  // seq_cst: pairs with the fence in after_commit(): either the commit thread sees the flag, or
  // this thread sees what it pushed into the inboxes.
  awaits_lease_[shard].store(true, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  count_ended_leases();
}

void FrontierImpl::announce_leases() {
  for (std::uint32_t shard = 0; shard < options_.store.shards; ++shard) {
    // A relaxed load first, since this is called for every lease.
    if (awaits_lease_[shard].load(std::memory_order_relaxed) &&
        awaits_lease_[shard].exchange(false, std::memory_order_relaxed))
      wakes_.announce(shard);
  }
}

void FrontierImpl::count_ended_leases() const {
  for (const auto& shard : shards_)
    shard->count_ended_leases();
}

Result<std::optional<std::uint32_t>> FrontierImpl::noted_depth(Fingerprint fingerprint,
                                                               std::uint32_t stored_depth) const {
  if (!depths_.may_be_noted(fingerprint, stored_depth)) return std::nullopt;
  return store_->depth(fingerprint);
}

Lease FrontierImpl::to_lease(std::uint64_t id, const QueueOrder& order, UrlRecord record,
                             const std::optional<std::uint32_t>& noted_depth) {
  return {.id = id,
          .url = std::string(record.url),
          .host = queue_of(record),
          .parent = std::move(record.parent),
          .priority = order.priority,
          .depth = std::min(record.depth, noted_depth.value_or(record.depth)),
          .redirects = record.redirects,
          .attempts = record.attempts,
          .recrawl = record.recrawl,
          .note = std::string(record.note)};
}

Result<Lease> FrontierImpl::leased(std::uint64_t id, const QueuedUrl& url) const {
  auto record = decode_record(url.record);
  if (!record) return undecodable();
  if (record->depth == 0 || !depths_.has_notes())
    return to_lease(id, url.order, std::move(*record), std::nullopt);
  const auto fingerprint = identity_.of(*record);
  if (!fingerprint) return undecodable();
  const auto noted = noted_depth(*fingerprint, record->depth);
  if (!noted) return tl::unexpected(noted.error());
  return to_lease(id, url.order, std::move(*record), *noted);
}

std::optional<SteadyTime> FrontierImpl::next_expiry() const {
  std::optional<SteadyTime> next;
  for (const auto& shard : shards_) {
    const auto expiry = shard->next_expiry();
    if (expiry) next = next ? std::min(*next, *expiry) : *expiry;
  }
  return next;
}

Result<std::optional<SteadyTime>> FrontierImpl::next_due(std::optional<std::uint32_t> shard) const {
  if (auto open = commits_->check(); !open) return tl::unexpected(open.error());
  if (auto valid = check_shard(shard); !valid) return tl::unexpected(valid.error());
  return shard ? due(*shard) : due_in_all();
}

std::optional<SteadyTime> FrontierImpl::due_in_all() const {
  std::optional<SteadyTime> first;
  for (std::uint32_t shard = 0; shard < options_.store.shards; ++shard) {
    const auto next = due(shard);
    if (next) first = first ? std::min(*first, *next) : *next;
  }
  return first;
}

std::optional<SteadyTime> FrontierImpl::due(std::uint32_t shard) const {
  auto due = shards_[shard]->next_due();
  if (due && *due <= options_.testing.clock() && !leases_.has_any()) {
    const bool has_turn = shards_[shard]->has_turn();
    if (has_turn) ask_for_lease(shard);
    if (!leases_.has_any()) due = has_turn ? next_expiry() : shards_[shard]->next_due();
  }
  // Not before the clock's epoch, so that the caller can subtract times without overflow.
  if (due) due = std::max(*due, SteadyTime());
  const auto deferred = deferred_due();
  if (due && deferred) return std::min(*due, *deferred);
  return due ? due : deferred;
}

std::optional<SteadyTime> FrontierImpl::deferred_due() const {
  const std::int64_t deferred = partitions_->next_deferred();
  // While due URLs are being queued their time does not count: an announcement follows when they
  // are queued.
  if (deferred == Partition::kNever || promoting_.load(std::memory_order_relaxed))
    return std::nullopt;
  const SteadyTime now = options_.testing.clock();
  const std::chrono::milliseconds wait(
      std::clamp<std::int64_t>(deferred - clock_.now(), 0, kMaxDelay.count()));
  return now + wait;
}

Result<Operation::Ended> FrontierImpl::ended(std::uint64_t lease_id, const QueuedUrl& url,
                                             const Outcome& outcome, bool sets_aside) const {
  auto record = decode_record(url.record);
  if (!record) return undecodable();
  Operation::Ended ended;
  ended.host = url.host;
  ended.order = url.order;
  ended.outcome = outcome;
  std::optional<std::uint32_t> depth;
  ended.stored_depth = record->depth;
  ended.keeps_by_fingerprint = ledger_ || record->depth > 0;
  // Hash only if needed: hashing is a large part of the cost of ending a lease.
  if (ended.keeps_by_fingerprint || sets_aside || record->recrawl) {
    const auto fingerprint = identity_.of(*record);
    if (!fingerprint) return undecodable();
    ended.fingerprint = *fingerprint;
  }
  if (ended.keeps_by_fingerprint) {
    const auto noted = noted_depth(ended.fingerprint, record->depth);
    if (!noted) return tl::unexpected(noted.error());
    depth = *noted;
    ended.depth_noted = depth.has_value();
    ended.depth_lowered = depth && *depth < record->depth;
  }
  if (ledger_) {
    const auto before = store_->ledger(ended.fingerprint);
    if (!before) return tl::unexpected(before.error());
    ended.fetches = (*before ? (*before)->fetches : 0) + 1;
  }
  ended.given = record->given;
  ended.lease = to_lease(lease_id, url.order, std::move(*record), depth);
  return ended;
}

void FrontierImpl::defer(Operation::Ended& ended, Operation::Ended::Kind kind,
                         std::int64_t until) const {
  const bool retry = kind == Operation::Ended::Kind::kRetry;
  ended.kind = kind;
  ended.not_before = until;
  std::string_view note = ended.lease.note;
  if (!retry && ended.outcome.note) note = *ended.outcome.note;
  ended.record = encode_record({.url = ended.lease.url,
                                .parent = ended.lease.parent,
                                .depth = ended.lease.depth,
                                .redirects = retry ? ended.lease.redirects : 0,
                                .attempts = retry ? ended.lease.attempts + 1 : 0,
                                .recrawl = !retry || ended.lease.recrawl,
                                .note = note,
                                .given = ended.given});
}

// A recrawled URL may have failed, and been set aside, before.
void FrontierImpl::forget_set_aside(const Operation::Ended& ended, Operation& operation) const {
  if (!ended.lease.recrawl) return;
  operation.restored.push_back(
      {.fingerprint = ended.fingerprint, .host = ended.host, .record = {}});
}

void FrontierImpl::set_failed_aside(Operation::Ended& ended) const {
  set_aside(ended, SetAsideState::kFailed,
            {.reason = reason_of(ended.outcome), .always = ended.outcome.keep_failed});
}

Result<std::vector<Admission>> FrontierImpl::complete(std::uint64_t lease_id,
                                                      const Outcome& outcome,
                                                      std::span<const UrlRequest> links) {
  return end_lease(lease_id, outcome, links, nullptr);
}

Result<std::vector<Admission>> FrontierImpl::end_lease(std::uint64_t lease_id,
                                                       const Outcome& outcome,
                                                       std::span<const UrlRequest> links,
                                                       const HoldReason* held) {
  if (auto valid = check_note(outcome); !valid) return tl::unexpected(valid.error());
  const StoreUse use(*this);
  if (!use) return tl::unexpected(use.error());
  std::vector<Admission> admissions(links.size());
  PreparedUrls& prepared = PreparedUrls::of_this_thread();
  // N3: the first links of a large page are in operations before the one that ends the lease.
  const auto parent = links.size() > kUrlsOfAnOperation ? url_of_lease(lease_id) : std::string();
  if (!parent) return tl::unexpected(parent.error());
  const auto first = admit_first_parts(links, *parent, admissions, prepared);
  if (!first) return tl::unexpected(first.error());
  links = links.subspan(*first);
  const auto answers = std::span(admissions).subspan(*first);
  if (auto done = prepare(links, answers, prepared); !done) return tl::unexpected(done.error());
  auto end = Result<std::optional<PendingEnd>>(pending_ends_.take(lease_id));
  const bool ends_now = end->has_value() || !outcome.end_later;
  if (!*end) end = begin_end(lease_id, outcome, held);
  if (!end) return tl::unexpected(end.error());
  const bool ends_later = *end && !ends_now;
  if (ends_later && links.empty()) {
    // Nothing to commit yet.
    (*end)->known_links = outcome.known_links;
    pending_ends_.add(lease_id, **std::move(end));
    return admissions;
  }
  auto submitted = submit([&](Operation& operation) {
    using_store_.assert_shared();
    admit(links, prepared, *end ? (*end)->ended.lease.url : std::string_view(), answers, operation);
    operation.seen += outcome.known_links;
    // N3: the end is in the operation that admits the links, or in a later one.
    if (*end && !ends_later) submit_end(**end, operation);
  });
  if (!submitted) return tl::unexpected(submitted.error());
  if (ends_later) pending_ends_.add(lease_id, **std::move(end));
  return admissions;
}

// The changes of ending the lease; nothing if it had already ended.
Result<std::optional<PendingEnd>> FrontierImpl::begin_end(std::uint64_t lease_id,
                                                          const Outcome& outcome,
                                                          const HoldReason* held) {
  const std::uint32_t openings = partitions_->openings();
  const auto lease = shard_of_lease(lease_id).begin_completion(number_of(lease_id), outcome);
  if (!lease) return tl::unexpected(lease.error());
  if (lease->end == LeaseEnd::kRepeated) return std::nullopt;
  const bool sets_aside = held != nullptr || has_failed(outcome);
  auto end = ended(lease_id, lease->url, outcome, sets_aside);
  if (!end) {
    commits_->stop_with(end.error());
    return tl::unexpected(end.error());
  }
  if (held != nullptr) {
    end->kind = Operation::Ended::Kind::kHeld;
    set_aside(*end, SetAsideState::kHeld, *held);
  } else if (outcome.recrawl_at) {
    defer(*end, Operation::Ended::Kind::kRecrawl, clock_.from_wall(*outcome.recrawl_at));
  } else if (has_failed(outcome)) {
    set_failed_aside(*end);
  }
  return PendingEnd{
      .ended = std::move(*end), .host_change = change_of(*lease), .openings = openings};
}

// Where a batch is not durable as a whole or not at all, the end follows when its links, and all
// that they were answered with, are durable: a crash in between leaves the page queued.
void FrontierImpl::submit_end(PendingEnd& end, Operation& operation) const {
  if (!ends_follow_links_) return add_end(end, operation);
  operation.then = std::make_unique<Operation>();
  add_end(end, *operation.then);
}

void FrontierImpl::add_end(PendingEnd& end, Operation& operation) const {
  operation.seen += end.known_links;
  if (end.host_change) operation.changed_hosts.emplace_back(end.ended.host, *end.host_change);
  operation.openings = end.openings;
  if (end.ended.kind != Operation::Ended::Kind::kRetry && !end.ended.set_aside)
    forget_set_aside(end.ended, operation);
  operation.ended = std::move(end.ended);
}

Result<void> FrontierImpl::check_note(const Outcome& outcome) const {
  const std::size_t bytes = outcome.note ? outcome.note->size() : 0;
  if (bytes <= options_.limits.max_note_bytes) return {};
  return error(ErrorCode::kInvalidArgument,
               fmt::format("Outcome::note takes {} bytes, more than limits.max_note_bytes = {}",
                           bytes, options_.limits.max_note_bytes));
}

Result<FailureVerdict> FrontierImpl::fail(std::uint64_t lease_id, FailureReason reason,
                                          std::optional<std::chrono::milliseconds> retry_after,
                                          const Outcome& outcome) {
  if (auto valid = check_note(outcome); !valid) return tl::unexpected(valid.error());
  const StoreUse use(*this);
  if (!use) return tl::unexpected(use.error());
  const std::uint32_t openings = partitions_->openings();
  auto failure =
      shard_of_lease(lease_id).begin_failure(number_of(lease_id), reason, retry_after, outcome);
  if (!failure) return tl::unexpected(failure.error());
  FailureVerdict verdict;
  if (failure->blocked_until)
    verdict.host_blocked_until = clock_.to_wall(to_milliseconds(*failure->blocked_until));
  verdict.host_parked = failure->given_up;
  if (failure->released) return put_back(*failure, openings, std::move(verdict));
  if (failure->lease.end == LeaseEnd::kRepeated) {
    announce_leases();
    return verdict;
  }
  auto end = ended(lease_id, failure->lease.url, outcome, true);
  if (!end) {
    commits_->stop_with(end.error());
    return tl::unexpected(end.error());
  }
  const RetryOptions retry = retry_options();
  if (is_transient(reason) && end->lease.attempts < retry.retries) {
    const auto wait = retry_wait(retry, end->lease.attempts, retry_after);
    const std::int64_t at = clock_.now() + wait.count();
    verdict.retry_at = clock_.to_wall(at);
    defer(*end, Operation::Ended::Kind::kRetry, at);
  } else {
    if (end->outcome.error.empty()) end->outcome.error = to_string(reason);
    if (outcome.recrawl_at) {
      defer(*end, Operation::Ended::Kind::kRecrawl, clock_.from_wall(*outcome.recrawl_at));
    } else {
      set_failed_aside(*end);
    }
  }
  PendingEnd pending{.ended = std::move(*end),
                     .host_change = change_of(failure->lease),
                     .openings = openings,
                     .known_links = outcome.known_links};
  if (outcome.end_later && !verdict.retry_at) {
    pending_ends_.add(lease_id, std::move(pending));
    verdict.awaits_end = true;
    return verdict;
  }
  auto submitted = submit([&](Operation& operation) { submit_end(pending, operation); });
  if (!submitted) return tl::unexpected(submitted.error());
  return verdict;
}

// The shard has put the URL back into its queue: only the host's changed record is left to store.
Result<FailureVerdict> FrontierImpl::put_back(const HostFailure& failure, std::uint32_t openings,
                                              FailureVerdict verdict) {
  verdict.retry_at = verdict.host_blocked_until.value_or(options_.testing.wall_clock());
  announce_leases();
  if (failure.lease.host_changed) {
    auto submitted = submit([&](Operation& operation) {
      operation.changed_hosts.emplace_back(failure.lease.url.host, failure.lease.host_change);
      operation.openings = openings;
    });
    if (!submitted) return tl::unexpected(submitted.error());
  }
  wakes_.announce(shard_index(failure.lease.url.host));
  return verdict;
}

Result<void> FrontierImpl::renew(std::uint64_t lease_id) {
  if (auto open = commits_->check(); !open) return open;
  return shard_of_lease(lease_id).renew(number_of(lease_id));
}

Result<void> FrontierImpl::fetched(std::uint64_t lease_id,
                                   std::chrono::microseconds started_after) {
  if (auto open = commits_->check(); !open) return open;
  const auto leasable = shard_of_lease(lease_id).fetched(number_of(lease_id), started_after);
  if (!leasable) return tl::unexpected(leasable.error());
  if (*leasable) wakes_.announce(shard_index_of_lease(lease_id));
  return {};
}

Result<void> FrontierImpl::release(std::uint64_t lease_id, std::optional<SteadyTime> next_start,
                                   std::optional<std::chrono::microseconds> started_after) {
  if (auto open = commits_->check(); !open) return open;
  auto released = shard_of_lease(lease_id).release(number_of(lease_id), next_start, started_after);
  if (!released) return released;
  wakes_.announce(shard_index_of_lease(lease_id));
  announce_leases();
  return released;
}

Result<StartTurn> FrontierImpl::start(std::uint64_t lease_id, std::string_view address) {
  if (auto open = commits_->check(); !open) return tl::unexpected(open.error());
  return shard_of_lease(lease_id).start(number_of(lease_id), address);
}

}  // namespace trawl
