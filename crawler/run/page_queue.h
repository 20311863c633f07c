// PageQueue: the pages of a fetcher that came and are not finished.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "crawler/run/fetched_page.h"
#include "crawler/run/unread_pages.h"

namespace trawl {

// While another thread has time, a fetcher does not read a page when it comes unless it is small,
// but queues it here, where it is offered to the others (UnreadPages). The queue is finished in its
// order, so that links, output and completions are those of a fetcher that is alone. The fetcher
// itself sees to the network and to pages that were read, and reads only when it has neither: then
// it takes the first page that nobody has taken. So no thread waits while there is a page to read,
// and nothing depends on others.
//
// Each lease, completion and group of output has a price of its own, so the queue is finished some
// pages at a time while more come in, and a reader that sleeps is woken when two pages wait.
//
// A page that waits holds its lease, and, beyond the first UnreadPages::kPlaces, its connection's
// share (see Fetcher::note_fetched()): that bounds the queue. Only its first pages are read ahead,
// for that takes memory. For one thread.
class PageQueue {
 public:
  using Use = std::function<void(FetchedPage&)>;

  // For thread `i`, which reads pages with `read`, and finishes them with `finish`.
  PageQueue(UnreadPages& unread, std::size_t i, Use read, Use finish)
      : unread_(unread), thread_(i), read_(std::move(read)), finish_(std::move(finish)) {}

  bool empty() const { return pages_.empty(); }
  // Call for each page that comes, before is_worth_sharing().
  void note_size(const HttpResponse& response);
  // Whether this page should be handed to another thread that has time. What that costs, and takes
  // from others on that processor, is about the reading of a small page, so not where the last
  // pages were small. It goes by their mean, since going back and forth costs, too.
  bool is_worth_sharing(const HttpResponse& response) const;
  // Offers the page at once: others read it while this thread sends the next requests.
  void push(OpenLease&& open, Url&& url, HttpResponse&& response);
  // Call after each look at the network: finishes pages that were read, or reads one, and offers
  // those for which there was no place.
  void work();
  // Call before waiting: whether nothing is left to do until another thread has read a page. That
  // ends the wait.
  bool begin_wait();
  void end_wait() { unread_.await_pages(thread_, false); }

 private:
  // See is_worth_sharing(). One page changes the mean of so many by 1 KiB at most.
  static constexpr double kWorthSharing = 4 << 10;
  static constexpr double kPagesOfMean = 256;
  static constexpr std::size_t kVeryLarge = 256u << 10;  // a page that is worth it in any case
  // The least to finish, and to wake a reader for.
  static constexpr std::size_t kStride = 3;
  static constexpr std::size_t kWorthWaking = 2;
  // Bytes of a page for which a reader is woken before the next requests are sent: that holds them
  // up.
  static constexpr std::size_t kLarge = 16u << 10;

  // How many of the pages may be read ahead.
  std::size_t ahead() const { return std::min(pages_.size(), UnreadPages::kPlaces); }
  // Of these, how many nobody reads yet.
  std::size_t unread() const;
  static bool is_read(const std::unique_ptr<FetchedPage>& page);
  bool offer();
  void wake_reader();
  bool read_one();
  void finish_read();

  UnreadPages& unread_;
  const std::size_t thread_;
  const Use read_;
  const Use finish_;
  std::deque<std::unique_ptr<FetchedPage>> pages_;
  double mean_bytes_ = 0;  // of the last pages, of very large ones kVeryLarge
  double pages_of_mean_ = 0;
  bool more_came_ = false;  // pages were offered since work() looked
  std::vector<std::unique_ptr<FetchedPage>> spare_;
};

}  // namespace trawl
