// RequestRateLimiter: when requests to a host, a domain or an address began, and when the next one
// may begin.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include "trawl/clocks.h"

namespace trawl {

class RequestRateLimiter {
 public:
  using milliseconds = std::chrono::milliseconds;

  // A request was handed out at `when`, and is assumed to begin then.
  void hand_out(SteadyTime when) { handed_out_.insert(when); }
  // The request handed out at `handed_out` began at `began`, or will not begin (nothing).
  void note_began(SteadyTime handed_out, std::optional<SteadyTime> began) {
    if (const auto found = handed_out_.find(handed_out); found != handed_out_.end())
      handed_out_.erase(found);
    if (began) note(*began);
  }
  void note(SteadyTime began) { began_ = std::max(began_, began); }

  // When the next request may begin: after all handed out, or only after those that really began.
  SteadyTime next(milliseconds delay) const {
    return std::max(began_, handed_out_.empty() ? SteadyTime::min() : *handed_out_.rbegin()) +
           delay;
  }
  SteadyTime next_by_starts(milliseconds delay) const { return began_ + delay; }

  // A request begins now. Until sent() no other may begin, for at most a while longer than the
  // delay.
  void begin(SteadyTime now, milliseconds delay) {
    note(now);
    if (delay.count() == 0) return;
    unsent_ = now;
    unsent_until_ = now + delay + send_timeout(delay);
  }
  void sent(SteadyTime begun, std::optional<SteadyTime> when) {
    if (unsent_ == begun) unsent_until_ = SteadyTime::min();
    if (when) note(*when);
  }
  // When to ask again if a request that began was not sent yet.
  std::optional<SteadyTime> ask_again(SteadyTime now, milliseconds delay) const {
    if (unsent_until_ <= now) return std::nullopt;
    return std::min(unsent_until_, now + send_timeout(delay) / 8);
  }

 private:
  // See Frontier::start().
  static milliseconds send_timeout(milliseconds delay) {
    return std::clamp<milliseconds>(delay, milliseconds(100), milliseconds(1000));
  }

  std::multiset<SteadyTime> handed_out_;
  SteadyTime began_ = SteadyTime::min();
  SteadyTime unsent_ = SteadyTime::min();
  SteadyTime unsent_until_ = SteadyTime::min();
};

}  // namespace trawl
