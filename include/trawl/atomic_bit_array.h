// AtomicBitArray: a large array of bits that any number of threads may read and change.
#pragma once

#include <cstdint>
#include <memory>

#include "trawl/result.h"

namespace trawl {

// Bits are numbered from 0 with 64-bit indices and start as 0. The system provides memory as bits
// are touched, size() / 8 bytes at most. All operations except create, moves and the destructor may
// run concurrently. An index must be below size().
class AtomicBitArray {
 public:
  // Errors: kInvalidArgument for 0 bits; kNoSpace, with the size needed, if the machine has too
  // little memory.
  static Result<AtomicBitArray> create(std::uint64_t bits);

  std::uint64_t size() const noexcept;
  bool test(std::uint64_t index) const noexcept;
  void set(std::uint64_t index) noexcept;
  void clear(std::uint64_t index) noexcept;
  // Sets the bit and returns its previous value: of all threads that call it for one bit, exactly
  // one gets false (until the bit is cleared).
  bool test_and_set(std::uint64_t index) noexcept;
  // The number of bits set. While other threads write, each bit is counted with the value it had at
  // some moment of the call.
  std::uint64_t count() const noexcept;
  // The index of the first set bit at or after `from`, or size() if there is none.
  std::uint64_t find_next(std::uint64_t from) const noexcept;
  // Clears all bits, one word after the other: not atomic as a whole.
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
