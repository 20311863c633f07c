// Partition: hosts that have one writer, as a whole: which of their URLs were seen, and the totals.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <utility>

#include "trawl/growing_bloom_filter.h"

#include "base/mutex.h"
#include "frontier/store/counters.h"
#include "frontier/store/store_batch.h"

namespace trawl {

// The embedded frontier has one. A shared one has one for each bucket that it owns; they share the
// commit queue, shards, caches and tables. Thread-safe; the writer is one thread at a time.
class Partition {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  // What of a fingerprint the filter is asked for.
  enum class Keys : std::uint8_t {
    kWhole,
    // The lower half: all that a bucket stores. The filter spreads keys by their upper half, in
    // which those of a bucket are alike (UrlIdentity), so that one is derived.
    kLower,
  };

  // `filter` has the URLs that `counters` count.
  Partition(GrowingBloomFilter filter, const Counters& counters, Keys keys = Keys::kWhole)
      : keys_(keys), filter_(std::move(filter)), counters_(counters) {}

  // Which opening of its bucket it is, in a shared frontier. A bucket that is taken again gets
  // another partition, and what refers to an earlier one is void.
  std::uint32_t epoch() const noexcept { return epoch_; }
  // Before other threads know it; begin(): with the totals that were read with its filter.
  void begin(const Counters& counters) {
    const MutexLock lock(mutex_);
    counters_ = counters;
  }
  void set_epoch(std::uint32_t epoch) noexcept { epoch_ = epoch; }
  // By the writer: another process owns the bucket, and nothing is written any more.
  void lose() noexcept { lost_ = true; }
  bool is_lost() const noexcept { return lost_; }
  // Only for its statistics and for saving it.
  const GrowingBloomFilter& filter() const noexcept { return filter_; }

  // As those of GrowingBloomFilter.
  std::size_t insert_batch(std::span<const Fingerprint> urls, std::span<bool> fresh);
  std::size_t contains_batch(std::span<const Fingerprint> urls, std::span<bool> found) const;
  bool contains(Fingerprint url) const { return filter_.contains(key_of(url, keys_)); }
  // What such a filter has of a URL.
  static Fingerprint key_of(Fingerprint url, Keys keys) noexcept;

  // The durable totals; may include counts of offers that are not durable yet.
  Counters counters() const {
    const MutexLock lock(mutex_);
    return counters_;
  }
  // Counts the offers of an operation that changed nothing: durable with the next batch.
  void count_offers(std::uint64_t seen, std::uint64_t invalid) {
    const MutexLock lock(mutex_);
    counters_.seen += seen;
    counters_.invalid += invalid;
    unsaved_ = unsaved_ || seen + invalid > 0;
  }
  // Whether there are counts that are not durable.
  bool has_unsaved_counts() const {
    const MutexLock lock(mutex_);
    return unsaved_;
  }
  // The writer's batch, which changed the totals from `before` to `totals`, is durable; or `saved`
  // is false: it changed only counts of offers, and was not written.
  void take_totals(const Counters& before, const Counters& totals, bool saved = true);

  // Whether a message comes for the first time. It may be in the inbox twice: its sender repeats it
  // if it was not acknowledged, or may be gone after a failover. The filter knows the URLs of one
  // that came before, but URLs offered `again` would be queued twice. The last ones are remembered,
  // until another process owns the bucket.
  bool note_message(const MessageId& id);

  // When the next deferred URL is due, in ms of FrontierClock; kNever: there is none.
  std::int64_t next_deferred() const noexcept {
    return next_deferred_.load(std::memory_order_relaxed);
  }
  // By the writer.
  void set_next_deferred(std::int64_t time) noexcept {
    next_deferred_.store(time, std::memory_order_relaxed);
  }

 private:
  template <class Call>
  static std::size_t in_parts(std::span<const Fingerprint> urls, std::span<bool> answers,
                              Call call);

  static constexpr std::size_t kMessages = 1024;  // that are remembered

  const Keys keys_;
  std::uint32_t epoch_ = 0;
  bool lost_ = false;  // of the writer
  GrowingBloomFilter filter_;
  std::atomic<std::int64_t> next_deferred_{kNever};
  mutable Mutex mutex_;
  Counters counters_ TRAWL_GUARDED_BY(mutex_);
  bool unsaved_ TRAWL_GUARDED_BY(mutex_) = false;
  std::deque<MessageId> messages_ TRAWL_GUARDED_BY(mutex_);
};

}  // namespace trawl
