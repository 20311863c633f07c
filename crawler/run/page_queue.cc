#include "crawler/run/page_queue.h"

#include <algorithm>
#include <utility>

namespace trawl {

namespace {

using Reading = FetchedPage::Reading;

bool has_something_to_read(const HttpResponse& response) {
  return is_2xx(response.status) && !response.body.empty();
}

}  // namespace

void PageQueue::note_size(const HttpResponse& response) {
  if (!has_something_to_read(response)) return;
  pages_of_mean_ = std::min(pages_of_mean_ + 1, kPagesOfMean);
  const auto bytes = static_cast<double>(std::min(response.body.size(), kVeryLarge));
  mean_bytes_ += (bytes - mean_bytes_) / pages_of_mean_;
}

bool PageQueue::is_worth_sharing(const HttpResponse& response) const {
  return mean_bytes_ >= kWorthSharing || response.body.size() >= kVeryLarge;
}

void PageQueue::push(OpenLease&& open, Url&& url, HttpResponse&& response) {
  if (spare_.empty()) spare_.push_back(std::make_unique<FetchedPage>());
  std::unique_ptr<FetchedPage> page = std::move(spare_.back());
  spare_.pop_back();
  page->open = std::move(open);
  page->url = std::move(url);
  page->response = std::move(response);
  page->read.clear();
  const bool is_unread = has_something_to_read(page->response);
  page->reading = is_unread ? Reading::kNotBegun : Reading::kDoneHere;
  // Relaxed: no other thread has the page.
  page->is_read.store(!is_unread, std::memory_order_relaxed);
  const bool is_large = page->response.body.size() >= kLarge;
  pages_.push_back(std::move(page));
  if (!offer()) return;
  more_came_ = true;
  if (is_large) wake_reader();
}

void PageQueue::work() {
  if (pages_.empty()) return;
  const bool more_came = offer() || more_came_;
  more_came_ = false;
  if (more_came) wake_reader();
  const auto first_unread = std::ranges::find_if_not(pages_, &PageQueue::is_read);
  const auto read = static_cast<std::size_t>(first_unread - pages_.begin());
  if (!more_came || read >= kStride) finish_read();
  if (!more_came && read == 0 && read_one()) finish_read();
}

bool PageQueue::begin_wait() {
  unread_.await_pages(thread_, true);
  return unread() == 0 && !pages_.empty() && !is_read(pages_.front());
}

// Returns true if there are pages that were not offered before.
bool PageQueue::offer() {
  bool offered = false;
  for (std::size_t i = 0; i < ahead(); ++i) {
    FetchedPage& page = *pages_[i];
    if (page.reading != Reading::kNotBegun) continue;
    if (!unread_.offer(thread_, page)) break;
    page.reading = Reading::kOffered;
    offered = true;
  }
  return offered;
}

void PageQueue::wake_reader() {
  if (unread() >= kWorthWaking) unread_.wake_reader(thread_);
}

std::size_t PageQueue::unread() const {
  std::size_t n = 0;
  for (std::size_t i = 0; i < ahead(); ++i) {
    const FetchedPage& page = *pages_[i];
    const bool waits = page.reading == Reading::kOffered ? unread_.is_offered(page)
                                                         : page.reading == Reading::kNotBegun;
    n += waits ? 1 : 0;
  }
  return n;
}

// Reads the first page that no thread has taken.
bool PageQueue::read_one() {
  for (std::size_t i = 0; i < ahead(); ++i) {
    FetchedPage& page = *pages_[i];
    if (page.reading == Reading::kDoneHere) continue;
    if (page.reading == Reading::kOffered && !unread_.take_back(page)) continue;
    read_(page);
    page.reading = Reading::kDoneHere;
    // Relaxed: no other thread has the page.
    page.is_read.store(true, std::memory_order_relaxed);
    return true;
  }
  return false;
}

bool PageQueue::is_read(const std::unique_ptr<FetchedPage>& page) {
  // seq_cst: pairs with UnreadPages::give_back(), as said there.
  return page->is_read.load(std::memory_order_seq_cst);
}

void PageQueue::finish_read() {
  while (!pages_.empty() && is_read(pages_.front())) {
    std::unique_ptr<FetchedPage> page = std::move(pages_.front());
    pages_.pop_front();
    finish_(*page);
    page->open = {};
    page->response = {};
    if (spare_.size() < UnreadPages::kPlaces) spare_.push_back(std::move(page));
  }
}

}  // namespace trawl
