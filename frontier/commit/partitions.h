// Partitions: all partitions of a frontier, by bucket.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trawl/filter.h"

#include "base/mutex.h"
#include "frontier/commit/partition.h"
#include "frontier/store/counters.h"

namespace trawl {

// A frontier that is not shared has one partition, without end. In a shared one they come and go
// with the buckets that this process owns: open() when a bucket was loaded; close() when it is lost
// or handed over, so that nothing new is admitted to it; remove() by the writer, with the group
// after close() (Operation::retired). That group was collected when no operation was inside the
// gate, so each thread that admitted to the partition is in it or was in one before, and none uses
// it afterwards. Thread-safe.
class Partitions {
 public:
  // Of a frontier that is not shared.
  explicit Partitions(std::unique_ptr<Partition> only);
  // Of a shared one: none yet.
  explicit Partitions(std::uint32_t buckets);

  bool is_shared() const noexcept { return shared_; }
  std::uint32_t buckets() const noexcept { return static_cast<std::uint32_t>(slots_.size()); }
  Partition& only() noexcept { return *slots_.front().partition; }
  const Partition& only() const noexcept { return *slots_.front().partition; }

  // Where URLs of the bucket are admitted; null: another process owns it. Called inside the gate,
  // and valid there.
  Partition* admitting(std::uint32_t bucket) const noexcept {
    // acquire: pairs with open(), so that its caller sees the filter.
    return slots_[bucket].admitting.load(std::memory_order_acquire);
  }
  bool is_open(std::uint32_t bucket) const noexcept { return admitting(bucket) != nullptr; }
  // How many were opened so far: the Partition::epoch() of the last one.
  std::uint32_t openings() const noexcept { return openings_.load(std::memory_order_acquire); }

  // Precondition: the one before was removed.
  void open(std::uint32_t bucket, std::unique_ptr<Partition> partition);
  void close(std::uint32_t bucket);
  // By the writer: the same, and what it writes of the bucket from now on, or was just writing, has
  // no effect.
  void lose(std::uint32_t bucket);

  // For the writer. The partition that has the bucket, open or closed; null: none.
  Partition* writing(std::uint32_t bucket) const noexcept {
    // acquire: pairs with open(), which another thread may be calling.
    return slots_[bucket].writing.load(std::memory_order_acquire);
  }
  // One that is open, if there is one.
  Partition* any_open() const noexcept;
  void remove(std::uint32_t bucket);
  void set_next_deferred(std::uint32_t bucket, std::int64_t time);

  // Sums over the partitions.
  Counters counters() const;
  FilterStats filter_stats() const;
  std::string growth_error() const;
  // When the next deferred URL is due; Partition::kNever: there is none.
  std::int64_t next_deferred() const noexcept {
    return next_deferred_.load(std::memory_order_relaxed);
  }
  // Whether a URL was admitted, as far as this process knows.
  bool contains(std::uint32_t bucket, Fingerprint url) const;
  // Counts offers that changed nothing, with whatever is written next.
  void count_offers(std::uint64_t seen, std::uint64_t invalid);

 private:
  struct Slot {
    std::atomic<Partition*> admitting{nullptr};
    std::atomic<Partition*> writing{nullptr};  // `partition`, for the writer
    std::unique_ptr<Partition> partition;      // read and changed with mutex_ held
  };
  template <class Visit>
  void for_each(Visit visit) const TRAWL_REQUIRES_SHARED(mutex_) {
    for (const Slot& slot : slots_)
      if (slot.partition) visit(*slot.partition);
  }

  void find_next_deferred() TRAWL_REQUIRES(mutex_);

  const bool shared_;
  // Keeps the partitions that others than the writer look at.
  mutable SharedMutex mutex_;
  std::vector<Slot> slots_;
  std::atomic<std::uint32_t> openings_{0};  // changes with mutex_ held
  std::atomic<std::int64_t> next_deferred_{Partition::kNever};
};

}  // namespace trawl
