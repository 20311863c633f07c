#include "trawl/atomic_bit_array.h"

#include <atomic>
#include <bit>
#include <cassert>

#include <fmt/format.h>

#include "filter/bits/word_array.h"

namespace trawl {

namespace {

constexpr std::uint64_t kWordBits = 64;

constexpr std::uint64_t mask_of(std::uint64_t index) noexcept {
  return std::uint64_t{1} << (index % kWordBits);
}

}  // namespace

// Memory orders. A bit can represent something outside the array ("slot i is filled", "slot i is
// mine"). So changing a bit releases the thread's earlier writes, and reading a bit acquires: a
// thread that sees a bit set, or cleared, sees everything that happened before the change. A change
// of another bit of the word in between is harmless, since a read-modify-write of any order
// continues the release sequence. count() promises no such order and is relaxed.
struct AtomicBitArray::State {
  State(WordArray array, std::uint64_t size) : words(std::move(array)), bits(size) {}

  std::atomic<std::uint64_t>& word_of(std::uint64_t index) const noexcept {
    assert(index < bits);
    return words[index / kWordBits];
  }

  WordArray words;
  std::uint64_t bits;  // bits of the last word beyond it stay 0
};

AtomicBitArray::AtomicBitArray(std::unique_ptr<State> state) : state_(std::move(state)) {}
AtomicBitArray::AtomicBitArray(AtomicBitArray&&) noexcept = default;
AtomicBitArray& AtomicBitArray::operator=(AtomicBitArray&&) noexcept = default;
AtomicBitArray::~AtomicBitArray() = default;

Result<AtomicBitArray> AtomicBitArray::create(std::uint64_t bits) {
  if (bits == 0) return error(ErrorCode::kInvalidArgument, "a bit array must have at least 1 bit");
  const std::uint64_t words = bits / kWordBits + (bits % kWordBits != 0 ? 1 : 0);
  auto array = WordArray::allocate(words, fmt::format("an array of {} bits", bits));
  if (!array) return tl::unexpected(array.error());
  return AtomicBitArray(std::make_unique<State>(std::move(*array), bits));
}

std::uint64_t AtomicBitArray::size() const noexcept {
  return state_->bits;
}

bool AtomicBitArray::test(std::uint64_t index) const noexcept {
  // acquire: pairs with the release of the thread that changed the bit.
  return (state_->word_of(index).load(std::memory_order_acquire) & mask_of(index)) != 0;
}

void AtomicBitArray::set(std::uint64_t index) noexcept {
  // release: pairs with the acquire in test(), test_and_set() and find_next().
  state_->word_of(index).fetch_or(mask_of(index), std::memory_order_release);
}

void AtomicBitArray::clear(std::uint64_t index) noexcept {
  // release: as in set(); the next thread that sets the bit sees what happened while it was set.
  state_->word_of(index).fetch_and(~mask_of(index), std::memory_order_release);
}

bool AtomicBitArray::test_and_set(std::uint64_t index) noexcept {
  // release as in set(), acquire as in test(). All changes of a word have a single order, so
  // exactly one call finds the bit unset.
  const std::uint64_t mask = mask_of(index);
  return (state_->word_of(index).fetch_or(mask, std::memory_order_acq_rel) & mask) != 0;
}

std::uint64_t AtomicBitArray::count() const noexcept {
  std::uint64_t set = 0;
  for (std::uint64_t w = 0; w < state_->words.size(); ++w) {
    set +=
        static_cast<std::uint64_t>(std::popcount(state_->words[w].load(std::memory_order_relaxed)));
  }
  return set;
}

std::uint64_t AtomicBitArray::find_next(std::uint64_t from) const noexcept {
  if (from >= state_->bits) return state_->bits;
  std::uint64_t skipped = mask_of(from) - 1;  // the bits of the first word before `from`
  for (std::uint64_t w = from / kWordBits; w < state_->words.size(); ++w) {
    // acquire: as in test().
    const std::uint64_t set = state_->words[w].load(std::memory_order_acquire) & ~skipped;
    if (set != 0) return w * kWordBits + static_cast<std::uint64_t>(std::countr_zero(set));
    skipped = 0;
  }
  return state_->bits;
}

void AtomicBitArray::clear_all() noexcept {
  for (std::uint64_t w = 0; w < state_->words.size(); ++w) {
    auto& word = state_->words[w];
    // Skip words that are zero, so that memory never touched is not allocated now. release: as in
    // clear().
    if (word.load(std::memory_order_relaxed) != 0) word.fetch_and(0, std::memory_order_release);
  }
}

}  // namespace trawl
