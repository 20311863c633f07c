// UnreadPages: pages that wait to be read, each by whichever thread comes first.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/striped_counter.h"

namespace trawl {

struct FetchedPage;

// A site is fetched by one thread, so that its pages are finished in the order in which they came.
// Reading them is half of the work, and any thread can do it: a fetcher that has hardly anything to
// do takes pages of the others. The fetcher of a page never waits for one that nobody took: it
// takes it back and reads it, so nothing depends on a reader but a page that it holds.
//
// A page belongs to its fetcher, except from the take() that returned it to the give_back() of that
// thread. Thread-safe; `i` is the caller's thread, except where noted.
class UnreadPages {
 public:
  // Pages of a fetcher that others may read ahead, which bounds the memory of what was read.
  static constexpr std::size_t kPlaces = 16;

  // `wake(i)` is called when thread `i`, which waits, should look for pages, or when one of its
  // pages was read.
  UnreadPages(std::size_t threads, std::function<void(std::size_t)> wake);

  // Whether another thread has time to read. While it has none, offering pages would gain nothing.
  bool has_readers(std::size_t i) const;
  // Offers a page of thread `i` to the others. Returns false if there is no place.
  bool offer(std::size_t i, FetchedPage& page);
  // Wakes a thread that waits for pages, if any.
  void wake_reader(std::size_t i);
  // Returns false if another thread has taken the page, which was offered.
  bool take_back(FetchedPage& page);
  // Whether no thread has taken it yet.
  bool is_offered(const FetchedPage& page) const;

  // Whether thread `i` has time to read pages of others.
  void set_free(std::size_t i, bool free);
  // Call before waiting for a page; returns false if there is one already.
  bool begin_wait(std::size_t i);
  // Call after it; returns whether wake_reader() ended the wait.
  bool end_wait(std::size_t i);
  // A page of another thread, the oldest of that; null if there is none.
  FetchedPage* take(std::size_t i);
  // The page that take() returned was read. Wakes its fetcher if that waits for it.
  void give_back(FetchedPage& page);
  // Whether thread `i` waits for pages that others read. Look at them after true.
  void await_pages(std::size_t i, bool awaits);

 private:
  struct alignas(kCacheLine) Thread {
    std::array<std::atomic<FetchedPage*>, kPlaces> places{};
    std::atomic<std::uint32_t> oldest{0};  // where readers begin to look
    std::size_t next = 0;                  // the place of the next page, for the thread itself
    alignas(kCacheLine) std::atomic<bool> waits{false};  // for pages of others
    std::atomic<bool> awaits{false};                     // pages of its own
    bool free = false;                                   // for the thread itself
  };
  bool has_pages(std::size_t i) const;

  std::vector<Thread> threads_;
  alignas(kCacheLine) std::atomic<std::size_t> free_{0};
  const std::function<void(std::size_t)> wake_;
};

}  // namespace trawl
