#include "filter/bits/word_array.h"

#include <cassert>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <sys/mman.h>

#include "base/free_memory.h"
#include "base/take_pages.h"

namespace trawl {

namespace {

constexpr std::uint64_t kWordBytes = sizeof(std::uint64_t);

std::string readable(double bytes) {
  if (bytes < 1 << 20) return fmt::format("{:.0f} KiB", bytes / 1024);
  if (bytes < 1 << 30) return fmt::format("{:.1f} MiB", bytes / (1 << 20));
  if (bytes < std::ldexp(1.0, 40)) return fmt::format("{:.1f} GiB", std::ldexp(bytes, -30));
  return fmt::format("{:.1f} TiB", std::ldexp(bytes, -40));
}

tl::unexpected<Error> too_large(std::uint64_t words, std::string_view what) {
  return error(
      ErrorCode::kNoSpace,
      fmt::format("{} needs {} of memory, but only {} are free: a filter takes less with a "
                  "lower capacity or a higher false-positive rate",
                  what, readable(static_cast<double>(words) * kWordBytes),
                  readable(static_cast<double>(free_memory()))));
}

}  // namespace

Result<WordArray> WordArray::allocate(std::uint64_t words, std::string_view what) {
  // Small arrays need no check.
  constexpr std::uint64_t kLittle = (std::uint64_t{4} << 20) / kWordBytes;
  if (words > kLittle && words > free_memory() / kWordBytes) return too_large(words, what);
  return allocate_unchecked(words, what);
}

Result<WordArray> WordArray::allocate_unchecked(std::uint64_t words, std::string_view what) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max() / kWordBytes;
  if (words > kMost) return too_large(words, what);
  void* const memory = ::mmap(nullptr, words * kWordBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return too_large(words, what);
  WordArray array(static_cast<std::atomic<std::uint64_t>*>(memory), words);
  // Huge pages cause fewer TLB misses. The result is ignored: the filter works with either.
  ::madvise(memory, array.bytes(), array.wants_huge_pages() ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return array;
}

void WordArray::store(std::uint64_t first, std::span<const std::uint64_t> from) const noexcept {
  assert(first <= size_ && from.size() <= size_ - first);
  for (std::size_t i = 0; i < from.size(); ++i)
    words_[first + i].store(from[i], std::memory_order_relaxed);
}

void WordArray::copy(std::uint64_t first, std::span<std::uint64_t> out) const noexcept {
  assert(first <= size_ && out.size() <= size_ - first);
  for (std::size_t i = 0; i < out.size(); ++i) {
    // acquire: pairs with the release that set a bit, so that a thread that finds a bit in the copy
    // also sees what its inserter did before, including its entry into a gate.
    out[i] = words_[first + i].load(std::memory_order_acquire);
  }
}

void WordArray::take_pages() const noexcept {
  if (trawl::take_pages(words_, bytes())) return;
  constexpr std::uint64_t kPageWords = 512;
  for (std::uint64_t i = 0; i < size_; i += kPageWords)
    take_page_of(words_[i]);
}

WordArray::~WordArray() {
  if (words_ != nullptr) ::munmap(words_, bytes());
}

}  // namespace trawl
