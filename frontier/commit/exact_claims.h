// ExactClaims: fingerprints admitted by operations that are not yet durable, for
// FilterMode::kExact.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <span>
#include <unordered_set>

#include "trawl/fingerprint.h"

#include "base/mutex.h"
#include "base/striped_counter.h"

namespace trawl {

// In exact mode the filter's "seen" is only a hint, and the ledger on disk decides. An admission is
// in the ledger only once it is committed; until then its claim represents it.
//
// All operations below run inside the gate, so that no group is collected while one is running;
// claims are released after their group is durable. Of all operations on one fingerprint K at most
// one admits it (A1), and none does once K was admitted (A2):
//  - claim(K) returns true to at most one operation until K is released, and K is released after
//    its record is in the ledger. An operation that claims K after that, with "seen" from the
//    filter, finds K in the ledger and gives the claim up.
//  - An operation with "new" from the filter need not look into the ledger: K's bits were not all
//    set, so K had not been admitted before this operation entered the gate; and an operation that
//    admits K while it is inside has a claim that is not released before it leaves.
// And no URL is lost to a false "seen": every "seen" answer rests on a claim of an operation in
// this group or an earlier one, or on a record in the ledger (N4).
//
// Thread-safe.
class ExactClaims {
 public:
  // False if it is claimed already.
  bool claim(Fingerprint key) {
    Stripe& stripe = stripe_of(key);
    const MutexLock lock(stripe.mutex);
    return stripe.keys.insert(key).second;
  }
  void release(Fingerprint key) {
    Stripe& stripe = stripe_of(key);
    const MutexLock lock(stripe.mutex);
    [[maybe_unused]] const std::size_t released = stripe.keys.erase(key);
    assert(released == 1);
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
