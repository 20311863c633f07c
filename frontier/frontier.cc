#include "trawl/frontier.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "trawl/sizing.h"
#include "trawl/url.h"

#include "filter/mix.h"
#include "frontier/checkpointer.h"
#include "frontier/commit_queue.h"
#include "frontier/host_shard.h"
#include "frontier/manifest.h"
#include "frontier/recovery.h"
#include "frontier/registrable_domain.h"
#include "frontier/state_directory.h"
#include "frontier/store.h"

namespace trawl {

namespace {

// How many URLs one operation of offer() admits: bounds how long it holds the gate.
constexpr std::size_t kOfferBatch = 1024;

// URLs parsed and hashed, ready for the filter.
struct Prepared {
  std::vector<Url> urls;
  std::vector<Fingerprint> fingerprints;
  std::vector<std::size_t> request_index;
};

bool is_valid_delay(std::chrono::milliseconds delay) {
  return delay.count() >= 0 && delay <= kMaxDelay;
}

// Leases are numbered from the time on, in microseconds: no run before gave so high a number.
std::uint64_t first_lease_number() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

class FrontierImpl final : public Frontier {
 public:
  FrontierImpl(const FrontierOptions& options, DirectoryLock lock, Manifest manifest,
               std::unique_ptr<Store> store, GrowingBloomFilter filter, const Counters& counters,
               OpenReport report)
      : options_(options),
        lock_(std::move(lock)),
        store_(std::move(store)),
        filter_(std::move(filter)),
        hash_(KeyedHash::from_key(manifest.hash_key)),
        canonicalizer_(options.profile),
        report_(std::move(report)),
        checkpointer_(options.directory, std::move(manifest), options.checkpoints_kept) {
    ShardOptions shard_options{.delay = options_.delay,
                               .leases_per_host = options_.leases_per_host,
                               .max_leases = 0,
                               .clock = [this] { return now(); },
                               .restarted = std::nullopt,
                               .first_lease = first_lease_number()};
    if (report_.resumed) shard_options.restarted = now();
    const std::uint32_t shards = options_.shards;
    for (std::uint32_t i = 0; i < shards; ++i) {
      shard_options.max_leases =
          options_.max_open_leases / shards + (i < options_.max_open_leases % shards ? 1 : 0);
      shards_.push_back(std::make_unique<HostShard>(*store_, shard_options));
    }
    commits_.emplace(*store_, counters, options_.before_commit,
                     [this](auto& group) { after_commit(group); });
  }

  Result<void> restore_queues() {
    auto delays = store_->visit_host_delays([&](std::string host, std::chrono::milliseconds delay) {
      shard_of(host).set_delay(host, delay);
    });
    if (!delays) return delays;
    return store_->visit_queues(HostShard::kRestoredHead, [&](std::vector<QueuedUrl> head) {
      HostShard& shard = shard_of(head.front().host);
      const bool more = head.size() == HostShard::kRestoredHead;
      shard.restore_queue(std::move(head), more);
    });
  }

  Result<std::vector<Admission>> offer(std::span<const UrlRequest> requests) override {
    if (auto open = commits_->check(); !open) return tl::unexpected(open.error());
    std::vector<Admission> admissions(requests.size());
    for (std::size_t first = 0; first < requests.size(); first += kOfferBatch) {
      const auto part = requests.subspan(first, std::min(kOfferBatch, requests.size() - first));
      const std::span<Admission> answers(admissions.data() + first, part.size());
      const Prepared prepared = prepare(part, answers);
      auto admit_part = [&](Operation& operation) {
        admit(part, prepared, {}, answers, operation);
      };
      // Operations of one thread are committed in order: waiting for the last is enough.
      const bool last = first + part.size() == requests.size();
      auto done = last ? commits_->submit_and_wait(admit_part) : commits_->submit(admit_part);
      if (!done) return tl::unexpected(done.error());
    }
    return admissions;
  }

  Result<std::vector<Lease>> lease(std::size_t max) override {
    std::vector<Lease> leases;
    // Each call begins with another shard, so that none is favoured.
    const std::uint32_t first = next_shard_.fetch_add(1, std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < options_.shards && leases.size() < max; ++i) {
      auto more = lease(max - leases.size(), (first + i) % options_.shards);
      if (!more) return more;
      std::ranges::move(*more, std::back_inserter(leases));
    }
    return leases;
  }

  Result<std::vector<Lease>> lease(std::size_t max, std::uint32_t shard) override {
    if (shard >= options_.shards) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("there is no shard {}: there are {}", shard, options_.shards));
    }
    if (auto open = commits_->check(); !open) return tl::unexpected(open.error());
    std::vector<NumberedLease> urls;
    if (auto done = shards_[shard]->lease(max, urls); !done) {
      commits_->stop_with(done.error());
      return tl::unexpected(done.error());
    }
    std::vector<Lease> leases;
    leases.reserve(urls.size());
    for (NumberedLease& lease : urls) {
      leases.push_back(to_lease(lease.number * options_.shards + shard, std::move(lease.url)));
    }
    return leases;
  }

  std::optional<SteadyTime> next_due(std::uint32_t shard) const override {
    return shard < options_.shards ? shards_[shard]->next_due() : std::nullopt;
  }

  Result<std::vector<Admission>> complete(std::uint64_t lease_id, const Outcome& outcome,
                                          std::span<const UrlRequest> links) override {
    if (auto open = commits_->check(); !open) return tl::unexpected(open.error());
    auto url =
        shards_[lease_id % options_.shards]->begin_completion(lease_id / options_.shards, outcome);
    if (!url) return tl::unexpected(url.error());
    std::vector<Admission> admissions(links.size());
    const Prepared prepared = prepare(links, admissions);
    auto submitted = commits_->submit([&](Operation& operation) {
      admit(links, prepared, url->url, admissions, operation);
      operation.ended = Operation::Ended{.order = url->order,
                                         .lease = to_lease(lease_id, std::move(*url)),
                                         .outcome = outcome,
                                         .links = links.size()};
    });
    if (!submitted) return tl::unexpected(submitted.error());
    return admissions;
  }

  Result<void> release(std::uint64_t lease_id, std::optional<SteadyTime> next_start,
                       std::chrono::milliseconds started_after) override {
    if (auto open = commits_->check(); !open) return open;
    const auto shard = static_cast<std::uint32_t>(lease_id % options_.shards);
    auto released = shards_[shard]->release(lease_id / options_.shards, next_start, started_after);
    if (released) announce_work(shard);
    return released;
  }

  Result<void> set_host_delay(std::string_view host, std::chrono::milliseconds delay) override {
    if (!is_valid_delay(delay)) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("a host's delay must be from 0 to a year, not {} ms", delay.count()));
    }
    if (auto open = commits_->check(); !open) return open;
    const std::uint32_t shard = shard_index(host);
    if (!shards_[shard]->set_delay(std::string(host), delay)) return {};
    announce_work(shard);
    return commits_->submit(
        [&](Operation& operation) { operation.host_delay.emplace(std::string(host), delay); });
  }

  Result<void> flush() override { return commits_->flush(); }

  Result<void> checkpoint() override {
    const std::lock_guard lock(closing_);
    return take_checkpoint();
  }

  bool finished() const override {
    const Counters counters = commits_->counters();
    return counters.admitted == counters.completed;
  }

  FrontierStats stats() const override {
    const Counters counters = commits_->counters();
    FrontierStats stats;
    stats.admitted = counters.admitted;
    stats.completed = counters.completed;
    stats.failed = counters.failed;
    stats.skipped = counters.skipped;
    stats.seen = counters.seen;
    stats.invalid = counters.invalid;
    for (const auto& shard : shards_) {
      stats.leased += shard->leased();
      stats.hosts += shard->hosts();
    }
    // The two are read one after the other: a lease may have ended in between.
    const std::uint64_t open = counters.admitted - counters.completed;
    stats.queued = open - std::min(open, stats.leased);
    stats.checkpoints = checkpointer_.taken();
    stats.filter = filter_.stats();
    stats.false_positive_rate = stats.filter.current_rate;
    stats.expected_lost = stats.filter.expected_false_positives;
    stats.filter_warning = filter_.growth_error();
    return stats;
  }

  const OpenReport& opened() const override { return report_; }

  Result<void> close() override {
    const std::lock_guard lock(closing_);
    if (!store_) return {};
    auto done = take_checkpoint();
    // In this order: the committer and the shards are the ones that use the store.
    commits_->close();
    for (auto& shard : shards_)
      shard->close();
    store_.reset();
    lock_.reset();
    return done;
  }

 private:
  SteadyTime now() const {
    return options_.clock ? options_.clock() : std::chrono::steady_clock::now();
  }

  // With closing_ held.
  Result<void> take_checkpoint() {
    if (!store_) return fail(ErrorCode::kClosed, "the frontier is closed");
    return checkpointer_.take(filter_, *commits_, *store_);
  }

  std::uint32_t shard_index(std::string_view host) const {
    return static_cast<std::uint32_t>(
        scale_to(mix64(std::hash<std::string_view>{}(host)), options_.shards));
  }
  HostShard& shard_of(std::string_view host) { return *shards_[shard_index(host)]; }

  static Lease to_lease(std::uint64_t id, QueuedUrl url) {
    return {.id = id,
            .url = std::move(url.url),
            .host = std::move(url.host),
            .parent = std::move(url.parent),
            .priority = url.order.priority,
            .depth = url.depth,
            .redirects = url.redirects};
  }

  void announce_work(std::uint32_t shard) const {
    if (options_.on_work) options_.on_work(shard);
  }

  // Parses and hashes; answers the requests that need no filter.
  Prepared prepare(std::span<const UrlRequest> requests, std::span<Admission> answers) const {
    Prepared prepared;
    prepared.urls.reserve(requests.size());
    prepared.fingerprints.reserve(requests.size());
    prepared.request_index.reserve(requests.size());
    std::string key;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      auto url = Url::parse(requests[i].url);
      if (!url) {
        answers[i] = Admission::kInvalid;
      } else if (url->href_without_fragment().size() > options_.max_url_length) {
        answers[i] = Admission::kTooLong;
      } else {
        answers[i] = Admission::kSeen;
        prepared.fingerprints.push_back(hash_(canonicalizer_.key_view(*url, key)));
        prepared.urls.push_back(std::move(*url));
        prepared.request_index.push_back(i);
      }
    }
    return prepared;
  }

  // Inserts into the filter, and adds the winners to the operation. Runs inside the gate.
  void admit(std::span<const UrlRequest> requests, const Prepared& prepared,
             std::string_view parent, std::span<Admission> answers, Operation& operation) {
    const std::size_t n = prepared.urls.size();
    const auto flags = std::make_unique<bool[]>(n);
    const std::size_t fresh = filter_.insert_batch(prepared.fingerprints, {flags.get(), n});
    operation.seen = n - fresh;
    operation.invalid = requests.size() - n;
    operation.admitted.reserve(fresh);
    operation.fingerprints.reserve(fresh);
    for (std::size_t i = 0; i < n; ++i) {
      if (!flags[i]) continue;
      const std::size_t index = prepared.request_index[i];
      const UrlRequest& request = requests[index];
      answers[index] = Admission::kNew;
      operation.admitted.push_back(
          {.host = politeness_group(prepared.urls[i]),
           .order = {.priority = request.priority, .sequence = 0},
           .url = std::string(prepared.urls[i].href_without_fragment()),
           .parent = std::string(request.parent.empty() ? parent : request.parent),
           .depth = request.depth,
           .redirects = request.redirects});
      operation.fingerprints.push_back(prepared.fingerprints[i]);
    }
  }

  // On the commit thread: tells the shards what became durable.
  void after_commit(std::vector<std::unique_ptr<Operation>>& group) {
    std::vector<bool> touched(options_.shards, false);
    for (auto& operation : group) {
      for (QueuedUrl& url : operation->admitted) {
        const std::uint32_t shard = shard_index(url.host);
        shards_[shard]->push_admitted(std::move(url));
        touched[shard] = true;
      }
      if (operation->ended) {
        const std::uint32_t shard = shard_index(operation->ended->lease.host);
        shards_[shard]->push_completed(operation->ended->order.sequence);
        touched[shard] = true;
      }
    }
    for (std::uint32_t shard = 0; shard < options_.shards; ++shard) {
      shards_[shard]->relieve_inbox();
      if (touched[shard]) announce_work(shard);
    }
  }

  const FrontierOptions options_;
  std::mutex closing_;                 // held by checkpoint() and close()
  std::optional<DirectoryLock> lock_;  // this and the store: empty once closed
  std::unique_ptr<Store> store_;
  GrowingBloomFilter filter_;
  const KeyedHash hash_;
  const Canonicalizer canonicalizer_;
  const OpenReport report_;
  Checkpointer checkpointer_;
  std::vector<std::unique_ptr<HostShard>> shards_;
  std::atomic<std::uint32_t> next_shard_{0};
  // Last, so that its thread ends before what it works on.
  std::optional<CommitQueue> commits_;
};

std::uint64_t half_of_the_memory() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) / 2 *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

GrowingBloomFilter::Options filter_options(const FrontierOptions& options,
                                           const Manifest& manifest) {
  return {.capacity = options.expected_urls,
          .false_positive_rate = options.false_positive_rate,
          .hash = KeyedHash::from_key(manifest.hash_key),
          .max_memory_bytes =
              options.max_filter_memory != 0 ? options.max_filter_memory : half_of_the_memory()};
}

Result<void> check_options(const FrontierOptions& options) {
  const auto invalid = [](std::string message) {
    return fail(ErrorCode::kInvalidArgument, std::move(message));
  };
  if (options.directory.empty()) return invalid("FrontierOptions::directory is empty");
  if (!is_valid_delay(options.delay)) {
    return invalid(fmt::format("FrontierOptions::delay must be from 0 to a year, not {} ms",
                               options.delay.count()));
  }
  if (auto valid = options.profile.validate(); !valid) return valid;
  constexpr std::size_t kMaxProfileBytes = 512u << 10;  // a manifest must hold it
  if (const auto size = options.profile.name().size(); size > kMaxProfileBytes) {
    return invalid(
        fmt::format("FrontierOptions::profile takes {} bytes to write down, more than {}", size,
                    kMaxProfileBytes));
  }
  if (options.leases_per_host == 0) return invalid("FrontierOptions::leases_per_host is 0");
  if (options.checkpoints_kept == 0) return invalid("FrontierOptions::checkpoints_kept is 0");
  if (options.shards == 0 || options.shards > 1024) {
    return invalid(
        fmt::format("FrontierOptions::shards must be from 1 to 1024, not {}", options.shards));
  }
  if (options.max_open_leases < options.shards) {
    return invalid(
        fmt::format("FrontierOptions::max_open_leases must be at least shards ({}), not {}",
                    options.shards, options.max_open_leases));
  }
  const auto size = blocked_bloom_size(options.expected_urls, options.false_positive_rate);
  if (!size) return tl::unexpected(size.error());
  return {};
}

}  // namespace

Result<void> Frontier::remove(const std::filesystem::path& directory) {
  return remove_state_directory(directory);
}

Result<std::unique_ptr<Frontier>> Frontier::open(const FrontierOptions& given) {
  if (auto checked = check_options(given); !checked) return tl::unexpected(checked.error());
  FrontierOptions options = given;
  std::error_code error;
  options.directory = std::filesystem::absolute(given.directory, error).lexically_normal();
  if (error) {
    return tl::unexpected(system_error(error.value(), "cannot find " + given.directory.string()));
  }
  auto state = open_state_directory(options);
  if (!state) return tl::unexpected(state.error());
  OpenReport report;
  report.resumed = state->resumed;
  if (state->profile_replaced) {
    report.warnings.push_back(
        "the rules for canonical keys are others than before: URLs seen under the old ones may be "
        "fetched once more");
  }
  Checkpointer::remove_strays(options.directory, state->manifest);
  auto store =
      Store::open(store_path(options.directory), options.durability == FrontierDurability::kSync);
  if (!store) return tl::unexpected(store.error());
  const auto counters = (*store)->counters();
  if (!counters) return tl::unexpected(counters.error());
  auto filter = recover_filter(options.directory, state->manifest, **store,
                               filter_options(options, state->manifest), report);
  if (!filter) return tl::unexpected(filter.error());
  if (!state->resumed) {
    auto published = publish_new_crawl(state->manifest, counters->admitted, options.directory);
    if (!published) return tl::unexpected(published.error());
  }
  auto frontier = std::make_unique<FrontierImpl>(options, std::move(state->lock),
                                                 std::move(state->manifest), std::move(*store),
                                                 std::move(*filter), *counters, std::move(report));
  if (auto restored = frontier->restore_queues(); !restored) {
    return tl::unexpected(restored.error());
  }
  return frontier;
}

}  // namespace trawl
