// FlatIndex: maps 64-bit keys to numbers of objects, at 8 bytes an entry.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace trawl {

// A hash table with linear probing. It stores half of each key's hash, not the key: find() asks its
// caller whether an object matches. An attacker must not be able to choose keys (they are
// sequences, lease numbers, keyed hashes), since the hash is not keyed.
class FlatIndex {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // The number of the object with `key` for which `matches(number)` is true; kNone if there is
  // none.
  template <class Matches>
  std::uint32_t find(std::uint64_t key, Matches matches) const {
    if (entries_.empty()) return kNone;
    const std::uint32_t hash = hash_of(key);
    for (std::size_t i = hash & mask();; i = (i + 1) & mask()) {
      const Entry& entry = entries_[i];
      if (entry.number == kNone) return kNone;
      if (entry.hash == hash && matches(entry.number)) return entry.number;
    }
  }

  // Has the place of a key read into the processor's cache, for a likely_number() soon.
  void prefetch(std::uint64_t key) const {
    if (!entries_.empty()) __builtin_prefetch(&entries_[hash_of(key) & mask()]);
  }
  // The number of `key`, or kNone, or in rare cases another one.
  std::uint32_t likely_number(std::uint64_t key) const {
    return find(key, [](std::uint32_t) { return true; });
  }

  // `number` must not be kNone, nor present already.
  void insert(std::uint64_t key, std::uint32_t number) {
    assert(number != kNone);
    assert(find(key, [number](std::uint32_t there) { return there == number; }) == kNone);
    if (entries_.empty() || (size_ + 1) * 4 > entries_.size() * 3) grow();
    place({hash_of(key), number});
    ++size_;
  }

  // The entry of `key` and `number` must be present.
  void erase(std::uint64_t key, std::uint32_t number) {
    std::size_t hole = find_slot(key, number);
    for (std::size_t i = (hole + 1) & mask(); entries_[i].number != kNone; i = (i + 1) & mask()) {
      // An entry may move into the hole unless the hole is before its first place.
      const std::size_t first = entries_[i].hash & mask();
      if (((i - first) & mask()) < ((i - hole) & mask())) continue;
      entries_[hole] = entries_[i];
      hole = i;
    }
    entries_[hole] = Entry();
    --size_;
    if (entries_.size() > kLeastShrunk && size_ < entries_.size() / 8) resize(entries_.size() / 2);
  }

  void replace(std::uint64_t key, std::uint32_t number, std::uint32_t by) {
    entries_[find_slot(key, number)].number = by;
  }

  std::size_t size() const noexcept { return size_; }
  std::size_t bytes() const noexcept { return entries_.capacity() * sizeof(Entry); }

 private:
  static constexpr std::size_t kLeastShrunk = 1024;

  struct Entry {
    std::uint32_t hash = 0;
    std::uint32_t number = kNone;
  };

  static std::uint32_t hash_of(std::uint64_t key) noexcept {
    return static_cast<std::uint32_t>(key * 0x9E3779B97F4A7C15u >> 32);
  }
  std::size_t mask() const noexcept { return entries_.size() - 1; }

  std::size_t find_slot(std::uint64_t key, std::uint32_t number) const {
    assert(!entries_.empty());
    std::size_t i = hash_of(key) & mask();
    while (entries_[i].number != number) {
      assert(entries_[i].number != kNone);  // else it is not there
      i = (i + 1) & mask();
    }
    return i;
  }
  void place(Entry entry) {
    std::size_t i = entry.hash & mask();
    while (entries_[i].number != kNone)
      i = (i + 1) & mask();
    entries_[i] = entry;
  }
  void grow() { resize(entries_.empty() ? 16 : entries_.size() * 2); }
  void resize(std::size_t entries) {
    std::vector<Entry> old(entries);
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.number != kNone) place(entry);
    }
  }

  std::vector<Entry> entries_;  // the size is a power of two, or 0
  std::size_t size_ = 0;
};

}  // namespace trawl
