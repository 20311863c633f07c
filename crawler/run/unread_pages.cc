// Each thread has a ring of places. A thread that changes a place from a page to null has taken
// that page; the fetcher itself does so too. So a page is read once, whatever the threads do, and a
// place that is free again holds nothing that anybody uses.
//
// What is in a page is handed over twice: by the store in offer() to the exchange in take(), and by
// the store in give_back() to the load of FetchedPage::is_read.
#include "crawler/run/unread_pages.h"

#include <cassert>
#include <utility>

#include "crawler/run/fetched_page.h"

namespace trawl {

UnreadPages::UnreadPages(std::size_t threads, std::function<void(std::size_t)> wake)
    : threads_(threads), wake_(std::move(wake)) {}

bool UnreadPages::has_readers(std::size_t i) const {
  // Relaxed: a hint.
  return free_.load(std::memory_order_relaxed) > (threads_[i].free ? 1 : 0);
}

bool UnreadPages::offer(std::size_t i, FetchedPage& page) {
  assert(i < threads_.size());
  Thread& thread = threads_[i];
  const std::size_t place = thread.next % kPlaces;
  // Relaxed: only this thread fills it.
  if (thread.places[place].load(std::memory_order_relaxed) != nullptr) return false;
  ++thread.next;
  page.thread = i;
  page.place = place;
  // seq_cst: publishes the page to take(), and pairs with begin_wait(): see wake_reader().
  thread.places[place].store(&page, std::memory_order_seq_cst);
  return true;
}

// No wake-up is lost: offer() fills a place before this reads `waits`; begin_wait() sets `waits`
// before it reads the places. All four are seq_cst, so that one of them sees the other.
void UnreadPages::wake_reader(std::size_t i) {
  for (std::size_t other = 0; other < threads_.size(); ++other) {
    std::atomic<bool>& waits = threads_[other].waits;
    // seq_cst, both: pairs with begin_wait(), as said above.
    if (other == i || !waits.load(std::memory_order_seq_cst)) continue;
    if (waits.exchange(false, std::memory_order_seq_cst)) return wake_(other);
  }
}

bool UnreadPages::take_back(FetchedPage& page) {
  // Relaxed: what is in the page comes from this thread.
  FetchedPage* expected = &page;
  return threads_[page.thread].places[page.place].compare_exchange_strong(
      expected, nullptr, std::memory_order_relaxed);
}

bool UnreadPages::is_offered(const FetchedPage& page) const {
  // Relaxed: a hint, as another thread may take it now.
  return threads_[page.thread].places[page.place].load(std::memory_order_relaxed) == &page;
}

void UnreadPages::set_free(std::size_t i, bool free) {
  if (std::exchange(threads_[i].free, free) == free) return;
  if (free) {
    free_.fetch_add(1, std::memory_order_relaxed);
  } else {
    free_.fetch_sub(1, std::memory_order_relaxed);
  }
}

bool UnreadPages::begin_wait(std::size_t i) {
  // seq_cst: pairs with wake_reader(), as said there.
  threads_[i].waits.store(true, std::memory_order_seq_cst);
  return !has_pages(i);
}

bool UnreadPages::end_wait(std::size_t i) {
  // Relaxed: take() sees the page.
  return !threads_[i].waits.exchange(false, std::memory_order_relaxed);
}

void UnreadPages::await_pages(std::size_t i, bool awaits) {
  // seq_cst: pairs with give_back(), as said there.
  threads_[i].awaits.store(awaits, std::memory_order_seq_cst);
}

bool UnreadPages::has_pages(std::size_t i) const {
  for (std::size_t other = 0; other < threads_.size(); ++other) {
    if (other == i) continue;
    for (const std::atomic<FetchedPage*>& place : threads_[other].places) {
      // seq_cst: pairs with offer(), as said at wake_reader().
      if (place.load(std::memory_order_seq_cst) != nullptr) return true;
    }
  }
  return false;
}

FetchedPage* UnreadPages::take(std::size_t i) {
  for (std::size_t step = 1; step < threads_.size(); ++step) {
    Thread& other = threads_[(i + step) % threads_.size()];
    const std::uint32_t oldest = other.oldest.load(std::memory_order_relaxed);
    for (std::size_t k = 0; k < kPlaces; ++k) {
      std::atomic<FetchedPage*>& place = other.places[(oldest + k) % kPlaces];
      if (place.load(std::memory_order_relaxed) == nullptr) continue;
      // acquire: what is in the page; pairs with the store in offer().
      if (FetchedPage* page = place.exchange(nullptr, std::memory_order_acquire)) {
        // Relaxed: a hint; readers that overtake each other look at a few places more.
        other.oldest.store(static_cast<std::uint32_t>((oldest + k + 1) % kPlaces),
                           std::memory_order_relaxed);
        return page;
      }
    }
  }
  return nullptr;
}

void UnreadPages::give_back(FetchedPage& page) {
  const std::size_t thread = page.thread;
  // seq_cst, both: what was read; and either this thread sees that the fetcher waits, or that sees,
  // once it waits, that the page is read. Pairs with await_pages() and PageQueue::is_read().
  page.is_read.store(true, std::memory_order_seq_cst);
  // From here on the page may be gone.
  if (threads_[thread].awaits.load(std::memory_order_seq_cst)) wake_(thread);
}

}  // namespace trawl
