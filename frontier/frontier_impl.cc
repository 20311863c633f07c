#include "frontier/frontier_impl.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/wall_time.h"
#include "frontier/embedded_options_checks.h"
#include "frontier/recovery/depth_notes.h"
#include "frontier/schedule/queue_head_cache.h"

namespace trawl {

namespace {

// With at most this many URLs waiting, all queues are counted before open() returns.
constexpr std::uint64_t kCountedAtOnce = 20'000;
// A batch of a bucket costs Redis as much as some pages do: pages of a bucket are collected.
constexpr std::chrono::milliseconds kSharedDelay{30};

}  // namespace

FrontierImpl::FrontierImpl(const EmbeddedOptions& options, FrontierParts parts)
    : options_(options),
      retry_(options.retry),
      has_real_clock_(parts.real_clock),
      clock_(options_.testing.clock, options_.testing.wall_clock, parts.clock),
      memory_(MemoryPlan::of(options.store.max_memory, options.seen.mode == FilterMode::kExact)),
      ledger_(parts.ledger),
      ends_follow_links_(parts.ends_follow_links),
      progress_of_all_(std::move(parts.progress_of_all)),
      admitted_before_(parts.partitions->counters().admitted),
      recovery_(std::move(parts.recovery)),
      store_(std::move(parts.store)),
      partitions_(std::move(parts.partitions)),
      leases_(options.limits.max_open_leases),
      awaits_lease_(options.store.shards),
      wakes_(options.store.shards),
      domains_(options.politeness.domain_delay),
      addresses_(options.politeness.ip_delay),
      depths_(memory_.depths),
      identity_(parts.hash, options.seen.profile, parts.buckets),
      admission_(*partitions_, *store_, depths_, identity_,
                 {.limits = options.limits,
                  .exact = options.seen.mode == FilterMode::kExact,
                  .sample = ledger_,
                  .cache_bytes = memory_.ledger_cache,
                  .shards = options.store.shards,
                  .wall_clock = options.testing.wall_clock,
                  .from_wall = [this](SystemTime time) { return clock_.from_wall(time); }}),
      writer_(*store_, *partitions_, writer_options(parts)) {
  for (std::uint32_t i = 0; i < options_.store.shards; ++i) {
    ShardOptions shard = shard_options(options_, i, memory_.heads);
    if (parts.resumed) shard.restarted = shard.clock();
    shard.wall_clock = [this] { return from_milliseconds(clock_.now()); };
    shard.leases = &leases_;
    shard.in_ranges = partitions_->is_shared();
    shard.may_lease = parts.may_lease;
    if (domains_.enabled()) shard.domains = &domains_;
    if (addresses_.enabled()) shard.addresses = &addresses_;
    shards_.push_back(std::make_unique<HostShard>(*store_, std::move(shard)));
  }
  if (partitions_->is_shared()) {
    commits_.emplace(writer_, memory_.commits, kSharedDelay);
  } else {
    commits_.emplace(writer_, memory_.commits);
  }
  if (recovery_) recovery_->begin(partitions_->only().filter(), *commits_, *store_);
}

FrontierImpl::~FrontierImpl() {
  stop_restoring();     // before the shards and the store
  wake_timer_.reset();  // first: its thread uses the other members
  if (recovery_) recovery_->stop();
  // While the other members exist, which after_commit() uses. Without a close() before, an error is
  // lost.
  static_cast<void>(commits_->close());
}

GroupWriterOptions FrontierImpl::writer_options(FrontierParts& parts) {
  GroupWriterOptions options;
  options.ledger = ledger_;
  options.exact = options_.seen.mode == FilterMode::kExact;
  options.max_set_aside = options_.store.max_set_aside;
  options.set_aside_keys_changed = parts.set_aside_keys_changed;
  options.depths = &depths_;
  options.identity = &identity_;
  options.wall_clock = options_.testing.wall_clock;
  options.now = [this] { return clock_.now(); };
  options.before_commit = options_.testing.before_commit;
  options.record_of = [this](HostId host, std::uint64_t change) {
    return shard_of(host).record_of(host, change);
  };
  options.is_leased = [this](HostId host, std::uint64_t sequence) {
    return shard_of(host).is_leased(host, sequence);
  };
  options.after_commit = [this](auto& group, auto& promoted) { after_commit(group, promoted); };
  options.counts_admitted = parts.counts_admitted;
  options.write_parts = std::move(parts.write_parts);
  options.encode_links = std::move(parts.encode_links);
  options.retired = [this, told = std::move(parts.retired)](std::uint32_t bucket) {
    // Relaxed: publishes no other data.
    if (!keeps_hosts_.load(std::memory_order_relaxed)) forget_bucket(bucket);
    told(bucket);
  };
  return options;
}

Result<void> FrontierImpl::restore() {
  if (partitions_->is_shared()) {
    restored_ = true;  // buckets come later
    return {};
  }
  const ReaderLock use(using_store_);
  // The queues stay as they are until this function returns.
  queues_at_restart_ = store_->view_queues();
  // N1: what waits in the queues is leased again, what was leased before included.
  restorer_.emplace(
      *store_,
      QueueRestorer::Calls{.restore =
                               [this](HostId host, const std::optional<HostRecord>& record,
                                      const QueueBeginning& queue) {
                                 shard_of(host).restore_host(host, record, queue);
                               },
                           .restored_some = [this] { announce_to_all(); },
                           .finished =
                               [this](std::vector<HostId> uncounted) {
                                 for (const auto& shard : shards_)
                                   shard->end_restore();
                                 count_queues(std::move(queues_at_restart_), std::move(uncounted));
                               },
                           .failed = [this](const Error& error) { commits_->stop_with(error); }});
  for (const auto& shard : shards_)
    shard->begin_restore();
  auto read = options_.testing.deterministic_seed
                  ? restorer_->run()
                  : restorer_->start(options_.testing.restore_patience);
  if (!read) return read;
  if (read = writer_.read_first_deferred(); !read) return read;
  read = read_waiting_depths(*store_, partitions_->counters().deepest, identity_, depths_);
  restored_ = read.has_value();
  return read;
}

// In the order in which one starts the other.
void FrontierImpl::stop_restoring() {
  if (restorer_) restorer_->stop();
  queues_at_restart_.reset();
  if (queue_counter_) queue_counter_->stop();
}

void FrontierImpl::announce_to_all() {
  for (std::uint32_t shard = 0; shard < options_.store.shards; ++shard)
    wakes_.announce(shard);
}

void FrontierImpl::count_queues(std::unique_ptr<Store::QueueView> view, std::vector<HostId> hosts) {
  if (hosts.empty()) return;
  queue_counter_.emplace(
      std::move(view), std::move(hosts),
      [this](HostId host, std::uint64_t urls) { shard_of(host).add_counted(host, urls); });
  const bool few = partitions_->counters().open() <= kCountedAtOnce;
  few || options_.testing.deterministic_seed ? queue_counter_->run() : queue_counter_->start();
}

// Not analysed, since the lock is conditional: a closed frontier takes no lock, so that close()
// does not wait for later calls.
FrontierImpl::StoreUse::StoreUse(const FrontierImpl& frontier) TRAWL_NO_THREAD_SAFETY_ANALYSIS
    : mutex_(frontier.using_store_),
      open_(frontier.commits_->check()) {
  assert(frontier.restored_);
  if (!open_) return;
  mutex_.lock_shared();
  locked_ = true;
  open_ = frontier.commits_->check();
}

FrontierImpl::StoreUse::~StoreUse() TRAWL_NO_THREAD_SAFETY_ANALYSIS {
  if (locked_) mutex_.unlock_shared();
}

std::uint32_t FrontierImpl::shard_index(HostId host) const {
  return identity_.shard_of(host, options_.store.shards);
}

void FrontierImpl::after_commit(OperationGroup& group, std::vector<QueuedUrl>& promoted) {
  using_store_.assert_shared();  // close() ends this thread before it destroys the store
  assert(store_ != nullptr);
  std::vector<bool> touched(options_.store.shards, false);
  const auto queue = [&](QueuedUrl url) {
    const std::uint32_t shard = shard_index(url.host);
    touched[shard] = true;
    shards_[shard]->push_admitted(std::move(url));
  };
  for (QueuedUrl& url : promoted)
    queue(std::move(url));
  for (auto& operation : group) {
    admission_.committed(*operation);
    if (operation->queued) {
      const std::shared_ptr<const QueueRun> run = operation->queued;
      for (std::uint32_t part = 0; part < run->parts().size(); ++part) {
        const std::uint32_t shard = run->parts()[part].shard;
        touched[shard] = true;
        shards_[shard]->push_part(run, part);
      }
    }
    for (Operation::Admitted& url : operation->admitted) {
      if (url.not_before != 0) continue;
      queue({.host = url.host,
             .order = {.priority = url.priority, .sequence = url.sequence},
             .record = std::move(url.record)});
    }
    for (const auto& [host, change] : operation->changed_hosts)
      shard_of(host).push_saved(host);
    if (operation->ended && !operation->ended->is_void) {
      const std::uint32_t shard = shard_index(operation->ended->host);
      shards_[shard]->push_ended(operation->ended->host, operation->ended->order.sequence);
      touched[shard] = true;
    }
    // release: pairs with promote_due(): a thread that reads false also sees the next due time.
    if (operation->promote) promoting_.store(false, std::memory_order_release);
  }
  // seq_cst: pairs with the fence in ask_for_lease(), as said there.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const bool leases_are_short = std::ranges::any_of(
      awaits_lease_, [](const auto& awaits) { return awaits.load(std::memory_order_relaxed); });
  bool any_long = false;
  for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
    if (leases_are_short) shards_[shard]->take_inbox();
    any_long = any_long || (touched[shard] && shards_[shard]->has_long_inbox());
  }
  // Relaxed: publishes no other data.
  if (any_long) long_inboxes_.store(true, std::memory_order_relaxed);
  const bool has_leases = leases_.has_any();
  for (std::uint32_t shard = 0; shard < options_.store.shards; ++shard) {
    const bool told = has_leases && awaits_lease_[shard].exchange(false, std::memory_order_relaxed);
    if (told || touched[shard]) wakes_.announce(shard);
  }
  if (recovery_) recovery_->admitted(partitions_->counters().admitted);
}

// M1: what a thread that offers URLs adds to inboxes is bounded by what it takes from them. It is
// not left to the committer, of which there is one.
void FrontierImpl::relieve_inboxes() {
  // Relaxed, both: see after_commit().
  if (!long_inboxes_.load(std::memory_order_relaxed)) return;
  if (!long_inboxes_.exchange(false, std::memory_order_relaxed)) return;
  for (const auto& shard : shards_)
    shard->relieve_inbox();
}

// Twice, if ends follow: the first time they are queued.
Result<void> FrontierImpl::flush() {
  auto done = commits_->flush();
  return done && ends_follow_links_ ? commits_->flush() : done;
}

Result<void> FrontierImpl::checkpoint() {
  const ReaderLock use(using_store_);
  if (!store_) return error(ErrorCode::kClosed, "the frontier is closed");
  if (recovery_) return recovery_->save();
  return flush().and_then([&] {
    using_store_.assert_shared();
    return store_->sync();
  });
}

Result<void> FrontierImpl::request_checkpoint() {
  if (auto open = commits_->check(); !open) return open;
  recovery_ ? recovery_->request() : commits_->hurry();
  return {};
}

Result<Progress> FrontierImpl::progress() const {
  const Progress own = own_progress();
  return progress_of_all_ ? progress_of_all_(own) : own;
}

Progress FrontierImpl::own_progress() const {
  Progress progress;
  progress.finished = commits_->counters().open() == 0;
  progress.exhausted = is_idle([](const Counters& counters) { return counters.deferred == 0; });
  progress.only_recrawls_wait =
      partitions_->next_deferred() > clock_.now() && is_idle([](const Counters& counters) {
        return counters.deferred > 0 && counters.deferred == counters.recrawls_deferred;
      });
  return progress;
}

Result<void> FrontierImpl::on_wake(std::function<void()> callback,
                                   std::optional<std::uint32_t> shard) {
  if (auto open = commits_->check(); !open) return open;
  if (auto valid = check_shard(shard); !valid) return valid;
  const MutexLock lock(waking_);
  const bool needs_timer = callback && !shard;
  wakes_.set(std::move(callback), shard);
  if (needs_timer && !wake_timer_) {
    wake_timer_.emplace(
        wakes_, [this] { return due_in_all(); }, options_.testing.clock, has_real_clock_);
  }
  return {};
}

bool FrontierImpl::is_idle(bool (*deferred_do)(const Counters&)) const {
  if (restorer_ && !restorer_->is_done()) return false;
  // A commit moves URLs between the shards and the deferred ones, so an observation made during a
  // commit is not valid.
  const std::uint64_t commit = commits_->commit_number();
  if (commit % 2 != 0 || !deferred_do(commits_->counters())) return false;
  const bool idle = std::ranges::all_of(shards_, [](const auto& shard) {
    const ShardStats stats = shard->stats();
    return stats.leasable == 0 && stats.leased == 0;
  });
  return idle && commits_->commit_number() == commit;
}

Result<FrontierStats> FrontierImpl::stats() const {
  const Counters counters = commits_->counters();
  const StoreUse use(*this);
  FrontierStats stats;
  static_cast<FrontierCounters&>(stats) = counters;
  stats.memory = admission_.memory() + depths_.memory() + commits_->bytes() + domains_.bytes() +
                 addresses_.bytes() + (use ? store_->memory() : 0);
  for (const auto& shard : shards_) {
    const ShardStats of_shard = shard->stats();
    stats.leased += of_shard.leased;
    stats.hosts += of_shard.hosts;
    stats.hosts_blocked += of_shard.blocked;
    stats.hosts_parked += of_shard.given_up;
    stats.hosts_leased += of_shard.leased_hosts;
    stats.hosts_waiting += of_shard.waiting;
    if (of_shard.next_turn != SteadyTime::max())
      stats.next_turn = std::min(stats.next_turn.value_or(SteadyTime::max()), of_shard.next_turn);
    stats.expired += of_shard.expired;
    stats.late += of_shard.late;
    stats.repeated += of_shard.repeated;
    stats.memory += of_shard.memory;
  }
  if (const auto due = deferred_due())
    stats.next_turn = std::min(stats.next_turn.value_or(SteadyTime::max()), *due);
  if (stats.next_turn) stats.next_turn = std::max(*stats.next_turn, SteadyTime());
  // The two counters are not read at one moment: a lease may have ended in between.
  const std::uint64_t open = counters.open() - std::min(counters.open(), counters.deferred);
  stats.queued = open - std::min(open, stats.leased);
  stats.checkpoints = recovery_ ? recovery_->saved() : 0;
  stats.commit_times = commits_->times();
  const SeenChecks sampled = writer_.seen_checks();
  const bool exact = options_.seen.mode == FilterMode::kExact;
  stats.seen_checked = exact ? admission_.checked() : sampled.checked;
  stats.seen_false = exact ? admission_.averted() : sampled.wrong;
  const auto wrong = static_cast<double>(stats.seen_false) * (exact ? 1 : kSeenSample);
  const auto fresh =
      static_cast<double>(counters.admitted - admitted_before_) + (exact ? 0 : wrong);
  stats.measured_false_positive_rate = fresh > 0 ? wrong / fresh : 0;
  stats.filter = partitions_->filter_stats();
  stats.false_positive_rate = stats.filter.current_rate;
  // A3: available at any time.
  stats.expected_lost = exact ? 0 : stats.filter.expected_false_positives;
  stats.filter_warning = partitions_->growth_error();
  return stats;
}

Result<void> FrontierImpl::close() {
  if (recovery_) recovery_->hurry();
  const MutexLock lock(closing_);
  if (std::exchange(closed_, true)) return {};
  stop_restoring();
  Result<void> done = recovery_ ? recovery_->close() : Result<void>{};
  // In this order: the committer and the shards use the store.
  if (auto ended = commits_->close(); done && !ended) done = ended;
  const WriterLock unused(using_store_);
  for (auto& shard : shards_)
    shard->close();
  store_.reset();
  if (recovery_) recovery_->release();
  {
    const MutexLock lock_timer(waking_);
    wake_timer_.reset();
  }
  wakes_.wake_waiters();  // threads waiting in lease() return kClosed
  return done;
}

}  // namespace trawl
