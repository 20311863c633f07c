#include "frontier/shared_frontier_impl.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "frontier/limited_requests.h"
#include "frontier/schedule/queue_head_cache.h"
#include "frontier/shared/idle_mark.h"
#include "frontier/shared/trouble_report.h"
#include "frontier/shared/url_messages.h"
#include "frontier/store/queued_url.h"
#include "frontier/store/set_aside_record.h"

namespace trawl {

namespace {

// How long close() waits until everything is written and handed over, when Redis is in reach. What
// is not is found by the next owners, after the time of a lease.
constexpr std::chrono::seconds kHandOver(20);
// The same for a Redis that is away.
constexpr std::chrono::seconds kRedisAway(5);
// Between two looks for the end while this crawler has nothing to do.
constexpr std::chrono::milliseconds kWatch(100);
constexpr std::chrono::milliseconds kLongestWatch(1000);
// How often the totals of the crawl are read while it has.
constexpr std::chrono::seconds kTotals(2);
// A bucket's filter is not smaller.
constexpr std::uint64_t kLeastUrls = 1024;

BucketStore::Command command_for(BucketId bucket, MessageId id, const OwnerCommand& command) {
  return {.bucket = bucket, .message = {.id = id, .body = encode_owner_command(command)}};
}

Error redis_was_away() {
  return {ErrorCode::kIo,
          "Redis was out of reach when the crawl was stopped: its last pages are not written as "
          "done, and will be fetched again"};
}

Result<void> as_result(const BucketStore::Written& written) {
  if (written.code == BucketStore::Written::Code::kDone) return {};
  return tl::unexpected(written.error.value_or(
      Error{ErrorCode::kUnavailable, "Redis did not answer whether it has the command"}));
}

}  // namespace

std::unique_ptr<FrontierImpl> SharedFrontierImpl::make_impl(const EmbeddedOptions& options,
                                                            const SharedOptions& shared,
                                                            Parts& parts) {
  const BucketId buckets = parts.connection.ownership.buckets;
  SharedStore& store = *parts.store;
  FrontierParts made{
      .recovery = nullptr,
      .store = std::move(parts.store),
      .partitions = std::make_unique<Partitions>(buckets),
      .clock = 0,
      .hash = parts.connection.crawl.hash,
      .ledger = false,
      .set_aside_keys_changed = false,
      .resumed = false,
      .real_clock = true,
      .ends_follow_links = true,
      .buckets = buckets,
      .encode_links = [](auto links, auto given) { return encode_requests(links, given); },
      .may_lease =
          [this](HostId host) {
            const BucketId bucket = impl_.bucket_of(host);
            return turnover_.is_leasable(bucket) && ownership_.may_start(bucket);
          },
      .retired = [this](std::uint32_t bucket) { retired(bucket); },
      .counts_admitted = shared.url_limit != nullptr,
      .write_parts = [&store](auto batches,
                              auto links) { return store.write_parts(batches, links); },
      .progress_of_all = [this](const Progress& own) { return progress_of_all(own); }};
  return std::make_unique<FrontierImpl>(options, std::move(made));
}

SharedFrontierImpl::SharedFrontierImpl(const EmbeddedOptions& options, const SharedOptions& shared,
                                       Parts parts)
    : SharedFrontierImpl(options, shared, parts, *parts.store) {}

SharedFrontierImpl::SharedFrontierImpl(const EmbeddedOptions& options, const SharedOptions& shared,
                                       Parts& parts, SharedStore& store)
    : FrontierDecorator(make_impl(options, shared, parts)),
      options_(options),
      report_([told = shared.on_trouble](const Error& error) {
        if (told) told(error);
      }),
      buckets_(parts.connection.ownership.buckets),
      replicated_(parts.connection.replicated),
      member_(parts.connection.ownership.member),
      url_limit_(shared.url_limit),
      impl_(static_cast<FrontierImpl&>(inner())),
      store_(store),
      lock_(std::move(parts.lock)),
      control_client_(std::move(parts.for_control)),
      control_store_(*control_client_, parts.connection.keys, replicated_),
      pages_(*control_client_, parts.connection.keys,
             {.name = "pages", .session = parts.connection.ownership.session}),
      bytes_(*control_client_, parts.connection.keys,
             {.name = "bytes",
              .session = parts.connection.ownership.session,
              .least = 1u << 20,
              .most = std::uint64_t{1} << 30}),
      turns_(*control_client_, parts.connection.keys),
      ip_delay_(shared.cluster.shared_ip_delay ? shared.politeness.ip_delay
                                               : std::chrono::milliseconds(0)),
      foreign_starts_(buckets_),
      ownership_(std::move(parts.for_ownership), parts.connection.keys, parts.connection.ownership,
                 ownership_events()),
      inbox_(std::move(parts.for_inboxes), parts.connection.keys, replicated_, {}, inbox_events()),
      queue_depths_(store_, [this](std::string_view record) { return impl_.add_waiting(record); }),
      turnover_(buckets_, turnover_calls(), options_.testing.clock),
      end_client_(std::move(parts.for_end)),
      end_store_(*end_client_, parts.connection.keys, replicated_),
      end_(end_store_, buckets_) {
  foreign_starts_.set_delays(options_.politeness.delay, options_.politeness.domain_delay);
  *parts.lost = [this](BucketId bucket, const Error& error) {
    foreign_starts_.note_left(bucket, options_.testing.clock());
    // At once: what would be promoted, or read from the inbox, would have no effect.
    impl_.lose_bucket(bucket);
    inbox_.close(bucket);
    turnover_.refused(bucket);
    if (error.code != ErrorCode::kInUse) report_(error);
  };
}

void SharedFrontierImpl::begin() {
  static_cast<void>(impl_.restore());  // has nothing to read
  inbox_.start();
  ownership_.start();
  watcher_ = std::thread([this] { watch(); });
}

SharedFrontierImpl::~SharedFrontierImpl() {
  static_cast<void>(close());
}

OwnershipThread::Events SharedFrontierImpl::ownership_events() {
  return {.gained = [this](BucketId bucket, const std::string& token,
                           const BucketMeta& meta) { turnover_.gained(bucket, token, meta); },
          .lost = [this](BucketId bucket) { turnover_.lost(bucket); },
          .to_release = [this](BucketId bucket) { turnover_.to_release(bucket); },
          .emptied = [this](BucketId bucket) { turnover_.lost(bucket); },
          .renewed =
              [this](std::span<const BucketOwnership::Events::Renewed> renewed) {
                for (const auto& bucket : renewed)
                  store_.note_version(bucket.bucket, bucket.version);
              },
          .trouble = [this](const Error& error) { report_(error); },
          .recovered = [] {},
          .failed = [this](const Error& error) { impl_.stop_with(error); }};
}

BucketTurnover::Calls SharedFrontierImpl::turnover_calls() {
  return {
      .load = [this](BucketId bucket, const std::string& token,
                     const BucketMeta& meta) { return load(bucket, token, meta); },
      .end_load = [this](BucketId bucket) { store_.end_load(bucket); },
      .retire =
          [this](BucketId bucket) {
            foreign_starts_.note_left(bucket, options_.testing.clock());
            inbox_.close(bucket);
            return impl_.retire_bucket(bucket);
          },
      .open_leases = [this](BucketId bucket) { return impl_.leased_in(bucket); },
      .release =
          [this](BucketId bucket, const std::string& token) {
            static_cast<void>(ownership_.release(bucket, token));
          },
      .drop = [this](BucketId bucket, const std::string& token) { ownership_.drop(bucket, token); },
      .trouble = [this](const Error& error) { report_(error); }};
}

InboxReader::Events SharedFrontierImpl::inbox_events() {
  return {
      .take = [this](BucketId bucket, std::span<const InboxReader::Message> messages,
                     InboxReader::Done done) { take_messages(bucket, messages, std::move(done)); },
      .command = [this](BucketId bucket, const MessageId& id, const OwnerCommand& command,
                        InboxReader::Done done) { execute(bucket, id, command, std::move(done)); },
      .damaged = [this](const Error& error) { report_(error); },
      .trouble = [this](const Error& error) { report_(error); },
      .recovered = [] {}};
}

// From back to front: see frontier_buckets.cc.
Result<void> SharedFrontierImpl::load(BucketId bucket, const std::string& token,
                                      const BucketMeta& meta) {
  const SeenOptions& seen = options_.seen;
  auto filter =
      GrowingBloomFilter::create({.capacity = std::max(seen.expected_urls / buckets_, kLeastUrls),
                                  .false_positive_rate = seen.false_positive_rate,
                                  .hash = impl_.hash(),
                                  .max_memory_bytes = seen.max_memory / buckets_});
  if (!filter) return tl::unexpected(filter.error());
  auto partition =
      std::make_unique<Partition>(std::move(*filter), Counters{}, Partition::Keys::kLower);
  std::unique_ptr<bool[]> fresh;
  std::size_t room = 0;
  std::vector<HostId> long_queues;
  // P1: nobody has leased from a bucket that never had a batch, unless a failover took those back.
  const bool is_new = meta.version == 0 && replicated_ &&
                      !foreign_starts_.asked_lately(bucket, options_.testing.clock());
  impl_.begin_bucket(bucket, is_new ? SteadyTime() : turnover_.rests_since(bucket));
  auto counters = store_.take(bucket, token, meta,
                              {.fingerprints =
                                   [&](std::span<const Fingerprint> urls) {
                                     if (room < urls.size())
                                       fresh = std::make_unique<bool[]>(room = urls.size());
                                     partition->insert_batch(urls, {fresh.get(), urls.size()});
                                   },
                               .beginning = QueueHeadCache::kFewUrls,
                               .host =
                                   [&](const LoadedHost& host) {
                                     for (const QueuedUrl& url : host.queue.urls)
                                       impl_.add_waiting(url.record);
                                     if (!host.queue.whole) long_queues.push_back(host.host);
                                     count_urls(host);
                                     impl_.add_host(host.host, host.record, host.queue, host.urls);
                                   }});
  if (!counters) {
    impl_.forget_bucket(bucket);
    store_.end_load(bucket);
    return tl::unexpected(counters.error());
  }
  partition->begin(*counters);
  static_cast<void>(store_.visit_deferred_of(bucket, [&](const DeferredUrl& first) {
    partition->set_next_deferred(first.not_before);
    return false;
  }));
  add_waiting(bucket);
  if (url_limit_ != nullptr) {
    store_.visit_admitted_of(bucket, [this](std::string_view host, std::uint64_t urls) {
      url_limit_->came(host, urls);
    });
  }
  impl_.open_bucket(bucket, std::move(partition));
  inbox_.open(bucket);
  if (counters->deepest > 0) queue_depths_.add(long_queues);
  return {};
}

// The depths of what waits, except in queues. An owner that does not know of a URL that waits would
// not notice a smaller depth.
void SharedFrontierImpl::add_waiting(BucketId bucket) {
  static_cast<void>(store_.visit_deferred_of(
      bucket, [&](const DeferredUrl& url) { return impl_.add_waiting(url.record); }));
  static_cast<void>(store_.visit_depths([&](Fingerprint, std::uint32_t) {
    impl_.expect_noted_depths();
    return false;
  }));
  store_.visit_set_aside_of(bucket, [&](Fingerprint, std::string_view value) {
    const auto record = decode_set_aside(value);
    if (record && record->was_queued) impl_.add_waiting(record->url_record);
  });
}

// By the committer. What a bucket that was lost may lack of what this crawler admitted goes to its
// inbox.
void SharedFrontierImpl::retired(BucketId bucket) {
  if (turnover_.was_lost(bucket)) {
    if (auto passed = store_.pass_on(bucket); !passed) report_(passed.error());
  }
  store_.end(bucket);
  turnover_.retired(bucket);
}

void SharedFrontierImpl::take_messages(BucketId bucket,
                                       std::span<const InboxReader::Message> messages,
                                       InboxReader::Done done) {
  for (std::size_t i = 0; i + 1 < messages.size(); ++i)
    take_message(bucket, messages[i], [](const Result<void>&) {});
  // They are durable in this order, or none is.
  take_message(bucket, messages.back(), std::move(done));
}

void SharedFrontierImpl::take_message(BucketId bucket, const InboxReader::Message& message,
                                      InboxReader::Done done) {
  const auto& [requests, given] = message.content;
  if (url_limit_ == nullptr) {
    static_cast<void>(impl_.take_message(bucket, message.id, requests, given, std::move(done)));
    return;
  }
  LimitedRequests limited(*url_limit_, requests);
  const auto answers =
      impl_.take_message(bucket, message.id, limited.requests(), given, std::move(done));
  if (!answers.empty()) over_limit_.fetch_add(limited.answered(answers), std::memory_order_relaxed);
}

void SharedFrontierImpl::count_urls(const LoadedHost& host) {
  if (url_limit_ == nullptr) return;
  if (host.record && !host.record->name.empty())
    return url_limit_->came(host.record->name, host.urls);
  if (host.queue.urls.empty()) return;
  if (const auto first = decode_record(host.queue.urls.front().record))
    url_limit_->came(queue_of(*first), host.urls);
}

void SharedFrontierImpl::execute(BucketId bucket, const MessageId& id, const OwnerCommand& command,
                                 InboxReader::Done done) {
  const std::uint32_t openings = impl_.openings();
  if (auto executed = execute(bucket, command); !executed) {
    report_(executed.error());
    // A command that cannot be executed would come again and again.
    if (executed.error().code == ErrorCode::kUnavailable) return done(executed);
  }
  impl_.take_command(bucket, id, openings, std::move(done));
}

Result<void> SharedFrontierImpl::execute(BucketId bucket, const OwnerCommand& command) {
  const auto nothing = [](const auto&) { return Result<void>{}; };
  switch (command.kind) {
    case OwnerCommand::Kind::kSetHost:
      return impl_.set_host(command.host, command.settings);
    case OwnerCommand::Kind::kDropHost:
      return impl_.drop_host(command.host).and_then(nothing);
    case OwnerCommand::Kind::kRetry:
      return impl_.retry_in(bucket, command.which).and_then(nothing);
  }
  return {};
}

Result<void> SharedFrontierImpl::ask(BucketId bucket, const OwnerCommand& command) {
  const MutexLock lock(control_);
  const auto asked = command_for(bucket, command_ids_.next(), command);
  return as_result(control_store_.push_commands(std::span(&asked, 1)).front());
}

Result<StartTurn> SharedFrontierImpl::start_elsewhere(std::string_view host,
                                                      std::string_view address) {
  if (impl_.has_bucket(impl_.bucket_of(host))) {
    auto turn = impl_.start_elsewhere(host, address);
    if (turn) return in_turn_of_address(*turn, address);
    if (turn.error().code != ErrorCode::kUnavailable) return turn;
  }
  return in_turn_of_address(
      foreign_starts_.start(impl_.bucket_of(host), host, options_.testing.clock()), address);
}

Result<void> SharedFrontierImpl::sent(const StartTurn& turn, std::optional<SteadyTime> when,
                                      std::string_view address) {
  if (turn.host == 0) {
    foreign_starts_.sent(turn, when);
    return {};
  }
  // A bucket that is given up meanwhile is left later.
  const BucketId bucket = impl_.bucket_of(turn.host);
  if (when && !impl_.has_bucket(bucket)) foreign_starts_.note_left(bucket, *when);
  return impl_.sent(turn, when, address);
}

Result<StartTurn> SharedFrontierImpl::start(std::uint64_t lease_id, std::string_view address) {
  auto turn = impl_.start(lease_id, address);
  return turn ? in_turn_of_address(*turn, address) : turn;
}

// A bucket that was lost and claimed again rests since then, so an older turn is of another lease.
bool SharedFrontierImpl::may_send(const StartTurn& turn) const noexcept {
  if (turn.host == 0) return true;  // nobody's turn is kept for it
  const BucketId bucket = impl_.bucket_of(turn.host);
  return turnover_.is_leasable(bucket) && turnover_.rests_since(bucket) <= turn.at &&
         ownership_.may_start(bucket);
}

// Over all crawlers, after all that this one knows itself. A request that must wait all the same
// counts as begun for its host, if that is of an own bucket: it waits once more.
Result<StartTurn> SharedFrontierImpl::in_turn_of_address(StartTurn turn, std::string_view address) {
  const auto delay = ip_delay_.load(std::memory_order_relaxed);
  if (turn.when != StartTurn::When::kNow || delay.count() == 0 || address.empty()) return turn;
  auto taken = [&] {
    const MutexLock lock(control_);
    const AddressTurns::Request request{.address = std::string(address), .delay = delay};
    return std::move(turns_.take(std::span(&request, 1)).front());
  }();
  if (taken && taken->now) return turn;
  if (turn.host == 0) {
    foreign_starts_.undo(turn);
  } else if (auto unsent = impl_.sent(turn, std::nullopt, address); !unsent) {
    return tl::unexpected(unsent.error());
  }
  const auto wait = taken ? taken->wait : std::chrono::milliseconds(500);
  return StartTurn{.when = StartTurn::When::kLater, .at = options_.testing.clock() + wait};
}

Result<void> SharedFrontierImpl::set_politeness(const PolitenessOptions& politeness,
                                                const RetryOptions& retry) {
  auto set = impl_.set_politeness(politeness, retry);
  if (set) foreign_starts_.set_delays(politeness.delay, politeness.domain_delay);
  if (set && ip_delay_.load(std::memory_order_relaxed).count() > 0)
    ip_delay_.store(politeness.ip_delay, std::memory_order_relaxed);
  return set;
}

Result<void> SharedFrontierImpl::set_host(std::string_view host, const HostSettings& settings) {
  const BucketId bucket = impl_.bucket_of(host);
  if (impl_.has_bucket(bucket)) {
    auto set = impl_.set_host(host, settings);
    if (set || set.error().code != ErrorCode::kUnavailable) return set;
  }
  HostSettings stored = settings;
  stored.address.reset();  // that is only for the owner's requests
  if (!stored.delay && !stored.exact_delay && !stored.leases && !stored.limit &&
      !stored.blocked_until)
    return {};
  return ask(bucket, {.kind = OwnerCommand::Kind::kSetHost,
                      .host = std::string(host),
                      .settings = std::move(stored)});
}

Result<std::uint64_t> SharedFrontierImpl::drop_host(std::string_view host) {
  const BucketId bucket = impl_.bucket_of(host);
  if (impl_.has_bucket(bucket)) {
    auto dropped = impl_.drop_host(host);
    if (dropped || dropped.error().code != ErrorCode::kUnavailable) return dropped;
  }
  auto asked = ask(bucket, {.kind = OwnerCommand::Kind::kDropHost, .host = std::string(host)});
  if (!asked) return tl::unexpected(asked.error());
  return 0;
}

Result<std::uint64_t> SharedFrontierImpl::retry(const RetryWhich& which) {
  const std::uint32_t openings = impl_.openings();
  auto own = impl_.retry(which);
  if (!own || which.wanted) return own;  // a function cannot be sent
  // A bucket that came meanwhile may have been passed over.
  const bool all_were_here = impl_.openings() == openings;
  std::vector<BucketStore::Command> commands;
  const MutexLock lock(control_);
  for (BucketId bucket = 0; bucket < buckets_; ++bucket) {
    if (all_were_here && impl_.has_bucket(bucket)) continue;
    commands.push_back(command_for(bucket, command_ids_.next(),
                                   {.kind = OwnerCommand::Kind::kRetry, .which = which}));
  }
  for (const auto& written : control_store_.push_commands(commands)) {
    if (auto asked = as_result(written); !asked) return tl::unexpected(asked.error());
  }
  return own;
}

Result<std::uint64_t> SharedFrontierImpl::take(SharedLimit of, std::uint64_t limit,
                                               std::uint64_t need) {
  const MutexLock lock(control_);
  return budget(of).take(limit, need);
}

Result<void> SharedFrontierImpl::give_back(SharedLimit of, std::uint64_t amount) {
  const MutexLock lock(control_);
  return budget(of).give_back(amount);
}

Result<std::uint64_t> SharedFrontierImpl::taken(SharedLimit of) {
  const MutexLock lock(control_);
  return budget(of).taken();
}

// What a look found holds as long as no commit here has moved anything since.
Result<Progress> SharedFrontierImpl::progress_of_all(const Progress& own) const {
  if (!own.at_end()) return Progress{};
  const MutexLock lock(watching_);
  if (!end_seen_ || end_seen_->commit != impl_.commit_number()) return Progress{};
  return end_seen_->progress;
}

bool SharedFrontierImpl::is_idle_at(std::uint64_t commit) const {
  const auto turnover = turnover_.counts();
  return commit % 2 == 0 && turnover.loading == 0 && turnover.leaving == 0 &&
         impl_.own_progress().at_end() && impl_.commit_number() == commit;
}

void SharedFrontierImpl::watch() {
  using Clock = std::chrono::steady_clock;
  TroubleReport troubles(
      report_, [] {}, kTotals);
  Clock::time_point touched, counted;
  std::chrono::milliseconds pace = kWatch;
  const MutexLock lock(watching_);
  while (!stops_) {
    watched_.wait_until(watching_, Clock::now() + pace);
    if (stops_) return;
    const MutexUnlock unlocked(watching_);
    if (Clock::now() - touched > std::chrono::seconds(1)) {
      touched = Clock::now();
      static_cast<void>(impl_.touch_store());  // SharedStore::write_parts()
    }
    // First: who sees the end asks what the totals are.
    Result<void> known;
    if (Clock::now() - counted > kTotals) {
      known = read_totals();
      if (known) counted = Clock::now();
    }
    const auto idle = known.and_then([this] { return look_for_the_end(); });
    // Others may have to do for hours.
    pace = idle && *idle ? std::min(pace * 3 / 2, kLongestWatch) : kWatch;
    if (!idle) troubles.add(idle.error(), BootClock::now());
    troubles.look(BootClock::now());
  }
}

Result<void> SharedFrontierImpl::read_totals() {
  return end_.totals().map([&](const SharedTotals& totals) {
    const MutexLock lock(watching_);
    totals_ = totals.counters;
  });
}

Result<bool> SharedFrontierImpl::look_for_the_end() {
  const std::uint64_t commit = impl_.commit_number();
  const auto told = tell_idle(commit);
  if (!told || !*told) {
    ownership_.set_idle(0);
    return told.map([](const auto&) { return false; });
  }
  const auto progress = end_.progress(**told);
  if (!progress) return tl::unexpected(progress.error());
  const bool is_end = progress->at_end() && is_idle_at(commit);
  {
    const MutexLock lock(watching_);
    end_seen_.reset();
    if (is_end) end_seen_ = End{.progress = *progress, .commit = commit};
  }
  if (is_end) impl_.wake_all();
  return true;
}

// Others conclude from this, and from what they read themselves.
Result<std::optional<CrawlEnd::Scan>> SharedFrontierImpl::tell_idle(std::uint64_t commit) {
  if (!is_idle_at(commit)) return std::nullopt;
  auto scan = end_.scan();
  if (!scan) return tl::unexpected(scan.error());
  IdleMark mark;
  for (BucketId bucket = 0; bucket < buckets_; ++bucket) {
    if (turnover_.is_leasable(bucket)) mark.add(bucket, scan->buckets[bucket].version);
  }
  if (!is_idle_at(commit)) return std::nullopt;
  ownership_.set_idle(mark.value());
  return std::optional(*std::move(scan));
}

Result<ClusterStatus> SharedFrontierImpl::cluster_status() const {
  const MutexLock lock(watching_);
  return last_status_ ? *last_status_ : status_now();
}

ClusterStatus SharedFrontierImpl::status_now() const {
  ClusterStatus status;
  const OwnershipThread::Status ownership = ownership_.status();
  for (std::size_t i = 0; i < ownership.living.size(); ++i) {
    status.members.push_back({.name = ownership.living[i],
                              .buckets = ownership.buckets[i],
                              .is_self = ownership.living[i] == member_});
  }
  const auto turnover = turnover_.counts();
  const InboxReader::Status inbox = inbox_.status();
  const SharedStore::Counts written = store_.counts();
  status.buckets = buckets_;
  status.owned = turnover.open;
  status.inbox = inbox.messages_waiting + inbox.commands_waiting;
  status.oldest_message = inbox.oldest;
  status.forwarded = written.messages;
  status.messages_taken = inbox.messages_taken;
  status.gained = turnover.gained;
  status.lost = turnover.lost;
  status.rolled_back = written.replayed;
  status.passed_on = written.passed_on;
  status.over_limit = over_limit_.load(std::memory_order_relaxed);
  status.waits_for = store_.waits_for();
  status.totals = totals_;
  return status;
}

Result<FrontierStats> SharedFrontierImpl::stats() const {
  {
    const MutexLock lock(watching_);
    if (last_stats_) return *last_stats_;
  }
  return impl_.stats();
}

Result<Progress> SharedFrontierImpl::progress() const {
  {
    const MutexLock lock(watching_);
    if (last_stats_) return last_progress_;
  }
  return impl_.progress();
}

Result<void> SharedFrontierImpl::close() {
  const auto stats = impl_.stats();
  const auto progress = impl_.progress();
  {
    const MutexLock lock(watching_);
    if (std::exchange(closed_, true)) return close_result_;
    if (stats) last_stats_ = *stats;
    if (progress) last_progress_ = *progress;
    stops_ = true;
    watched_.notify_all();
  }
  // First of all, so that no thread that is waited for below waits for a Redis that is away.
  const auto leaves = ownership_.leave();
  const bool away = leaves.wait_for(kRedisAway) != std::future_status::ready;
  if (away) store_.give_up();
  if (watcher_.joinable()) watcher_.join();
  inbox_.stop();
  impl_.keep_hosts();
  turnover_.hand_over_all(std::chrono::steady_clock::now() + (away ? kRedisAway : kHandOver));
  // What this crawler did is in them from here on.
  end_store_.set_patience(kRedisAway);
  if (!away) static_cast<void>(read_totals());
  // Redis may have gone away meanwhile.
  store_.give_up();
  queue_depths_.stop();
  turnover_.stop();
  ownership_.stop();
  {
    const MutexLock lock(watching_);
    last_status_ = status_now();  // the store goes
  }
  auto closed = impl_.close();
  if (!closed && closed.error().code == ErrorCode::kUnavailable)
    closed = tl::unexpected(redis_was_away());
  const MutexLock lock(watching_);
  return close_result_ = closed;
}

void SharedFrontierImpl::stop_waiting() {
  const MutexLock lock(watching_);
  if (last_status_) return;  // it is closed
  impl_.stop_with(redis_was_away());
  store_.give_up();
}

std::string SharedFrontierImpl::waits_for() const {
  const MutexLock lock(watching_);
  return last_status_ ? std::string() : store_.waits_for();
}

}  // namespace trawl
