#include "frontier/commit/partitions.h"

#include <algorithm>
#include <utility>

#include "frontier/store/store_records.h"

namespace trawl {

Partitions::Partitions(std::unique_ptr<Partition> only) : shared_(false), slots_(1) {
  const WriterLock lock(mutex_);
  Slot& slot = slots_.front();
  slot.partition = std::move(only);
  // Relaxed: no other thread knows this object yet.
  slot.writing.store(slot.partition.get(), std::memory_order_relaxed);
  slot.admitting.store(slot.partition.get(), std::memory_order_relaxed);
  next_deferred_.store(slot.partition->next_deferred(), std::memory_order_relaxed);
}

Partitions::Partitions(std::uint32_t buckets) : shared_(true), slots_(buckets) {
  assert(buckets > 0);
}

void Partitions::open(std::uint32_t bucket, std::unique_ptr<Partition> partition) {
  const WriterLock lock(mutex_);
  Slot& slot = slots_[bucket];
  assert(!slot.partition);
  slot.partition = std::move(partition);
  // release, here and below: pairs with openings(), writing() and admitting().
  const std::uint32_t epoch = openings_.fetch_add(1, std::memory_order_release) + 1;
  slot.partition->set_epoch(epoch);
  slot.writing.store(slot.partition.get(), std::memory_order_release);
  slot.admitting.store(slot.partition.get(), std::memory_order_release);
  // With the lock still held: the writer may defer a URL of the bucket at once.
  find_next_deferred();
}

void Partitions::close(std::uint32_t bucket) {
  // Relaxed: the pointer stays valid until the writer's remove().
  slots_[bucket].admitting.store(nullptr, std::memory_order_relaxed);
  const WriterLock lock(mutex_);
  find_next_deferred();
}

void Partitions::lose(std::uint32_t bucket) {
  if (Partition* const partition = writing(bucket)) partition->lose();
  close(bucket);
}

Partition* Partitions::any_open() const noexcept {
  for (const Slot& slot : slots_) {
    // acquire: pairs with open().
    Partition* const partition = slot.admitting.load(std::memory_order_acquire);
    if (partition != nullptr) return partition;
  }
  return nullptr;
}

void Partitions::remove(std::uint32_t bucket) {
  assert(shared_ && !is_open(bucket));
  {
    const WriterLock lock(mutex_);
    // Relaxed: only the writer reads it, which calls this; open() follows under the mutex.
    slots_[bucket].writing.store(nullptr, std::memory_order_relaxed);
    slots_[bucket].partition.reset();
  }
  set_next_deferred(bucket, Partition::kNever);
}

void Partitions::set_next_deferred(std::uint32_t bucket, std::int64_t time) {
  const WriterLock lock(mutex_);
  if (slots_[bucket].partition) slots_[bucket].partition->set_next_deferred(time);
  find_next_deferred();
}

// Of those that are open: nothing more is done for the others.
void Partitions::find_next_deferred() {
  std::int64_t first = Partition::kNever;
  for (const Slot& slot : slots_) {
    const bool open = slot.admitting.load(std::memory_order_relaxed) != nullptr;
    if (open) first = std::min(first, slot.partition->next_deferred());
  }
  next_deferred_.store(first, std::memory_order_relaxed);
}

Counters Partitions::counters() const {
  const ReaderLock lock(mutex_);
  if (!shared_) return only().counters();
  Counters sum;
  for_each([&](const Partition& partition) { add_counters(sum, partition.counters()); });
  return sum;
}

FilterStats Partitions::filter_stats() const {
  const ReaderLock lock(mutex_);
  if (!shared_) return only().filter().stats();
  FilterStats sum;
  for_each([&](const Partition& partition) {
    const FilterStats one = partition.filter().stats();
    sum.capacity += one.capacity;
    sum.inserted += one.inserted;
    sum.memory_bytes += one.memory_bytes;
    sum.expected_false_positives += one.expected_false_positives;
    sum.target_rate = std::max(sum.target_rate, one.target_rate);
    sum.current_rate = std::max(sum.current_rate, one.current_rate);
    sum.hashes = std::max(sum.hashes, one.hashes);
    sum.layers = std::max(sum.layers, one.layers);
    sum.fill = std::max(sum.fill, one.fill);
  });
  return sum;
}

std::string Partitions::growth_error() const {
  const ReaderLock lock(mutex_);
  std::string error;
  for_each([&](const Partition& partition) {
    if (error.empty()) error = partition.filter().growth_error();
  });
  return error;
}

bool Partitions::contains(std::uint32_t bucket, Fingerprint url) const {
  const ReaderLock lock(mutex_);
  const auto& partition = slots_[bucket].partition;
  return partition && partition->contains(url);
}

void Partitions::count_offers(std::uint64_t seen, std::uint64_t invalid) {
  const ReaderLock lock(mutex_);
  if (Partition* partition = any_open()) partition->count_offers(seen, invalid);
}

}  // namespace trawl
