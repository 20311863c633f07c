// NotedDepths: the smaller depths that were noted for waiting URLs of a bucket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "trawl/fingerprint.h"

#include "base/mutex.h"

namespace trawl {

// As Redis has them, or is about to: the owner's batches set the values of fields, and cannot
// compare. Bounded, since some are noted for URLs that wait no more, and stay: what is noted for
// others then is ignored. Thread-safe.
class NotedDepths {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 16;

  // Each returns whether that changes anything. A smaller depth that is noted already stays.
  bool lower(Fingerprint fingerprint, std::uint32_t depth);
  bool forget(Fingerprint fingerprint);

  std::optional<std::uint32_t> find(Fingerprint fingerprint) const;
  // The first after a place, or of all.
  std::optional<std::pair<Fingerprint, std::uint32_t>> next(
      const std::optional<Fingerprint>& after) const;
  std::uint64_t memory() const;

 private:
  mutable Mutex mutex_;
  std::map<Fingerprint, std::uint32_t> depths_ TRAWL_GUARDED_BY(mutex_);
};

}  // namespace trawl
