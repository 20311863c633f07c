// Fetcher: reading pages of other fetchers.
#include <utility>

#include "crawler/run/fetcher.h"

namespace trawl {

namespace {

using std::chrono::milliseconds;

// A fetcher with more leases of its own has no time for others' pages.
constexpr std::size_t kFewLeases = 2;
// How long it reads for others before it looks for work of its own.
constexpr milliseconds kLongestAsReader{5};

}  // namespace

bool Fetcher::has_time() const {
  return leases_.size() <= kFewLeases && queue_.empty();
}

void Fetcher::wait_for_events() {
  context_.unread_pages.set_free(shard_, has_time());
  if (has_time()) return wait_as_reader(idle_time());
  if (queue_.empty()) return client_->run(idle_time());
  client_->run(queue_.begin_wait() ? idle_time() : milliseconds(0));
  queue_.end_wait();
}

// Between pages it does not look for leases: that is not free, and would commit what their fetcher
// has only begun to complete. Its own events may pass unnoticed meanwhile, so not for long.
void Fetcher::wait_as_reader(milliseconds longest) {
  constexpr milliseconds kNow{0};
  UnreadPages& pages = context_.unread_pages;
  auto until = std::chrono::steady_clock::now() + longest;
  for (bool reads = false;;) {
    while (FetchedPage* page = pages.take(shard_)) {
      reader_.read_ahead(page->open.lease, page->url, page->response, page->read);
      pages.give_back(*page);
      const SteadyTime now = std::chrono::steady_clock::now();
      if (!std::exchange(reads, true)) until = std::min(until, now + kLongestAsReader);
      if (client_->active() > 0 || now > until) return client_->run(kNow);
    }
    // What the others have submitted meanwhile; they leave it to the readers.
    if (reads) context_.output.write_due(true);
    const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
    const bool waits = pages.begin_wait(shard_) && left > kNow;
    client_->run(waits ? left : kNow);
    const bool called = pages.end_wait(shard_);
    if (left <= kNow || (waits && !called)) return;
  }
}

}  // namespace trawl
