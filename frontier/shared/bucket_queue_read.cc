#include "frontier/shared/bucket_queue_read.h"

#include <algorithm>
#include <cstddef>
#include <list>
#include <utility>
#include <vector>

namespace trawl {

namespace {

// URLs that are leased, or in a shard's head, and so before those that are wanted; at first.
constexpr std::size_t kBefore = 64;
constexpr std::size_t kMostRead = std::size_t{1} << 60;

// One of the reads, as far as it has come.
class QueueProgress {
 public:
  explicit QueueProgress(BucketQueueRead& of) : of_(of) {
    of_.away.reset();
    of_.read->urls.clear();
    of_.read->ended = of_.read->away = false;
    begin_queue();
  }

  bool done() const { return done_; }
  void stop(Error away) {
    of_.away = std::move(away);
    of_.read->away = done_ = true;
  }
  BucketStore::QueuePart next() const {
    return {.bucket = of_.bucket,
            .host = of_.read->host,
            .priority = of_.queues[at_].first,
            .from = 0,
            .limit = size_};
  }
  void take(std::vector<QueuedUrl> queue) {
    QueueRead& read = *of_.read;
    const bool whole = queue.size() < size_;
    if (read.after)
      std::erase_if(queue, [&](const QueuedUrl& url) { return url.order <= *read.after; });
    const std::size_t missing = read.limit - read.urls.size();
    if (!whole && queue.size() <= missing) {
      size_ = std::min(size_ * 4, kMostRead);  // it needs a larger part
      return;
    }
    for (QueuedUrl& url : queue) {
      done_ = read.urls.size() == read.limit || bytes_ >= read.max_bytes;
      if (done_) return;
      bytes_ += url.record.size();
      read.urls.push_back(std::move(url));
    }
    ++at_;
    begin_queue();
  }

 private:
  // Higher priorities come first: those of URLs before `after` are passed over.
  void begin_queue() {
    const QueueRead& read = *of_.read;
    while (at_ < of_.queues.size() && read.after && of_.queues[at_].first > read.after->priority)
      ++at_;
    if (at_ == of_.queues.size()) {
      done_ = of_.read->ended = true;
      return;
    }
    size_ = std::min(read.limit - read.urls.size(), kMostRead / 8) + 1 + (read.after ? kBefore : 0);
  }

  BucketQueueRead& of_;
  std::size_t at_ = 0;    // the queue that is read
  std::size_t size_ = 0;  // of the part of it that is read
  std::size_t bytes_ = 0;
  bool done_ = false;
};

}  // namespace

Result<void> read_bucket_queues(BucketStore& buckets, std::span<BucketQueueRead> reads) {
  std::list<QueueProgress> open(reads.begin(), reads.end());
  for (;;) {
    std::erase_if(open, [](const QueueProgress& one) { return one.done(); });
    if (open.empty()) return {};
    std::vector<BucketStore::QueuePart> parts;
    for (const QueueProgress& one : open)
      parts.push_back(one.next());
    auto queues = buckets.read_queues(parts);
    std::size_t i = 0;
    for (QueueProgress& one : open) {
      auto& queue = queues[i++];
      if (queue) {
        one.take(std::move(*queue));
      } else if (queue.error().code == ErrorCode::kUnavailable) {
        one.stop(std::move(queue.error()));
      } else {
        return tl::unexpected(queue.error());
      }
    }
  }
}

}  // namespace trawl
