// OperationGate: lets operations run concurrently, and finds moments when none is running.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/mutex.h"
#include "base/striped_counter.h"

namespace trawl {

// Operations are short (memory only, no I/O) and run concurrently: entering and leaving costs two
// atomic writes to a line that few other threads use. at_quiescence() closes the gate, waits for
// the operations inside to leave, runs a function and opens the gate again, even if the function
// throws. Operations that arrive meanwhile wait at the gate until the function has ended, so it
// should do no I/O either.
//
// Everything that an operation did before leaving is visible to the function, and everything that
// the function did is visible to every operation that enters afterwards.
class OperationGate {
 public:
  // Held while an operation is inside.
  class Pass {
   public:
    explicit Pass(OperationGate& gate) : gate_(gate), stripe_(gate.enter()) {}
    ~Pass() { gate_.leave(stripe_); }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    OperationGate& gate_;
    std::size_t stripe_;
  };

  void at_quiescence(const std::function<void()>& function);

 private:
  class Closed {
   public:
    explicit Closed(OperationGate& gate) noexcept TRAWL_REQUIRES(gate.closing_) : gate_(gate) {
      gate_.close_and_wait();
    }
    ~Closed() { gate_.open(); }
    Closed(const Closed&) = delete;
    Closed& operator=(const Closed&) = delete;

   private:
    OperationGate& gate_;
  };

  static constexpr std::size_t kStripes = 16;
  struct alignas(kCacheLine) Stripe {
    std::atomic<std::uint32_t> inside{0};
  };

  std::size_t enter() noexcept;
  void leave(std::size_t stripe) noexcept;
  void close_and_wait() noexcept;
  void open() noexcept;

  std::array<Stripe, kStripes> stripes_;
  alignas(kCacheLine) std::atomic<bool> closed_{false};
  Mutex closing_;
};

}  // namespace trawl
