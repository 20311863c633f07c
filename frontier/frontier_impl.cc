#include "frontier/frontier_impl.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "filter/mix.h"
#include "frontier/frontier_options.h"
#include "frontier/wall_time.h"

namespace trawl {

namespace {

// How many URLs one operation of offer() admits: bounds how long it holds the gate.
constexpr std::size_t kOfferBatch = 1024;

// One in so many leases may wait to be committed before that is hurried for more.
constexpr std::uint64_t kShort = 4;

std::string_view to_string(FailureReason reason) {
  switch (reason) {
    case FailureReason::kTimeout:
      return "no answer in time";
    case FailureReason::kConnection:
      return "no connection";
    case FailureReason::kTooManyRequests:
      return "too many requests";
    case FailureReason::kUnavailable:
      return "service unavailable";
    case FailureReason::kServerError:
      return "the server failed";
    case FailureReason::kPermanent:
      break;
  }
  return "failed";
}

tl::unexpected<Error> undecodable() {
  return trawl::fail(ErrorCode::kCorrupt,
                     "the store is damaged: a queued URL does not decode; restore the state "
                     "directory from a backup, or start over");
}

}  // namespace

FrontierImpl::FrontierImpl(const FrontierOptions& options, FrontierParts parts)
    : options_(options),
      memory_(MemoryPlan::of(options.max_memory)),
      ledger_(parts.manifest.ledger),
      admitted_before_(parts.counters.admitted),
      lock_(std::move(parts.lock)),
      store_(std::move(parts.store)),
      filter_(std::move(parts.filter)),
      report_(std::move(parts.report)),
      checkpointer_(options.directory, parts.manifest, options.checkpoints_kept),
      leases_(options.max_open_leases),
      domains_(options.domain_delay),
      addresses_(options.address_delay),
      desk_(filter_, *store_,
            {.hash = KeyedHash::from_key(parts.manifest.hash_key),
             .profile = options.profile,
             .max_url_length = options.max_url_length,
             .exact = options.filter_mode == FilterMode::kExact,
             .sample = ledger_,
             .cache_bytes = memory_.ledger_cache,
             .deepest = parts.counters.deepest,
             .notes_depths = parts.counters.lowered > 0}),
      writer_(*store_, parts.counters, writer_options()) {
  for (std::uint32_t i = 0; i < options_.shards; ++i) {
    ShardOptions shard = shard_options(options_, i, memory_.heads);
    if (report_.resumed) shard.restarted = shard.clock();
    shard.budget = &leases_;
    if (domains_.enabled()) shard.domains = &domains_;
    if (addresses_.enabled()) shard.addresses = &addresses_;
    shards_.push_back(std::make_unique<HostShard>(*store_, std::move(shard)));
  }
  commits_.emplace(writer_, memory_.commits);
  schedule_.emplace(
      CheckpointPlan{.interval = options_.checkpoint_interval,
                     .admissions = options_.checkpoint_admissions,
                     .take =
                         [this](const std::atomic<bool>& give_up) {
                           const SnapshotPace pace{.bytes_per_second = options_.checkpoint_rate,
                                                   .give_up = &give_up};
                           return checkpointer_.take(filter_, *commits_, *store_, pace);
                         },
                     .covered = [this] { return checkpointer_.covered(); },
                     .report = options_.on_checkpoint},
      parts.counters.admitted);
}

FrontierImpl::~FrontierImpl() {
  schedule_->stop();
  commits_->close();  // while the rest is there, which it tells of its last commits
}

GroupWriterOptions FrontierImpl::writer_options() {
  GroupWriterOptions options;
  options.ledger = ledger_;
  options.wall_clock = [this] { return from_milliseconds(wall_now()); };
  options.before_commit = options_.before_commit;
  options.record_of = [this](HostId host) { return shard_of(host).record_of(host); };
  options.is_leased = [this](HostId host, std::uint64_t sequence) {
    return shard_of(host).is_leased(sequence);
  };
  options.after_commit = [this](auto& group, auto& promoted) { after_commit(group, promoted); };
  return options;
}

Result<void> FrontierImpl::restore() {
  std::vector<std::pair<HostId, HostRecord>> records;
  auto read = store_->visit_hosts(0, [&](HostId host, HostRecord record) {
    records.emplace_back(host, std::move(record));
    return true;
  });
  if (!read) return read;
  // Both come in ascending order.
  auto next = records.begin();
  read = store_->visit_queued_hosts(0, [&](HostId host) {
    while (next != records.end() && next->first < host)
      ++next;
    const bool known = next != records.end() && next->first == host;
    shard_of(host).restore_host(host, known ? std::optional(next->second) : std::nullopt);
    return true;
  });
  if (!read) return read;
  return writer_.read_first_deferred();
}

Result<std::shared_lock<std::shared_mutex>> FrontierImpl::use_store() const {
  // Before it takes the lock too: who closes must not wait for who comes later.
  if (auto open = commits_->check(); !open) return tl::unexpected(open.error());
  std::shared_lock use(using_store_);
  if (auto open = commits_->check(); !open) return tl::unexpected(open.error());
  return use;
}

std::int64_t FrontierImpl::wall_now() const {
  return to_milliseconds(options_.wall_clock());
}

std::uint32_t FrontierImpl::shard_index(HostId host) const {
  return static_cast<std::uint32_t>(scale_to(host, options_.shards));
}

void FrontierImpl::admit(std::span<const UrlRequest> requests, PreparedUrls& prepared,
                         std::string_view parent, std::span<Admission> answers,
                         Operation& operation) {
  auto done = desk_.admit(requests, prepared, parent, answers, operation);
  if (!done) commits_->stop_with(done.error());
}

Result<std::vector<Admission>> FrontierImpl::offer(std::span<const UrlRequest> requests) {
  const auto use = use_store();
  if (!use) return tl::unexpected(use.error());
  std::vector<Admission> admissions(requests.size());
  PreparedUrls& prepared = PreparedUrls::of_this_thread();
  for (std::size_t first = 0; first < requests.size(); first += kOfferBatch) {
    const auto part = requests.subspan(first, std::min(kOfferBatch, requests.size() - first));
    const std::span<Admission> answers(admissions.data() + first, part.size());
    auto done = desk_.prepare(part, answers, prepared);
    if (!done) {
      commits_->stop_with(done.error());
      return tl::unexpected(done.error());
    }
    auto admit_part = [&](Operation& operation) { admit(part, prepared, {}, answers, operation); };
    // Operations of one thread are committed in order: waiting for the last is enough.
    const bool last = first + part.size() == requests.size();
    done = last ? commits_->submit_and_wait(admit_part) : submit(admit_part);
    if (!done) return tl::unexpected(done.error());
  }
  return admissions;
}

// Deferred URLs are queued by the committer; who leases sees to it that it does when some are due.
Result<void> FrontierImpl::promote_due() {
  if (writer_.next_deferred() > wall_now()) return {};
  // acquire, release: pairs with after_commit(), which ends it.
  if (promoting_.exchange(true, std::memory_order_acq_rel)) return {};
  return submit([](Operation& operation) { operation.promote = true; });
}

Result<std::vector<Lease>> FrontierImpl::lease(std::size_t max) {
  std::vector<Lease> leases;
  // Each call begins behind the shard that gave something last, so that none is favoured: neither
  // by its place nor by the moments at which a domain that shards have in common may be asked.
  const std::uint32_t first = next_shard_.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < options_.shards && leases.size() < max; ++i) {
    auto more = lease(max - leases.size(), (first + i) % options_.shards);
    if (!more) return more;
    if (more->empty() && !leases_.has_room()) break;  // the shards have just been looked through
    if (more->empty()) continue;
    next_shard_.store((first + i + 1) % options_.shards, std::memory_order_relaxed);
    std::ranges::move(*more, std::back_inserter(leases));
  }
  return leases;
}

Result<std::vector<Lease>> FrontierImpl::lease(std::size_t max, std::uint32_t shard) {
  if (shard >= options_.shards) {
    return trawl::fail(ErrorCode::kInvalidArgument,
                       fmt::format("there is no shard {}: there are {}", shard, options_.shards));
  }
  const auto use = use_store();
  if (!use) return tl::unexpected(use.error());
  if (auto promoted = promote_due(); !promoted) return tl::unexpected(promoted.error());
  std::vector<NumberedLease> urls;
  auto done = shards_[shard]->lease(max, urls);
  if (done && urls.size() < max && !leases_.has_room()) {
    // First: who ends one from now on tells all shards. The fence, with that in after_commit():
    // either the flag is seen there, or what it pushed into the inboxes is seen here.
    leases_are_short_.store(true, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    count_ended_leases();
    done = shards_[shard]->lease(max - urls.size(), urls);
  }
  // Some may have expired.
  if (leases_.has_room()) announce_leases();
  if (!done) {
    commits_->stop_with(done.error());
    return tl::unexpected(done.error());
  }
  // What is to be committed may have more for the caller. But as long as most leases are at work
  // it is not short of anything.
  if (urls.size() < max && kShort * commits_->queued() >= shards_[shard]->leased())
    commits_->hurry();
  std::vector<Lease> leases;
  leases.reserve(urls.size());
  for (NumberedLease& lease : urls) {
    auto url = leased(lease.number * options_.shards + shard, lease.url);
    if (!url) {
      commits_->stop_with(url.error());
      return tl::unexpected(url.error());
    }
    leases.push_back(std::move(*url));
  }
  return leases;
}

void FrontierImpl::announce_leases() {
  // Relaxed first: it is asked for at every turn.
  if (!leases_are_short_.load(std::memory_order_relaxed)) return;
  if (!leases_are_short_.exchange(false, std::memory_order_relaxed)) return;
  for (std::uint32_t shard = 0; shard < options_.shards; ++shard)
    announce_work(shard);
}

void FrontierImpl::count_ended_leases() const {
  for (const auto& shard : shards_)
    shard->count_ended_leases();
}

Result<std::optional<std::uint32_t>> FrontierImpl::noted_depth(Fingerprint fingerprint) const {
  return desk_.notes_depths() ? store_->depth(fingerprint) : std::nullopt;
}

Lease FrontierImpl::to_lease(std::uint64_t id, const QueueOrder& order, UrlRecord record,
                             const std::optional<std::uint32_t>& noted_depth) {
  return {.id = id,
          .url = std::string(record.url),
          .host = host_of(record.url),
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
  if (!desk_.notes_depths()) return to_lease(id, url.order, std::move(*record), std::nullopt);
  const auto noted = noted_depth(desk_.fingerprint_of(record->url));
  if (!noted) return tl::unexpected(noted.error());
  return to_lease(id, url.order, std::move(*record), *noted);
}

std::optional<SteadyTime> FrontierImpl::next_due(std::uint32_t shard) const {
  if (shard >= options_.shards) return std::nullopt;
  if (!leases_.has_room()) count_ended_leases();
  auto due = shards_[shard]->next_due();
  // Those of others that expire make room.
  for (std::uint32_t i = 0; i < options_.shards && !leases_.has_room(); ++i) {
    const auto expiry = shards_[i]->next_expiry();
    if (expiry) due = due ? std::min(*due, *expiry) : *expiry;
  }
  // Not so long ago that it cannot be subtracted from another time.
  if (due) due = std::max(*due, SteadyTime());
  const std::int64_t deferred = writer_.next_deferred();
  // While those due are being queued there is nothing to wait for: on_work tells when they are.
  if (deferred == GroupWriter::kNever || promoting_.load(std::memory_order_relaxed)) return due;
  const SteadyTime now = options_.clock();
  const std::chrono::milliseconds wait(
      std::clamp<std::int64_t>(deferred - wall_now(), 0, kMaxDelay.count()));
  return due ? std::min(*due, now + wait) : now + wait;
}

Result<Operation::Ended> FrontierImpl::ended(std::uint64_t lease_id, const QueuedUrl& url,
                                             const Outcome& outcome, std::size_t links) const {
  auto record = decode_record(url.record);
  if (!record) return undecodable();
  Operation::Ended ended;
  ended.host = url.host;
  ended.order = url.order;
  ended.outcome = outcome;
  ended.links = links + outcome.known_links;
  std::optional<std::uint32_t> depth;
  if (ledger_ || desk_.notes_depths()) {
    ended.fingerprint = desk_.fingerprint_of(record->url);
    const auto noted = noted_depth(*ended.fingerprint);
    if (!noted) return tl::unexpected(noted.error());
    depth = *noted;
    ended.depth_noted = depth.has_value();
    ended.depth_lowered = depth && *depth < record->depth;
  }
  if (ledger_) {
    const auto before = store_->ledger(*ended.fingerprint);
    if (!before) return tl::unexpected(before.error());
    ended.fetches = (*before ? (*before)->fetches : 0) + 1;
  }
  ended.lease = to_lease(lease_id, url.order, std::move(*record), depth);
  return ended;
}

void FrontierImpl::defer(Operation::Ended& ended, Operation::Ended::Kind kind,
                         SystemTime until) const {
  const bool retry = kind == Operation::Ended::Kind::kRetry;
  ended.kind = kind;
  ended.not_before = not_before_milliseconds(until);
  std::string_view note = ended.lease.note;
  if (!retry && ended.outcome.note) note = *ended.outcome.note;
  if (note.size() > kMaxNoteBytes) note = {};
  ended.record = encode_record({.url = ended.lease.url,
                                .parent = ended.lease.parent,
                                .depth = ended.lease.depth,
                                .redirects = retry ? ended.lease.redirects : 0,
                                .attempts = retry ? ended.lease.attempts + 1 : 0,
                                .recrawl = !retry || ended.lease.recrawl,
                                .note = note});
}

Result<std::vector<Admission>> FrontierImpl::complete(std::uint64_t lease_id,
                                                      const Outcome& outcome,
                                                      std::span<const UrlRequest> links) {
  const auto use = use_store();
  if (!use) return tl::unexpected(use.error());
  std::vector<Admission> admissions(links.size());
  PreparedUrls& prepared = PreparedUrls::of_this_thread();
  if (auto done = desk_.prepare(links, admissions, prepared); !done) {
    commits_->stop_with(done.error());
    return tl::unexpected(done.error());
  }
  auto lease = shard_of_lease(lease_id).begin_completion(number_of(lease_id), outcome);
  if (!lease) return tl::unexpected(lease.error());
  std::optional<Operation::Ended> end;
  if (lease->end != LeaseEnd::kRepeated) {
    auto made = ended(lease_id, lease->url, outcome, links.size());
    if (!made) {
      commits_->stop_with(made.error());
      return tl::unexpected(made.error());
    }
    end = std::move(*made);
    if (outcome.recrawl_at) defer(*end, Operation::Ended::Kind::kRecrawl, *outcome.recrawl_at);
  }
  auto submitted = submit([&](Operation& operation) {
    admit(links, prepared, end ? end->lease.url : std::string_view(), admissions, operation);
    operation.seen += outcome.known_links;
    if (!end) return;
    if (lease->host_changed) operation.changed_hosts.push_back(end->host);
    operation.ended = std::move(end);
  });
  prepared.shrink();
  if (!submitted) return tl::unexpected(submitted.error());
  return admissions;
}

Result<FailureVerdict> FrontierImpl::fail(std::uint64_t lease_id, FailureReason reason,
                                          std::optional<std::chrono::milliseconds> retry_after,
                                          const Outcome& outcome) {
  const auto use = use_store();
  if (!use) return tl::unexpected(use.error());
  auto failure =
      shard_of_lease(lease_id).begin_failure(number_of(lease_id), reason, retry_after, outcome);
  if (!failure) return tl::unexpected(failure.error());
  FailureVerdict verdict;
  if (failure->lease.end == LeaseEnd::kRepeated) {
    announce_leases();
    return verdict;
  }
  verdict.host_blocked_until = failure->blocked_until;
  verdict.host_given_up = failure->given_up;
  auto end = ended(lease_id, failure->lease.url, outcome, 0);
  if (!end) {
    commits_->stop_with(end.error());
    return tl::unexpected(end.error());
  }
  if (reason != FailureReason::kPermanent && end->lease.attempts < options_.retries) {
    auto wait = options_.retry_delay;
    for (std::uint32_t i = 0; i < end->lease.attempts && wait < options_.max_retry_delay; ++i)
      wait *= 2;
    wait = std::min(wait, options_.max_retry_delay);
    if (retry_after) wait = std::max(wait, std::min(*retry_after, kMaxDelay));
    verdict.retry_at = from_milliseconds(wall_now() + wait.count());
    defer(*end, Operation::Ended::Kind::kRetry, *verdict.retry_at);
  } else if (end->outcome.error.empty()) {
    end->outcome.error = to_string(reason);
  }
  auto submitted = submit([&](Operation& operation) {
    if (failure->lease.host_changed) operation.changed_hosts.push_back(end->host);
    operation.ended = std::move(*end);
  });
  if (!submitted) return tl::unexpected(submitted.error());
  return verdict;
}

Result<void> FrontierImpl::renew(std::uint64_t lease_id) {
  if (auto open = commits_->check(); !open) return open;
  return shard_of_lease(lease_id).renew(number_of(lease_id));
}

Result<void> FrontierImpl::release(std::uint64_t lease_id, std::optional<SteadyTime> next_start,
                                   std::chrono::microseconds started_after) {
  if (auto open = commits_->check(); !open) return open;
  auto released = shard_of_lease(lease_id).release(number_of(lease_id), next_start, started_after);
  if (!released) return released;
  announce_work(static_cast<std::uint32_t>(lease_id % options_.shards));
  announce_leases();
  return released;
}

void FrontierImpl::after_commit(OperationGroup& group, std::vector<QueuedUrl>& promoted) {
  std::vector<bool> touched(options_.shards, false);
  const auto queue = [&](QueuedUrl url) {
    const std::uint32_t shard = shard_index(url.host);
    touched[shard] = true;
    shards_[shard]->push_admitted(std::move(url));
  };
  for (QueuedUrl& url : promoted)
    queue(std::move(url));
  for (auto& operation : group) {
    desk_.committed(*operation);
    for (Operation::Admitted& url : operation->admitted) {
      if (url.not_before != 0) continue;
      queue({.host = url.host,
             .order = {.priority = url.priority, .sequence = url.sequence},
             .record = std::move(url.record)});
    }
    if (operation->ended) {
      const std::uint32_t shard = shard_index(operation->ended->host);
      shards_[shard]->push_ended(operation->ended->order.sequence);
      touched[shard] = true;
    }
    // release: see promote_due(). Whoever finds it false finds the next time that some are due.
    if (operation->promote) promoting_.store(false, std::memory_order_release);
  }
  // See lease().
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const bool leases_were_short = leases_are_short_.exchange(false, std::memory_order_relaxed);
  for (std::uint32_t shard = 0; shard < options_.shards; ++shard) {
    shards_[shard]->relieve_inbox(leases_were_short ? 1 : HostShard::kLongInbox);
    if (touched[shard] || leases_were_short) announce_work(shard);
  }
  schedule_->admitted(writer_.counters().admitted);
}

Result<void> FrontierImpl::checkpoint() {
  const std::lock_guard lock(closing_);
  if (!store_) return trawl::fail(ErrorCode::kClosed, "the frontier is closed");
  const SnapshotPace pace{.bytes_per_second = options_.checkpoint_rate, .hurry = &hurry_};
  return checkpointer_.take(filter_, *commits_, *store_, pace);
}

void FrontierImpl::request_checkpoint() {
  schedule_->request();
}

bool FrontierImpl::finished() const {
  return commits_->counters().open() == 0;
}

bool FrontierImpl::exhausted() const {
  return is_idle([](const Counters& counters) { return counters.deferred == 0; });
}

bool FrontierImpl::only_recrawls_wait() const {
  if (writer_.next_deferred() <= wall_now()) return false;
  return is_idle([](const Counters& counters) {
    return counters.deferred > 0 && counters.deferred == counters.recrawls_deferred;
  });
}

bool FrontierImpl::is_idle(bool (*deferred_do)(const Counters&)) const {
  // A commit moves URLs between the shards, and to and from those deferred: what was seen while
  // one was under way does not count.
  const std::uint64_t commit = commits_->commit_number();
  if (commit % 2 != 0 || !deferred_do(commits_->counters())) return false;
  const bool idle = std::ranges::all_of(shards_, [](const auto& shard) {
    const ShardStats stats = shard->stats();
    return stats.leasable == 0 && stats.leased == 0;
  });
  return idle && commits_->commit_number() == commit;
}

FrontierStats FrontierImpl::stats() const {
  const Counters counters = commits_->counters();
  const auto use = use_store();
  FrontierStats stats;
  stats.admitted = counters.admitted;
  stats.completed = counters.completed;
  stats.failed = counters.failed;
  stats.skipped = counters.skipped;
  stats.seen = counters.seen;
  stats.invalid = counters.invalid;
  stats.dropped = counters.dropped;
  stats.retried = counters.retried;
  stats.recrawls = counters.recrawls;
  stats.deferred = counters.deferred;
  stats.recrawls_deferred = counters.recrawls_deferred;
  stats.depth_repairs = counters.depth_repairs;
  stats.memory = desk_.memory() + commits_->bytes() + domains_.bytes() + addresses_.bytes() +
                 (use ? store_->memory() : 0);
  for (const auto& shard : shards_) {
    const ShardStats of_shard = shard->stats();
    stats.leased += of_shard.leased;
    stats.hosts += of_shard.hosts;
    stats.hosts_blocked += of_shard.blocked;
    stats.hosts_given_up += of_shard.given_up;
    stats.expired += of_shard.expired;
    stats.late += of_shard.late;
    stats.repeated += of_shard.repeated;
    stats.memory += of_shard.memory;
  }
  // The two are read one after the other: a lease may have ended in between.
  const std::uint64_t open = counters.open() - std::min(counters.open(), counters.deferred);
  stats.queued = open - std::min(open, stats.leased);
  stats.checkpoints = checkpointer_.taken();
  const SeenChecks sampled = writer_.seen_checks();
  const bool exact = options_.filter_mode == FilterMode::kExact;
  stats.seen_checked = exact ? desk_.checked() : sampled.checked;
  stats.seen_false = exact ? desk_.averted() : sampled.wrong;
  const auto wrong = static_cast<double>(stats.seen_false) * (exact ? 1 : kSeenSample);
  const auto fresh =
      static_cast<double>(counters.admitted - admitted_before_) + (exact ? 0 : wrong);
  stats.measured_false_positive_rate = fresh > 0 ? wrong / fresh : 0;
  stats.filter = filter_.stats();
  stats.false_positive_rate = stats.filter.current_rate;
  stats.expected_lost = exact ? 0 : stats.filter.expected_false_positives;
  stats.filter_warning = filter_.growth_error();
  return stats;
}

Result<void> FrontierImpl::close() {
  // Relaxed: nothing goes with it. First: the schedule's checkpoint may wait for a slow one.
  hurry_.store(true, std::memory_order_relaxed);
  schedule_->stop();
  const std::lock_guard lock(closing_);
  if (!store_) return {};
  auto done = checkpointer_.take(filter_, *commits_, *store_);
  // In this order: the committer and the shards are the ones that use the store.
  if (auto ended = commits_->close(); done && !ended) done = ended;
  const std::unique_lock unused(using_store_);
  for (auto& shard : shards_)
    shard->close();
  store_.reset();
  lock_.reset();
  return done;
}

}  // namespace trawl
