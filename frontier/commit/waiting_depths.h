// WaitingDepths: with which depth URLs wait, for those that are offered again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "trawl/fingerprint.h"

namespace trawl {

// A URL that is offered again is to be noted if it waits (is queued, leased, deferred or set aside)
// with a greater depth, and only then. The store has no index by fingerprint, so that each URL that
// waits with a depth above 0 has 4 bytes here: 24 bits of its fingerprint and its smallest depth.
// One of two buckets of 16 holds it, each a cache line; fingerprints are keyed, so that nobody can
// fill chosen buckets. Of two URLs with the same 24 bits in the same buckets (a chance of 2 in a
// million) the greater depth counts, until a smaller one is noted of either.
//
// Memory is bounded. A URL that finds both buckets full counts as one of unknown depth there, up to
// the greatest of all such: what is absent from those buckets is then noted rather than missed.
//
// add(), mark() and the questions may be called by any thread; remove() and lower() are the
// committer's.
class WaitingDepths {
 public:
  explicit WaitingDepths(std::uint64_t max_bytes);
  ~WaitingDepths();

  // A URL waits. One that waits twice is added twice.
  void add(Fingerprint key, std::uint32_t depth) noexcept;
  // One that was added with `depth` waits no more. With depth 0 none was.
  void remove(Fingerprint key, std::uint32_t depth) noexcept;
  // Of one that may be here twice, and waits once.
  void remove_double(Fingerprint key) noexcept;
  // A smaller depth was noted, which also counts for what it waits with from now on.
  void lower(Fingerprint key, std::uint32_t depth) noexcept;
  // URLs may wait that were not added, with at most this depth.
  void assume_others(std::uint32_t depth) noexcept;

  // Whether any URL may wait with a greater depth.
  bool any_deeper(std::uint32_t depth) const noexcept {
    return depth < deepest_.load(std::memory_order_relaxed);
  }
  // Whether a URL may wait with a greater depth. Of one that was `noted_lately` with this depth or
  // a smaller one only those here do.
  bool is_deeper(Fingerprint key, std::uint32_t depth, bool noted_lately = false) const noexcept;
  // Whether a smaller depth may have been noted for a URL that waits and was stored with `depth`.
  bool may_be_noted(Fingerprint key, std::uint32_t depth) const noexcept;
  // False if it certainly does not wait.
  bool may_wait(Fingerprint key) const noexcept;
  // Adding more hardly helps: many URLs are not here.
  bool is_full() const noexcept {
    return overflowed_.load(std::memory_order_relaxed) > buckets_.size() / 4;
  }

  // A URL that one thread admits may be offered by another before it is here. So who is told "seen"
  // leaves a mark first and then asks is_deeper(); who is told "new" first calls add() and then
  // asks for marks; with settle() in between, one of the two sees what the other did.
  //
  // Returns true if it was left with this depth or a smaller one lately.
  bool mark(Fingerprint key, std::uint32_t depth) noexcept;
  // The depth of the mark, if one was left lately.
  std::optional<std::uint32_t> marked(Fingerprint key) const noexcept;
  void unmark(Fingerprint key) noexcept;
  // seq_cst: pairs with that of another thread.
  static void settle() noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); }

  // Whether the store has, or may have, notes of smaller depths.
  bool has_notes() const noexcept { return has_notes_.load(std::memory_order_relaxed); }
  void expect_notes() noexcept { has_notes_.store(true, std::memory_order_relaxed); }

  void prefetch(Fingerprint key) const noexcept;
  // Bytes that were touched, at most.
  std::uint64_t memory() const noexcept;

 private:
  static constexpr std::size_t kWays = 16;
  static constexpr std::uint32_t kMaxDepth = 0xFF;  // which stands for this depth and greater ones
  using Entry = std::atomic<std::uint32_t>;         // 0: none
  struct alignas(64) Bucket {
    Entry entries[kWays];
  };
  // Zeroed memory straight from the kernel, aligned to pages; taken only as it is touched.
  template <class T>
  class Pages {
   public:
    explicit Pages(std::size_t n);
    ~Pages() { unmap(data_, bytes()); }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    T& operator[](std::size_t i) const noexcept { return data_[i]; }
    std::size_t size() const noexcept { return size_; }
    std::size_t bytes() const noexcept { return size_ * sizeof(T); }

   private:
    static void unmap(void* data, std::size_t bytes) noexcept;

    T* data_;
    std::size_t size_;
  };

  struct Places {
    std::size_t first;
    std::size_t second;
    std::uint32_t tag;
  };
  struct Depths {
    bool any = false;
    std::uint32_t least = kMaxDepth;
    std::uint32_t greatest = 0;
  };
  Places places_of(Fingerprint key) const noexcept;
  Depths find(const Places& places) const noexcept;
  // Calls `visit` with each entry of the URL and its value, until it answers false.
  template <class Visit>
  void visit_entries(const Places& places, Visit visit) const noexcept;
  bool add_to(std::size_t bucket, std::uint32_t entry) noexcept;

  const Pages<Bucket> buckets_;
  const Pages<std::atomic<std::uint8_t>>
      unknown_;  // by first bucket: the greatest of those not here
  const Pages<std::atomic<std::uint64_t>> marks_;
  std::atomic<std::uint32_t> deepest_{0};
  std::atomic<std::uint64_t> overflowed_{0};  // URLs that found no room
  std::atomic<std::uint64_t> touched_{0};  // buckets, at most; counted as far as memory() needs it
  std::atomic<bool> has_notes_{false};
};

}  // namespace trawl
