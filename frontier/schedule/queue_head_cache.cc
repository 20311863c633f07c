#include "frontier/schedule/queue_head_cache.h"

#include <algorithm>
#include <cassert>

namespace trawl {

namespace {

// Heads that reclaim() examines per call.
constexpr int kReclaimSteps = 16;

}  // namespace

template <class Change>
auto QueueHeadCache::change(HostIndex host, Change change) {
  HostQueue& queue = hosts_[host].queue;
  const std::size_t before = queue.head_bytes();
  struct Account {
    QueueHeadCache& budget;
    HostQueue& queue;
    std::size_t before;
    ~Account() {
      assert(budget.bytes_ >= before);
      budget.bytes_ = budget.bytes_ - before + queue.head_bytes();
    }
  } const account{*this, queue, before};
  return change(queue);
}

void QueueHeadCache::note_size(std::size_t record) {
  usual_record_ = (usual_record_ * 15 + record + 15) / 16;
}

std::uint64_t QueueHeadCache::share() const {
  return max_bytes_ / std::max<std::size_t>(hosts_.size(), 1);
}

std::uint64_t QueueHeadCache::bytes_of_urls(std::size_t urls) const {
  return HostQueue::kBlockBytes + urls * HostQueue::bytes_of(usual_record_);
}

std::size_t QueueHeadCache::read_limit() const {
  return std::clamp<std::size_t>(share() / HostQueue::bytes_of(usual_record_), kFewUrls, kMostUrls);
}

// A read takes a small part of the bytes.
std::size_t QueueHeadCache::ahead_limit() const {
  const std::uint64_t of_a_host = max_bytes_ / 8 / kHostsAtOnce;
  return std::clamp<std::size_t>(of_a_host / HostQueue::bytes_of(usual_record_), kFewUrls,
                                 kMostUrls);
}

// The rest of the bytes is for URLs that are queued.
std::size_t QueueHeadCache::hosts_that_fit(std::size_t limit) const {
  const std::uint64_t most = max_bytes_ / 8 * 7;
  return (most - std::min(most, bytes_ + reserved_)) / bytes_of_urls(limit);
}

std::size_t QueueHeadCache::hosts_that_must_fit(std::size_t limit) const {
  const std::uint64_t room = max_bytes_ - std::min(max_bytes_, bytes_ + reserved_);
  return std::clamp<std::size_t>((room + max_bytes_ / 64) / bytes_of_urls(limit), 1, kHostsAtOnce);
}

std::uint64_t QueueHeadCache::reserve(std::size_t hosts, std::size_t limit) {
  const std::uint64_t bytes = hosts * bytes_of_urls(limit);
  reserved_ += bytes;
  return bytes;
}

void QueueHeadCache::insert(HostIndex host, const QueueOrder& order, std::string_view record) {
  note_size(record.size());
  HostQueue& queue = hosts_[host].queue;
  if (queue.head_empty() && HostQueue::kBlockBytes + HostQueue::bytes_of(record.size()) > share()) {
    queue.set_rest_from(order);
    return;
  }
  const std::uint64_t before = queue.head_bytes();
  change(host, [&](HostQueue&) { queue.insert(order, record); });
  reclaim(host);
  cut(host, 0, std::max(share(), before));
}

void QueueHeadCache::refill(HostIndex host, const std::vector<QueuedUrl>& urls, bool is_ahead) {
  change(host, [&](HostQueue& queue) {
    for (const QueuedUrl& url : urls)
      queue.insert(url.order, url.record);
  });
  for (const QueuedUrl& url : urls)
    note_size(url.record.size());
  reclaim(host);
  cut(host, 1, is_ahead ? max_bytes_ : std::max(share(), bytes_of_urls(kFewUrls)));
}

std::string QueueHeadCache::pop_front(HostIndex host) {
  assert(!hosts_[host].queue.head_empty());
  return change(host, [](HostQueue& queue) { return queue.pop_front(); });
}

std::optional<std::string> QueueHeadCache::take(HostIndex host, const QueueOrder& order) {
  return change(host, [&](HostQueue& queue) { return queue.take(order); });
}

void QueueHeadCache::drop(HostIndex host) {
  change(host, [](HostQueue& queue) { queue.drop_head(); });
}

// Drops the host's last URLs from its head, except the first `keep`, until the head has at most
// `most_bytes` and all heads together are within the limit.
void QueueHeadCache::cut(HostIndex host, std::size_t keep, std::uint64_t most_bytes) {
  const std::size_t own = hosts_[host].queue.head_bytes();
  assert(own <= bytes_);
  const std::uint64_t others = bytes_ - own;
  most_bytes = std::min(most_bytes, max_bytes_ - std::min(max_bytes_, others));
  if (own <= most_bytes && hosts_[host].queue.head_urls() <= kMostUrls) return;
  change(host, [&](HostQueue& queue) {
    while (queue.head_urls() > keep &&
           (queue.head_urls() > kMostUrls || queue.head_bytes_used() > most_bytes)) {
      queue.drop_last();
    }
    if (queue.head_bytes() > most_bytes) queue.shrink_to_fit();
  });
}

// Cuts heads that were filled when shares were larger. If no head exceeds its share, all fit.
void QueueHeadCache::reclaim(HostIndex but) {
  for (int step = 0; step < kReclaimSteps && bytes_ > max_bytes_; ++step) {
    if (hand_ >= hosts_.end()) hand_ = 0;
    const HostIndex host = hand_++;
    // The result of a read would not fit a head that was cut meanwhile.
    if (host != but && !hosts_[host].head_under_way) cut(host, 0, share());
  }
}

}  // namespace trawl
