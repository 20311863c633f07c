// AtomicBitArray: a large array of bits for any number of threads.
#pragma once

#include <cstdint>
#include <memory>

#include "trawl/result.h"

namespace trawl {

// Bits are numbered from 0, in 64 bits; all are 0 at first. Memory is taken from the system as it
// is touched: size() / 8 bytes in the end. All operations but create, moves and the destructor may
// run at the same time. An index at or beyond size() is a broken precondition.
class AtomicBitArray {
 public:
  // Errors: kInvalidArgument for 0 bits; kNoSpace, with the size needed, if the machine's memory
  // does not suffice.
  static Result<AtomicBitArray> create(std::uint64_t bits);

  std::uint64_t size() const noexcept;
  bool test(std::uint64_t index) const noexcept;
  void set(std::uint64_t index) noexcept;
  void clear(std::uint64_t index) noexcept;
  // Sets the bit and returns whether it was set before: of all threads that call it for one bit,
  // exactly one is told false (until the bit is cleared).
  bool test_and_set(std::uint64_t index) noexcept;
  // How many bits are set. While other threads write, a number that is right for each bit at some
  // moment of the call.
  std::uint64_t count() const noexcept;
  // The first bit from `from` on that is set, or size() if there is none.
  std::uint64_t find_next(std::uint64_t from) const noexcept;
  // Clears all bits; not at once.
  void clear_all() noexcept;

  AtomicBitArray(AtomicBitArray&&) noexcept;
  AtomicBitArray& operator=(AtomicBitArray&&) noexcept;
  ~AtomicBitArray();

 private:
  struct State;
  explicit AtomicBitArray(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trawl
