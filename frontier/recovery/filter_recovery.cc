// The filter after a restart must contain every durable admission (A2), and should contain nothing
// else. Three sources can give that, tried in this order: a checkpoint and the log from its
// sequence on; the whole log, while it has never been trimmed; the ledger, which has a record for
// each admitted URL. A source that is damaged is skipped with a warning.
//
// The store itself may have lost its newest writes (a power loss with async durability, or damage):
// it is then in the state of an earlier moment. A checkpoint whose `end` is above the store's
// admissions may have bits of admissions that the store has lost. Using it would call these URLs
// seen although no record of them exists, so that they would never be fetched (N1). Such a
// checkpoint is skipped, and removed from the manifest at once: the store assigns the lost sequence
// numbers again, and would soon reach the checkpoint's `end` with other URLs. An older checkpoint
// together with the older store is a consistent state of that earlier moment.
#include "frontier/recovery/filter_recovery.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "trawl/sizing.h"

namespace trawl {

namespace {

// The frontier's filter is of several layers rather than of one larger than this, since each
// checkpoint writes the newest.
constexpr std::uint64_t kLargestLayer = 1'500'000'000;

// A2: inserts the admissions from `sequence` to `end`, those that the checkpoint lacks. Errors:
// kCorrupt if the log lacks some.
Result<GrowingBloomFilter> replay(GrowingBloomFilter filter, std::uint64_t sequence,
                                  std::uint64_t end, const Store& store, OpenReport& report) {
  std::uint64_t next = sequence;
  bool gap = false;
  BatchInserter inserter(filter);
  auto read = store.replay_admissions(sequence, [&](std::uint64_t first,
                                                    std::span<const Fingerprint> fingerprints) {
    gap |= first > next;
    // The first batch may begin before `sequence`.
    const auto known = std::min<std::uint64_t>(next - std::min(first, next), fingerprints.size());
    for (const Fingerprint fingerprint : fingerprints.subspan(known))
      inserter.add(fingerprint);
    next = first + fingerprints.size();
  });
  if (!read) return tl::unexpected(read.error());
  inserter.finish();
  if (gap || next != end) {
    return error(
        ErrorCode::kCorrupt,
        fmt::format("the store is damaged: its admission log lacks some of the admissions {} to {}",
                    sequence, end));
  }
  assert(end >= sequence);
  report.replayed = end - sequence;
  return filter;
}

Result<GrowingBloomFilter> from_ledger(const Store& store, std::uint64_t urls,
                                       const GrowingBloomFilter::Options& fresh) {
  auto filter = make_filter(fresh, urls);
  if (!filter) return filter;
  BatchInserter inserter(*filter);
  const auto records = insert_ledger(store, inserter);
  if (!records) return tl::unexpected(records.error());
  inserter.finish();
  if (*records < urls) {
    return error(
        ErrorCode::kCorrupt,
        fmt::format("the store is damaged: its ledger has {} of {} admitted URLs", *records, urls));
  }
  return filter;
}

class FilterRecovery {
 public:
  FilterRecovery(const std::filesystem::path& directory, Manifest& manifest, const Store& store,
                 const GrowingBloomFilter::Options& fresh, const Counters& counters,
                 OpenReport& report)
      : directory_(directory),
        manifest_(manifest),
        store_(store),
        fresh_(fresh),
        admitted_(counters.admitted),
        urls_(counters.urls()),
        report_(report) {}

  Result<GrowingBloomFilter> run() {
    for (const auto attempt :
         {&FilterRecovery::by_checkpoints, &FilterRecovery::by_log, &FilterRecovery::by_ledger}) {
      auto filter = (this->*attempt)();
      if (filter) {
        if (auto dropped = drop_too_new(); !dropped) return tl::unexpected(dropped.error());
        for (const auto& problem : problems_)
          report_.warnings.push_back(problem + "; using an older source");
        if (attempt == &FilterRecovery::by_ledger) report_.warnings.push_back(ledger_warning());
        return filter;
      }
      if (!is_damage(filter.error())) return filter;
    }
    return refuse();
  }

 private:
  tl::unexpected<Error> useless(Error error) {
    problems_.push_back(error.message);
    return tl::unexpected(std::move(error));
  }

  Result<GrowingBloomFilter> by_checkpoints() {
    while (!manifest_.checkpoints.empty()) {
      const CheckpointEntry entry = manifest_.checkpoints.back();
      const auto path = Manifest::checkpoint_path(directory_, entry.number);
      auto filter = load_checkpoint(path, entry, admitted_, fresh_).and_then([&](auto loaded) {
        return timed_replay(std::move(loaded), entry.sequence);
      });
      if (filter) {
        report_.checkpoint = path.string();
        return filter;
      }
      if (!is_damage(filter.error())) return filter;
      useless(filter.error());
      too_new_ |= entry.end > admitted_;
      manifest_.checkpoints.pop_back();
    }
    return error(ErrorCode::kNotFound, "no checkpoint is usable");
  }

  Result<GrowingBloomFilter> timed_replay(GrowingBloomFilter filter, std::uint64_t sequence) {
    const auto start = std::chrono::steady_clock::now();
    auto replayed = replay(std::move(filter), sequence, admitted_, store_, report_);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    constexpr std::uint64_t kEnough = 1'000'000;  // fewer say little
    if (!replayed || report_.replayed < kEnough) return replayed;
    const double measured = static_cast<double>(report_.replayed) / std::max(took.count(), 1e-3);
    // The mean of two, so that one busy moment does not decide alone. Not faster than usual: a
    // filter that is small or in the processor's cache says nothing of a large one.
    manifest_.replayed_per_second =
        std::clamp((manifest_.replayed_per_second + measured) / 2, 1e5, Manifest::kUsualReplay);
    return replayed;
  }

  Result<GrowingBloomFilter> by_log() {
    if (manifest_.log_start > 0)
      return error(ErrorCode::kNotFound, "the beginning of the log was trimmed");
    // Grows into the same layers as before.
    auto filter = GrowingBloomFilter::create(fresh_).and_then(
        [&](auto empty) { return timed_replay(std::move(empty), 0); });
    return filter || !is_damage(filter.error()) ? std::move(filter) : useless(filter.error());
  }

  Result<GrowingBloomFilter> by_ledger() {
    if (!manifest_.ledger) return error(ErrorCode::kNotFound, "there is no ledger");
    auto filter = from_ledger(store_, urls_, fresh_);
    return filter || !is_damage(filter.error()) ? std::move(filter) : useless(filter.error());
  }

  std::string ledger_warning() const {
    return fmt::format(
        "no checkpoint could be used: the filter was rebuilt from the ledger, which has all {} "
        "URLs",
        urls_);
  }

  // Removes checkpoints that are newer than the store from the manifest: see the head of this file.
  Result<void> drop_too_new() const {
    return too_new_ ? manifest_.publish(directory_) : Result<void>{};
  }

  tl::unexpected<Error> refuse() {
    std::string message = fmt::format(
        "cannot restore the URLs seen from {}: no checkpoint can be used, and the "
        "admission log is incomplete. Restore a filter-*.ckpt from a backup, or run `trawl "
        "frontier repair {}`, which rebuilds the filter from what is left and reports what is lost",
        directory_.string(), directory_.string());
    for (const auto& problem : problems_)
      message += "\n  " + problem;
    std::ranges::move(problems_, std::back_inserter(report_.warnings));
    return error(ErrorCode::kCorrupt, std::move(message));
  }

  const std::filesystem::path& directory_;
  Manifest& manifest_;
  const Store& store_;
  const GrowingBloomFilter::Options& fresh_;
  const std::uint64_t admitted_;
  const std::uint64_t urls_;  // distinct URLs among them
  OpenReport& report_;
  std::vector<std::string> problems_;
  bool too_new_ = false;  // a checkpoint was newer than the store
};

std::uint64_t half_of_the_memory() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) / 2 *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

GrowingBloomFilter::Options filter_options(const EmbeddedOptions& options,
                                           const Manifest& manifest) {
  return {.capacity = std::min(manifest.expected_urls, kLargestLayer),
          .false_positive_rate = manifest.false_positive_rate,
          .hash = KeyedHash::from_key(manifest.hash_key),
          .max_memory_bytes =
              options.seen.max_memory != 0 ? options.seen.max_memory : half_of_the_memory()};
}

std::uint64_t BatchInserter::finish() {
  flush();
  return std::exchange(fresh_, 0);
}

void BatchInserter::flush() {
  assert(keys_.size() <= kAtOnce);
  std::array<bool, kAtOnce> fresh;
  fresh_ += filter_.insert_batch(keys_, {fresh.data(), keys_.size()});
  keys_.clear();
}

Result<std::uint64_t> insert_ledger(const Store& store, BatchInserter& inserter) {
  std::uint64_t records = 0;
  auto visited = store.visit_ledger([&](Fingerprint fingerprint, const LedgerRecord&) {
    inserter.add(fingerprint);
    ++records;
  });
  if (!visited) return tl::unexpected(visited.error());
  return records;
}

Result<GrowingBloomFilter> make_filter(const GrowingBloomFilter::Options& fresh,
                                       std::uint64_t keys) {
  GrowingBloomFilter::Options options = fresh;
  keys = std::min(keys, kLargestLayer);
  const auto size = blocked_bloom_size(keys, fresh.false_positive_rate);
  // Half: the first layer is larger than a filter of the whole rate, and further layers may follow.
  const std::uint64_t limit = fresh.max_memory_bytes == 0
                                  ? std::numeric_limits<std::uint64_t>::max()
                                  : fresh.max_memory_bytes / 2;
  constexpr std::uint64_t kBitsPerByte = 8;
  if (keys > fresh.capacity && size && size->bits / kBitsPerByte < limit) options.capacity = keys;
  return GrowingBloomFilter::create(options);
}

namespace {

template <class Load>
Result<GrowingBloomFilter> load_with(const Load& load, const std::filesystem::path& path,
                                     const CheckpointEntry& entry, std::uint64_t admitted,
                                     const GrowingBloomFilter::Options& fresh) {
  // The store has lost its newest writes: see the head of this file.
  if (entry.end > admitted) {
    return error(
        ErrorCode::kCorrupt,
        fmt::format("{} covers {} admissions, but the store has only {}: its newest writes "
                    "are damaged or missing",
                    path.string(), entry.end, admitted));
  }
  Result<GrowingBloomFilter> filter = load(path.string(), fresh.max_memory_bytes);
  if (filter && fresh.hash && filter->hash().key() != fresh.hash->key()) {
    return error(
        ErrorCode::kCorrupt,
        fmt::format("{} belongs to another crawl: its hash key differs from the MANIFEST's",
                    path.string()));
  }
  return filter;
}

}  // namespace

Result<GrowingBloomFilter> load_checkpoint(const std::filesystem::path& path,
                                           const CheckpointEntry& entry, std::uint64_t admitted,
                                           const GrowingBloomFilter::Options& fresh) {
  return load_with(GrowingBloomFilter::load, path, entry, admitted, fresh);
}

Result<GrowingBloomFilter> load_intact_checkpoint(const std::filesystem::path& path,
                                                  const CheckpointEntry& entry,
                                                  std::uint64_t admitted,
                                                  const GrowingBloomFilter::Options& fresh,
                                                  std::vector<std::string>& damage) {
  const auto load = [&](const std::string& file, std::uint64_t max_memory) {
    return GrowingBloomFilter::load_what_is_intact(file, max_memory, damage);
  };
  return load_with(load, path, entry, admitted, fresh);
}

bool is_damage(const Error& error) {
  // kInvalidArgument: the file is a filter of another kind, or not a regular file.
  return error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kNotFound ||
         error.code == ErrorCode::kIo || error.code == ErrorCode::kInvalidArgument;
}

Result<GrowingBloomFilter> recover_filter(const std::filesystem::path& directory,
                                          Manifest& manifest, const Store& store,
                                          const GrowingBloomFilter::Options& fresh,
                                          OpenReport& report) {
  const auto counters = store.counters();
  if (!counters) return tl::unexpected(counters.error());
  return FilterRecovery(directory, manifest, store, fresh, *counters, report).run();
}

}  // namespace trawl
