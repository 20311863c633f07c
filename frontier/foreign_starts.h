// ForeignStarts: requests to hosts of other owners, which a robots.txt redirects to.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trawl/lease.h"
#include "trawl/url_groups.h"

#include "base/mutex.h"
#include "frontier/schedule/group_rate_limiter.h"
#include "frontier/shared/bucket_keys.h"

namespace trawl {

// P1, as far as this process knows: the owner of such a host does not hear of them, but many hosts
// may redirect to the same one, and this process may have owned it a moment ago. Thread-safe.
class ForeignStarts {
 public:
  explicit ForeignStarts(BucketId buckets) : buckets_(buckets) {}

  void set_delays(std::chrono::milliseconds of_host, std::chrono::milliseconds of_domain) {
    const MutexLock lock(mutex_);
    by_domain_ = of_domain.count() > 0;
    starts_.set_delay(std::max(of_host, of_domain));
  }

  // The turn of a request to the host, as by Frontier::start_elsewhere(); its StartTurn::host is 0.
  // The times given to those that come too early are the delay apart.
  StartTurn start(BucketId bucket, std::string_view host, SteadyTime now) {
    const MutexLock lock(mutex_);
    if (!starts_.enabled()) return {.when = StartTurn::When::kNow, .at = now};
    const GroupId group = group_of(host);
    const SteadyTime rested = buckets_[bucket].left + starts_.delay();
    if (rested > now) return told_later(group, std::max(rested, starts_.next_start(group)), now);
    if (const auto refusal =
            GroupRateLimiter::begin(&starts_, {.group = group}, nullptr, {}, now)) {
      if (!refusal->busy) return told_later(group, refusal->again, now);
      return {.when = StartTurn::When::kSoon, .at = refusal->again};
    }
    note_asked(bucket, now);
    return {.when = StartTurn::When::kNow, .at = now, .domain = group, .address = bucket};
  }
  // As Frontier::sent().
  void sent(const StartTurn& turn, std::optional<SteadyTime> when) {
    const MutexLock lock(mutex_);
    starts_.sent(turn.domain, turn.at, when);
    if (turn.domain != 0 && when) note_asked(static_cast<BucketId>(turn.address), *when);
  }
  // A turn that the caller does not get: it is as if it had not been given.
  void undo(const StartTurn& turn) {
    starts_.sent(turn.domain, turn.at, std::nullopt);
    starts_.undo_start(turn.domain, turn.at);
  }

  // This process may have sent requests to hosts of the bucket, as its owner, until `when`.
  void note_left(BucketId bucket, SteadyTime when) {
    const MutexLock lock(mutex_);
    SteadyTime& left = buckets_[bucket].left;
    left = std::max(left, when);
  }
  // Whether hosts of the bucket, which this process owns now, must wait for their delay.
  bool asked_lately(BucketId bucket, SteadyTime now) const {
    const MutexLock lock(mutex_);
    return buckets_[bucket].asked + starts_.delay() > now;
  }

  // How many hosts or domains it has times of.
  std::size_t size() const {
    const MutexLock lock(mutex_);
    return std::max(starts_.groups(), told_.size());
  }

 private:
  static constexpr std::size_t kFew = 1024;
  struct Bucket {
    SteadyTime left = SteadyTime::min();
    SteadyTime asked = SteadyTime::min();
  };

  GroupId group_of(std::string_view host) const TRAWL_REQUIRES(mutex_) {
    const std::string_view name = host.starts_with('[') ? host : host.substr(0, host.find(':'));
    return starts_.id(by_domain_ ? registrable_domain(name) : host);
  }
  StartTurn told_later(GroupId group, SteadyTime next, SteadyTime now) TRAWL_REQUIRES(mutex_) {
    if (told_.size() >= forget_at_) {
      std::erase_if(told_, [now](const auto& one) { return one.second <= now; });
      forget_at_ = std::max(kFew, 2 * told_.size());
    }
    SteadyTime& told = told_.try_emplace(group, SteadyTime::min()).first->second;
    told = std::max(next, told + starts_.delay());
    return {.when = StartTurn::When::kLater, .at = told};
  }
  void note_asked(BucketId bucket, SteadyTime when) TRAWL_REQUIRES(mutex_) {
    SteadyTime& asked = buckets_[bucket].asked;
    asked = std::max(asked, when);
  }

  mutable Mutex mutex_;
  bool by_domain_ TRAWL_GUARDED_BY(mutex_) = false;
  GroupRateLimiter starts_{std::chrono::milliseconds(0)};  // by host or domain
  // The last times that were given.
  std::unordered_map<GroupId, SteadyTime> told_ TRAWL_GUARDED_BY(mutex_);
  std::size_t forget_at_ TRAWL_GUARDED_BY(mutex_) = kFew;
  std::vector<Bucket> buckets_ TRAWL_GUARDED_BY(mutex_);
};

}  // namespace trawl
