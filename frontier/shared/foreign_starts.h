// ForeignStarts: requests to hosts of other owners, which a robots.txt redirects to.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "trawl/lease.h"
#include "trawl/url_groups.h"

#include "base/mutex.h"

namespace trawl {

// P1, as far as this process knows: the owner of such a host does not hear of them, but many hosts
// may redirect to the same one. Thread-safe.
class ForeignStarts {
 public:
  void set_delays(std::chrono::milliseconds of_host, std::chrono::milliseconds of_domain) {
    const MutexLock lock(mutex_);
    of_domain_ = of_domain;
    delay_ = std::max(of_host, of_domain);
  }
  // The turn of a request to the host. The times given to those that come too early are the delay
  // apart.
  StartTurn start(std::string_view host, SteadyTime now) {
    const MutexLock lock(mutex_);
    if (delay_.count() == 0) return {.when = StartTurn::When::kNow, .at = now};
    if (groups_.size() >= forget_at_) forget_passed(now);
    const std::string_view name = host.starts_with('[') ? host : host.substr(0, host.find(':'));
    const std::string_view group = of_domain_.count() > 0 ? registrable_domain(name) : host;
    Group& found = groups_[std::string(group)];
    if (found.next <= now) {
      found.next = now + delay_;
      return {.when = StartTurn::When::kNow, .at = now};
    }
    found.told = std::max(found.next, found.told + delay_);
    return {.when = StartTurn::When::kLater, .at = found.told};
  }

 private:
  static constexpr std::size_t kFew = 1024;
  struct Group {
    SteadyTime next;  // of a start
    SteadyTime told;  // the last time that was given
  };

  void forget_passed(SteadyTime now) TRAWL_REQUIRES(mutex_) {
    std::erase_if(groups_, [now](const auto& one) {
      return std::max(one.second.next, one.second.told) <= now;
    });
    forget_at_ = std::max(kFew, 2 * groups_.size());
  }

  Mutex mutex_;
  std::chrono::milliseconds of_domain_ TRAWL_GUARDED_BY(mutex_){0};
  std::chrono::milliseconds delay_ TRAWL_GUARDED_BY(mutex_){0};
  std::map<std::string, Group> groups_ TRAWL_GUARDED_BY(mutex_);  // by host or domain
  std::size_t forget_at_ TRAWL_GUARDED_BY(mutex_) = kFew;
};

}  // namespace trawl
