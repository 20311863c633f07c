// QueueDepthsReader: reads the queues of buckets that came, for the depths of their URLs.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <span>
#include <string_view>
#include <thread>

#include "base/mutex.h"
#include "frontier/shared/shared_store.h"
#include "frontier/store/queued_url.h"

namespace trawl {

// A bucket is leased from as soon as the beginnings of its queues are known. What is behind them is
// read here meanwhile, at half speed: until then a smaller depth of such a URL is not noticed.
class QueueDepthsReader {
 public:
  // A queued URL was found, perhaps one that has ended meanwhile; whether to go on.
  using Found = std::function<bool(std::string_view record)>;

  QueueDepthsReader(const SharedStore& store, Found found);
  ~QueueDepthsReader() { stop(); }

  // Of buckets that are taken. What is lost meanwhile is passed over.
  void add(std::span<const HostId> hosts);
  // The hosts that are still to be read.
  std::size_t waiting() const;
  void stop();

 private:
  void run();
  bool is_stopping() const;
  void rest(std::chrono::steady_clock::duration time);

  const SharedStore& store_;
  const Found found_;
  mutable Mutex mutex_;
  Condition changed_;
  bool stopping_ TRAWL_GUARDED_BY(mutex_) = false;
  std::deque<HostId> hosts_ TRAWL_GUARDED_BY(mutex_);  // the first is being read
  std::thread thread_;
};

}  // namespace trawl
