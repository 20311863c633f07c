// GroupClocks: when domains and addresses may be asked next, over all shards.
#pragma once

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

// Stands for a domain or an address: a keyed hash of its name. 0: none.
using GroupId = std::uint64_t;

// What a host belongs to, as far as it is known and counts.
struct HostGroups {
  GroupId domain = 0;
  GroupId address = 0;
};

// One for domains, one for addresses. Thread-safe. Keeps only groups whose delay has not passed.
class GroupClocks {
 public:
  explicit GroupClocks(std::chrono::milliseconds delay) : delay_(delay) {}

  bool enabled() const noexcept { return delay_.count() > 0; }
  std::chrono::milliseconds delay() const noexcept { return delay_; }
  GroupId id(std::string_view name) const noexcept {
    const GroupId id = name.empty() ? 0 : hash_(name).high;
    return id == 0 && !name.empty() ? 1 : id;
  }

  // After a restart: no request to any group before its delay from then on (P1).
  void restarted(SteadyTime when);

  // Says no to a request: a group, and when to ask again.
  struct Refusal {
    bool by_domain;
    SteadyTime again;
    bool busy = false;  // another request to the group is about to be sent
  };
  // A request to the domain and the address may start at `now`: notes it for both and returns
  // nothing. Otherwise for none. Clocks may be null, and groups 0: these do not count.
  static std::optional<Refusal> start(GroupClocks* domains, GroupId domain, GroupClocks* addresses,
                                      GroupId address, SteadyTime now);
  // A group that a request goes to, 0: none; and when it was noted for that request, if it was.
  struct Noted {
    GroupId group = 0;
    std::optional<SteadyTime> at = std::nullopt;
  };
  // The same for a request that is really made now, and may have been noted when it was handed out:
  // that is forgotten. No other one to the groups may begin before it was sent: sent() says when,
  // but is not waited for very long. If a group says no, all stays as it was.
  static std::optional<Refusal> begin(GroupClocks* domains, const Noted& domain,
                                      GroupClocks* addresses, const Noted& address, SteadyTime now);
  // That begin() let begin at `begun` was sent then; nothing: it never was, which counts as begun.
  void sent(GroupId group, SteadyTime begun, std::optional<SteadyTime> when);
  // How long after its delay a request that began is waited for, to be sent.
  static std::chrono::milliseconds patience(std::chrono::milliseconds delay);
  // When to ask again while it is.
  static SteadyTime ask_again(std::chrono::milliseconds delay, SteadyTime now) {
    return now + patience(delay) / 8;
  }

  // A request to the group starts, or started, at `when`; if it was noted before, for
  // `instead_of`, that is forgotten.
  void note_start(GroupId group, SteadyTime when,
                  std::optional<SteadyTime> instead_of = std::nullopt);
  // A request that was noted for `when` is not made after all.
  void undo_start(GroupId group, SteadyTime when);

  // No request to the group before; a time that has passed: none is known of.
  SteadyTime next_start(GroupId group) const;

  std::size_t groups() const;
  std::size_t bytes() const;

 private:
  struct Clock {
    SteadyTime next;         // no request before
    SteadyTime previous;     // what `next` is without the last start
    std::uint32_t last = 1;  // starts at that time
    // A request began and was not sent yet: when, and until when others wait for that.
    SteadyTime begun = SteadyTime::min();
    SteadyTime busy_until = SteadyTime::min();
  };
  using Expiry = std::pair<SteadyTime, GroupId>;

  class LockIfUsed;

  SteadyTime next_of(GroupId group) const TRAWL_REQUIRES(mutex_);
  // When to ask again; nothing: a request may begin now.
  std::optional<SteadyTime> asked_again(GroupId group, SteadyTime now, bool& busy) const
      TRAWL_REQUIRES(mutex_);
  // The two halves of begin(): takes what was noted back and asks whether a request may begin; then
  // lets it begin, or notes again what was noted.
  void look(const Noted& noted, bool is_domain, SteadyTime now, std::optional<Refusal>& refusal)
      TRAWL_REQUIRES(mutex_);
  void settle(const Noted& noted, SteadyTime now, bool refused) TRAWL_REQUIRES(mutex_);
  void note(GroupId group, SteadyTime when) TRAWL_REQUIRES(mutex_);
  void undo(GroupId group, SteadyTime when) TRAWL_REQUIRES(mutex_);
  void forget_passed(SteadyTime now) TRAWL_REQUIRES(mutex_);

  const std::chrono::milliseconds delay_;
  // Nobody can choose names that share a clock, and it decides no order.
  const KeyedHash hash_ = KeyedHash::random();

  mutable Mutex mutex_;
  SteadyTime first_start_ TRAWL_GUARDED_BY(mutex_) = SteadyTime::min();
  std::unordered_map<GroupId, Clock> clocks_ TRAWL_GUARDED_BY(mutex_);
  std::priority_queue<Expiry, std::vector<Expiry>, std::greater<>> expiries_
      TRAWL_GUARDED_BY(mutex_);
};

}  // namespace trawl
