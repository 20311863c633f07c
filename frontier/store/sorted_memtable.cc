// A B-tree of two levels: leaves of sorted entries, and a sorted array of them. An entry has the
// first 8 bytes of its key, in the host queues the host, next to the pointer to the whole key. So a
// search compares integers that lie side by side, whereas RocksDB's skip list reads a key, at
// a random place of the memory, for each comparison: with URLs of many hosts an insertion takes a
// fifth of its time. Keys are compared as a whole only if their first 8 bytes are equal.
//
// One thread writes, any number read. Entries are never changed or removed, so that an iterator
// needs no more than its current key: a change of the tree makes it search that again. A lock is
// held for each step, until the memtable is full and no longer changes.
#include "frontier/store/sorted_memtable.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <vector>

#include "base/big_endian.h"
#include "base/mutex.h"

namespace trawl {

namespace {

constexpr std::size_t kLeafEntries = 128;
constexpr std::size_t kPrefetched = 6;
constexpr std::size_t kTrailerBytes = 8;  // of RocksDB, at the end of an internal key

struct Entry {
  std::uint64_t prefix = 0;
  const char* key = nullptr;  // as RocksDB encodes it in a memtable
};

// The key that is searched.
struct Target {
  std::uint64_t prefix;
  rocksdb::Slice key;  // an internal key
};

Target target_of(const rocksdb::Slice& key) {
  assert(key.size() >= kTrailerBytes);
  std::array<char, sizeof(std::uint64_t)> first{};
  std::memcpy(first.data(), key.data(), std::min(first.size(), key.size() - kTrailerBytes));
  return {load_big_endian<std::uint64_t>(std::string_view(first.data(), first.size())), key};
}

struct Leaf {
  std::size_t size = 0;
  std::array<Entry, kLeafEntries> entries;
};

struct Place {
  std::size_t leaf = 0;
  std::size_t slot = 0;
};

class SortedMemtable final : public rocksdb::MemTableRep {
 public:
  SortedMemtable(const KeyComparator& comparator, rocksdb::Allocator* allocator)
      : MemTableRep(allocator), comparator_(comparator) {}

  void Insert(rocksdb::KeyHandle handle) override {
    const auto* key = static_cast<const char*>(handle);
    const Target target = target_of(comparator_.decode_key(key));
    const WriterLock lock(mutex_);
    insert({target.prefix, key}, target);
  }
  bool Contains(const char* key) const override {
    const ReaderLock lock(mutex_);
    const Place place = find(target_of(comparator_.decode_key(key)));
    return place.leaf < leaves_.size() && comparator_(at(place).key, key) == 0;
  }
  void MarkReadOnly() override {
    // release: pairs with the acquire in Iterator, so that what it reads without the lock is there.
    read_only_.store(true, std::memory_order_release);
  }
  std::size_t ApproximateMemoryUsage() override { return bytes_.load(std::memory_order_relaxed); }

  class Iterator;
  MemTableRep::Iterator* GetIterator(rocksdb::Arena* arena) override;

 private:
  struct LeafRef {
    Entry first;  // a copy
    std::unique_ptr<Leaf> leaf;
  };

  bool is_before(const Entry& entry, const Target& target) const {
    if (entry.prefix != target.prefix) return entry.prefix < target.prefix;
    return comparator_(entry.key, target.key) < 0;
  }
  const Entry& at(const Place& place) const TRAWL_REQUIRES_SHARED(mutex_) {
    return leaves_[place.leaf].leaf->entries[place.slot];
  }
  std::size_t slot_in(const Leaf& leaf, const Target& target) const {
    const auto* const begin = leaf.entries.data();
    const auto* const place = std::partition_point(
        begin, begin + leaf.size, [&](const Entry& entry) { return is_before(entry, target); });
    return static_cast<std::size_t>(place - begin);
  }
  // The leaf whose first entry is the last one before the target; the first leaf if there is none.
  std::size_t leaf_of(const Target& target) const TRAWL_REQUIRES_SHARED(mutex_) {
    const auto place = std::partition_point(leaves_.begin(), leaves_.end(), [&](const auto& leaf) {
      return is_before(leaf.first, target);
    });
    return static_cast<std::size_t>(std::max<std::ptrdiff_t>(place - leaves_.begin(), 1) - 1);
  }
  // The first entry that is not before the target; behind the last leaf if there is none.
  Place find(const Target& target) const TRAWL_REQUIRES_SHARED(mutex_) {
    if (leaves_.empty()) return {};
    Place place{.leaf = leaf_of(target)};
    place.slot = slot_in(*leaves_[place.leaf].leaf, target);
    return normalized(place);
  }
  Place normalized(Place place) const TRAWL_REQUIRES_SHARED(mutex_) {
    if (place.slot < leaves_[place.leaf].leaf->size) return place;
    return {.leaf = place.leaf + 1, .slot = 0};
  }
  void insert(const Entry& entry, const Target& target) TRAWL_REQUIRES(mutex_);
  void add_leaf(std::size_t i) TRAWL_REQUIRES(mutex_);

  const KeyComparator& comparator_;
  mutable SharedMutex mutex_;
  std::vector<LeafRef> leaves_ TRAWL_GUARDED_BY(mutex_);
  std::size_t last_ TRAWL_GUARDED_BY(mutex_) = 0;  // where an entry was inserted last
  std::uint64_t version_ TRAWL_GUARDED_BY(mutex_) = 0;
  std::atomic<bool> read_only_{false};
  std::atomic<std::size_t> bytes_{0};
};

void SortedMemtable::add_leaf(std::size_t i) {
  leaves_.insert(leaves_.begin() + static_cast<std::ptrdiff_t>(i),
                 LeafRef{{}, std::make_unique<Leaf>()});
  bytes_.fetch_add(sizeof(Leaf) + sizeof(LeafRef), std::memory_order_relaxed);
}

void SortedMemtable::insert(const Entry& entry, const Target& target) {
  ++version_;
  if (leaves_.empty()) {
    add_leaf(0);
    leaves_[0].first = entry;
    leaves_[0].leaf->entries[0] = entry;
    leaves_[0].leaf->size = 1;
    return;
  }
  // A batch is sorted: most entries belong where the one before does, or to the next leaf.
  std::size_t i = last_;
  const auto ends_before = [&](std::size_t leaf) TRAWL_REQUIRES(mutex_) {
    return leaf + 1 < leaves_.size() && is_before(leaves_[leaf + 1].first, target);
  };
  if (!is_before(leaves_[i].first, target) || (ends_before(i) && ends_before(++i)))
    i = leaf_of(target);
  std::size_t slot = slot_in(*leaves_[i].leaf, target);
  if (leaves_[i].leaf->size == kLeafEntries) {
    add_leaf(i + 1);
    Leaf& full = *leaves_[i].leaf;
    Leaf& next = *leaves_[i + 1].leaf;
    // Keys that come in ascending order fill the leaves.
    const bool ascending = slot == kLeafEntries && i + 2 == leaves_.size();
    const std::size_t kept = ascending ? kLeafEntries : kLeafEntries / 2;
    std::copy(full.entries.begin() + kept, full.entries.end(), next.entries.begin());
    next.size = kLeafEntries - kept;
    full.size = kept;
    leaves_[i + 1].first = next.entries[0];
    if (slot > kept || ascending) {
      slot -= kept;
      ++i;
    }
  }
  Leaf& leaf = *leaves_[i].leaf;
  const auto place = leaf.entries.begin() + slot;
  std::copy_backward(place, leaf.entries.begin() + leaf.size, leaf.entries.begin() + leaf.size + 1);
  *place = entry;
  ++leaf.size;
  if (slot == 0) leaves_[i].first = entry;
  last_ = i;
}

// RocksDB places iterators in an arena that cannot be used from outside the library, and only calls
// their destructors. So their memory is taken from here, and goes back when they are destroyed; to
// the same thread, since the base class's destructor is still running then.
class IteratorBlocks {
 public:
  static IteratorBlocks& of_this_thread() {
    thread_local IteratorBlocks blocks;
    return blocks;
  }
  ~IteratorBlocks() {
    for (void* block : free_)
      ::operator delete(block);
  }
  void* take(std::size_t bytes) {
    if (free_.empty()) return ::operator new(bytes);
    void* const block = free_.back();
    free_.pop_back();
    return block;
  }
  void give_back(void* block) { free_.push_back(block); }

 private:
  std::vector<void*> free_;
};

class SortedMemtable::Iterator final : public MemTableRep::Iterator {
 public:
  Iterator(const SortedMemtable& table, bool in_block) : table_(table), in_block_(in_block) {}
  ~Iterator() override {
    if (in_block_) IteratorBlocks::of_this_thread().give_back(this);
  }

  bool Valid() const override { return key_ != nullptr; }
  const char* key() const override { return key_; }
  void Next() override {
    step([&]() TRAWL_REQUIRES_SHARED(table_.mutex_) {
      locate();
      ++place_.slot;
      take(table_.normalized(place_));
      prefetch();
    });
  }
  void Prev() override {
    step([&]() TRAWL_REQUIRES_SHARED(table_.mutex_) {
      locate();
      take_before(place_);
    });
  }
  void Seek(const rocksdb::Slice& key, const char* memtable_key) override {
    const Target target = target_for(key, memtable_key);
    step([&]() TRAWL_REQUIRES_SHARED(table_.mutex_) { take(table_.find(target)); });
  }
  void SeekForPrev(const rocksdb::Slice& key, const char* memtable_key) override {
    const Target target = target_for(key, memtable_key);
    step([&]() TRAWL_REQUIRES_SHARED(table_.mutex_) {
      const Place place = table_.find(target);
      const bool equal = place.leaf < table_.leaves_.size() &&
                         table_.comparator_(table_.at(place).key, target.key) == 0;
      equal ? take(place) : take_before(place);
    });
  }
  void SeekToFirst() override {
    step([&]() TRAWL_REQUIRES_SHARED(table_.mutex_) { take({}); });
  }
  void SeekToLast() override {
    step([&]() TRAWL_REQUIRES_SHARED(table_.mutex_) {
      take_before({.leaf = table_.leaves_.size(), .slot = 0});
    });
  }

 private:
  Target target_for(const rocksdb::Slice& key, const char* memtable_key) const {
    return target_of(memtable_key != nullptr ? table_.comparator_.decode_key(memtable_key) : key);
  }
  // Not analysed: the lock is not needed once nothing changes any more.
  template <class Step>
  void step(Step step) TRAWL_NO_THREAD_SAFETY_ANALYSIS {
    // acquire: pairs with MarkReadOnly().
    if (table_.read_only_.load(std::memory_order_acquire)) return step();
    const ReaderLock lock(table_.mutex_);
    step();
  }
  // Finds the current key again if the tree has changed.
  void locate() TRAWL_REQUIRES_SHARED(table_.mutex_) {
    assert(key_ != nullptr);
    if (version_ == table_.version_) return;
    take(table_.find(target_of(table_.comparator_.decode_key(key_))));
  }
  void take(const Place& place) TRAWL_REQUIRES_SHARED(table_.mutex_) {
    place_ = place;
    version_ = table_.version_;
    key_ = place.leaf < table_.leaves_.size() ? table_.at(place).key : nullptr;
  }
  // The key that is read a few steps later.
  void prefetch() const TRAWL_REQUIRES_SHARED(table_.mutex_) {
    if (key_ == nullptr) return;
    const std::size_t slot = place_.slot + kPrefetched;
    if (slot < kLeafEntries)
      __builtin_prefetch(table_.leaves_[place_.leaf].leaf->entries[slot].key);
  }
  void take_before(Place place) TRAWL_REQUIRES_SHARED(table_.mutex_) {
    if (place.slot == 0 && place.leaf == 0) {
      key_ = nullptr;
      return;
    }
    if (place.slot == 0) place = {place.leaf - 1, table_.leaves_[place.leaf - 1].leaf->size};
    --place.slot;
    take(place);
  }

  const SortedMemtable& table_;
  const bool in_block_;
  const char* key_ = nullptr;
  Place place_;
  std::uint64_t version_ = 0;
};

rocksdb::MemTableRep::Iterator* SortedMemtable::GetIterator(rocksdb::Arena* arena) {
  if (arena == nullptr) return new Iterator(*this, false);
  void* const block = IteratorBlocks::of_this_thread().take(sizeof(Iterator));
  return new (block) Iterator(*this, true);
}

class SortedMemtables final : public rocksdb::MemTableRepFactory {
 public:
  rocksdb::MemTableRep* CreateMemTableRep(const rocksdb::MemTableRep::KeyComparator& comparator,
                                          rocksdb::Allocator* allocator,
                                          const rocksdb::SliceTransform*,
                                          rocksdb::Logger*) override {
    return new SortedMemtable(comparator, allocator);
  }
  const char* Name() const override { return "trawl.SortedMemtable"; }
};

}  // namespace

std::shared_ptr<rocksdb::MemTableRepFactory> sorted_memtables() {
  return std::make_shared<SortedMemtables>();
}

}  // namespace trawl
