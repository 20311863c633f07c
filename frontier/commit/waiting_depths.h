// WaitingDepths: the depths of waiting URLs, for those that are offered again with a smaller depth.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "trawl/fingerprint.h"

#include "base/one_thread.h"
#include "base/zeroed_pages.h"
#include "frontier/commit/depth_table.h"

namespace trawl {

// The depth of a repeated offer must be noted iff the URL waits (is queued, leased, deferred or set
// aside) with a greater depth. The store has no index by fingerprint, so each URL that waits with a
// depth above 0 has an entry of 4 bytes here, in a DepthTable, with its smallest depth. Of two URLs
// with the same entry (a probability of 4 in a million) the greater depth counts, until a smaller
// one is noted for either.
//
// There are two tables. The first is small, so that the URLs of a short crawl share its pages; they
// would each take a page of the other, which has most of the memory.
//
// Memory is bounded. Of URLs that find no room, the second table's bucket remembers only the
// greatest depth: a URL without an entry may have any depth up to that, so that its smaller depth
// is noted rather than missed.
//
// Any thread may call add(), mark() and the const members; one thread at a time, the committer,
// calls remove(), remove_double() and lower().
class WaitingDepths {
 public:
  explicit WaitingDepths(std::uint64_t max_bytes);

  // A URL waits from now on. One that waits twice is added twice.
  void add(Fingerprint key, std::uint32_t depth) noexcept;
  // A URL added with `depth` no longer waits. URLs of depth 0 have no entry.
  void remove(Fingerprint key, std::uint32_t depth) noexcept;
  // For a URL that may have two entries but waits once.
  void remove_double(Fingerprint key) noexcept;
  // A smaller depth was noted: from now on the URL waits with that.
  void lower(Fingerprint key, std::uint32_t depth) noexcept;
  // URLs that were not added may wait, with at most this depth.
  void assume_others(std::uint32_t depth) noexcept;

  // Whether any URL may wait with a greater depth.
  bool any_deeper(std::uint32_t depth) const noexcept {
    return depth < deepest_.load(std::memory_order_relaxed);
  }
  // Whether the URL may wait with a greater depth. With `noted_lately`, this depth or a smaller one
  // was noted recently: only an entry here counts then.
  bool is_deeper(Fingerprint key, std::uint32_t depth, bool noted_lately = false) const noexcept;
  // Whether a smaller depth may have been noted for a waiting URL that was stored with `depth`.
  bool may_be_noted(Fingerprint key, std::uint32_t depth) const noexcept;
  // False if the URL certainly does not wait.
  bool may_wait(Fingerprint key) const noexcept;
  // Many URLs found no room: adding more hardly helps.
  bool is_full() const noexcept {
    return overflowed_.load(std::memory_order_relaxed) > table_.buckets() / 4;
  }

  // One thread may offer a URL again before the thread that admits it has called add(). So a thread
  // with the answer "seen" calls mark() and then is_deeper(); a thread with "new" calls add() and
  // then marked(). With full_fence() in between, at least one of the two sees what the other did.
  //
  // Returns true if there is already a recent mark with this depth or a smaller one.
  bool mark(Fingerprint key, std::uint32_t depth) noexcept;
  // The depth of the URL's mark, if there is a recent one.
  std::optional<std::uint32_t> marked(Fingerprint key) const noexcept;
  void unmark(Fingerprint key) noexcept;
  // seq_cst: pairs with the fence of another thread's full_fence().
  static void full_fence() noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); }

  // Whether the store has, or may have, notes of smaller depths.
  bool has_notes() const noexcept { return has_notes_.load(std::memory_order_relaxed); }
  void expect_notes() noexcept { has_notes_.store(true, std::memory_order_relaxed); }

  void prefetch(Fingerprint key) const noexcept;
  // An upper bound of the bytes in use.
  std::uint64_t memory() const noexcept;

 private:
  static constexpr std::uint32_t kMaxDepth = DepthTable::kMaxDepth;
  struct Sizes {  // in buckets
    std::size_t small;
    std::size_t table;
  };
  struct Depths {
    bool any = false;
    std::uint32_t least = kMaxDepth;
    std::uint32_t greatest = 0;
  };

  explicit WaitingDepths(Sizes sizes);
  static Sizes sizes_for(std::uint64_t max_bytes) noexcept;
  bool uses_table() const noexcept { return touched_.load(std::memory_order_relaxed) > 0; }
  Depths find(Fingerprint key) const noexcept;
  // Calls `visit` with each entry of the URL and its depth, until it returns false.
  template <class Visit>
  void visit_entries(Fingerprint key, Visit visit) const noexcept;
  void add_unknown(std::size_t bucket, std::uint32_t depth) noexcept;
  std::uint32_t greatest_unknown(Fingerprint key) const noexcept;

  DepthTable small_;
  DepthTable table_;
  // By the first bucket in `table_`: the greatest depth without an entry.
  const ZeroedPages<std::atomic<std::uint8_t>> unknown_;
  const ZeroedPages<std::atomic<std::uint64_t>> marks_;
  std::atomic<std::uint32_t> deepest_{0};
  std::atomic<std::uint8_t> deepest_unknown_{0};
  std::atomic<std::uint64_t> overflowed_{0};  // URLs without an entry
  // Upper bound of the buckets of `table_` that were touched, or are about to be.
  std::atomic<std::uint64_t> touched_{0};
  std::atomic<bool> has_notes_{false};
  OneAtATime removing_;
};

}  // namespace trawl
