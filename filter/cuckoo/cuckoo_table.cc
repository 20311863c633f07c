#include "filter/cuckoo/cuckoo_table.h"

#include <cassert>

namespace trawl {

CuckooTable::Insert CuckooTable::insert_into(const TagPlaces& key, bool again) noexcept {
  assert(key.tag != 0);
  // Every attempt except the last one made room, which another thread then took, or was disturbed
  // by another thread.
  constexpr int kAttempts = 1000;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    {
      auto guard = lock(key.bucket[0], key.bucket[1]);
      const BucketBits first = read(key.bucket[0]);
      const BucketBits second = read(key.bucket[1]);
      if (!again && (first.has(key.tag) || second.has(key.tag))) return Insert::kPresent;
      const unsigned in_first = first.slot_of(0);
      const unsigned slot = in_first != BucketBits::kNoSlot ? in_first : second.slot_of(0);
      if (slot != BucketBits::kNoSlot) {
        change(key.bucket[in_first != BucketBits::kNoSlot ? 0 : 1], slot, key.tag);
        guard.set_changed();
        return Insert::kAdded;
      }
    }
    if (!make_room(key)) break;
  }
  return Insert::kFull;
}

bool CuckooTable::erase(const TagPlaces& key) noexcept {
  assert(key.tag != 0);
  auto guard = lock(key.bucket[0], key.bucket[1]);
  for (const std::uint64_t bucket : key.bucket) {
    const unsigned slot = read(bucket).slot_of(key.tag);
    if (slot == BucketBits::kNoSlot) continue;
    change(bucket, slot, key.tag);
    guard.set_changed();
    return true;
  }
  return false;
}

template <class Look>
auto CuckooTable::consistently(const TagPlaces& key, const Look& look) const noexcept {
  constexpr int kAttempts = 32;  // then with the locks, so that writers cannot delay it without end
  const std::size_t stripe0 = GroupLocks::stripe_of(group_of(key.bucket[0]));
  const std::size_t stripe1 = GroupLocks::stripe_of(group_of(key.bucket[1]));
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::uint64_t version0 = locks_.version(stripe0);
    const std::uint64_t version1 = locks_.version(stripe1);
    const auto answer = look();
    if (locks_.unchanged(stripe0, version0) && locks_.unchanged(stripe1, version1)) return answer;
  }
  const auto guard = lock(key.bucket[0], key.bucket[1]);
  return look();
}

bool CuckooTable::contains(const TagPlaces& key) const noexcept {
  return consistently(key, [&] {
    const bool in_first = read(key.bucket[0]).has(key.tag);  // no branch: both are being fetched
    const bool in_second = read(key.bucket[1]).has(key.tag);
    return in_first || in_second;
  });
}

unsigned CuckooTable::count(const TagPlaces& key) const noexcept {
  return consistently(key, [&] {
    const unsigned in_first = read(key.bucket[0]).count(key.tag);
    return in_first + (key.bucket[0] == key.bucket[1] ? 0 : read(key.bucket[1]).count(key.tag));
  });
}

void CuckooTable::change(std::uint64_t bucket, unsigned slot, std::uint32_t difference) noexcept {
  assert(locks_.is_held(GroupLocks::stripe_of(group_of(bucket))));
  assert(slot < kSlotsPerBucket && difference != 0 && difference <= layout_.tags());
  const std::uint64_t bit = bucket * bucket_bits_ + slot * lanes_.bits;
  std::atomic<std::uint64_t>* const word = words_.data() + bit / 64;
  const Uint128 bits = Uint128{difference} << bit % 64;
  // No other thread writes these words: they belong to this group only. release: pairs with the
  // acquire in read(), as GroupLocks requires.
  word[0].store(word[0].load(std::memory_order_relaxed) ^ static_cast<std::uint64_t>(bits),
                std::memory_order_release);
  if (const auto rest = static_cast<std::uint64_t>(bits >> 64); rest != 0)
    word[1].store(word[1].load(std::memory_order_relaxed) ^ rest, std::memory_order_release);
}

// Moves tags until a bucket of the key has a free slot, or until another thread has changed the
// path. Returns false if no free slot is within reach.
bool CuckooTable::make_room(const TagPlaces& key) noexcept {
  PathSearch search;
  const std::uint16_t free = search.run(*this, key);
  if (free == PathSearch::kNone) return false;
  const OperationGate::Pass pass(moves_);
  for (auto node = search.node(free); node.parent != PathSearch::kNone;) {
    const auto parent = search.node(node.parent);
    if (!move(parent.bucket, node.slot, node.bucket)) break;
    node = parent;
  }
  return true;
}

bool CuckooTable::move(std::uint64_t from, unsigned slot, std::uint64_t to) noexcept {
  auto guard = lock(from, to);
  const std::uint32_t tag = read(from).tag(slot);
  if (tag == 0) return true;  // already free
  const unsigned free = read(to).slot_of(0);
  if (free == BucketBits::kNoSlot || layout_.alternate(from, tag) != to) return false;
  change(to, free, tag);
  change(from, slot, tag);
  guard.set_changed();
  return true;
}

std::uint64_t CuckooTable::count_tags() const noexcept {
  std::uint64_t count = 0;
  for (std::uint64_t bucket = 0; bucket < layout_.buckets(); ++bucket) {
    const BucketBits bits = read(bucket);
    for (unsigned slot = 0; slot < kSlotsPerBucket; ++slot)
      count += bits.tag(slot) != 0 ? 1 : 0;
  }
  return count;
}

void CuckooTable::copy_to(CuckooTable& other) const noexcept {
  assert(other.words_.size() == words_.size());
  other.words_.take_pages();
  const std::uint64_t words_per_group = layout_.tag_bits;
  // No moves during the copy: a tag that moves from a group not yet copied to one that is would be
  // missing.
  moves_.at_quiescence([&] {
    for (std::uint64_t group = 0; group < layout_.groups; ++group) {
      const GroupLocks::Guard guard(locks_, group, group);
      const std::uint64_t first = group * words_per_group;
      for (std::uint64_t i = first; i < first + words_per_group; ++i) {
        other.words_[i].store(words_[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
      }
    }
  });
}

}  // namespace trawl
