#include "filter/grace_period.h"

#include <thread>

namespace trawl {

// Why it is right: an operation adds one to a single counter and later takes it away again, and
// wait() finds every counter at zero once, by an RMW, so that in the order of the counter's
// modifications the operation's first one comes either before that RMW or after it. Before: the
// counter being zero, the second one came before too; all of the counter's modifications are RMWs,
// so the operation's release reaches the acquire here. After: the release here reaches the
// operation's acquire likewise. And the first RMW of an operation that entered before wait() was
// called comes before, since an atomic's modifications agree with what happened before what.
//
// Why it ends: that is all the phases are for, since a counter that operations keep entering need
// never be zero at the moments somebody looks. Nobody enters the idle phase but threads that read
// `phase_` before it became idle and were held up since, each at most once, so it runs empty; then
// the phases change roles, and the other one runs empty for the same reason. Both must be waited
// for: a thread held up like that may have entered the idle phase before the call.
void GracePeriod::wait() noexcept {
  const std::lock_guard lock(waiting_);
  const unsigned busy = phase_.load(std::memory_order_relaxed);
  const unsigned idle = kPhases - 1 - busy;
  wait_until_empty(idle);
  phase_.store(idle, std::memory_order_relaxed);
  wait_until_empty(busy);
}

void GracePeriod::wait_until_empty(unsigned phase) noexcept {
  for (Stripe& stripe : stripes_) {
    std::atomic<std::uint32_t>& inside = stripe.inside[phase];
    // acquire: pairs with the release of operations that have left; release: with the acquire of
    // those that enter later. A look first, so that polling does not take the line from them.
    // Operations take microseconds: yielding beats sleeping, and lets one that was preempted run.
    while (inside.load(std::memory_order_relaxed) != 0 ||
           inside.fetch_add(0, std::memory_order_acq_rel) != 0) {
      std::this_thread::yield();
    }
  }
}

}  // namespace trawl
