// GroupRateLimiter: when requests to domains and addresses may start next, over all shards.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trawl/fingerprint.h"
#include "trawl/lease.h"

#include "base/mutex.h"

namespace trawl {

// Identifies a domain or an address: a keyed hash of its name. 0: none.
using GroupId = std::uint64_t;

// The groups of a host, as far as they are known and count.
struct HostGroups {
  GroupId domain = 0;
  GroupId address = 0;
};

// There is one for domains and one for addresses. Thread-safe. Keeps only groups whose delay has
// not passed.
class GroupRateLimiter {
 public:
  explicit GroupRateLimiter(std::chrono::milliseconds delay) : delay_(delay) {}

  bool enabled() const noexcept { return delay().count() > 0; }
  // Relaxed: a thread that reads the former delay after a change acts as just before it.
  std::chrono::milliseconds delay() const noexcept {
    return delay_.load(std::memory_order_relaxed);
  }
  // For starts from now on; those noted before keep the delay that they had.
  void set_delay(std::chrono::milliseconds delay) noexcept {
    delay_.store(delay, std::memory_order_relaxed);
  }
  GroupId id(std::string_view name) const noexcept {
    const GroupId id = name.empty() ? 0 : hash_(name).high;
    return id == 0 && !name.empty() ? 1 : id;
  }

  // After a restart at `when`: no request to any group before its delay from then on (P1).
  void restarted(SteadyTime when);

  // A refused request: by which group, and when to ask again.
  struct Refusal {
    bool by_domain;
    SteadyTime again;
    bool busy = false;  // another request to the group has begun and was not sent yet
  };
  // If a request to the domain and the address may start at `now`, records it for both and returns
  // nothing; otherwise records it for neither. Null clocks and groups of 0 do not count.
  static std::optional<Refusal> start(GroupRateLimiter* domains, GroupId domain,
                                      GroupRateLimiter* addresses, GroupId address, SteadyTime now);
  // A group of a request (0: none), and the time at which the request was recorded for it, if it
  // was.
  struct Noted {
    GroupId group = 0;
    std::optional<SteadyTime> at = std::nullopt;
  };
  // The same for a request that really starts now; the record of its lease, if any, is removed. No
  // other request to the groups may begin until sent() reports that it was sent, or for
  // send_timeout() at most. If a group refuses it, nothing changes.
  static std::optional<Refusal> begin(GroupRateLimiter* domains, const Noted& domain,
                                      GroupRateLimiter* addresses, const Noted& address,
                                      SteadyTime now);
  // The request that begin() allowed at `begun` was sent at `when`; nothing: it was never sent, and
  // counts as begun.
  void sent(GroupId group, SteadyTime begun, std::optional<SteadyTime> when);
  // How long after the delay other requests wait for sent().
  static std::chrono::milliseconds send_timeout(std::chrono::milliseconds delay);
  // When to ask again during that wait.
  static SteadyTime ask_again(std::chrono::milliseconds delay, SteadyTime now) {
    return now + send_timeout(delay) / 8;
  }

  // Records that a request to the group starts, or started, at `when`; replaces its record for
  // `instead_of`, if given.
  void note_start(GroupId group, SteadyTime when,
                  std::optional<SteadyTime> instead_of = std::nullopt);
  // Removes the record of a request at `when` that is not made after all.
  void undo_start(GroupId group, SteadyTime when);

  // The thread that sends stood still from `since` on: what had begun, and was not sent, may be
  // sent so much later.
  void wait_longer(SteadyTime since, SteadyTime::duration by);

  // No request to the group may start before; a time in the past if no start is known.
  SteadyTime next_start(GroupId group) const;

  std::size_t groups() const;
  std::size_t bytes() const;

 private:
  struct Clock {
    SteadyTime next;         // no request may start before
    SteadyTime previous;     // the value of `next` without the last start
    std::uint32_t last = 1;  // number of starts at that time
    // For a request that began and was not sent yet: when it began, and until when others wait.
    SteadyTime begun = SteadyTime::min();
    SteadyTime busy_until = SteadyTime::min();
  };
  using Expiry = std::pair<SteadyTime, GroupId>;

  class LockIfUsed;

  SteadyTime next_of(GroupId group) const TRAWL_REQUIRES(mutex_);
  // When to ask again; nothing if a request may begin now.
  std::optional<SteadyTime> asked_again(GroupId group, SteadyTime now, bool& busy) const
      TRAWL_REQUIRES(mutex_);
  // The two halves of begin(). The first removes the request's record and asks whether it may
  // begin; the second lets it begin, or restores the record.
  void look(const Noted& noted, bool is_domain, SteadyTime now, std::optional<Refusal>& refusal)
      TRAWL_REQUIRES(mutex_);
  void begin_or_restore(const Noted& noted, SteadyTime now, bool refused) TRAWL_REQUIRES(mutex_);
  std::chrono::milliseconds note(GroupId group, SteadyTime when) TRAWL_REQUIRES(mutex_);
  void undo(GroupId group, SteadyTime when) TRAWL_REQUIRES(mutex_);
  void forget_passed(SteadyTime now) TRAWL_REQUIRES(mutex_);

  std::atomic<std::chrono::milliseconds> delay_;
  // Random, so that nobody can choose names that share a clock; it affects no order.
  const KeyedHash hash_ = KeyedHash::random();

  mutable Mutex mutex_;
  SteadyTime first_start_ TRAWL_GUARDED_BY(mutex_) = SteadyTime::min();
  std::unordered_map<GroupId, Clock> clocks_ TRAWL_GUARDED_BY(mutex_);
  std::priority_queue<Expiry, std::vector<Expiry>, std::greater<>> expiries_
      TRAWL_GUARDED_BY(mutex_);
};

}  // namespace trawl
