#include "base/operation_gate.h"

#include <cassert>
#include <thread>

namespace trawl {

std::size_t OperationGate::enter() noexcept {
  const std::size_t stripe = thread_stripe(kStripes);
  std::atomic<std::uint32_t>& inside = stripes_[stripe].inside;
  for (;;) {
    // seq_cst on all four: pairs with close_and_wait(): either this thread sees the gate closed, or
    // the closer, which closes first and counts then, sees this thread inside (store buffering
    // needs the total order).
    inside.fetch_add(1, std::memory_order_seq_cst);
    if (!closed_.load(std::memory_order_seq_cst)) return stripe;
    leave(stripe);
    // acquire: pairs with the release in open().
    closed_.wait(true, std::memory_order_acquire);
  }
}

void OperationGate::leave(std::size_t stripe) noexcept {
  // release: what the operation did becomes visible to the closer that finds the stripe empty;
  // pairs with the load in close_and_wait().
  [[maybe_unused]] const std::uint32_t before =
      stripes_[stripe].inside.fetch_sub(1, std::memory_order_release);
  assert(before > 0);
}

void OperationGate::at_quiescence(const std::function<void()>& function) {
  const MutexLock lock(closing_);
  const Closed closed(*this);
  function();
}

void OperationGate::close_and_wait() noexcept {
  closing_.assert_held();
  assert(!closed_.load(std::memory_order_relaxed));
  // seq_cst: pairs with the loads in enter(), as said there.
  closed_.store(true, std::memory_order_seq_cst);
  for (const Stripe& stripe : stripes_) {
    // seq_cst (hence acquire): pairs with enter(), see there, and with the release in leave().
    // Operations are short: yielding is better than sleeping, and lets a preempted operation run.
    while (stripe.inside.load(std::memory_order_seq_cst) != 0)
      std::this_thread::yield();
  }
}

void OperationGate::open() noexcept {
  closing_.assert_held();
  assert(closed_.load(std::memory_order_relaxed));
  // seq_cst (hence release): what the function did is visible to operations that enter; pairs
  // with the loads in enter().
  closed_.store(false, std::memory_order_seq_cst);
  closed_.notify_all();
}

}  // namespace trawl
