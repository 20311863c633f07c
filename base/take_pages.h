// Taking pages of memory before they are used.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <sys/mman.h>
#include <unistd.h>

namespace trawl {

// Lets the kernel map the whole pages of a range of fresh memory, for writing, at once: that takes
// a fraction of the time of a page fault for each. A page that is read before it is written costs
// even more: the kernel maps its page of zeros first, and to replace that it interrupts all cores
// on which other threads of the process run. The contents stay, whatever other threads do with
// them. Returns false if the kernel cannot (Linux before 5.14) or has no memory.
inline bool take_pages(void* memory, std::size_t bytes) noexcept {
  // Meanwhile no other thread can map memory.
  constexpr std::uintptr_t kAtOnce = 64u << 20;
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t end = (begin + bytes) / page * page;
  for (std::uintptr_t at = (begin + page - 1) / page * page; at < end; at += kAtOnce) {
    const std::size_t size = std::min(kAtOnce, end - at);
    if (::madvise(reinterpret_cast<void*>(at), size, MADV_POPULATE_WRITE) != 0) return false;
  }
  return true;
}

// Takes the page of a word, by a write that changes nothing; so relaxed.
template <class T>
void take_page_of(std::atomic<T>& word) noexcept {
  T none = 0;
  word.compare_exchange_strong(none, 0, std::memory_order_relaxed);
}

}  // namespace trawl
