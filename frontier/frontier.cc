#include "trawl/frontier.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "trawl/url.h"

#include "filter/mix.h"
#include "frontier/checkpointer.h"
#include "frontier/commit_queue.h"
#include "frontier/directory_lock.h"
#include "frontier/host_shard.h"
#include "frontier/manifest.h"
#include "frontier/recovery.h"
#include "frontier/registrable_domain.h"
#include "frontier/store.h"

namespace trawl {

namespace {

// How many URLs one operation of offer() admits: bounds how long it holds the gate.
constexpr std::size_t kOfferBatch = 1024;
constexpr std::size_t kRestoredHead = 64;

// URLs parsed and hashed, ready for the filter.
struct Prepared {
  std::vector<Url> urls;
  std::vector<Fingerprint> fingerprints;
  std::vector<std::size_t> request_index;
};

class FrontierImpl final : public Frontier {
 public:
  FrontierImpl(const FrontierOptions& options, DirectoryLock lock, Manifest manifest,
               std::unique_ptr<Store> store, BlockedBloomFilter filter, const Counters& counters,
               OpenReport report)
      : options_(options),
        lock_(std::move(lock)),
        store_(std::move(store)),
        filter_(std::move(filter)),
        hash_(KeyedHash::from_key(manifest.hash_key)),
        canonicalizer_(options.profile),
        report_(std::move(report)),
        checkpointer_(options.directory, std::move(manifest), options.checkpoints_kept) {
    const ShardOptions shard_options{
        .delay = options_.delay,
        .leases_per_host = options_.leases_per_host,
        .max_leases = (options_.max_open_leases + options_.shards - 1) / options_.shards,

        .restarted = report_.resumed ? std::optional(now()) : std::nullopt};
    for (std::uint32_t i = 0; i < options_.shards; ++i) {
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
    return store_->visit_queues(kRestoredHead, [&](std::vector<QueuedUrl> head) {
      HostShard& shard = shard_of(head.front().host);
      const bool more = head.size() == kRestoredHead;
      shard.restore_queue(std::move(head), more);
    });
  }

  Result<std::vector<Admission>> offer(std::span<const UrlRequest> requests) override {
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
    std::vector<QueuedUrl> urls;
    auto done = commits_->check().and_then([&] { return shards_[shard]->lease(max, now(), urls); });
    if (!done) return tl::unexpected(done.error());
    std::vector<Lease> leases;
    leases.reserve(urls.size());
    for (QueuedUrl& url : urls)
      leases.push_back(to_lease(std::move(url), shard));
    return leases;
  }

  std::optional<SteadyTime> next_due(std::uint32_t shard) const override {
    return shards_[shard]->next_due();
  }

  Result<std::vector<Admission>> complete(std::uint64_t lease_id, const Outcome& outcome,
                                          std::span<const UrlRequest> links) override {
    if (auto open = commits_->check(); !open) return tl::unexpected(open.error());
    const auto shard = static_cast<std::uint32_t>(lease_id % options_.shards);
    auto url = shards_[shard]->begin_completion(lease_id / options_.shards, outcome);
    if (!url) return tl::unexpected(url.error());
    std::vector<Admission> admissions(links.size());
    const Prepared prepared = prepare(links, admissions);
    auto submitted = commits_->submit([&](Operation& operation) {
      admit(links, prepared, url->url, admissions, operation);
      operation.ended = Operation::Ended{
          .url = *url, .lease = to_lease(*url, shard), .outcome = outcome, .links = links.size()};
    });
    if (!submitted) return tl::unexpected(submitted.error());
    return admissions;
  }

  Result<void> release(std::uint64_t lease_id, std::optional<SteadyTime> next_start) override {
    return shards_[lease_id % options_.shards]->release(lease_id / options_.shards, next_start);
  }

  Result<void> set_host_delay(std::string_view host, std::chrono::milliseconds delay) override {
    if (delay.count() < 0) return fail(ErrorCode::kInvalidArgument, "a host's delay is below zero");
    shard_of(host).set_delay(std::string(host), delay);
    return commits_->submit(
        [&](Operation& operation) { operation.host_delay.emplace(std::string(host), delay); });
  }

  Result<void> flush() override { return commits_->flush(); }

  Result<void> checkpoint() override { return checkpointer_.take(filter_, *commits_, *store_); }

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
    stats.expected_lost = filter_.expected_false_positives(static_cast<double>(counters.admitted));
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

  Lease to_lease(QueuedUrl url, std::uint32_t shard) const {
    return {.id = url.order.sequence * options_.shards + shard,
            .url = std::move(url.url),
            .host = std::move(url.host),
            .parent = std::move(url.parent),
            .priority = url.order.priority,
            .depth = url.depth,
            .redirects = url.redirects};
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
        canonicalizer_.key_into(*url, key);
        prepared.fingerprints.push_back(hash_(key));
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
        const QueuedUrl& url = operation->ended->url;
        const std::uint32_t shard = shard_index(url.host);
        shards_[shard]->push_completed(url.order.sequence);
        touched[shard] = true;
      }
    }
    for (std::uint32_t shard = 0; shard < options_.shards; ++shard) {
      shards_[shard]->relieve_inbox();
      if (touched[shard] && options_.on_work) options_.on_work(shard);
    }
  }

  const FrontierOptions options_;
  std::mutex closing_;                 // held by checkpoint() and close()
  std::optional<DirectoryLock> lock_;  // this and the store: empty once closed
  std::unique_ptr<Store> store_;
  BlockedBloomFilter filter_;
  const KeyedHash hash_;
  const Canonicalizer canonicalizer_;
  const OpenReport report_;
  Checkpointer checkpointer_;
  std::vector<std::unique_ptr<HostShard>> shards_;
  std::atomic<std::uint32_t> next_shard_{0};
  // Last, so that its thread ends before what it works on.
  std::optional<CommitQueue> commits_;
};

Result<void> check_options(const FrontierOptions& options) {
  const auto invalid = [](std::string message) {
    return fail(ErrorCode::kInvalidArgument, std::move(message));
  };
  if (options.directory.empty()) return invalid("FrontierOptions::directory is empty");
  if (options.delay.count() < 0) return invalid("FrontierOptions::delay is below zero");
  if (options.leases_per_host == 0) return invalid("FrontierOptions::leases_per_host is 0");
  if (options.max_open_leases == 0) return invalid("FrontierOptions::max_open_leases is 0");
  if (options.checkpoints_kept == 0) return invalid("FrontierOptions::checkpoints_kept is 0");
  if (options.shards == 0 || options.shards > 1024) {
    return invalid(
        fmt::format("FrontierOptions::shards must be from 1 to 1024, not {}", options.shards));
  }
  return {};
}

Result<void> make_directory(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return tl::unexpected(
        system_error(error.value(), "cannot create the directory " + directory.string()));
  }
  return {};
}

// The manifest of the directory, a new one if there is none and the mode allows it.
Result<Manifest> open_manifest(const FrontierOptions& options, OpenReport& report) {
  auto found = Manifest::read(options.directory);
  if (!found) return tl::unexpected(found.error());
  report.resumed = found->has_value();
  const std::string directory = options.directory.string();
  if (report.resumed) {
    if (options.mode == OpenMode::kCreate) {
      return fail(ErrorCode::kAlreadyExists, directory + " holds a crawl already");
    }
    if ((*found)->profile != options.profile.name()) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} was made with the canonicalisation \"{}\"; with \"{}\" it would "
                              "take other URLs for the same",
                              directory, (*found)->profile, options.profile.name()));
    }
    return **found;
  }
  if (options.mode == OpenMode::kResume) {
    return fail(ErrorCode::kNotFound, directory + " holds no crawl");
  }
  Manifest manifest;
  manifest.hash_key = options.hash.value_or(KeyedHash::random()).key();
  manifest.profile = options.profile.name();
  return manifest;
}

// The last step of creating a crawl: from here on the directory holds one.
Result<void> publish_new(const Manifest& manifest, const Counters& counters,
                         const std::filesystem::path& directory) {
  if (counters.admitted > 0) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("{} holds a store but no MANIFEST, without which its URLs cannot be "
                            "known again: restore the file from a backup, or start over",
                            directory.string()));
  }
  return manifest.publish(directory);
}

}  // namespace

Result<void> Frontier::remove(const std::filesystem::path& directory) {
  if (!std::filesystem::exists(directory)) return {};
  auto lock = DirectoryLock::acquire(directory);
  if (!lock) return tl::unexpected(lock.error());
  // The store before the manifest: the other way round a crash would leave what looks like damage.
  Checkpointer::remove_strays(directory, Manifest{});
  for (const char* name : {"store", "MANIFEST", "LOCK"}) {
    std::error_code error;
    std::filesystem::remove_all(directory / name, error);
    if (error) {
      return tl::unexpected(
          system_error(error.value(), "cannot remove " + (directory / name).string()));
    }
  }
  return {};
}

Result<std::unique_ptr<Frontier>> Frontier::open(const FrontierOptions& options) {
  OpenReport report;
  const BlockedBloomFilter::Options fresh{.capacity = options.expected_urls,
                                          .false_positive_rate = options.false_positive_rate};
  if (auto checked = check_options(options); !checked) return tl::unexpected(checked.error());
  if (options.mode == OpenMode::kResume && !std::filesystem::exists(options.directory)) {
    return fail(ErrorCode::kNotFound, options.directory.string() + " does not exist");
  }
  if (auto made = make_directory(options.directory); !made) return tl::unexpected(made.error());
  auto lock = DirectoryLock::acquire(options.directory);
  if (!lock) return tl::unexpected(lock.error());
  auto manifest = open_manifest(options, report);
  if (!manifest) return tl::unexpected(manifest.error());
  auto store =
      Store::open(options.directory / "store", options.durability == FrontierDurability::kSync);
  if (!store) return tl::unexpected(store.error());
  const auto counters = (*store)->counters();
  if (!counters) return tl::unexpected(counters.error());
  auto filter = recover_filter(options.directory, *manifest, **store, fresh, report);
  if (!filter) return tl::unexpected(filter.error());
  if (!report.resumed) {
    if (auto published = publish_new(*manifest, *counters, options.directory); !published) {
      return tl::unexpected(published.error());
    }
  }
  Checkpointer::remove_strays(options.directory, *manifest);

  auto frontier = std::make_unique<FrontierImpl>(options, std::move(*lock), std::move(*manifest),
                                                 std::move(*store), std::move(*filter), *counters,
                                                 std::move(report));
  if (auto restored = frontier->restore_queues(); !restored) {
    return tl::unexpected(restored.error());
  }
  return frontier;
}

}  // namespace trawl
