#include "crawler/run/held_url_requeuer.h"

#include <utility>

#include "crawler/run/held_urls.h"

namespace trawl {

namespace {

using std::chrono::steady_clock;

// The work takes at most 1/kRest of the time, unless the crawl is idle.
constexpr int kRest = 10;

}  // namespace

Result<bool> HeldUrlRequeuer::run_step(bool idle) {
  const OneAtATime::Use use(using_);
  if (work_.valid()) {
    if (work_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) return true;
    if (auto done = finish(); !done) return tl::unexpected(done.error());
  }
  const auto now = steady_clock::now();
  if ((!idle && now < next_) || !origins_.has_released()) return false;
  began_ = now;
  // Deferred if no thread can be created: the next call then does the work.
  work_ = std::async(std::launch::async | std::launch::deferred,
                     [this, released = origins_.take_released()] { return offer(released); });
  return true;
}

Result<void> HeldUrlRequeuer::stop() {
  const OneAtATime::Use use(using_);
  stopping_.store(true, std::memory_order_relaxed);
  return finish();
}

Result<void> HeldUrlRequeuer::finish() {
  if (!work_.valid()) return {};
  auto done = work_.get();
  const auto now = steady_clock::now();
  next_ = now + kRest * (now - began_);
  return done;
}

Result<void> HeldUrlRequeuer::offer(const HeldOrigins::Set& released) const {
  // Makes URLs visible that fetchers held just now.
  if (auto flushed = frontier_.flush(); !flushed) return flushed;
  const auto queued =
      frontier_.retry({.state = SetAsideState::kHeld, .wanted = [&](const SetAsideUrl& held) {
                         return !stopping_.load(std::memory_order_relaxed) &&
                                (held.reason == kRobotsUnavailable || held.reason == kTlsRefused) &&
                                released.contains(origin_of(held.url));
                       }});
  if (!queued) return tl::unexpected(queued.error());
  if (!stopping_.load(std::memory_order_relaxed)) origins_.offered(released);
  return {};
}

}  // namespace trawl
