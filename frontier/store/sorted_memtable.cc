// What is inserted is only noted, so that the committer, of which there is one, does little for a
// URL: a run of new URLs (queue_run.h) is noted as a whole, and if it is in a file, not even
// copied. The first thread that searches sorts what was noted and puts it in order: a read, or the
// flush.
//
// The order is a B-tree of two levels: leaves of sorted entries, and a sorted array of them. An
// entry has the first 8 bytes of its key, in the host queues the host, next to the pointer to the
// whole key. So a search compares integers that lie side by side, whereas RocksDB's skip list reads
// a key, at a random place of the memory, for each comparison. Keys are compared as a whole only if
// their first 8 bytes are equal.
//
// One thread inserts, any number read. Entries are never changed or removed, so that an iterator
// needs no more than its current key: a change of the tree makes it search that again. A lock is
// held for each step, until the memtable is full and all of it is in order.
//
// An iterator sees all that was inserted before its last seek: RocksDB chooses the number of the
// last write that an iterator shows before it seeks, and chooses none whose insertion has not
// ended. So only seeks look for what was noted.
#include "frontier/store/sorted_memtable.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/big_endian.h"
#include "base/coding.h"
#include "base/mutex.h"
#include "frontier/store/queue_run.h"

namespace trawl {

namespace {

constexpr std::size_t kLeafEntries = 128;
constexpr std::size_t kPrefetched = 6;
constexpr std::size_t kTrailerBytes = RunReader::kTrailerBytes;
constexpr std::size_t kBytesOfAnEntry = 24;  // in a leaf that is two thirds full

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

// An entry with more of its key: of a key in kPending, all of it.
struct SortedEntry {
  Entry entry;
  std::uint32_t rank = 0;      // bytes 8 to 11
  std::uint64_t sequence = 0;  // bytes 12 to 19
  std::tuple<std::uint64_t, std::uint32_t, std::uint64_t> order() const noexcept {
    return {entry.prefix, rank, sequence};
  }
};

SortedEntry sorted_entry(const char* entry, const rocksdb::Slice& key) {
  assert(key.size() >= kTrailerBytes);
  std::array<char, kPendingKeyBytes> first{};
  std::memcpy(first.data(), key.data(), std::min(first.size(), key.size() - kTrailerBytes));
  const std::string_view bytes(first.data(), first.size());
  return {.entry = {load_big_endian<std::uint64_t>(bytes), entry},
          .rank = load_big_endian<std::uint32_t>(bytes.substr(8)),
          .sequence = load_big_endian<std::uint64_t>(bytes.substr(12))};
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
  SortedMemtable(const KeyComparator& comparator, rocksdb::Allocator* allocator,
                 std::shared_ptr<RunHandover> handover,
                 std::shared_ptr<rocksdb::WriteBufferManager> write_buffers)
      : MemTableRep(allocator),
        comparator_(comparator),
        handover_(std::move(handover)),
        write_buffers_(std::move(write_buffers)) {}
  ~SortedMemtable() override {
    if (charged_ == 0) return;
    // As RocksDB does for its copies, also of a memtable that was never full.
    if (!read_only_.load(std::memory_order_relaxed)) write_buffers_->ScheduleFreeMem(charged_);
    write_buffers_->FreeMem(charged_);
  }

  void Insert(rocksdb::KeyHandle handle) override {
    auto* const entry = static_cast<char*>(handle);
    Noted noted{.entry = entry, .run = nullptr};
    std::size_t bytes = sizeof noted + kBytesOfAnEntry * urls_of(entry);
    if (const auto reference = reference_of(entry); reference && handover_) {
      noted.run = handover_->take(reference->place);
      // The log and the file have the run. Without it here, a table would get the reference.
      if (!noted.run) std::abort();
      // Not what was reserved and is not touched.
      bytes += charge(sizeof *noted.run + noted.run->bytes.size());
    }
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    const MutexLock lock(noting_);
    noted_.push_back(std::move(noted));
    // release: pairs with settle(), so that a thread that sees it sees the entry.
    any_noted_.store(true, std::memory_order_release);
  }
  bool Contains(const char* key) const override {
    settle();
    const ReaderLock lock(mutex_);
    const Place place = find(target_of(comparator_.decode_key(key)));
    return place.leaf < leaves_.size() && comparator_(at(place).key, key) == 0;
  }
  void MarkReadOnly() override {
    if (charged_ > 0) write_buffers_->ScheduleFreeMem(charged_);
    // release: pairs with the acquire in is_settled(), so that all insertions are seen.
    read_only_.store(true, std::memory_order_release);
  }
  std::size_t ApproximateMemoryUsage() override { return bytes_.load(std::memory_order_relaxed); }

  class Iterator;
  MemTableRep::Iterator* GetIterator(rocksdb::Arena* arena) override;
  MemTableRep::Iterator* GetDynamicPrefixIterator(rocksdb::Arena* arena) override;

 private:
  struct LeafRef {
    Entry first;  // a copy
    std::unique_ptr<Leaf> leaf;
  };

  // What was inserted and is not in order yet.
  struct Noted {
    char* entry;
    std::shared_ptr<RunBytes> run;  // if it is a reference
  };

  // The value of the entry of a run, which has this key: its header, and behind it its bytes or
  // where they are.
  std::optional<std::string_view> run_value(const char* entry, std::string_view run_key) const {
    const rocksdb::Slice key = comparator_.decode_key(entry);
    if (key.size() != run_key.size() + kTrailerBytes ||
        std::string_view(key.data(), run_key.size()) != run_key)
      return std::nullopt;
    // Long enough for the size of the value, which begins behind the key.
    const char* const behind = key.data() + key.size();
    constexpr std::size_t kMostBytesOfSize = 5;
    Decoder in(std::string_view(behind, kMostBytesOfSize + RunReader::kHeaderBytes));
    const std::uint64_t size = in.varint();
    if (!in.ok() || size < RunReader::kHeaderBytes) return std::nullopt;
    return std::string_view(in.rest().data(), size);
  }
  std::optional<RunReference> reference_of(const char* entry) const {
    const auto value = run_value(entry, kRunReferenceKey);
    return value ? RunReference::decode(*value) : std::nullopt;
  }
  std::size_t urls_of(const char* entry) const {
    auto value = run_value(entry, kRunKey);
    if (!value) value = run_value(entry, kRunReferenceKey);
    return value ? RunReader::decode_header(*value)->second : 1;
  }
  // Counts memory that is not the allocator's.
  std::size_t charge(std::size_t bytes) {
    if (write_buffers_) {
      write_buffers_->ReserveMem(bytes);
      charged_ += bytes;
    }
    return bytes;
  }

  // Nothing is added any more, and all is in order: no lock is needed.
  bool is_settled() const noexcept {
    // acquire, both: pair with MarkReadOnly() and settle().
    return read_only_.load(std::memory_order_acquire) &&
           !any_noted_.load(std::memory_order_acquire);
  }
  // Puts in order what was noted. Returns when all that was noted before is.
  void settle() const {
    // acquire: pairs with Insert(). False: what was noted before is in order, or a thread that
    // holds mutex_ is doing it, for which the caller's next lock waits.
    if (any_noted_.load(std::memory_order_acquire)) put_in_order();
  }
  void put_in_order() const;
  // Adds an entry, or all of a run.
  void expand(const Noted& noted, std::vector<SortedEntry>& entries) const;
  bool expand_run(const Noted& noted, std::vector<SortedEntry>& entries) const;

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
  void insert(const Entry& entry, const Target& target) const TRAWL_REQUIRES(mutex_);
  void add_leaf(std::size_t i) const TRAWL_REQUIRES(mutex_);

  const KeyComparator& comparator_;
  const std::shared_ptr<RunHandover> handover_;
  const std::shared_ptr<rocksdb::WriteBufferManager> write_buffers_;
  std::size_t charged_ = 0;  // by the thread that inserts, and afterwards
  // The order. Mutable: RocksDB's reads, which create it, are const.
  mutable SharedMutex mutex_;
  mutable std::vector<LeafRef> leaves_ TRAWL_GUARDED_BY(mutex_);
  mutable std::size_t last_ TRAWL_GUARDED_BY(mutex_) = 0;  // where an entry was inserted last
  mutable std::uint64_t version_ TRAWL_GUARDED_BY(mutex_) = 0;
  mutable Mutex noting_;
  mutable std::vector<Noted> noted_ TRAWL_GUARDED_BY(noting_);
  // Of the runs whose entries are in order, for their bytes.
  mutable std::vector<std::shared_ptr<RunBytes>> runs_ TRAWL_GUARDED_BY(mutex_);
  mutable std::atomic<bool> any_noted_{false};
  std::atomic<bool> read_only_{false};
  std::atomic<std::size_t> bytes_{0};
};

// It is false only while noted_ is empty and all else is in order.
void SortedMemtable::put_in_order() const {
  const WriterLock lock(mutex_);
  std::vector<Noted> noted;
  {
    const MutexLock lock_notes(noting_);
    noted.swap(noted_);
  }
  std::vector<SortedEntry> entries;
  for (Noted& one : noted) {
    expand(one, entries);
    if (one.run) runs_.push_back(std::move(one.run));
  }
  std::ranges::sort(entries, [&](const SortedEntry& a, const SortedEntry& b) {
    if (a.order() != b.order()) return a.order() < b.order();
    return comparator_(a.entry.key, b.entry.key) < 0;
  });
  for (const SortedEntry& entry : entries)
    insert(entry.entry, {entry.entry.prefix, comparator_.decode_key(entry.entry.key)});
  const MutexLock lock_notes(noting_);
  // release: pairs with is_settled().
  if (noted_.empty()) any_noted_.store(false, std::memory_order_release);
}

// What cannot be decoded stays an entry with an empty key, which is an error for all that read it.
void SortedMemtable::expand(const Noted& noted, std::vector<SortedEntry>& entries) const {
  const std::size_t before = entries.size();
  if (expand_run(noted, entries)) return;
  entries.resize(before);
  entries.push_back(sorted_entry(noted.entry, comparator_.decode_key(noted.entry)));
}

bool SortedMemtable::expand_run(const Noted& noted, std::vector<SortedEntry>& entries) const {
  char* const entry = noted.entry;
  const auto value = run_value(entry, noted.run ? kRunReferenceKey : kRunKey);
  if (!value) return false;
  const auto [first, urls] = *RunReader::decode_header(*value);
  const std::string_view run =
      noted.run ? std::string_view(noted.run->bytes) : value->substr(RunReader::kHeaderBytes);
  // Those of the run: all of a run's URLs have its number.
  const rocksdb::Slice run_key = comparator_.decode_key(entry);
  const char* const trailer = run_key.data() + run_key.size() - kTrailerBytes;
  char* const bytes = noted.run ? noted.run->bytes.data() : entry + (run.data() - entry);
  RunReader reader(run, first);
  std::uint32_t n = 0;
  std::size_t at = 0;
  for (; const auto url = reader.next(); at = reader.offset(), ++n) {
    char* const key = bytes + at + 1;
    store_big_endian(key + kPendingKeyBytes - sizeof first, url->order.sequence);
    std::memcpy(key + kPendingKeyBytes, trailer, kTrailerBytes);
    entries.push_back(sorted_entry(bytes + at, {key, kPendingKeyBytes + kTrailerBytes}));
  }
  return reader.at_end() && n == urls;
}

void SortedMemtable::add_leaf(std::size_t i) const {
  leaves_.insert(leaves_.begin() + static_cast<std::ptrdiff_t>(i),
                 LeafRef{{}, std::make_unique<Leaf>()});
}

void SortedMemtable::insert(const Entry& entry, const Target& target) const {
  ++version_;
  if (leaves_.empty()) {
    add_leaf(0);
    leaves_[0].first = entry;
    leaves_[0].leaf->entries[0] = entry;
    leaves_[0].leaf->size = 1;
    return;
  }
  // Entries come sorted: most belong where the one before does, or to the next leaf.
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
    table_.settle();
    step([&]() TRAWL_REQUIRES_SHARED(table_.mutex_) { take(table_.find(target)); });
  }
  void SeekForPrev(const rocksdb::Slice& key, const char* memtable_key) override {
    const Target target = target_for(key, memtable_key);
    table_.settle();
    step([&]() TRAWL_REQUIRES_SHARED(table_.mutex_) {
      const Place place = table_.find(target);
      const bool equal = place.leaf < table_.leaves_.size() &&
                         table_.comparator_(table_.at(place).key, target.key) == 0;
      equal ? take(place) : take_before(place);
    });
  }
  void SeekToFirst() override {
    table_.settle();
    step([&]() TRAWL_REQUIRES_SHARED(table_.mutex_) { take({}); });
  }
  void SeekToLast() override {
    table_.settle();
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
    if (table_.is_settled()) return step();
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

// For the base class's Get(), which does not destroy it: a thread's next one takes its place.
rocksdb::MemTableRep::Iterator* SortedMemtable::GetDynamicPrefixIterator(rocksdb::Arena* arena) {
  if (arena != nullptr) return GetIterator(arena);
  thread_local std::optional<Iterator> of_last_get;
  return &of_last_get.emplace(*this, false);
}

class SortedMemtables final : public rocksdb::MemTableRepFactory {
 public:
  SortedMemtables(std::shared_ptr<RunHandover> handover,
                  std::shared_ptr<rocksdb::WriteBufferManager> write_buffers)
      : handover_(std::move(handover)), write_buffers_(std::move(write_buffers)) {}
  rocksdb::MemTableRep* CreateMemTableRep(const rocksdb::MemTableRep::KeyComparator& comparator,
                                          rocksdb::Allocator* allocator,
                                          const rocksdb::SliceTransform*,
                                          rocksdb::Logger*) override {
    return new SortedMemtable(comparator, allocator, handover_, write_buffers_);
  }
  const char* Name() const override { return "trawl.SortedMemtable"; }

 private:
  const std::shared_ptr<RunHandover> handover_;
  const std::shared_ptr<rocksdb::WriteBufferManager> write_buffers_;
};

}  // namespace

std::shared_ptr<rocksdb::MemTableRepFactory> sorted_memtables(
    std::shared_ptr<RunHandover> handover,
    std::shared_ptr<rocksdb::WriteBufferManager> write_buffers) {
  return std::make_shared<SortedMemtables>(std::move(handover), std::move(write_buffers));
}

}  // namespace trawl
