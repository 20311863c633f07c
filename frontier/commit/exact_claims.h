// ExactClaims: the fingerprints that operations under way have admitted, for FilterMode::kExact.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <unordered_set>

#include "trawl/fingerprint.h"

#include "base/mutex.h"
#include "base/striped_counter.h"

namespace trawl {

// In exact mode the filter's "seen" is only a hint, and the ledger on disk decides; but what is
// admitted is there only once it is committed. In between its claim stands for it.
//
// All operations below run inside the gate, so that a group is collected only when none is under
// way; claims are released after their group is durable. Of all operations on one fingerprint K at
// most one admits it (A1), and none does once it was admitted (A2):
//  - claim(K) answers true to at most one until K is released, which is after its record is in the
//    ledger. Whoever claims K then, and was told "seen" by the filter, looks into the ledger, finds
//    it, and gives the claim up.
//  - Whoever was told "new" need not look: K's bits were not all set before, so that nobody had
//    been admitted with K before this operation entered the gate; and whoever is admitted while it
//    is inside has a claim that is not released before it leaves.
// And no URL is lost to a false "seen": nobody is told "seen" but for a claim of an operation in
// this group or an earlier one, or a record in the ledger (N4).
//
// Thread-safe.
class ExactClaims {
 public:
  // False if somebody has claimed it.
  bool claim(Fingerprint key) {
    Stripe& stripe = stripe_of(key);
    const MutexLock lock(stripe.mutex);
    return stripe.keys.insert(key).second;
  }
  void release(Fingerprint key) {
    Stripe& stripe = stripe_of(key);
    const MutexLock lock(stripe.mutex);
    stripe.keys.erase(key);
  }

 private:
  struct Hash {
    std::size_t operator()(Fingerprint key) const noexcept { return key.low; }
  };
  struct alignas(kCacheLine) Stripe {
    Mutex mutex;
    std::unordered_set<Fingerprint, Hash> keys TRAWL_GUARDED_BY(mutex);
  };
  static constexpr std::size_t kStripes = 64;
  Stripe& stripe_of(Fingerprint key) { return stripes_[key.high % kStripes]; }

  std::array<Stripe, kStripes> stripes_;
};

}  // namespace trawl
